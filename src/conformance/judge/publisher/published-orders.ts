/** Orders and their changes as they are published, applied to a `NaiveBook`. The first impossible one is reported. Pure. */
import type { PublishedOrder, PublishedOrderChange } from '../../../streaming/sources/publication/message.ts'
import { type BookSide, type NaiveBook, scaled } from '../naive-book.ts'
import type { PublisherRuleName } from './rules.ts'

/** Reports a broken rule of the message that is taken. */
export type Say = (name: PublisherRuleName, detail: string) => void

/** Adds the orders of a SNAPSHOT to an empty book; false where one occurs twice, which is reported. */
export function loadOrders(book: NaiveBook, orders: readonly PublishedOrder[], say: Say): boolean {
  for (const { orderId, side, price, amount } of orders) {
    const fault = book.add(orderId, { side: sideOf(side), price: scaled(price), amount: scaled(amount) })
    if (fault === undefined) continue
    say(fault, `the order ${orderId} occurs twice`)
    return false
  }
  return true
}

/** Applies changes of orders in turn; false where one is impossible, which is reported. */
export function applyOrders(book: NaiveBook, changes: readonly PublishedOrderChange[], say: Say): boolean {
  for (const change of changes) {
    const fault = applyOrder(book, change)
    if (fault === undefined) continue
    say(fault, `${change.type} of the order ${change.orderId}`)
    return false
  }
  return true
}

function applyOrder(book: NaiveBook, change: PublishedOrderChange) {
  switch (change.type) {
    case 'order_add':
      return book.add(change.orderId, {
        side: sideOf(change.side),
        price: scaled(change.price),
        amount: scaled(change.amount),
      })
    case 'order_modify':
      return book.modify(
        change.orderId,
        scaled(change.amount),
        change.price === undefined ? undefined : scaled(change.price),
      )
    case 'order_delete':
      return book.delete(change.orderId)
    case 'trade':
      return change.orderId === undefined ? undefined : book.trade(change.orderId, scaled(change.amount))
  }
}

function sideOf(side: 'buy' | 'sell'): BookSide {
  return side === 'buy' ? 'bid' : 'ask'
}
