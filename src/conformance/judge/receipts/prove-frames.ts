/**
 * Compares receipts with the messages a client received over `tidegate.v1`, in their order: rebuilds each book, and
 * compares the whole book at the cursors which receipts name, and the UPDATEs and executions in their windows. It reads
 * every line once and keeps one book per market. A missing message ends the book until the next SNAPSHOT.
 */

import { receiptRecord } from '../../../contract/receipt.ts'
import { isObject } from '../../../platform/base/json-value.ts'
import { BOOK_SIDES, NaiveBook } from '../naive-book.ts'
import { isDecimal, isTimeText, levelList } from '../stream/checker-forms.ts'
import { hashedBook } from './hashed-book.ts'
import { isExecution, MarketExecutions } from './market-executions.ts'
import type { ListedReceipt, ReceiptList } from './receipt-list.ts'
import { OpenWindows } from './receipt-window.ts'

interface FollowedMarket {
  /** Undefined until a SNAPSHOT, and after a missing message. */
  book: { readonly levels: NaiveBook; readonly cursor: string; readonly time: string } | undefined
  readonly updates: OpenWindows
  readonly executions: MarketExecutions
  /** The subscription's last book message. */
  time: string
  /** Receipts that the subscription was sent. */
  readonly brought: Set<ListedReceipt>
  /** As asked for by the last subscription. A plan may serve less, and may change while the client is connected. */
  depth: number | undefined
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
    // Most lines are updates: only those with receipts are parsed.
    if (!line.includes('"receipts"')) return
    for (const { market, texts } of entriesOf(parse(line))) for (const text of texts) receipts.add(text, market)
  } else if (line !== '') receipts.add(line)
}

export class FramesProof {
  readonly #receipts: ReceiptList
  readonly #areOwn: boolean
  readonly #markets = new Map<string, FollowedMarket>()
  /** Receipts by market, ordered by time. */
  readonly #byTime = new Map<string, ListedReceipt[]>()
  /** Channels subscribed on the present connection, as the answers say. */
  readonly #subscribed = new Set<string>()
  #lineNumber = 0

  /**
   * @param receipts must be complete
   * @param areOwn whether the receipts are from the messages themselves
   */
  constructor(receipts: ReceiptList, areOwn: boolean) {
    this.#receipts = receipts
    this.#areOwn = areOwn
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
    if (value === undefined) this.#report('frame-malformed', 'not a JSON object')
    else if (value.channel === 'market_data') this.#onBook(readBookMessage(value))
    else if (value.channel === 'execution_data') this.#onExecution(value)
    else if (value.channel === 'heartbeat') this.#onHeartbeat(value)
    else if (value.type === 'subscribe' || value.type === 'unsubscribe') this.#onAnswer(value)
  }

  /** Reports the receipts which no message and no conflation explains. */
  end(): void {
    for (const listed of this.#receipts.all) {
      if (listed.state === 'unknown') this.#receipts.fail(listed, 'cursor-unknown', 'no message has this cursor')
    }
  }

  #marketOf(symbol: string): FollowedMarket {
    let market = this.#markets.get(symbol)
    if (market === undefined) {
      const updates = new OpenWindows(this.#receipts.updates)
      const executions = new MarketExecutions(this.#receipts, symbol)
      market = { book: undefined, updates, executions, time: '', brought: new Set(), depth: undefined }
      this.#markets.set(symbol, market)
    }
    return market
  }

  #onAnswer({ type, channels }: Record<string, unknown>): void {
    const isSubscribed = type === 'subscribe'
    const answers = (Array.isArray(channels) ? channels : []).filter(isObject).filter(({ success }) => success === true)
    // Each connection subscribes a channel once.
    if (isSubscribed && answers.some((answer) => this.#subscribed.has(channelOf(answer)))) this.#endConnection()
    for (const answer of answers) {
      if (isSubscribed) this.#subscribed.add(channelOf(answer))
      else this.#subscribed.delete(channelOf(answer))
      const { type: channel, params, resumed } = answer
      if (!isObject(params) || typeof params.market !== 'string') continue
      const market = this.#marketOf(params.market)
      if (channel === 'execution_data') market.executions.onSubscription(isSubscribed, resumed === true)
      if (channel !== 'market_data') continue
      const { depth } = params
      market.depth = typeof depth === 'number' ? depth : undefined
      market.updates.doubt()
      beginReceipts(market)
      market.time = ''
    }
  }

  #endConnection(): void {
    this.#subscribed.clear()
    for (const { executions } of this.#markets.values()) executions.onSubscription(false, false)
  }

  #onHeartbeat(value: Record<string, unknown>): void {
    for (const { market, texts } of entriesOf(value)) {
      const { executions, brought } = this.#marketOf(market ?? '')
      const fresh: ListedReceipt[] = []
      for (const listed of texts.flatMap((text) => this.#receipts.find(text) ?? [])) {
        if (brought.has(listed)) this.#receipts.reportOf(listed, 'receipt-repeated', `line ${this.#lineNumber}`)
        else fresh.push(listed)
        brought.add(listed)
      }
      executions.onReceipts(fresh)
    }
  }

  /** Without a resumption, a subscription's first execution has no predecessor. */
  #onExecution({ payload, stream }: Record<string, unknown>): void {
    const { cursor, prev } = isObject(stream) ? stream : {}
    if (!isExecution(payload) || typeof cursor !== 'string') {
      this.#report('frame-malformed', 'not a tidegate.v1 message')
    } else {
      const place = `line ${this.#lineNumber}, ${payload.market}`
      this.#marketOf(payload.market).executions.onExecution(payload, cursor, prev, place)
    }
  }

  #onBook(message: BookMessage | undefined): void {
    if (message === undefined) {
      this.#report('frame-malformed', 'not a tidegate.v1 message')
      return
    }
    const { isSnapshot, prev, cursor, time } = message
    const market = this.#marketOf(message.market)
    const { book: before, updates } = market
    if (time <= market.time) this.#report('time-order', `${message.market}: ${time} comes after ${market.time}`)
    market.time = time
    // The first UPDATE after a withdrawal, which emptied the book, names no message before it.
    const follows =
      before !== undefined && (before.cursor === prev || (prev === undefined && before.levels.depth === 0))
    const levels = isSnapshot ? new NaiveBook() : follows ? before.levels : undefined
    if (isSnapshot || levels === undefined || message.covers > 1) updates.clear()
    else if (message.covers === 0) updates.doubt()
    if (before !== undefined && viewOf(before.cursor) !== viewOf(cursor)) beginReceipts(market)
    if (!isSnapshot) updates.add(recordsOf(message))
    if (levels === undefined) {
      this.#report('message-missing', `${message.market}: the message ${prev} is not before it`)
      market.book = undefined
      return
    }
    for (const { side, price, amount } of message.levels) levels.set(side, price, amount)
    market.book = { levels, cursor, time }
    if (message.covers !== 1) this.#excuse(message.market, before?.time ?? (this.#areOwn ? time : ''), time)
    this.#endWindows(updates, message)
    for (const listed of this.#receipts.withUpdatesAfter(message.market, cursor)) {
      updates.begin(listed, listed.receipt.updates)
    }
    // Where only executions came, the windows that begin here end here.
    this.#endWindows(updates, message)
    const listedHere = this.#receipts.of(message.market, cursor)
    for (const listed of listedHere) this.#compare(listed, levels, market.depth, time)
    if (!isSnapshot) return
    this.#receipts.snapshots.total += 1
    if (listedHere.some(({ state }) => state === 'matched')) this.#receipts.snapshots.covered += 1
  }

  #endWindows(updates: OpenWindows, { cursor, time }: BookMessage): void {
    for (const [listed, result] of updates.end(({ receipt }) => receipt.cursor === cursor)) {
      const { receipt } = listed
      if (result === 'differs') this.#receipts.reportOf(listed, 'updates-differ', `after ${receipt.updates.after}`)
      if (result !== 'matched' || receipt.updates.count === 0) continue
      listed.hasUpdates = true
      if (millisecondsOf(receipt.time) !== time) this.#receipts.fail(listed, 'time-differs', `the UPDATE is of ${time}`)
    }
  }

  #compare(listed: ListedReceipt, levels: NaiveBook, depthMax: number | undefined, messageTime: string): void {
    const { depth, book, time, price_decimals: price, amount_decimals: amount } = listed.receipt
    const own = hashedBook(levels)
    const isBookDeeper = depth !== 0 && levels.depth > depth
    const isReceiptDeeper = depthMax !== undefined && (depth === 0 || depth > depthMax)
    if (isBookDeeper || isReceiptDeeper) {
      const subscribed = depthMax === undefined ? '' : `, subscribed with depth ${depthMax}`
      this.#receipts.fail(listed, 'depth-differs', `the book has ${levels.depth} levels on a side${subscribed}`)
    } else if (!own.hasDecimals({ price, amount })) {
      this.#receipts.fail(listed, 'decimals-differ', `the receipt has ${price} and ${amount}`)
    } else if (own.sha256 !== book) {
      this.#receipts.fail(listed, 'book-differs', `the receipt has ${book}, the messages give ${own.sha256}`)
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
      if (listed.state === 'unknown') listed.state = 'unreached'
    }
  }

  #report(name: 'frame-malformed' | 'message-missing' | 'time-order', detail: string): void {
    this.#receipts.report(name, `line ${this.#lineNumber}, ${detail}`)
  }
}

/** A cursor's part before the position: the same in one view and epoch. */
function viewOf(cursor: string): string {
  return cursor.slice(0, cursor.lastIndexOf('.'))
}

/** From the book on that the client now holds, receipts may be sent that it has, or that are older than others. */
function beginReceipts({ brought, executions }: FollowedMarket): void {
  brought.clear()
  executions.onBookBegins()
}

function channelOf({ type, params }: Record<string, unknown>): string {
  return `${type} ${isObject(params) ? params.market : ''}`
}

/** The heartbeat's entries with receipts. */
function entriesOf(message: Record<string, unknown> | undefined) {
  const books = isObject(message?.payload) ? message.payload.books : undefined
  return (Array.isArray(books) ? books : []).filter(isObject).map(({ market, receipts }) => ({
    market: typeof market === 'string' ? market : undefined,
    texts: (Array.isArray(receipts) ? receipts : []).filter((text): text is string => typeof text === 'string'),
  }))
}

function recordsOf({ cursor, time, levels }: BookMessage): string {
  const records = levels.map(({ side, price, amount }) => receiptRecord(side === 'bids' ? 'b' : 'a', price, amount))
  return receiptRecord('u', cursor, time) + records.join('')
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
