/**
 * Compares receipts with the messages a client received over `tidegate.v1`, in their order: rebuilds each book and
 * compares its digest at the messages which receipts name. It reads every line once and keeps one book per market. A
 * missing message ends the book until the next SNAPSHOT. It also checks for missing executions.
 */

import { isObject } from '../../../platform/base/json-value.ts'
import { BOOK_SIDES, NaiveBook } from '../naive-book.ts'
import { isDecimal, isTimeText, levelList } from '../stream/checker-forms.ts'
import type { ListedReceipt, ReceiptList } from './receipt-list.ts'

interface FollowedBook {
  book: NaiveBook
  cursor: string
  /** The last message's time. */
  time: string
}

interface BookMessage {
  readonly market: string
  readonly isSnapshot: boolean
  readonly time: string
  readonly levels: readonly { readonly side: 'bids' | 'asks'; readonly price: string; readonly amount: string }[]
  readonly cursor: string
  readonly prev: string | undefined
  readonly covers: number
}

/** Adds the receipts from a line: a message with a heartbeat, or one receipt. */
export function collectReceipts(line: string, receipts: ReceiptList): void {
  if (line.startsWith('{')) {
    // Most lines are updates: only those with a receipt are parsed.
    if (!line.includes('"receipt"')) return
    const message = parse(line)
    const books = isObject(message?.payload) ? message.payload.books : undefined
    for (const entry of Array.isArray(books) ? books : []) {
      if (isObject(entry) && typeof entry.receipt === 'string') {
        receipts.add(entry.receipt, typeof entry.market === 'string' ? entry.market : undefined)
      }
    }
  } else if (line !== '') receipts.add(line)
}

export class FramesProof {
  readonly #receipts: ReceiptList
  readonly #books = new Map<string, FollowedBook>()
  /** Receipts by market, ordered by time. */
  readonly #byTime = new Map<string, ListedReceipt[]>()
  /** Each market's last execution cursor. */
  readonly #executions = new Map<string, string>()
  #lineNumber = 0

  /** `receipts` must be complete. */
  constructor(receipts: ReceiptList) {
    this.#receipts = receipts
    for (const listed of receipts.all) {
      const others = this.#byTime.get(listed.receipt.market)
      if (others === undefined) this.#byTime.set(listed.receipt.market, [listed])
      else others.push(listed)
    }
    for (const list of this.#byTime.values())
      list.sort((left, right) => (left.receipt.time < right.receipt.time ? -1 : 1))
  }

  onLine(line: string): void {
    this.#lineNumber += 1
    if (line === '') return
    const value = parse(line)
    if (value === undefined) {
      this.#receipts.report('frame-malformed', `line ${this.#lineNumber} is not a JSON object`)
    } else if (value.channel === 'market_data') {
      const message = readBookMessage(value)
      if (message === undefined) {
        this.#receipts.report('frame-malformed', `line ${this.#lineNumber} is not a tidegate.v1 message`)
      } else this.#onBook(message)
    } else if (value.channel === 'execution_data') this.#onExecution(value)
  }

  /** Reports the receipts which no message and no conflation explains. */
  end(): void {
    for (const listed of this.#receipts.all) {
      if (listed.state === 'unknown') this.#receipts.fail(listed, 'cursor-unknown', 'no message has this cursor')
    }
  }

  /** Without a resumption, a subscription's first execution has no predecessor. */
  #onExecution({ payload, stream }: Record<string, unknown>): void {
    const market = isObject(payload) ? payload.market : undefined
    const { cursor, prev } = isObject(stream) ? stream : {}
    if (typeof market !== 'string' || typeof cursor !== 'string') {
      this.#receipts.report('frame-malformed', `line ${this.#lineNumber} is not a tidegate.v1 message`)
      return
    }
    this.#receipts.executions.total += 1
    if (prev !== undefined && prev !== this.#executions.get(market)) {
      const place = `line ${this.#lineNumber}, ${market}`
      this.#receipts.report('execution-missing', `${place}: the execution ${prev} is not before it`)
    }
    this.#executions.set(market, cursor)
  }

  #onBook(message: BookMessage): void {
    this.#receipts.messages.total += 1
    const { market, isSnapshot, prev, cursor, time } = message
    const before = this.#books.get(market)
    // The first UPDATE after a withdrawal, which emptied the book, names no message before it.
    const follows = before !== undefined && (before.cursor === prev || (prev === undefined && before.book.depth === 0))
    if (!isSnapshot && !follows) {
      this.#receipts.report(
        'message-missing',
        `line ${this.#lineNumber}, ${market}: the message ${prev} is not before it`,
      )
      this.#books.delete(market)
      return
    }
    const book = isSnapshot || before === undefined ? new NaiveBook() : before.book
    for (const { side, price, amount } of message.levels) book.set(side, price, amount)
    this.#books.set(market, { book, cursor, time })
    if (message.covers !== 1) this.#excuse(market, before?.time ?? '', time)
    const listedHere = this.#receipts.of(market, cursor)
    for (const listed of listedHere) this.#compare(listed, book, time)
    if (listedHere.some(({ state }) => state === 'matched')) this.#receipts.messages.covered += 1
  }

  #compare(listed: ListedReceipt, book: NaiveBook, messageTime: string): void {
    const { depth, digest, time } = listed.receipt
    const own = book.digest()
    if (depth !== 0 && book.depth > depth) {
      this.#receipts.fail(listed, 'depth-differs', `the book has ${book.depth} levels on a side`)
    } else if (own !== digest) {
      this.#receipts.fail(listed, 'digest-differs', `the receipt has ${digest}, the messages give ${own}`)
    } else if (millisecondsOf(time) > messageTime) {
      this.#receipts.fail(listed, 'time-differs', `the message is of ${messageTime}`)
    } else this.#receipts.match(listed)
  }

  /**
   * The messages between these times were conflated, or are from before a SNAPSHOT: receipts in between name a message
   * which this client was not sent.
   */
  #excuse(market: string, from: string, to: string): void {
    const list = this.#byTime.get(market) ?? []
    let [low, high] = [0, list.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (millisecondsOf((list[middle] as ListedReceipt).receipt.time) < from) low = middle + 1
      else high = middle
    }
    for (let place = low; place < list.length; place++) {
      const listed = list[place] as ListedReceipt
      if (millisecondsOf(listed.receipt.time) > to) break
      if (listed.state === 'unknown') listed.state = 'unmatched'
    }
  }
}

/** A time with nine fraction digits, cut to the three in book messages. */
function millisecondsOf(time: string): string {
  return `${time.slice(0, 23)}Z`
}

function readBookMessage({ payload, stream }: Record<string, unknown>): BookMessage | undefined {
  if (!isObject(payload) || !isObject(stream)) return undefined
  const { market, type, time } = payload
  const { cursor, prev, covers } = stream
  if (typeof market !== 'string' || typeof cursor !== 'string' || !isTimeText(time, 3)) return undefined
  if (type !== 'SNAPSHOT' && type !== 'UPDATE') return undefined
  if (!Number.isSafeInteger(covers) || (prev !== undefined && typeof prev !== 'string')) return undefined
  const levels: BookMessage['levels'][number][] = []
  for (const side of BOOK_SIDES) {
    const list = levelList(payload[side])
    if (list === undefined) return undefined
    for (const { price, amount } of list) {
      if (!isDecimal(price) || !isDecimal(amount)) return undefined
      levels.push({ side, price, amount })
    }
  }
  return { market, isSnapshot: type === 'SNAPSHOT', time, levels, cursor, prev, covers: covers as number }
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    // Any file can be given. The caller reports the line.
    return undefined
  }
}
