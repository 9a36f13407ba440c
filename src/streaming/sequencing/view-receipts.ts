/**
 * One view's receipts, shared by all sessions: at most one signature per view version and per second. A session with
 * another version's book gets the latest receipt no later than its book. Only the last few receipts and commit times
 * are kept. It sees no session.
 */

import type { ReceiptClaims } from '../../contract/receipt.ts'
import { type Instant, nanosecondText } from '../../platform/base/clock.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { ReceiptSigner } from './receipt-signer.ts'

/** Commit times kept: enough for the second by which a throttled session may lag, at one commit per millisecond. */
const TIMES_KEPT = 1_024

/** Receipts kept for lagging sessions: throttled ones lag by up to a second. */
const RECEIPTS_KEPT = 4

/** A session's book, as its heartbeat entry describes it. */
export interface ConfirmedBook {
  /** The last version that changed the view, named by the cursor. */
  readonly changeVersion: number
  readonly cursor: string
  readonly digest: string
  readonly origin: string | undefined
}

interface Receipt {
  readonly changeVersion: number
  readonly text: string
}

export class ViewReceipts {
  readonly #signer: ReceiptSigner
  readonly #market: MarketDefinition
  readonly #depth: number
  /** A ring: the versions that changed the view, and their times. */
  readonly #versions: number[] = []
  readonly #instants: Instant[] = []
  #noted = 0
  /** In version order. */
  #receipts: readonly Receipt[] = []
  /** The monotonic clock's second at the last signature. */
  #signedSecond = -1
  /** Waits for a tick in which the signer is not busy. */
  #waiting: { readonly changeVersion: number; readonly claims: ReceiptClaims } | undefined

  constructor(signer: ReceiptSigner, market: MarketDefinition, depth: number) {
    this.#signer = signer
    this.#market = market
    this.#depth = depth
  }

  /** Notes the commit time of a version that changed the view. Versions ascend. */
  note(changeVersion: number, instant: Instant): void {
    const place = this.#noted++ % TIMES_KEPT
    this.#versions[place] = changeVersion
    this.#instants[place] = instant
  }

  /** The receipt for a book. Undefined when every receipt is later than it. */
  receiptOf(book: ConfirmedBook): string | undefined {
    const latest = this.#receipts.at(-1)
    if (latest === undefined || latest.changeVersion < book.changeVersion) this.#signLater(book)
    return this.#receipts.findLast(({ changeVersion }) => changeVersion <= book.changeVersion)?.text
  }

  /** True while a receipt waits for its signature: `signWaiting` is then to be called once per tick. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  signWaiting(): void {
    if (this.#waiting === undefined) return
    const { changeVersion, claims } = this.#waiting
    const text = this.#signer.sign(claims)
    if (text === 'later') return
    this.#waiting = undefined
    if (text === undefined) return
    this.#signedSecond = this.#second()
    this.#receipts = [...this.#receipts.slice(1 - RECEIPTS_KEPT), { changeVersion, text }]
  }

  /** Signs the receipt for a later book than the last one: now, or in a later tick when the signer is busy. */
  #signLater({ changeVersion, cursor, digest, origin }: ConfirmedBook): void {
    if (this.#waiting !== undefined || this.#signedSecond === this.#second()) return
    const instant = this.#timeOf(changeVersion)
    if (instant === undefined) return
    const { symbol, priceDecimals, amountDecimals } = this.#market
    const claims = {
      market: symbol,
      depth: this.#depth,
      price_decimals: priceDecimals,
      amount_decimals: amountDecimals,
      cursor,
      time: nanosecondText(instant.milliseconds, instant.nanoseconds),
      digest,
      ...(origin === undefined ? {} : { origin }),
    }
    this.#waiting = { changeVersion, claims }
    this.signWaiting()
  }

  /** A version's commit time. Undefined when no longer kept. */
  #timeOf(changeVersion: number): Instant | undefined {
    const oldest = Math.max(0, this.#noted - TIMES_KEPT)
    for (let number = this.#noted - 1; number >= oldest; number--) {
      const version = this.#versions[number % TIMES_KEPT] as number
      if (version === changeVersion) return this.#instants[number % TIMES_KEPT]
      if (version < changeVersion) return undefined
    }
    return undefined
  }

  #second(): number {
    return Math.floor(this.#signer.clock.monotonicMilliseconds() / 1000)
  }
}
