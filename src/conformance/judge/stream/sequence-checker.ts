/**
 * Checks one connection's messages in `tidegate.v1` for missing ones: each names its predecessor's cursor, and a
 * heartbeat names each book's last cursor and its digest.
 */
import { PAYLOAD_TYPES } from '../../../contract/channels.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import type { Report } from './checker-forms.ts'

interface SequencedMessage {
  readonly channel: string
  readonly market: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly stream: unknown
}

/** The book that the messages give. Undefined before its SNAPSHOT. */
export interface CheckedBook {
  levels(): { readonly bids: number; readonly asks: number } | undefined
  digest(): string | undefined
}

const BOOK = 'market_data'
const TOP_OF_BOOK = 'market_data.top_of_book'

export class SequenceChecker {
  readonly #report: Report
  /** Each subscription's last cursor, by channel and market. */
  readonly #cursors = new Map<string, string>()

  constructor(report: Report) {
    this.#report = report
  }

  /** A new connection. */
  reset(): void {
    this.#cursors.clear()
  }

  /** A subscription begins or ends. */
  onSubscription(channel: string, market: string): void {
    this.#cursors.delete(keyOf(channel, market))
  }

  /** @param book before this message */
  onMessage({ channel, market, payload, stream }: SequencedMessage, book: CheckedBook): void {
    const { cursor, prev } = isObject(stream) ? stream : {}
    if (typeof cursor !== 'string') {
      this.#report('field-missing', market, `stream.cursor in a message of ${channel}`)
      return
    }
    const key = keyOf(channel, market)
    const last = this.#cursors.get(key)
    this.#cursors.set(key, cursor)
    if (prev === last || (prev === undefined && mayBegin(channel, payload, book))) return
    this.#report('message-missing', market, `${channel}: ${cursor} follows ${prev}, received before it was ${last}`)
  }

  /** @param bookOf a market's book */
  onHeartbeat({ books }: Readonly<Record<string, unknown>>, bookOf: (market: string) => CheckedBook | undefined): void {
    if (!Array.isArray(books) || !books.every(isObject)) {
      this.#report('field-missing', undefined, 'books in a heartbeat is not a list')
      return
    }
    for (const { market, cursor, digest, live } of books) {
      if (typeof market !== 'string') {
        this.#report('field-missing', undefined, 'market in a heartbeat’s books')
        continue
      }
      const last = this.#cursors.get(keyOf(BOOK, market))
      const own = digest === undefined && live !== true ? undefined : bookOf(market)?.digest()
      if (cursor !== last) this.#report('heartbeat-differs', market, `its cursor is ${cursor}, the book's is ${last}`)
      else if (digest !== own)
        this.#report('heartbeat-differs', market, `its digest is ${digest}, the book's is ${own}`)
    }
  }
}

/**
 * Whether a message may name no predecessor although there was one: the book begins again, or was withdrawn. A top of
 * book follows the book's epoch, and replaces the previous one anyway.
 */
function mayBegin(channel: string, { type }: SequencedMessage['payload'], book: CheckedBook): boolean {
  if (channel !== BOOK) return channel === TOP_OF_BOOK
  const { bids, asks } = book.levels() ?? { bids: 0, asks: 0 }
  return type === PAYLOAD_TYPES.snapshot || bids + asks === 0
}

function keyOf(channel: string, market: string): string {
  return `${channel} ${market}`
}
