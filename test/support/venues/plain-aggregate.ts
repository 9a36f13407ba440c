/**
 * The rule for a book from several sources, implemented in the simplest way on texts: sources in the order in which
 * their books changed, newest first. A level is shown if it crosses no shown level from a newer source, and equal
 * prices add up.
 */
import type { LevelText, PlainLevels } from './plain-book.ts'

/** Decimals that can represent every amount. */
const DECIMALS = 18

/** The sources' combined book, newest source first, cut to a depth. */
export function plainAggregate(newestFirst: readonly PlainLevels[], depth: number): PlainLevels {
  const bids = new Map<number, LevelText>()
  const asks = new Map<number, LevelText>()
  for (const book of newestFirst) {
    const bestBid = Math.max(...bids.keys())
    const bestAsk = Math.min(...asks.keys())
    for (const level of book.bids) if (Number(level[0]) < bestAsk) add(bids, level)
    for (const level of book.asks) if (Number(level[0]) > bestBid) add(asks, level)
  }
  const side = (levels: ReadonlyMap<number, LevelText>, sign: number) =>
    [...levels]
      .sort(([left], [right]) => sign * (left - right))
      .slice(0, depth)
      .map(([, level]) => level)
  return { bids: side(bids, -1), asks: side(asks, 1) }
}

/** All permutations. */
export function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  )
}

function add(side: Map<number, LevelText>, [price, amount]: LevelText): void {
  const known = side.get(Number(price))
  side.set(Number(price), known === undefined ? [price, amount] : [price, sum(known[1], amount)])
}

function sum(left: string, right: string): string {
  const total = String(units(left) + units(right)).padStart(DECIMALS + 1, '0')
  return `${total.slice(0, -DECIMALS)}.${total.slice(-DECIMALS)}`
}

function units(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'))
}
