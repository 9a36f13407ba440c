/**
 * The ingest benchmark's messages, as docs/how-to/feeding-your-own-book.md describes them: the simulator's events as
 * levels, so that the same changes can be measured with and without the publication, and a generated book with single
 * orders. A seed reproduces both. Payloads are prepared once, and each run numbers them in its own epoch.
 */
import { formatDecimal, type Scaled } from '../src/platform/base/decimal.ts'
import {
  ASK,
  BID,
  type LevelChange,
  type MarketDefinition,
  type MarketEvent,
  type Side,
} from '../src/streaming/market/event.ts'
import type { OrderChange, RestingOrder } from '../src/streaming/market/orders.ts'
import { createRandomStream } from '../src/streaming/sources/simulator/random.ts'
import { createSimulator } from '../src/streaming/sources/simulator/simulator.ts'
import { VirtualClock } from '../test/support/virtual-clock.ts'

export const INGEST_MARKET: MarketDefinition = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 8,
  depth: 1000,
}
export const INGEST_TOKEN = 'engine'
export const SEED = 7

const TIME = '2026-11-20T12:00:00.123456789Z'
const INSTRUMENT = { price_decimals: 2, amount_decimals: 8, state: 'OPEN' }
/** The virtual rate for drawing the simulator's events. The events do not depend on it. */
const DRAWN_PER_SECOND = 10_000

/** Resting orders in the generated book, on average. */
const ORDERS = 5_000
const MID = 6_000_000
/** An order's mean distance from the middle in price steps. */
const MEAN_DISTANCE = 60
const PARTS = 1_000_000

/** Payload texts: a SNAPSHOT and the messages after it. */
export interface Payloads {
  readonly snapshot: string
  readonly updates: readonly string[]
}

/** A message with its position. */
export function messageText(payload: string, epoch: string, seq: number): string {
  return `{"channel":"publication","payload":${payload},"stream":{"epoch":"${epoch}","seq":${seq}}}`
}

/** The simulator's first events. */
export async function levelPayloads(count: number): Promise<Payloads> {
  let snapshot = ''
  let trades = 0
  const updates: string[] = []
  const listener = (event: MarketEvent): void => {
    if (event.type === 'snapshot') snapshot = payload('SNAPSHOT', { instrument: INSTRUMENT, ...sides(event.levels) })
    else if (event.type === 'update' && updates.length < count) {
      const executions = event.executions.map(({ side, price, amount }) => {
        trades += 1
        return { id: String(trades), side, ...level(price, amount) }
      })
      updates.push(payload('UPDATE', { ...sides(event.changes), ...(executions.length === 0 ? {} : { executions }) }))
    }
  }
  const clock = new VirtualClock()
  const markets = [{ market: INGEST_MARKET, venueSymbol: '', listener }]
  const simulator = createSimulator({ markets, seed: SEED, updatesPerSecond: DRAWN_PER_SECOND, clock })
  simulator.start()
  while (updates.length < count) clock.advance(1)
  await simulator.stop()
  return { snapshot, updates }
}

export interface OrderScript {
  readonly resting: readonly RestingOrder[]
  readonly changes: readonly OrderChange[]
}

/** Among 20 changes, 8 are new orders, 7 deletions, 3 modifications and 2 trades, each with half its order. */
export function orderScript(count: number): OrderScript {
  const random = createRandomStream(SEED, 'orders')
  const orders: { orderId: string; side: Side; price: number; amount: number }[] = []
  let number = 0
  const amount = () => 2 + random.below(1_000_000_000)
  const add = (): RestingOrder => {
    const side: Side = random.chance(1, 2) ? BID : ASK
    const distance = 1 + Math.floor(-Math.log(1 - random.below(PARTS) / PARTS) * MEAN_DISTANCE)
    number += 1
    const order = {
      orderId: `order-${number}`,
      side,
      price: MID + (side === BID ? -distance : distance),
      amount: amount(),
    }
    orders.push(order)
    return { ...order }
  }
  const resting = Array.from({ length: ORDERS }, add)
  const change = (): OrderChange => {
    const draw = orders.length < ORDERS ? 0 : random.below(20)
    if (draw < 8) return { type: 'order_add', ...add() }
    const index = random.below(orders.length)
    const order = orders[index]!
    const { orderId } = order
    if (draw < 15) {
      orders[index] = orders[orders.length - 1]!
      orders.pop()
      return { type: 'order_delete', orderId }
    }
    if (draw < 18) {
      order.amount = amount()
      return { type: 'order_modify', orderId, amount: order.amount }
    }
    if (order.amount < 4) return { type: 'order_modify', orderId, amount: order.amount }
    const traded = Math.floor(order.amount / 2)
    order.amount -= traded
    return { type: 'trade', orderId, amount: traded }
  }
  return { resting, changes: Array.from({ length: count }, change) }
}

/** The script as messages with `each` changes. */
export function orderPayloads({ resting, changes }: OrderScript, each: number): Payloads {
  const orders = resting.map(restingText)
  const prices = new Map(resting.map(({ orderId, side, price }) => [orderId, { side, price }]))
  let trades = 0
  const updates: string[] = []
  for (let start = 0; start + each <= changes.length; start += each) {
    const entries = changes.slice(start, start + each).map((change) => {
      if (change.type === 'order_add') {
        prices.set(change.orderId, change)
        return { type: change.type, ...restingText(change) }
      }
      const { type, orderId } = change
      if (type === 'order_delete') return { type, order_id: orderId }
      if (type === 'order_modify') return { type, order_id: orderId, amount: formatDecimal(change.amount, 8) }
      const { side, price } = prices.get(orderId)!
      trades += 1
      const taker = side === BID ? 'sell' : 'buy'
      return { type, id: `trade-${trades}`, order_id: orderId, side: taker, ...level(price, change.amount) }
    })
    updates.push(payload('UPDATE', { orders: entries }))
  }
  return { snapshot: payload('SNAPSHOT', { instrument: INSTRUMENT, orders }), updates }
}

function restingText({ orderId, side, price, amount }: RestingOrder) {
  return { order_id: orderId, side: side === BID ? 'buy' : 'sell', ...level(price, amount) }
}

function payload(type: string, members: object): string {
  return JSON.stringify({ market: INGEST_MARKET.symbol, type, time: TIME, ...members })
}

function level(price: number, amount: Scaled) {
  return { price: formatDecimal(price, 2), amount: formatDecimal(amount, 8) }
}

function sides(changes: readonly LevelChange[]) {
  const of = (wanted: Side) =>
    changes.filter(({ side }) => side === wanted).map(({ price, amount }) => level(price, amount))
  return { bids: of(BID), asks: of(ASK) }
}
