/**
 * The full order book of one market. It works through whole source messages and says what really differed, so that a
 * book crossed midway, a price named twice, a removal of what is not there and an amount repeated never show. It keeps
 * no history and judges nothing: whether the result may be published is the caller's decision (`isCrossed`).
 *
 * Book order, here and in `view`: bids before asks, each side from its best price outward.
 */
import { type AppliedChange, ASK, BID, type LevelChange, type Side } from './event.ts'
import { Levels } from './levels.ts'

/**
 * A message that changes more levels of a side than this, and more than a 16th of those it has, is merged in one pass.
 * Measured: a pass takes 20 us on 1,000 levels and 1.1 ms on 23,000; one by one that buys 130 and 500 changes spread
 * evenly, 200 and 2,500 near the best.
 */
const MERGE_CHANGES_MINIMUM = 64
const MERGE_SHARE_MINIMUM = 1 / 16

export class Book {
  readonly bids = new Levels(BID)
  readonly asks = new Levels(ASK)

  side(side: Side): Levels {
    return side === BID ? this.bids : this.asks
  }

  /**
   * Works through one whole source message, in which the last change of a price wins. Returns what really differs
   * between the books before and after it: one entry a price, in book order.
   */
  apply(changes: readonly LevelChange[]): AppliedChange[] {
    const ordered = inBookOrder(changes)
    const firstAsk = firstAskIndex(ordered)
    const applied: AppliedChange[] = []
    applySide(this.bids, ordered, 0, firstAsk, applied)
    applySide(this.asks, ordered, firstAsk, ordered.length, applied)
    return applied
  }

  /** Makes the book equal to `levels` (the last of a price wins) and returns what really differs, like `apply`. */
  replace(levels: readonly LevelChange[]): AppliedChange[] {
    const changes: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const present = this.side(side)
      for (let rank = 0; rank < present.size; rank++) changes.push({ side, price: present.priceAt(rank), amount: 0 })
    }
    for (const level of levels) changes.push(level)
    return this.apply(changes)
  }

  /** Whether the best bid is at or above the best ask: no such book may be published. */
  isCrossed(): boolean {
    return this.bids.size > 0 && this.asks.size > 0 && this.bids.priceAt(0) >= this.asks.priceAt(0)
  }
}

/** Negative when `left` comes before `right` in book order, 0 when they name the same level. */
export function compareLevels(left: LevelKey, right: LevelKey): number {
  if (left.side !== right.side) return left.side - right.side
  return left.side === BID ? right.price - left.price : left.price - right.price
}

type LevelKey = Pick<LevelChange, 'side' | 'price'>

/** Whether changes stand in book order, each price once. */
export function isInBookOrder(changes: readonly LevelKey[]): boolean {
  for (let index = 1; index < changes.length; index++) {
    if (compareLevels(changes[index - 1]!, changes[index]!) >= 0) return false
  }
  return true
}

/** The changes in book order, the last one of each price only; the very array when that is what it already holds. */
function inBookOrder(changes: readonly LevelChange[]): readonly LevelChange[] {
  if (isInBookOrder(changes)) return changes
  // The sort is stable, so of one price the last named stands last.
  const sorted = changes.slice().sort(compareLevels)
  return sorted.filter((change, index) => {
    const next = sorted[index + 1]
    return next === undefined || compareLevels(change, next) !== 0
  })
}

/** Where the asks begin in a list in book order. */
function firstAskIndex(ordered: readonly LevelChange[]): number {
  let low = 0
  let high = ordered.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ordered[middle]!.side === BID) low = middle + 1
    else high = middle
  }
  return low
}

function applySide(
  levels: Levels,
  ordered: readonly LevelChange[],
  start: number,
  end: number,
  applied: AppliedChange[],
): void {
  const count = end - start
  if (count > MERGE_CHANGES_MINIMUM && count > levels.size * MERGE_SHARE_MINIMUM) {
    levels.merge(ordered, start, end, applied)
    return
  }
  for (let index = start; index < end; index++) {
    const { side, price, amount } = ordered[index]!
    const before = levels.set(price, amount)
    if (before !== amount) applied.push({ side, price, before, after: amount })
  }
}
