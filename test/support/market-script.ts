/**
 * Random source messages for a market, as irregular as real ones: changes cluster around a mid price that drifts and
 * jumps, a price occurs twice, missing levels are removed, amounts repeat, some exceed the safe integers, snapshots
 * occur in between and may be empty.
 */
import fc from 'fast-check'
import type { Scaled } from '../../src/platform/base/decimal.ts'
import type { Book } from '../../src/streaming/market/book.ts'
import { type AppliedChange, ASK, BID, type LevelChange } from '../../src/streaming/market/event.ts'
import type { NaiveBook } from './naive-book.ts'

export type ScriptMessage =
  | { readonly type: 'snapshot'; readonly levels: readonly LevelChange[] }
  | { readonly type: 'update'; readonly changes: readonly LevelChange[] }

const MID_START = 1000

/** Few amounts, so that a level often gets its current or previous amount. */
const amount: fc.Arbitrary<Scaled> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.MAX_SAFE_INTEGER, 2n ** 53n, 2n ** 53n + 1n, 2n ** 90n) },
)

/** Ticks away from the mid price: mostly near, sometimes on the wrong side. */
const distance = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 40 }) },
)

const relativeLevel = fc.record({ side: fc.constantFrom(BID, ASK), distance, amount })

const step = fc.record({
  drift: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -2, max: 2 }) },
    { weight: 1, arbitrary: fc.constantFrom(-30, 30) },
  ),
  type: fc.oneof(
    { weight: 12, arbitrary: fc.constant('update' as const) },
    { weight: 1, arbitrary: fc.constant('snapshot' as const) },
  ),
  levels: fc.oneof(
    { weight: 6, arbitrary: fc.array(relativeLevel, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(relativeLevel, { maxLength: 90 }) },
  ),
})

/** A list of up to `lengthMax` messages, with prices around the drifting mid price. */
export function scriptArbitrary(lengthMax: number): fc.Arbitrary<ScriptMessage[]> {
  return fc.array(step, { maxLength: lengthMax, size: 'max' }).map((steps) => {
    let mid = MID_START
    return steps.map(({ drift, type, levels }): ScriptMessage => {
      mid += drift
      const placed = levels.map((level) => ({
        side: level.side,
        price: level.side === BID ? mid - level.distance : mid + level.distance,
        amount: level.amount,
      }))
      return type === 'snapshot' ? { type, levels: placed } : { type, changes: placed }
    })
  })
}

/** Applies a message to a book and to its oracle. */
export function applyMessage(message: ScriptMessage, book: Book, naive: NaiveBook): AppliedChange[] {
  if (message.type === 'snapshot') {
    naive.replace(message.levels)
    return book.replace(message.levels)
  }
  naive.apply(message.changes)
  return book.apply(message.changes)
}
