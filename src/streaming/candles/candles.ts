/**
 * Candles and the ticker from bars: intervals, the bars between executions, gaps. Pure. The answers are the same on every
 * node with the same bars.
 */
import { addScaled, multiplyScaled, type Scaled } from '../../platform/base/decimal.ts'
import {
  addBar,
  type Bar,
  DAY_MILLISECONDS,
  HOUR_MILLISECONDS,
  MINUTE_MILLISECONDS,
  type Step,
  startOf,
} from './bar.ts'

/** The intervals, each with the bars from which it is computed. */
export const INTERVALS = {
  '1m': { milliseconds: MINUTE_MILLISECONDS, step: MINUTE_MILLISECONDS },
  '5m': { milliseconds: 5 * MINUTE_MILLISECONDS, step: MINUTE_MILLISECONDS },
  '15m': { milliseconds: 15 * MINUTE_MILLISECONDS, step: MINUTE_MILLISECONDS },
  '1h': { milliseconds: HOUR_MILLISECONDS, step: HOUR_MILLISECONDS },
  '4h': { milliseconds: 4 * HOUR_MILLISECONDS, step: HOUR_MILLISECONDS },
  '1d': { milliseconds: DAY_MILLISECONDS, step: HOUR_MILLISECONDS },
} as const satisfies Readonly<Record<string, { readonly milliseconds: number; readonly step: Step }>>

export type Interval = keyof typeof INTERVALS

/** Executions may be missing in this time: both ends are included. */
export interface Gap {
  readonly fromMilliseconds: number
  readonly untilMilliseconds: number
}

/** Gaps that cover the same minutes, as few as possible and in order. */
export function mergedGaps(gaps: readonly Gap[]): Gap[] {
  const merged: Gap[] = []
  for (const gap of gaps.toSorted((left, right) => left.fromMilliseconds - right.fromMilliseconds)) {
    const last = merged.at(-1)
    const fromMinute = startOf(gap.fromMilliseconds, MINUTE_MILLISECONDS)
    if (last === undefined || fromMinute > last.untilMilliseconds + MINUTE_MILLISECONDS) {
      merged.push(gap)
    } else {
      const untilMilliseconds = Math.max(last.untilMilliseconds, gap.untilMilliseconds)
      merged[merged.length - 1] = { ...last, untilMilliseconds }
    }
  }
  return merged
}

/** Gaps that end before a time. One that reaches the stored position stands for a gap that is still open. */
export function endedBefore(gaps: readonly Gap[], milliseconds: number): Gap[] {
  return gaps.map(({ fromMilliseconds, untilMilliseconds }) => ({
    fromMilliseconds,
    untilMilliseconds: Math.max(fromMilliseconds, Math.min(untilMilliseconds, milliseconds - 1)),
  }))
}

export interface Candle {
  readonly start: number
  /** Undefined: no executions. The candle then consists of the last close. */
  readonly bar: Bar | undefined
  readonly lastClose: number
  readonly isClosed: boolean
  readonly isIncomplete: boolean
}

export interface CandleRange {
  readonly interval: Interval
  /** The first candle's start, and the end of the last one. */
  readonly fromMilliseconds: number
  readonly untilMilliseconds: number
}

export interface CandleSource {
  /** Bars of the interval's step, or of the interval itself. */
  readonly bars: ReadonlyMap<number, Bar>
  /** The close before the range. Undefined: there are no candles before the first bar. */
  readonly previousClose: number | undefined
  /** Merged. */
  readonly gaps: readonly Gap[]
  /** Every commit before this time is included. */
  readonly completeMilliseconds: number
}

export function candlesIn(range: CandleRange, source: CandleSource): Candle[] {
  const { milliseconds } = INTERVALS[range.interval]
  const candles: Candle[] = []
  let lastClose = source.previousClose
  let gap = 0
  for (let start = range.fromMilliseconds; start < range.untilMilliseconds; start += milliseconds) {
    const bar = barOf(range.interval, start, source.bars)
    lastClose = bar?.close ?? lastClose
    if (lastClose === undefined) continue
    const end = start + milliseconds
    while ((source.gaps[gap]?.untilMilliseconds ?? start) < start) gap += 1
    const isIncomplete = (source.gaps[gap]?.fromMilliseconds ?? end) < end
    candles.push({ start, bar, lastClose, isClosed: source.completeMilliseconds >= end, isIncomplete })
  }
  return candles
}

/** An interval's bar. A map of intervals has it under the same start as its first step. */
function barOf(interval: Interval, start: number, bars: ReadonlyMap<number, Bar>): Bar | undefined {
  const { milliseconds, step } = INTERVALS[interval]
  if (milliseconds === step) return bars.get(start)
  let sum: Bar | undefined
  for (let place = start; place < start + milliseconds; place += step) {
    const bar = bars.get(place)
    if (bar === undefined) continue
    if (sum === undefined) sum = { ...bar, start }
    else addBar(sum, bar)
  }
  return sum
}

/** The executions of 24 hours. */
export interface DayTotals {
  readonly bar: Bar | undefined
  /** The last close, which may be older. */
  readonly lastClose: number | undefined
}

/** The sum of 1,440 minutes before a time at a minute's start. Undefined: without executions. */
export function dayBefore(milliseconds: number, bars: ReadonlyMap<number, Bar>): Bar | undefined {
  let sum: Bar | undefined
  for (let start = milliseconds - DAY_MILLISECONDS; start < milliseconds; start += MINUTE_MILLISECONDS) {
    const bar = bars.get(start)
    if (bar === undefined) continue
    if (sum === undefined) sum = { ...bar }
    else addBar(sum, bar)
  }
  return sum
}

/**
 * The volume-weighted average price, rounded to the price's decimals; half a unit is rounded up. A volume of 0 has none.
 * @param quoteVolume at the sum of both scales
 */
export function averagePrice(quoteVolume: Scaled, volume: Scaled): Scaled | undefined {
  if (volume === 0) return undefined
  const doubled = BigInt(addScaled(multiplyScaled(quoteVolume, 2), volume))
  return addScaled(doubled / (2n * BigInt(volume)), 0)
}
