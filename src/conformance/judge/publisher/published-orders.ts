/**
 * A published market's resting orders, and the levels they add up to in a `NaiveBook`. The first impossible change is
 * reported. Pure.
 */
import type { BookSide, NaiveBook } from '../naive-book.ts'
import { exactText, textOfUnits, unitsOf } from './exact-decimals.ts'
import type { PublishedOrder, PublishedOrderChange, Side } from './message.ts'
import type { PublisherRuleName } from './rules.ts'

/** Reports a rule which the current message breaks. */
export type Say = (name: PublisherRuleName, detail: string) => void

/** What makes an order change impossible. */
type OrderFault = 'order-unknown' | 'order-added-twice' | 'trade-exceeds-order'

interface Resting {
  readonly side: BookSide
  /** Exact text. */
  readonly price: string
  readonly units: bigint
}

export class PublishedOrders {
  readonly #book: NaiveBook
  readonly #resting = new Map<string, Resting>()

  constructor(book: NaiveBook) {
    this.#book = book
  }

  get size(): number {
    return this.#resting.size
  }

  /** Adds a SNAPSHOT's orders to an empty book. False if one occurs twice, which is reported. */
  load(orders: readonly PublishedOrder[], say: Say): boolean {
    for (const order of orders) {
      const fault = this.#addOrder(order)
      if (fault === undefined) continue
      say(fault, `the order ${order.order_id} occurs twice`)
      return false
    }
    return true
  }

  /** Applies order changes one after another. False if one is impossible, which is reported. */
  apply(changes: readonly PublishedOrderChange[], say: Say): boolean {
    for (const change of changes) {
      const fault = this.#applyOne(change)
      if (fault === undefined) continue
      say(fault, `${change.type} of the order ${change.order_id}`)
      return false
    }
    return true
  }

  #applyOne(change: PublishedOrderChange): OrderFault | undefined {
    if (change.type === 'order_add') return this.#addOrder(change)
    const id = change.order_id
    if (id === undefined) return undefined
    const order = this.#resting.get(id)
    if (order === undefined) return 'order-unknown'
    if (change.type === 'order_delete') return this.#remove(id, order)
    const amount = unitsOf(exactText(change.amount))
    if (change.type === 'order_modify') {
      const price = change.price === undefined ? order.price : exactText(change.price)
      return this.#replace(id, order, { side: order.side, price, units: amount })
    }
    if (amount > order.units) return 'trade-exceeds-order'
    if (amount === order.units) return this.#remove(id, order)
    return this.#replace(id, order, { ...order, units: order.units - amount })
  }

  #addOrder({ order_id: id, side, price, amount }: PublishedOrder): OrderFault | undefined {
    if (this.#resting.has(id)) return 'order-added-twice'
    return this.#add(id, { side: sideOf(side), price: exactText(price), units: unitsOf(exactText(amount)) })
  }

  #replace(id: string, before: Resting, after: Resting): undefined {
    this.#remove(id, before)
    this.#add(id, after)
  }

  #add(id: string, order: Resting): undefined {
    this.#resting.set(id, order)
    this.#change(order, order.units)
  }

  #remove(id: string, order: Resting): undefined {
    this.#resting.delete(id)
    this.#change(order, -order.units)
  }

  #change({ side, price }: Resting, units: bigint): void {
    this.#book.set(side, price, textOfUnits(unitsOf(this.#book.amount(side, price) ?? '0') + units))
  }
}

function sideOf(side: Side): BookSide {
  return side === 'buy' ? 'bids' : 'asks'
}
