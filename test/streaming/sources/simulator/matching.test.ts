import { describe, expect, it } from 'vitest'
import { ASK, BID, type LevelChange, type Side } from '../../../../src/streaming/market/event.ts'
import {
  MatchingBook,
  type Outcome,
  type RestingOrder,
  type Trade,
} from '../../../../src/streaming/sources/simulator/matching.ts'
import { createRandomStream } from '../../../../src/streaming/sources/simulator/random.ts'
import { expectEqual } from '../../../support/expect-equal.ts'

const SIDES = [BID, ASK] as const

interface PlainOrder {
  id: number
  side: Side
  price: number
  amount: number
}

/** The oracle: every order in one array in the order of arrival, searched from end to end each time. */
class PlainMatcher {
  orders: PlainOrder[] = []

  place(id: number, side: Side, price: number | undefined, amount: number): { trades: Trade[]; rest: number } {
    const trades: Trade[] = []
    let rest = amount
    while (rest > 0) {
      const maker = this.bestOpposite(side, price)
      if (maker === undefined) break
      const traded = Math.min(rest, maker.amount)
      rest -= traded
      maker.amount -= traded
      this.orders = this.orders.filter((order) => order.amount > 0)
      trades.push({ price: maker.price, amount: traded, makerOrderId: maker.id, takerOrderId: id, takerSide: side })
    }
    if (rest > 0 && price !== undefined) this.orders.push({ id, side, price, amount: rest })
    return { trades, rest }
  }

  bestOpposite(side: Side, price: number | undefined): PlainOrder | undefined {
    let best: PlainOrder | undefined
    for (const order of this.orders) {
      if (order.side === side) continue
      if (price !== undefined && (side === BID ? order.price > price : order.price < price)) continue
      if (best === undefined || (side === BID ? order.price < best.price : order.price > best.price)) best = order
    }
    return best
  }

  cancel(id: number): PlainOrder | undefined {
    const found = this.orders.find((order) => order.id === id)
    this.orders = this.orders.filter((order) => order !== found)
    return found
  }

  levels(): LevelChange[] {
    const totals = (side: Side) => {
      const prices = new Map<number, number>()
      for (const order of this.orders) {
        if (order.side === side) prices.set(order.price, (prices.get(order.price) ?? 0) + order.amount)
      }
      const sorted = [...prices].sort(([left], [right]) => (side === BID ? right - left : left - right))
      return sorted.map(([price, amount]) => ({ side, price, amount }))
    }
    return [...totals(BID), ...totals(ASK)]
  }
}

function levelKey({ side, price }: LevelChange): string {
  return `${side}@${price}`
}

/** Applies the reported changes to what a reader of them holds. */
function follow(held: Map<string, number>, changes: readonly LevelChange[]): void {
  const keys = changes.map(levelKey)
  expect(new Set(keys).size).toBe(keys.length)
  for (const change of changes) {
    const before = held.get(levelKey(change)) ?? 0
    expect(change.amount).not.toBe(before)
    if (change.amount === 0) held.delete(levelKey(change))
    else held.set(levelKey(change), Number(change.amount))
  }
}

/** What a book shows: its levels, their queues from oldest to newest, and the counts. */
function contentsOf(book: MatchingBook) {
  return SIDES.map((side) => {
    const levels = Array.from({ length: book.levelCount(side) }, (_, rank) => {
      const level = book.levelAt(side, rank)!
      const queue: string[] = []
      let last: RestingOrder | undefined
      for (let order: RestingOrder | undefined = level.oldest; order !== undefined; order = order.next) {
        queue.push(`${order.id}:${order.remaining}`)
        last = order
      }
      const behind = side === BID ? level.price - 1 : level.price + 1
      const ranks = [book.rankOf(side, level.price), book.rankOf(side, behind)]
      return {
        price: level.price,
        total: level.total,
        orders: level.orders,
        newest: last === level.newest,
        queue,
        ranks,
      }
    })
    return { orders: book.orderCount(side), levels }
  })
}

function expectedContents(plain: PlainMatcher): ReturnType<typeof contentsOf> {
  return SIDES.map((side) => {
    const resting = plain.orders.filter((order) => order.side === side)
    const levels = plain.levels().filter((level) => level.side === side)
    return {
      orders: resting.length,
      levels: levels.map(({ price, amount }, rank) => {
        const queue = resting.filter((order) => order.price === price).map((order) => `${order.id}:${order.amount}`)
        return { price, total: Number(amount), orders: queue.length, newest: true, queue, ranks: [rank, rank + 1] }
      }),
    }
  })
}

function checkBook(book: MatchingBook, plain: PlainMatcher, held: Map<string, number>): void {
  const levels = plain.levels()
  expectEqual(book.snapshot(), levels)
  expectEqual(held, new Map(levels.map((level) => [levelKey(level), level.amount])))
  expect(book.levelAt(BID, 0)?.price ?? 0).toBeLessThan(book.levelAt(ASK, 0)?.price ?? Number.POSITIVE_INFINITY)
  expectEqual(contentsOf(book), expectedContents(plain))
}

describe('the matching core against a naive matcher', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'the matching core agrees with a naive matcher on every trade, level and queue under random orders, seed %d',
    (seed) => {
      const random = createRandomStream(seed, 'orders')
      const book = new MatchingBook()
      const plain = new PlainMatcher()
      const held = new Map<string, number>()
      const cameIn = { resting: 0, traded: 0, cancelled: 0, placed: 0 }
      const seen = { partial: 0, sweeps: 0, unfilled: 0, missedCancels: 0 }
      for (let step = 1; step <= 1_000; step++) {
        const side = random.below(2) as Side
        const roll = random.below(100)
        const amount = 1 + random.below(random.chance(1, 10) ? (roll < 70 ? 400 : 4_000) : 50)
        let outcome: Outcome | undefined
        if (roll < 70) {
          const price = 100 + random.below(30) + (side === BID ? -8 : 8)
          outcome = book.placeLimit(side, price, amount)
          const { trades, rest } = plain.place(outcome.orderId, side, price, amount)
          expect(outcome).toMatchObject({ trades, restingAmount: rest, cancelledAmount: 0 })
          cameIn.placed += amount
        } else if (roll < 80) {
          outcome = book.placeMarket(side, amount)
          const { trades, rest } = plain.place(outcome.orderId, side, undefined, amount)
          expect(outcome).toMatchObject({ trades, restingAmount: 0, cancelledAmount: rest })
          cameIn.placed += amount
          if (rest > 0) seen.unfilled++
        } else {
          const id = 1 + random.below(step)
          outcome = book.cancel(id)
          const cancelled = plain.cancel(id)
          expectEqual(outcome?.cancelledAmount, cancelled?.amount)
          if (outcome === undefined) seen.missedCancels++
        }
        for (const trade of outcome?.trades ?? []) cameIn.traded += trade.amount
        if ((outcome?.trades.length ?? 0) > 0 && outcome!.restingAmount > 0) seen.partial++
        if (new Set(outcome?.trades.map((trade) => trade.price)).size > 2) seen.sweeps++
        cameIn.cancelled += outcome?.cancelledAmount ?? 0
        follow(held, outcome?.changes ?? [])
        checkBook(book, plain, held)
        cameIn.resting = plain.orders.reduce((sum, order) => sum + order.amount, 0)
        // A trade uses up its amount on both sides.
        expectEqual(cameIn.placed, cameIn.resting + 2 * cameIn.traded + cameIn.cancelled)
      }
      // The orders were such that every kind of outcome occurred.
      for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
    },
  )
})

describe('the matching core', () => {
  it('the matching core trades at the resting price, best price first, oldest order first', () => {
    const book = new MatchingBook()
    const late = book.placeLimit(ASK, 102, 5)
    const older = book.placeLimit(ASK, 101, 3)
    const newer = book.placeLimit(ASK, 101, 4)
    const taker = book.placeLimit(BID, 102, 9)
    expect(taker.trades.map((trade) => [trade.makerOrderId, trade.price, trade.amount])).toEqual([
      [older.orderId, 101, 3],
      [newer.orderId, 101, 4],
      [late.orderId, 102, 2],
    ])
    expect(taker.changes).toEqual([
      { side: ASK, price: 101, amount: 0 },
      { side: ASK, price: 102, amount: 3 },
    ])
  })

  it('the matching core keeps the place in the queue of an order that was filled in part', () => {
    const book = new MatchingBook()
    const first = book.placeLimit(BID, 50, 10)
    const second = book.placeLimit(BID, 50, 10)
    book.placeMarket(ASK, 4)
    const { trades } = book.placeMarket(ASK, 8)
    expect(trades.map((trade) => [trade.makerOrderId, trade.amount])).toEqual([
      [first.orderId, 6],
      [second.orderId, 2],
    ])
  })

  it('the matching core cancels the rest of a market order that cannot be filled, and reports it', () => {
    const book = new MatchingBook()
    book.placeLimit(ASK, 10, 3)
    expect(book.placeMarket(BID, 5)).toMatchObject({ restingAmount: 0, cancelledAmount: 2 })
    expect(book.placeMarket(BID, 5)).toMatchObject({ trades: [], changes: [], cancelledAmount: 5 })
    expect(book.snapshot()).toEqual([])
  })

  it('the matching core knows no order that has traded or was cancelled', () => {
    const book = new MatchingBook()
    const traded = book.placeLimit(BID, 10, 1)
    book.placeMarket(ASK, 1)
    const cancelled = book.placeLimit(BID, 10, 1)
    book.cancel(cancelled.orderId)
    expect(book.cancel(traded.orderId)).toBeUndefined()
    expect(book.cancel(cancelled.orderId)).toBeUndefined()
  })

  it.each([0, -1, 0.5, Number.NaN, 2 ** 53])('the matching core refuses %d as a price and as an amount', (value) => {
    const book = new MatchingBook()
    expect(() => book.placeLimit(BID, value, 1)).toThrow('price must be a positive safe integer')
    expect(() => book.placeLimit(BID, 1, value)).toThrow('amount must be a positive safe integer')
    expect(() => book.placeMarket(BID, value)).toThrow('amount must be a positive safe integer')
    expect(book.snapshot()).toEqual([])
  })
})
