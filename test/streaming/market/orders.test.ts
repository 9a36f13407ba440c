import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addScaled, type Scaled } from '../../../src/platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../../src/streaming/market/event.ts'
import { LevelAmounts } from '../../../src/streaming/market/level-amounts.ts'
import { type OrderChange, Orders, type RestingOrder } from '../../../src/streaming/market/orders.ts'
import { propertySettings } from '../../support/property.ts'

const MARKET = { priceDecimals: 2, amountDecimals: 18 }
const PRICE_MAX = 6
const ORDERS_MAX = 12
/** Sums of these pass 2^53 in both directions. */
const AMOUNTS: readonly Scaled[] = [1, 2, 5, Number.MAX_SAFE_INTEGER, 2n ** 53n, 2n ** 70n]

/** Orders in a list; every result is computed from all of them. */
class NaiveOrders {
  #orders: RestingOrder[] = []

  replace(orders: readonly RestingOrder[]): boolean {
    this.#orders = []
    return orders.every((order) => this.#add(order))
  }

  /** Whether all changes are possible. */
  apply(changes: readonly OrderChange[]): boolean {
    return changes.every((change) => this.#apply(change))
  }

  levels(): Map<string, Scaled> {
    const sums = new Map<string, bigint>()
    for (const { side, price, amount } of this.#orders) {
      sums.set(`${side} ${price}`, (sums.get(`${side} ${price}`) ?? 0n) + BigInt(amount))
    }
    return new Map([...sums].map(([key, sum]) => [key, sum <= Number.MAX_SAFE_INTEGER ? Number(sum) : sum]))
  }

  #add({ orderId, side, price, amount }: RestingOrder): boolean {
    if (this.#orders.length === ORDERS_MAX || this.#orders.some((known) => known.orderId === orderId)) return false
    this.#orders.push({ orderId, side, price, amount })
    return true
  }

  #apply(change: OrderChange): boolean {
    if (change.type === 'order_add') return this.#add(change)
    const known = this.#orders.find(({ orderId }) => orderId === change.orderId)
    if (known === undefined) return false
    this.#orders = this.#orders.filter((order) => order !== known)
    if (change.type === 'order_delete') return true
    if (change.type === 'order_modify') {
      this.#orders.push({ ...known, price: change.price ?? known.price, amount: change.amount })
      return true
    }
    if (change.amount > known.amount) return false
    const amount = addScaled(known.amount, -change.amount)
    if (amount !== 0) this.#orders.push({ ...known, amount })
    return true
  }
}

const orderId = fc.integer({ min: 0, max: 15 }).map(String)
const side = fc.constantFrom<Side>(BID, ASK)
const price = fc.integer({ min: 1, max: PRICE_MAX })
const amount = fc.constantFrom(...AMOUNTS)
const order = fc.record({ orderId, side, price, amount })
const change: fc.Arbitrary<OrderChange> = fc.oneof(
  { weight: 4, arbitrary: order.map((added) => ({ type: 'order_add' as const, ...added })) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('trade' as const), orderId, amount }) },
  {
    weight: 2,
    arbitrary: fc.record(
      { type: fc.constant('order_modify' as const), orderId, amount, price },
      { requiredKeys: ['type', 'orderId', 'amount'] },
    ),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('order_delete' as const), orderId }) },
)

function asMap(levels: readonly LevelChange[]): Map<string, Scaled> {
  return new Map(levels.map((level) => [`${level.side} ${level.price}`, level.amount]))
}

test('orders become the same levels as a sum over all of them, whatever the changes', () => {
  let refused = 0
  const property = fc.property(
    fc.array(order, { maxLength: 8 }),
    fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 30, size: 'max' }),
    (start, messages) => {
      const levels = new LevelAmounts(MARKET)
      const orders = new Orders(levels, ORDERS_MAX)
      const naive = new NaiveOrders()
      expect(orders.replace(start) === undefined).toBe(naive.replace(start))
      if (!new NaiveOrders().replace(start)) return
      let published = naive.levels()
      for (const changes of messages) {
        const result = orders.apply(changes)
        const isPossible = naive.apply(changes)
        expect(Array.isArray(result)).toBe(isPossible)
        if (!Array.isArray(result)) {
          refused++
          expect(orders.replace(start)).toBeUndefined()
          naive.replace(start)
          published = naive.levels()
          continue
        }
        expect(asMap(result).size).toBe(result.length)
        for (const [key, changed] of asMap(result)) {
          if (changed === 0) published.delete(key)
          else published.set(key, changed)
        }
        const expected = naive.levels()
        expect(published).toEqual(expected)
        expect(asMap(levels.levels())).toEqual(expected)
        expect(levels.digest()).toBe(digestOf(levels.levels()))
      }
    },
  )
  fc.assert(property, propertySettings(150))
  expect(refused).toBeGreaterThan(20)
})

/** Computed at once, by levels that were never changed. */
function digestOf(levels: readonly LevelChange[]): string {
  const fresh = new LevelAmounts(MARKET)
  for (const level of levels) fresh.set(level.side, level.price, level.amount)
  return fresh.digest()
}

test('the first order change that no book can have is named', () => {
  const orders = new Orders(new LevelAmounts(MARKET), 3)
  const bid = (id: string, units: Scaled) => ({ orderId: id, side: BID, price: 100, amount: units }) as const
  expect(orders.replace([bid('1', 5), bid('2', 7)])).toBeUndefined()
  expect(orders.apply([{ type: 'trade', orderId: '1', amount: 5 }])).toEqual([{ side: BID, price: 100, amount: 7 }])
  const problem = (changes: readonly OrderChange[]) => {
    orders.replace([bid('1', 5), bid('2', 7)])
    return orders.apply(changes)
  }
  expect(
    problem([
      { type: 'order_delete', orderId: '1' },
      { type: 'trade', orderId: '1', amount: 1 },
    ]),
  ).toEqual({ index: 1, rule: 'names an order that is not in the book' })
  expect(problem([{ type: 'order_add', ...bid('2', 1) }])).toEqual({
    index: 0,
    rule: 'adds an order that is already in the book',
  })
  expect(problem([{ type: 'trade', orderId: '2', amount: 8 }])).toEqual({
    index: 0,
    rule: 'trades more than the order has',
  })
  expect(problem([bid('3', 1), bid('4', 1)].map((added) => ({ type: 'order_add', ...added })))).toEqual({
    index: 1,
    rule: 'makes the book larger than 3 orders',
  })
})

test('the digest of a book that changed by more levels than it has is that of the book', () => {
  const levels = new LevelAmounts(MARKET)
  levels.set(BID, 10, 1)
  levels.digest()
  for (let at = 20; at < 60; at++) levels.set(ASK, at, 3)
  for (let at = 20; at < 59; at++) levels.set(ASK, at, 0)
  expect(levels.digest()).toBe(digestOf(levels.levels()))
  levels.clear()
  expect(levels.digest()).toBe('0000000000000000')
})
