/**
 * A book of single orders, aggregated exactly to levels. It applies order changes and returns the changed levels. Every
 * change names a resting order or adds a new one. Impossible changes (an unknown order, an order added twice, a trade
 * larger than the order) are problems, after which the owner needs a new list of all orders. It keeps at most
 * `ordersMax` orders and has no clock, no socket and no JSON. Pure.
 */
import { addScaled, type Scaled } from '../../platform/base/decimal.ts'
import type { LevelChange, Side } from './event.ts'
import type { LevelAmounts } from './level-amounts.ts'

export interface RestingOrder {
  readonly orderId: string
  readonly side: Side
  readonly price: number
  /** Above 0. */
  readonly amount: Scaled
}

export type OrderChange =
  | ({ readonly type: 'order_add' } & RestingOrder)
  /** An order's new amount, above 0, and its new price, if it changes. */
  | {
      readonly type: 'order_modify'
      readonly orderId: string
      readonly amount: Scaled
      readonly price?: number | undefined
    }
  | { readonly type: 'order_delete'; readonly orderId: string }
  /** Reduces a resting order's amount. The order is removed when nothing is left. */
  | { readonly type: 'trade'; readonly orderId: string; readonly amount: Scaled }

/** Why a change is impossible, and its index in the list. The orders are undefined until the next `replace`. */
export interface OrderProblem {
  readonly index: number
  readonly rule: string
}

interface Order {
  readonly side: Side
  price: number
  amount: Scaled
}

export class Orders {
  readonly #levels: LevelAmounts
  readonly #ordersMax: number
  readonly #orders = new Map<string, Order>()
  /** The levels that the current list changes. A level may occur several times. */
  #touched: { readonly side: Side; readonly price: number }[] = []

  /** @param levels receives the aggregated amounts. Only this class may change it. */
  constructor(levels: LevelAmounts, ordersMax: number) {
    this.#levels = levels
    this.#ordersMax = ordersMax
  }

  /** Replaces all orders. Returns the problem, if there is one. */
  replace(orders: readonly RestingOrder[]): OrderProblem | undefined {
    this.#orders.clear()
    this.#levels.clear()
    for (const [index, { orderId, side, price, amount }] of orders.entries()) {
      const rule = this.#add(orderId, { side, price, amount })
      if (rule !== undefined) return { index, rule }
    }
    return undefined
  }

  /** Applies changes in order. Returns each changed level once, with its amount after all changes. */
  apply(changes: readonly OrderChange[]): LevelChange[] | OrderProblem {
    this.#touched = []
    for (let index = 0; index < changes.length; index++) {
      const rule = this.#apply(changes[index]!)
      if (rule !== undefined) return { index, rule }
    }
    return this.#distinct().map(({ side, price }) => ({ side, price, amount: this.#levels.amount(side, price) }))
  }

  #apply(change: OrderChange): string | undefined {
    if (change.type === 'order_add') {
      const { orderId, side, price, amount } = change
      this.#touched.push({ side, price })
      return this.#add(orderId, { side, price, amount })
    }
    const { orderId } = change
    const order = this.#orders.get(orderId)
    if (order === undefined) return 'names an order that is not in the book'
    this.#touched.push({ side: order.side, price: order.price })
    switch (change.type) {
      case 'order_delete':
        this.#orders.delete(orderId)
        this.#move(order, order.price, 0)
        return undefined
      case 'order_modify':
        if (change.price !== undefined && change.price !== order.price) {
          this.#touched.push({ side: order.side, price: change.price })
        }
        this.#move(order, change.price ?? order.price, change.amount)
        return undefined
      case 'trade': {
        if (change.amount > order.amount) return 'trades more than the order has'
        const left = addScaled(order.amount, -change.amount)
        if (left === 0) this.#orders.delete(orderId)
        this.#move(order, order.price, left)
        return undefined
      }
    }
  }

  #add(orderId: string, order: Order): string | undefined {
    if (this.#orders.has(orderId)) return 'adds an order that is already in the book'
    if (this.#orders.size >= this.#ordersMax) return `makes the book larger than ${this.#ordersMax} orders`
    this.#orders.set(orderId, order)
    const { side, price, amount } = order
    this.#levels.set(side, price, addScaled(this.#levels.amount(side, price), amount))
    return undefined
  }

  /** Gives an order another price and amount, and its levels their new sums. */
  #move(order: Order, price: number, amount: Scaled): void {
    const { side } = order
    const without = addScaled(this.#levels.amount(side, order.price), -order.amount)
    this.#levels.set(side, order.price, without)
    if (amount !== 0) this.#levels.set(side, price, addScaled(this.#levels.amount(side, price), amount))
    order.price = price
    order.amount = amount
  }

  #distinct(): readonly { readonly side: Side; readonly price: number }[] {
    const touched = this.#touched
    this.#touched = []
    if (touched.length === 1) return touched
    const prices: readonly [Set<number>, Set<number>] = [new Set(), new Set()]
    return touched.filter(({ side, price }) => {
      if (prices[side].has(price)) return false
      prices[side].add(price)
      return true
    })
  }
}
