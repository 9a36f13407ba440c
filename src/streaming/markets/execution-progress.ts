/**
 * How far each source has passed on its executions in this process, and when a reported loss began. A loss concerns its
 * own source alone: sources may share a venue, and a relay has several, each as late as its own last execution.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { DAY_MILLISECONDS } from '../candles/bar.ts'
import type { Execution, MarketEvent } from '../market/event.ts'
import type { SourceMarket } from '../sources/source.ts'

/** Venues' names come from publishers. */
const VENUES_MAX = 100
/** The key of a source's time before its first execution. */
const NO_VENUE = ''

/** Last execution times by venue. */
type VenueTimes = Map<string, number>

export class ExecutionProgress {
  readonly #clock: Pick<Clock, 'wallInstant'>
  /** Undefined: the source has not begun. */
  readonly #sources = new Map<SourceMarket, VenueTimes | undefined>()
  #lastBegunMilliseconds = 0
  #lossMilliseconds: number | undefined
  #resumedMilliseconds = Number.POSITIVE_INFINITY

  constructor(clock: Pick<Clock, 'wallInstant'>) {
    this.#clock = clock
  }

  /** Every source's executions before this time are passed on or reported as missed. Undefined: one has not begun. */
  get completeMilliseconds(): number | undefined {
    let milliseconds = Number.POSITIVE_INFINITY
    for (const times of this.#sources.values()) {
      if (times === undefined) return undefined
      milliseconds = Math.min(milliseconds, lastOf(times))
    }
    return milliseconds
  }

  /** When the last one began. Undefined: one has not. */
  get begunMilliseconds(): number | undefined {
    return [...this.#sources.values()].includes(undefined) ? undefined : this.#lastBegunMilliseconds
  }

  /** No source has resumed an earlier leader's executions from before this time. Infinity: none has resumed any. */
  get resumedMilliseconds(): number {
    return this.#resumedMilliseconds
  }

  /** When the earliest loss since the last call began. 0: not known. Undefined: there was none. */
  takeLoss(): number | undefined {
    const milliseconds = this.#lossMilliseconds
    this.#lossMilliseconds = undefined
    return milliseconds
  }

  /** It begins with its first snapshot or execution. */
  add(source: SourceMarket): void {
    this.#sources.set(source, undefined)
  }

  remove(source: SourceMarket): void {
    this.#sources.delete(source)
  }

  /** Its next executions follow this time. */
  begin(source: SourceMarket, milliseconds = this.#now()): void {
    this.#sources.set(source, new Map([[NO_VENUE, milliseconds]]))
    this.#lastBegunMilliseconds = Math.max(this.#lastBegunMilliseconds, milliseconds)
  }

  /**
   * It continues the executions that an earlier leader has passed on until a time. Undefined: there were none, or they
   * may be those of these venues, each of which continues after its own last one.
   */
  resume(
    source: SourceMarket,
    milliseconds: number | undefined,
    heardMilliseconds: number,
    venueTimes: ReadonlyMap<string, number> = new Map(),
  ): void {
    this.begin(source, Math.min(milliseconds ?? 0, heardMilliseconds))
    const times = this.#sources.get(source) as VenueTimes
    // A venue's next execution says nothing about another that lags. Venues of several sources cannot be distinguished.
    const known = milliseconds === undefined && this.#sources.size === 1 ? venueTimes : []
    for (const [venue, time] of known) {
      if (times.size < VENUES_MAX) times.set(venue, Math.min(time, heardMilliseconds))
    }
    const last = milliseconds ?? (venueTimes.size === 0 ? heardMilliseconds : lastOf(venueTimes))
    this.#resumedMilliseconds = Math.min(this.#resumedMilliseconds, last, heardMilliseconds)
  }

  /** Executions after this time were lost before the source begins. */
  lose(milliseconds: number): void {
    this.#lossMilliseconds = Math.min(this.#lossMilliseconds ?? milliseconds, milliseconds)
  }

  follow(source: SourceMarket, event: MarketEvent): void {
    const times = this.#sources.get(source)
    if (event.type === 'missed') {
      this.lose(times === undefined ? 0 : lastOf(times))
    } else if (event.type === 'snapshot') {
      if (times === undefined) this.begin(source)
    } else if (event.type === 'update') {
      if (times === undefined) this.begin(source)
      this.#note(this.#sources.get(source) as VenueTimes, event.executions)
    }
  }

  #note(times: VenueTimes, executions: readonly Execution[]): void {
    const now = this.#now()
    for (const { venue = NO_VENUE, executedAtMilliseconds = now } of executions) {
      times.delete(NO_VENUE)
      // A venue's clock may be ahead.
      if (times.has(venue) || times.size < VENUES_MAX) times.set(venue, Math.min(executedAtMilliseconds, now))
    }
  }

  #now(): number {
    return this.#clock.wallInstant().milliseconds
  }
}

/** The earliest of the venues' times. A venue that lags by a day counts as one that the source has no more. */
function lastOf(times: ReadonlyMap<string, number>): number {
  let latest = Number.NEGATIVE_INFINITY
  for (const time of times.values()) latest = Math.max(latest, time)
  let earliest = latest
  for (const time of times.values()) if (time >= latest - DAY_MILLISECONDS) earliest = Math.min(earliest, time)
  return earliest
}
