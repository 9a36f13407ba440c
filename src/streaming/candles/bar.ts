/**
 * Bars: one minute's or one hour's executions as exact integers. A bar is ordered by execution time and, among equal
 * times, by commit order. Bars of the same time add up: a bar of earlier commits and one of later commits are the bar of
 * both. Bars of consecutive times add up in the same way. Pure.
 */
import { addScaled, multiplyScaled, type Scaled } from '../../platform/base/decimal.ts'
import type { Execution } from '../market/event.ts'

export const MINUTE_MILLISECONDS = 60_000
export const HOUR_MILLISECONDS = 3_600_000
export const DAY_MILLISECONDS = 86_400_000

/** The bars that are kept. All other intervals are computed from them. */
export const STEPS = [MINUTE_MILLISECONDS, HOUR_MILLISECONDS] as const

export type Step = (typeof STEPS)[number]

/** Times are milliseconds since the epoch. */
export interface Bar {
  readonly start: number
  /** Execution times of the open and the close. */
  openedAt: number
  closedAt: number
  open: number
  high: number
  low: number
  close: number
  firstId: string
  lastId: string
  /** At the amounts' scale. */
  volume: Scaled
  /** The sum of price × amount, at the sum of both scales. */
  quoteVolume: Scaled
  trades: number
  /** Executions committed after the bar's end. */
  revision: number
}

/** An execution with its identifier and its commit's time. */
export interface Trade {
  readonly execution: Execution
  readonly id: string
  readonly commitMilliseconds: number
}

export function executedAt({ execution, commitMilliseconds }: Pick<Trade, 'execution' | 'commitMilliseconds'>): number {
  return execution.executedAtMilliseconds ?? commitMilliseconds
}

/** The execution's time if it is not far ahead of its commit's, and therefore wrong. */
export function boundedTime(kept: Pick<Trade, 'execution' | 'commitMilliseconds'>): number {
  return Math.min(executedAt(kept), kept.commitMilliseconds + MINUTE_MILLISECONDS)
}

/** The start of the interval with this time. Intervals are aligned to UTC. */
export function startOf(milliseconds: number, intervalMilliseconds: number): number {
  return Math.floor(milliseconds / intervalMilliseconds) * intervalMilliseconds
}

/** Adds a bar of later commits, or another time's. */
export function addBar(bar: Bar, later: Bar): void {
  if (later.openedAt < bar.openedAt) {
    bar.openedAt = later.openedAt
    bar.open = later.open
    bar.firstId = later.firstId
  }
  if (later.closedAt >= bar.closedAt) {
    bar.closedAt = later.closedAt
    bar.close = later.close
    bar.lastId = later.lastId
  }
  bar.high = Math.max(bar.high, later.high)
  bar.low = Math.min(bar.low, later.low)
  bar.volume = addScaled(bar.volume, later.volume)
  bar.quoteVolume = addScaled(bar.quoteVolume, later.quoteVolume)
  bar.trades += later.trades
  bar.revision += later.revision
}

/** A market's bars by start. */
export class Bars {
  readonly #steps: ReadonlyMap<Step, Map<number, Bar>> = new Map(STEPS.map((step) => [step, new Map()]))

  of(step: Step): Map<number, Bar> {
    return this.#steps.get(step) as Map<number, Bar>
  }

  get size(): number {
    return STEPS.reduce((sum, step) => sum + this.of(step).size, 0)
  }

  /** Counts the next execution in commit order. `floors`: bars that start earlier are not kept. */
  add(trade: Trade, floors?: ReadonlyMap<Step, number>): void {
    const { execution, id, commitMilliseconds } = trade
    const { price, amount } = execution
    const at = executedAt(trade)
    const quoteVolume = multiplyScaled(price, amount)
    for (const step of STEPS) {
      const start = startOf(at, step)
      if (start < (floors?.get(step) ?? 0)) continue
      this.put(step, {
        start,
        openedAt: at,
        closedAt: at,
        open: price,
        high: price,
        low: price,
        close: price,
        firstId: id,
        lastId: id,
        volume: amount,
        quoteVolume,
        trades: 1,
        revision: commitMilliseconds >= start + step ? 1 : 0,
      })
    }
  }

  /** Adds a bar of later commits. */
  put(step: Step, bar: Bar): void {
    const bars = this.of(step)
    const known = bars.get(bar.start)
    if (known === undefined) bars.set(bar.start, bar)
    else addBar(known, bar)
  }
}
