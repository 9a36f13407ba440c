/**
 * A market's last bars in this process: read from the store once, then continued with the executions that the market's
 * replica receives. It includes each execution once. It is of no more use once the replica has missed executions, because
 * the store then has a gap that is not known here.
 */
import type { Replica } from '../sequencing/replica.ts'
import {
  addBar,
  type Bar,
  Bars,
  boundedTime,
  executedAt,
  MINUTE_MILLISECONDS,
  STEPS,
  type Step,
  startOf,
} from './bar.ts'
import type { StoredCandles } from './candle-table.ts'
import { type DayTotals, dayBefore, type Gap } from './candles.ts'

/** Bars per market and step: 25 hours of minutes, 33 days of hours. About 1 MB for a market that trades each minute. */
export const BARS_KEPT: ReadonlyMap<Step, number> = new Map([
  [STEPS[0], 1_500],
  [STEPS[1], 800],
])
/** Bars beyond them are dropped this many at a time. */
const BARS_DROPPED = 60

export class CandleMemory {
  readonly gaps: readonly Gap[]
  readonly #position: StoredCandles['position']
  readonly replica: Replica
  readonly #log: Replica['executions']
  readonly #bars = new Bars()
  readonly #floors: Map<Step, number>
  /** The close before each floor. */
  readonly #closes: Map<Step, number | undefined>
  #firstExecuted: number | undefined
  #lastExecuted = 0
  /** The last execution in the log that is included. Undefined: the market was not followed. */
  #number: number | undefined
  #version = 0
  /** The sum of the minutes before one, until an execution changes it. */
  #day: { readonly endMilliseconds: number; readonly bar: Bar | undefined } | undefined

  /** Undefined: the stored bars do not reach the executions that the replica still has. */
  static after(
    replica: Replica,
    stored: StoredCandles,
    closes: ReadonlyMap<Step, number | undefined>,
  ): CandleMemory | undefined {
    const isFollowed = replica.followed !== undefined
    const number = isFollowed ? replica.executions.resumableAt(stored.position) : undefined
    return isFollowed && number === undefined ? undefined : new CandleMemory(replica, stored, closes, number)
  }

  private constructor(
    replica: Replica,
    stored: StoredCandles,
    closes: ReadonlyMap<Step, number | undefined>,
    number: number | undefined,
  ) {
    this.replica = replica
    this.#log = replica.executions
    this.#floors = new Map(stored.floors)
    this.#closes = new Map(closes)
    this.#firstExecuted = stored.firstExecutedMilliseconds
    this.#number = number
    this.gaps = stored.gaps
    this.#position = stored.position
    for (const [step, bar] of stored.bars) this.#bars.put(step, bar)
  }

  /** Whether the store may know more: from a new leader, or after a gap that reached beyond the stored position. */
  get isOutdated(): boolean {
    const { epoch, countedMilliseconds } = this.#position
    const { followed, instant } = this.replica
    if (followed !== undefined && followed.epoch !== epoch) return true
    const gapEnd = this.gaps.at(-1)?.untilMilliseconds ?? 0
    return gapEnd >= countedMilliseconds && instant.milliseconds > gapEnd
  }

  /** Different after each change. */
  get version(): number {
    return this.#version
  }

  get firstExecutedMilliseconds(): number | undefined {
    return this.#firstExecuted
  }

  /** Bars that start earlier are in the store alone. */
  floor(step: Step): number {
    return this.#floors.get(step) as number
  }

  bars(step: Step): ReadonlyMap<number, Bar> {
    return this.#bars.of(step)
  }

  /** The close before a time that is not before the floor. */
  closeBefore(step: Step, milliseconds: number): number | undefined {
    const bars = this.#bars.of(step)
    for (let start = milliseconds - step; start >= this.floor(step); start -= step) {
      const bar = bars.get(start)
      if (bar !== undefined) return bar.close
    }
    return this.#closes.get(step)
  }

  /** The present minute and the 1,440 before it. */
  lastDay(nowMilliseconds: number): DayTotals {
    const last = startOf(nowMilliseconds, MINUTE_MILLISECONDS)
    const minutes = this.bars(MINUTE_MILLISECONDS)
    if (this.#day?.endMilliseconds !== last) this.#day = { endMilliseconds: last, bar: dayBefore(last, minutes) }
    const [earlier, present] = [this.#day.bar, minutes.get(last)]
    const bar = earlier === undefined ? present : { ...earlier }
    if (bar !== undefined && bar !== present && present !== undefined) addBar(bar, present)
    const before = Math.max(last, this.floor(MINUTE_MILLISECONDS))
    return { bar, lastClose: bar?.close ?? this.closeBefore(MINUTE_MILLISECONDS, before) }
  }

  /** Includes the executions since the last call. False: it cannot be continued. */
  follow(replica: Replica): boolean {
    if (replica !== this.replica) return false
    if (this.#number === undefined) return replica.followed === undefined
    if (this.#number === this.#log.lastNumber) return true
    let isComplete = true
    this.#log.readAfter(this.#number, (kept) => {
      if (kept === undefined) isComplete = false
      else this.#add(kept.number, kept)
    })
    this.#number = this.#log.lastNumber
    this.#version += 1
    return isComplete
  }

  #add(number: number, kept: Parameters<typeof executedAt>[0]): void {
    const at = executedAt(kept)
    if (this.#day !== undefined && at < this.#day.endMilliseconds) this.#day = undefined
    this.#bars.add({ ...kept, id: kept.execution.id ?? this.#log.idOf(number) }, this.#floors)
    this.#firstExecuted = Math.min(this.#firstExecuted ?? at, at)
    this.#lastExecuted = Math.max(this.#lastExecuted, boundedTime(kept))
  }

  /** Old bars are then in the store alone. Not while an answer is made. */
  dropOld(): void {
    for (const step of STEPS) {
      const before = this.floor(step)
      const floor = (Math.floor(this.#lastExecuted / step) - (BARS_KEPT.get(step) as number) + 1) * step
      if (floor - before < BARS_DROPPED * step) continue
      this.#closes.set(step, this.closeBefore(step, floor))
      this.#floors.set(step, floor)
      const bars = this.#bars.of(step)
      for (const start of bars.keys()) if (start < floor) bars.delete(start)
    }
  }
}
