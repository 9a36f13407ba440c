/**
 * One market's executions in a client's messages, compared with the windows of receipts. Each execution names its
 * predecessor, so a file is followed as long as the names match. It reports executions that were changed, left out or
 * invented within windows for which the client was subscribed as a whole.
 */
import { receiptRecord } from '../../../contract/receipt.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import type { ListedReceipt, ReceiptList } from './receipt-list.ts'
import { OpenWindows } from './receipt-window.ts'

export class MarketExecutions {
  readonly #receipts: ReceiptList
  readonly #market: string
  readonly #windows: OpenWindows
  #last: string | undefined
  /** Whether the next execution may have no predecessor. */
  #mayBegin = true
  #isSubscribed = true
  /** Where each empty or matching window ended, in executions. */
  readonly #ends = new Map<ListedReceipt, number>()
  /** Executions before the last two heartbeats with new receipts. */
  #before: readonly number[] = []

  constructor(receipts: ReceiptList, market: string) {
    this.#receipts = receipts
    this.#market = market
    this.#windows = new OpenWindows(receipts.executions)
  }

  /** An answer to a request, or the end of a connection. */
  onSubscription(isSubscribed: boolean, isResumed: boolean): void {
    this.#isSubscribed = isSubscribed
    this.#before = []
    if (!isSubscribed || isResumed) return
    this.#windows.clear()
    this.#mayBegin = true
  }

  /** The book's subscription, or its depth, begins again: it may be brought receipts of earlier seconds. */
  onBookBegins(): void {
    this.#before = []
  }

  onExecution(payload: Record<string, unknown>, cursor: string, prev: unknown, place: string): void {
    const isMissing = prev === undefined ? !this.#mayBegin : prev !== this.#last
    if (isMissing) this.#receipts.report('execution-missing', `${place}: the execution ${prev} is not before it`)
    if (isMissing || prev === undefined) this.#begin(cursor)
    this.#mayBegin = false
    this.#last = cursor
    const { executed_at, id, side = '', venue = '', price, amount } = payload
    const fields = [executed_at, id, side, venue, price, amount]
    this.#windows.add(receiptRecord('e', cursor, ...fields.map((field) => String(field))))
    for (const [listed, result] of this.#windows.end(({ receipt }, count) => receipt.executions.count === count)) {
      if (result === 'matched') {
        listed.hasExecutions = true
        this.#ends.set(listed, this.#windows.count)
      } else this.#receipts.reportOf(listed, 'executions-differ', `after ${listed.receipt.executions.after}`)
    }
    this.#open(cursor)
  }

  /** New receipts in a heartbeat. The client was sent all executions in their windows before it. */
  onReceipts(brought: readonly ListedReceipt[]): void {
    if (!this.#isSubscribed || brought.length === 0) return
    // A receipt may be signed after the heartbeat that brings the one before it, but no later.
    const [earlier = 0] = this.#before.length === 2 ? this.#before : []
    this.#before = [...this.#before.slice(-1), this.#windows.count]
    for (const listed of brought) {
      const { after, count } = listed.receipt.executions
      if (this.#windows.receipts.includes(listed)) {
        this.#receipts.reportOf(listed, 'execution-missing', `the file has fewer than ${count} after ${after}`)
      } else if ((this.#ends.get(listed) ?? earlier) < earlier) {
        this.#receipts.reportOf(listed, 'execution-unsigned', `the file has others after ${after}`)
      }
    }
  }

  /** A sequence begins with this execution. Positions in cursors are consecutive numbers. */
  #begin(cursor: string): void {
    this.#windows.clear()
    const [, binding, digits] = /^(.+)\.([1-9][0-9]*)$/.exec(cursor) ?? []
    if (digits !== undefined) this.#open(`${binding}.${BigInt(digits) - 1n}`)
  }

  #open(after: string): void {
    for (const listed of this.#receipts.withExecutionsAfter(this.#market, after)) {
      const { executions } = listed.receipt
      if (executions.count > 0) this.#windows.begin(listed, executions)
      else this.#ends.set(listed, this.#windows.count)
    }
  }
}

/** The parts that every execution of the extended protocol has. */
export function isExecution(payload: unknown): payload is Record<string, unknown> & { readonly market: string } {
  if (!isObject(payload)) return false
  const { market, executed_at, id, side, venue, price, amount } = payload
  const required = [market, executed_at, id, price, amount].every((value) => typeof value === 'string')
  return required && [side, venue].every((value) => value === undefined || typeof value === 'string')
}
