/**
 * A publisher's message content as its market's integers: exact, never rounded. Content that the market cannot hold
 * (more decimals, a price that is too large, a price twice) throws `Broken` with the member's path. Pure.
 */
import { parseDecimal, type Scaled } from '../../../platform/base/decimal.ts'
import {
  ASK,
  BID,
  type Execution,
  type Instrument,
  type LevelChange,
  type MarketDefinition,
  type Side,
} from '../../market/event.ts'
import type { OrderChange, OrderProblem, RestingOrder } from '../../market/orders.ts'
import { Broken, memberOf } from './member-checks.ts'
import type {
  PublishedExecution,
  PublishedInstrument,
  PublishedLevel,
  PublishedOrder,
  PublishedOrderChange,
} from './message.ts'

/** Throws when the engine uses more decimals than the market has. */
export function checkDecimals(instrument: PublishedInstrument, market: MarketDefinition, path: string): void {
  const check = (member: string, decimals: number, held: number) => {
    if (decimals <= held) return
    throw new Broken(`${path}.${member}`, `is ${decimals}, but the market ${market.symbol} has ${held}`)
  }
  check('price_decimals', instrument.priceDecimals, market.priceDecimals)
  check('amount_decimals', instrument.amountDecimals, market.amountDecimals)
}

/**
 * Undefined while the publisher does not know the state. A simulated market then counts as open, and stays simulated.
 */
export function instrumentOf({ state, reason, simulated }: PublishedInstrument): Instrument | undefined {
  if (state === undefined) return simulated ? { state: 'OPEN', reason, simulated } : undefined
  return simulated ? { state, reason, simulated } : { state, reason }
}

/** Both sides' levels. Each price appears once per side. */
export function scaledLevels(
  bids: readonly PublishedLevel[],
  asks: readonly PublishedLevel[],
  market: MarketDefinition,
): LevelChange[] {
  const levels: LevelChange[] = []
  const bidSide = new ScaledSide(BID, bids, market, levels)
  bidSide.add(bids.length)
  bidSide.requireDistinct()
  const askSide = new ScaledSide(ASK, asks, market, levels)
  askSide.add(asks.length)
  askSide.requireDistinct()
  return levels
}

/** One side's levels. They may be added in parts, to a list that holds at most the other side's levels. */
export class ScaledSide {
  readonly #side: Side
  readonly #entries: readonly PublishedLevel[]
  readonly #market: MarketDefinition
  readonly #levels: LevelChange[]
  readonly #start: number
  #next = 0
  #isRising = true
  #isFalling = true

  constructor(side: Side, entries: readonly PublishedLevel[], market: MarketDefinition, levels: LevelChange[]) {
    this.#side = side
    this.#entries = entries
    this.#market = market
    this.#levels = levels
    this.#start = levels.length
  }

  /** Whether the best price is first and the worst one last, as far as they were added. */
  get isBestFirst(): boolean {
    return this.#side === BID ? this.#isFalling : this.#isRising
  }

  /** Adds the next levels, at most `count`. Returns whether others are left. */
  add(count: number): boolean {
    const entries = this.#entries
    const end = Math.min(entries.length, this.#next + count)
    const path = this.#path
    const side = this.#side
    const levels = this.#levels
    for (let index = this.#next; index < end; index++) {
      const entry = entries[index]!
      const price = scaledPrice(entry.price, this.#market, path, index)
      const before = levels[levels.length - 1]
      if (index > 0 && before !== undefined) {
        this.#isRising &&= price > before.price
        this.#isFalling &&= price < before.price
      }
      levels.push({ side, price, amount: scaledAmount(entry.amount, this.#market, path, index) })
    }
    this.#next = end
    return end < entries.length
  }

  /** Throws when a price stands there twice. */
  requireDistinct(): void {
    // Sorted levels, which nearly all publishers send, have no price twice.
    if (this.#isRising || this.#isFalling) return
    const prices = new Set<number>()
    for (let index = this.#start; index < this.#levels.length; index++) {
      const { price } = this.#levels[index]!
      if (prices.has(price)) {
        throw new Broken(`${this.#path}[${index - this.#start}].price`, 'occurs in another level on the same side')
      }
      prices.add(price)
    }
  }

  get #path(): string {
    return this.#side === BID ? 'payload.bids' : 'payload.asks'
  }
}

export function scaledExecution(entry: PublishedExecution, market: MarketDefinition, path: string): Execution {
  const { id, side, venue, executedAtMilliseconds } = entry
  return {
    price: scaledPrice(entry.price, market, path),
    amount: scaledAmount(entry.amount, market, path),
    id,
    ...(side === undefined ? {} : { side }),
    ...(venue === undefined ? {} : { venue }),
    executedAtMilliseconds,
  }
}

export function scaledOrder(order: PublishedOrder, market: MarketDefinition, path: string): RestingOrder {
  return {
    orderId: order.orderId,
    side: order.side === 'buy' ? BID : ASK,
    price: scaledPrice(order.price, market, path),
    amount: scaledAmount(order.amount, market, path),
  }
}

/** The changes to resting orders. Undefined for a trade without an order, which changes none. */
export function scaledOrderChange(
  change: PublishedOrderChange,
  market: MarketDefinition,
  path: string,
): OrderChange | undefined {
  const { type, orderId } = change
  switch (type) {
    case 'order_add':
      return { type, ...scaledOrder(change, market, path) }
    case 'order_modify':
      return {
        type,
        orderId: change.orderId,
        amount: scaledAmount(change.amount, market, path),
        price: change.price === undefined ? undefined : scaledPrice(change.price, market, path),
      }
    case 'order_delete':
      return change
    case 'trade':
      return orderId === undefined ? undefined : { type, orderId, amount: scaledAmount(change.amount, market, path) }
  }
}

/** Throws the problem with one entry in `payload.orders`. */
export function throwOrderProblem({ index, rule }: OrderProblem): never {
  throw new Broken(`payload.orders[${index}]`, rule)
}

function scaledPrice(text: string, market: MarketDefinition, path: string, index?: number): number {
  const price = scaled(text, market.priceDecimals, market, path, index, 'price')
  if (typeof price === 'number' && price > 0) return price
  throw new Broken(memberOf(path, index, 'price'), `is not above 0, or too large for the market ${market.symbol}`)
}

function scaledAmount(text: string, market: MarketDefinition, path: string, index?: number): Scaled {
  return scaled(text, market.amountDecimals, market, path, index, 'amount')
}

function scaled(
  text: string,
  decimals: number,
  { symbol }: MarketDefinition,
  path: string,
  index: number | undefined,
  member: string,
): Scaled {
  const value = parseDecimal(text, decimals)
  if (typeof value !== 'string') return value
  throw new Broken(memberOf(path, index, member), `has more than the ${decimals} decimals of the market ${symbol}`)
}
