/**
 * Builds a large SNAPSHOT's book in parts, before the SNAPSHOT takes effect, so that other work runs in between. Pure.
 */
import { Book } from '../../market/book.ts'
import { ASK, BID, type LevelChange, type MarketDefinition } from '../../market/event.ts'
import { LevelAmounts } from '../../market/level-amounts.ts'
import { Broken } from './member-checks.ts'
import type { PublishedLevel } from './message.ts'
import type { PreparedBook } from './prepared-book.ts'
import { ScaledSide } from './scaled-content.ts'

/** Levels between two steps: about 0.2 ms. */
export const PART_LEVELS = 1_024

export function* prepareBook(
  { bids, asks }: { readonly bids: readonly PublishedLevel[]; readonly asks: readonly PublishedLevel[] },
  market: MarketDefinition,
): Generator<void, PreparedBook> {
  const levels: LevelChange[] = []
  const amounts = new LevelAmounts(market)
  let isInOrder = true
  try {
    for (const [side, entries] of [
      [BID, bids],
      [ASK, asks],
    ] as const) {
      const scaled = new ScaledSide(side, entries, market, levels)
      while (scaled.add(PART_LEVELS)) yield
      scaled.requireDistinct()
      isInOrder &&= scaled.isBestFirst
    }
  } catch (error) {
    if (error instanceof Broken) return { market, broken: error, levels: [], amounts }
    throw error
  }
  for (const [index, { side, price, amount }] of levels.entries()) {
    amounts.set(side, price, amount)
    if (index % PART_LEVELS === 0) yield
  }
  return { market, broken: undefined, levels: isInOrder ? levels : inBookOrder(levels), amounts }
}

/** Unsorted lists are rare, and sorted at once. */
function inBookOrder(levels: readonly LevelChange[]): LevelChange[] {
  const book = new Book()
  return book.apply(levels).map(({ side, price, after }) => ({ side, price, amount: after }))
}
