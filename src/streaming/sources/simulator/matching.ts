/**
 * The matching core: one market's resting orders, matched by price, then by time. Each operation returns its trades and
 * level changes. Prices and amounts are positive safe integers at the market's scale. It uses no time and no
 * randomness, orders have no owner, and the book is never crossed between two operations.
 */
import { assert } from '../../../platform/base/assert.ts'
import { ASK, BID, type LevelChange, type Side } from '../../market/event.ts'

/**
 * One match between an incoming order and the oldest resting order at the best price. It trades at the resting price.
 */
export interface Trade {
  readonly price: number
  readonly amount: number
  readonly makerOrderId: number
  readonly takerOrderId: number
  readonly takerSide: Side
}

/**
 * One operation's result. `changes` contains each changed price once, with the level's total after the operation. The
 * incoming amount is `restingAmount` + `cancelledAmount` + the trades' sum.
 */
export interface Outcome {
  readonly orderId: number
  readonly trades: readonly Trade[]
  readonly changes: readonly LevelChange[]
  /** The incoming order's part that now rests in the book. */
  readonly restingAmount: number
  /** The untraded amount that left the market: a market order's remainder, or the cancelled order. */
  readonly cancelledAmount: number
}

/** A price with its resting orders. Read-only outside this file, and valid until the next operation. */
interface RestingLevel {
  readonly price: number
  readonly total: number
  /** How many orders rest there. */
  readonly orders: number
  readonly oldest: RestingOrder
  readonly newest: RestingOrder
}

export interface RestingOrder {
  readonly id: number
  readonly remaining: number
  readonly next: RestingOrder | undefined
}

interface Order {
  readonly id: number
  readonly side: Side
  readonly level: Level
  remaining: number
  previous: Order | undefined
  next: Order | undefined
}

/** A level's orders form a doubly linked list, so a cancel in the middle costs the same as at the end. */
interface Level {
  readonly price: number
  total: number
  orders: number
  oldest: Order | undefined
  newest: Order | undefined
}

export class MatchingBook {
  /** Worst price first, best last. Most changes are at the array's end, where they are cheap. */
  readonly #levels: readonly [Level[], Level[]] = [[], []]
  readonly #orders = new Map<number, Order>()
  readonly #orderCounts: [number, number] = [0, 0]
  #nextOrderId = 1

  /** Trades up to `price`. The remainder joins the end of the queue at `price`. */
  placeLimit(side: Side, price: number, amount: number): Outcome {
    assertPositive(price, 'price')
    assertPositive(amount, 'amount')
    const orderId = this.#nextOrderId++
    const trades: Trade[] = []
    const changes: LevelChange[] = []
    const rest = this.#take(orderId, side, amount, price, trades, changes)
    if (rest > 0) {
      const level = this.#rest(orderId, side, price, rest)
      changes.push({ side, price, amount: level.total })
    }
    return { orderId, trades, changes, restingAmount: rest, cancelledAmount: 0 }
  }

  /** Trades at any price. A remainder that the other side cannot fill is cancelled. */
  placeMarket(side: Side, amount: number): Outcome {
    assertPositive(amount, 'amount')
    const orderId = this.#nextOrderId++
    const trades: Trade[] = []
    const changes: LevelChange[] = []
    const rest = this.#take(orderId, side, amount, undefined, trades, changes)
    return { orderId, trades, changes, restingAmount: 0, cancelledAmount: rest }
  }

  /** Removes a resting order; undefined when the order does not rest. */
  cancel(orderId: number): Outcome | undefined {
    const order = this.#orders.get(orderId)
    if (order === undefined) return undefined
    const { side, level, remaining } = order
    level.total -= remaining
    this.#unlink(order)
    const changes = [{ side, price: level.price, amount: level.total }]
    return { orderId, trades: [], changes, restingAmount: 0, cancelledAmount: remaining }
  }

  /** The level at `rank` counted from the best (0). */
  levelAt(side: Side, rank: number): RestingLevel | undefined {
    const levels = this.#levels[side]
    return levels[levels.length - 1 - rank] as RestingLevel | undefined
  }

  /** How many levels on this side are better than `price`: the rank of the first level at `price` or worse. */
  rankOf(side: Side, price: number): number {
    return this.#levels[side].length - this.#position(side, side === BID ? price + 1 : price - 1)
  }

  levelCount(side: Side): number {
    return this.#levels[side].length
  }

  orderCount(side: Side): number {
    return this.#orderCounts[side]
  }

  /** Every level with its total: bids from the best down, then asks from the best up. */
  snapshot(): LevelChange[] {
    const levels: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      for (let index = this.#levels[side].length - 1; index >= 0; index--) {
        const level = this.#levels[side][index]!
        levels.push({ side, price: level.price, amount: level.total })
      }
    }
    return levels
  }

  /** Matches against the other side, best price first, oldest order first. Returns the unfilled amount. */
  #take(
    takerOrderId: number,
    takerSide: Side,
    amount: number,
    limitPrice: number | undefined,
    trades: Trade[],
    changes: LevelChange[],
  ): number {
    const makerSide = takerSide === BID ? ASK : BID
    const levels = this.#levels[makerSide]
    let rest = amount
    while (rest > 0) {
      const level = levels[levels.length - 1]
      if (level === undefined || (limitPrice !== undefined && !crosses(takerSide, limitPrice, level.price))) break
      while (rest > 0 && level.oldest !== undefined) {
        const maker = level.oldest
        const traded = Math.min(rest, maker.remaining)
        rest -= traded
        maker.remaining -= traded
        level.total -= traded
        trades.push({ price: level.price, amount: traded, makerOrderId: maker.id, takerOrderId, takerSide })
        if (maker.remaining === 0) this.#unlink(maker)
      }
      changes.push({ side: makerSide, price: level.price, amount: level.total })
    }
    return rest
  }

  #rest(id: number, side: Side, price: number, amount: number): Level {
    const level = this.#levelFor(side, price)
    const order: Order = { id, side, level, remaining: amount, previous: level.newest, next: undefined }
    if (level.newest === undefined) level.oldest = order
    else level.newest.next = order
    level.newest = order
    level.orders++
    level.total += amount
    assertPositive(level.total, 'level total')
    this.#orders.set(id, order)
    this.#orderCounts[side]++
    return level
  }

  /** Removes an order from its queue. Removes its level too when it was the last order. */
  #unlink(order: Order): void {
    const { level, previous, next, side } = order
    if (previous === undefined) level.oldest = next
    else previous.next = next
    if (next === undefined) level.newest = previous
    else next.previous = previous
    level.orders--
    this.#orders.delete(order.id)
    this.#orderCounts[side]--
    if (level.oldest === undefined) this.#levels[side].splice(this.#position(side, level.price), 1)
  }

  #levelFor(side: Side, price: number): Level {
    const levels = this.#levels[side]
    const position = this.#position(side, price)
    const found = levels[position]
    if (found !== undefined && found.price === price) return found
    const level: Level = { price, total: 0, orders: 0, oldest: undefined, newest: undefined }
    levels.splice(position, 0, level)
    return level
  }

  /** Index of `price`, or its insertion point, in its side's array. */
  #position(side: Side, price: number): number {
    const levels = this.#levels[side]
    let low = 0
    let high = levels.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = levels[middle]!.price
      if (side === BID ? other < price : other > price) low = middle + 1
      else high = middle
    }
    return low
  }
}

function crosses(takerSide: Side, limitPrice: number, makerPrice: number): boolean {
  return takerSide === BID ? makerPrice <= limitPrice : makerPrice >= limitPrice
}

function assertPositive(value: number, what: string): void {
  assert(Number.isSafeInteger(value) && value > 0, `${what} must be a positive safe integer, not ${value}`)
}
