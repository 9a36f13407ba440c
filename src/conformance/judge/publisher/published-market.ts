/**
 * What all connections together have shown of a publisher's market: its numbers, executions, epochs, and one naive
 * book. A message is applied once and compared with every later SNAPSHOT and digest. After a broken rule no book is
 * trusted before the next SNAPSHOT, so one mistake is not reported under other names. Everything kept is limited, and
 * older data is not compared.
 */
import { createHash } from 'node:crypto'
import { BOOK_SIDES, type BookSide, cutDecimals, type Decimals, NaiveBook } from '../naive-book.ts'
import { decimalsOf, exactText } from './exact-decimals.ts'
import type {
  HeartbeatBook,
  InstrumentMessage,
  PublishedExecution,
  PublishedInstrument,
  PublishedLevel,
  SnapshotMessage,
  UpdateMessage,
} from './message.ts'
import { PublishedOrders, type Say } from './published-orders.ts'
import type { ReportBroken } from './rules.ts'

export type NumberedMessage = UpdateMessage | InstrumentMessage

export interface CheckedMarket {
  readonly symbol: string
  /** The market's own decimals, where the service has more than the engine uses. */
  readonly decimals: Decimals | undefined
}

export interface Position {
  readonly epoch: string
  readonly seq: number
}

/** A numbered message seen before. It covers all numbers after `prev`. */
interface Sent {
  readonly prev: number
  readonly hash: string
  readonly executions: readonly string[]
}

/** A book, with the orders behind its levels where the market is published with orders. */
interface KnownBook {
  readonly levels: NaiveBook
  readonly orders: PublishedOrders | undefined
  readonly decimals: Decimals
}

const NUMBERS_KEPT = 50_000
const EXECUTIONS_KEPT = 500_000
const EPOCHS_KEPT = 1_000

export class PublishedMarket {
  readonly symbol: string
  readonly #report: ReportBroken
  readonly #marketDecimals: Decimals | undefined
  readonly #entriesMax: number
  #instrument: Decimals | undefined
  #position: Position | undefined
  readonly #left = new Set<string>()
  readonly #sent = new Map<number, Sent>()
  readonly #executions = new Map<string, Position & { readonly prev: number }>()
  readonly #digests = new Map<number, string>()
  #book: KnownBook | undefined
  #bookSeq = 0
  /** A SNAPSHOT received before the messages which lead to it. Another connection may still bring them. */
  #ahead: { readonly book: KnownBook; readonly seq: number; readonly text: string } | undefined
  #isCrossed = false

  constructor({ symbol, decimals }: CheckedMarket, entriesMax: number, report: ReportBroken) {
    this.symbol = symbol
    this.#marketDecimals = decimals
    this.#entriesMax = entriesMax
    this.#report = report
  }

  /** The newest epoch's last message. Undefined before the first SNAPSHOT. */
  get position(): Position | undefined {
    return this.#position
  }

  /** The lowest number seen in the newest epoch. Undefined before one. */
  get firstNumber(): number | undefined {
    return this.#sent.keys().next().value
  }

  /** The book's levels. Undefined while no book is trusted. */
  get levels(): number | undefined {
    const levels = this.#book?.levels
    return levels === undefined ? undefined : sizeOf(levels)
  }

  takeSnapshot(message: SnapshotMessage, text: string): void {
    const { epoch, seq, instrument, orders, bids, asks } = message
    const say = this.#sayer(text)
    this.#checkContinues(message, say)
    this.#enter(epoch, say)
    this.#takeInstrument(instrument, say)
    const book = this.#newBook(orders !== undefined)
    const isRight =
      this.#checkDecimals([...bids, ...asks, ...(orders ?? [])], say) &&
      (book.orders?.load(orders ?? [], say) ?? this.#setLevels(book.levels, { bids, asks }, say, true))
    if (seq > (this.#position?.seq ?? -1)) this.#position = { epoch, seq }
    if (!isRight) {
      this.distrust()
      return
    }
    if (this.#book !== undefined && seq > this.#bookSeq) {
      this.#ahead = { book, seq, text }
      return
    }
    this.#compareBook(book, seq, say)
    if (this.#book === undefined) this.#replaceBook(book, seq, say)
  }

  /**
   * Takes a numbered message from any connection. Epochs other than the newest are ignored.
   * @param mayJump whether unseen messages before it will come on no connection
   * @returns false if the number was seen before with other content, which is reported
   */
  takeNumbered(message: NumberedMessage, mayJump: boolean, text: string): boolean {
    const say = this.#sayer(text)
    const { epoch, seq } = message
    if (epoch !== this.#position?.epoch) return true
    const sent = this.#sent.get(seq)
    if (sent !== undefined && !this.#compare(message, sent, say)) return false
    if (sent === undefined) this.#takeNew(message, say)
    this.#follow(message, mayJump, say)
    return true
  }

  /** A numbered message which cannot be read: the book is unknown after it. */
  skip(epoch: string, seq: number): void {
    this.distrust()
    if (this.#position?.epoch === epoch && seq > this.#position.seq) this.#position = { epoch, seq }
  }

  /** Nothing is compared with the book before the next SNAPSHOT. */
  distrust(): void {
    this.#book = undefined
    this.#ahead = undefined
  }

  compareDigest({ epoch, seq, digest }: HeartbeatBook, text: string): void {
    const known = epoch === this.#position?.epoch ? this.#digests.get(seq) : undefined
    if (known === undefined || known === digest) return
    this.#report('digest-wrong', this.symbol, `after message ${seq} it is ${digest}, the levels have ${known}`, text)
  }

  /** Takes what a message means besides the book. */
  #takeNew(message: NumberedMessage, say: Say): void {
    const { epoch, seq } = message
    const trades = tradesOf(message)
    this.#keep(message, trades)
    if (message.instrument !== undefined) this.#takeInstrument(message.instrument, say)
    this.#checkExecutions(message, trades, say)
    if (message.type === 'UPDATE' && !this.#checkDecimals(entriesOf(message), say)) this.distrust()
    if (seq > (this.#position?.seq ?? -1)) this.#position = { epoch, seq }
  }

  /** Applies a message to the book, if it continues it. */
  #follow(message: NumberedMessage, mayJump: boolean, say: Say): void {
    const { seq, prev } = message
    if (prev !== this.#bookSeq && seq > this.#bookSeq && mayJump) this.#jump(prev)
    const book = this.#book
    if (book === undefined || seq <= this.#bookSeq) return
    if (prev !== this.#bookSeq) {
      // One that covers more than is missing is the difference from an earlier book: a level that has changed back since is
      // not in it.
      if (mayJump) this.distrust()
      return
    }
    this.#bookSeq = seq
    if (message.type === 'UPDATE' && !this.#apply(book, message, say)) this.distrust()
    else this.#noteBook(seq, say)
    this.#reach(seq)
  }

  #newBook(hasOrders: boolean): KnownBook {
    const decimals = this.#marketDecimals ?? this.#instrumentDecimals
    const levels = new NaiveBook(decimals)
    return { levels, orders: hasOrders ? new PublishedOrders(levels) : undefined, decimals }
  }

  get #instrumentDecimals(): Decimals {
    return this.#instrument ?? { price: 18, amount: 18 }
  }

  #sayer(text: string): Say {
    return (name, detail) => this.#report(name, this.symbol, detail, text)
  }

  #checkContinues({ epoch, continues }: SnapshotMessage, say: Say): void {
    const before = this.#position
    if (continues === undefined || before === undefined || before.epoch === epoch) return
    if (!continues.startsWith(`${before.epoch}.`) || Number(continues.slice(before.epoch.length + 1)) < before.seq) {
      say('continues-wrong', `it is ${continues}, and message ${before.seq} in the epoch ${before.epoch} was sent`)
    }
  }

  #enter(epoch: string, say: Say): void {
    const current = this.#position?.epoch
    if (current === epoch) return
    if (this.#left.has(epoch)) say('epoch-reused', `the epoch ${epoch} was left before`)
    if (current !== undefined && this.#left.size < EPOCHS_KEPT) this.#left.add(current)
    this.#position = undefined
    this.distrust()
    this.#sent.clear()
    this.#digests.clear()
  }

  #takeInstrument({ priceDecimals, amountDecimals }: PublishedInstrument, say: Say): void {
    const market = this.#marketDecimals
    if (market !== undefined && (priceDecimals > market.price || amountDecimals > market.amount)) {
      say('too-many-decimals', `its instrument has ${priceDecimals} and ${amountDecimals}, the market has fewer`)
    }
    const before = this.#instrument
    if (before?.price === priceDecimals && before.amount === amountDecimals) return
    this.#instrument = { price: priceDecimals, amount: amountDecimals }
    if (market !== undefined) return
    // The known book's digests have the earlier decimals: they equal no later SNAPSHOT's.
    this.#digests.clear()
    this.distrust()
  }

  #checkDecimals(entries: readonly { readonly price?: string | undefined; readonly amount?: string }[], say: Say) {
    const { price: priceMax, amount: amountMax } = this.#instrumentDecimals
    for (const { price, amount } of entries) {
      const isFine =
        (price === undefined || decimalsOf(price) <= priceMax) &&
        (amount === undefined || decimalsOf(amount) <= amountMax)
      if (isFine) continue
      say('too-many-decimals', `price ${price}, amount ${amount}, but the instrument has ${priceMax} and ${amountMax}`)
      return false
    }
    return true
  }

  /** Whether a repeated number stands for the same message, as far as both can be compared. */
  #compare(message: NumberedMessage, sent: Sent, say: Say): boolean {
    const { seq, prev } = message
    if (sent.prev !== prev || sent.hash === hashOf(message)) return true
    const trades = new Set(tradesOf(message).map(({ id }) => id))
    const lost = sent.executions.filter((id) => !trades.has(id))
    if (lost.length > 0) say('execution-lost', `message ${seq} had the execution ${lost[0]} when it was sent first`)
    else say('number-reused', `message ${seq} had other content when it was sent first`)
    return false
  }

  #keep(message: NumberedMessage, trades: readonly PublishedExecution[]): void {
    const { seq, prev } = message
    this.#sent.set(seq, { prev, hash: hashOf(message), executions: trades.map(({ id }) => id) })
    limit(this.#sent, NUMBERS_KEPT)
  }

  #checkExecutions({ epoch, seq, prev }: NumberedMessage, trades: readonly PublishedExecution[], say: Say): void {
    const own = new Set<string>()
    for (const { id } of trades) {
      const seen = this.#executions.get(id)
      // Two connections to a relay may divide the same messages differently, and a number that is no longer kept may be
      // sent again.
      const isSame = seen !== undefined && seen.epoch === epoch && seen.prev < seq && prev < seen.seq && !own.has(id)
      if (seen !== undefined && !isSame) say('execution-twice', `the execution ${id} was in message ${seen.seq} too`)
      own.add(id)
      this.#executions.set(id, { epoch, seq, prev })
      limit(this.#executions, EXECUTIONS_KEPT)
    }
  }

  #apply({ levels, orders: resting }: KnownBook, { bids, asks, orders }: UpdateMessage, say: Say): boolean {
    if (resting === undefined && orders !== undefined && orders.length > 0) {
      say('orders-and-levels-mixed', 'it has orders, but the SNAPSHOT had levels')
      return false
    }
    if (resting === undefined) return this.#setLevels(levels, { bids, asks }, say, false)
    if (bids.length + asks.length === 0) return resting.apply(orders ?? [], say)
    say('orders-and-levels-mixed', 'it has levels, but the SNAPSHOT had orders')
    return false
  }

  #setLevels(book: NaiveBook, content: Sides, say: Say, mayBeUnknown: boolean): boolean {
    for (const side of BOOK_SIDES) {
      const twice = firstTwice(content[side])
      if (twice === undefined) continue
      say('level-twice', `${NAMES[side]} ${twice} occurs twice`)
      return false
    }
    for (const side of BOOK_SIDES) {
      for (const { price, amount } of content[side]) {
        const [exactPrice, exactAmount] = [exactText(price), exactText(amount)]
        const isUnknown = !mayBeUnknown && exactAmount === '0' && book.amount(side, exactPrice) === undefined
        book.set(side, exactPrice, exactAmount)
        if (isUnknown) say('level-unknown', `${NAMES[side]} ${price} is removed, but was not in the book`)
      }
    }
    return true
  }

  /** Compares a SNAPSHOT's book with the one that the messages led to. If they differ, the latter is kept. */
  #compareBook({ levels }: KnownBook, seq: number, say: Say): void {
    const digest = levels.digest()
    const known = this.#digests.get(seq)
    if (known === undefined || known === digest) return
    say('snapshot-differs', `its digest is ${digest}, that of the book after message ${seq} is ${known}`)
  }

  #replaceBook(book: KnownBook, seq: number, say: Say): void {
    this.#book = book
    this.#bookSeq = seq
    this.#noteBook(seq, say)
  }

  /** Continues with the SNAPSHOT ahead: the messages before it were sent on no connection. */
  #jump(prev: number): void {
    const ahead = this.#ahead
    this.distrust()
    if (ahead !== undefined && ahead.seq >= prev) this.#replaceBook(ahead.book, ahead.seq, this.#sayer(ahead.text))
  }

  /** Compares the earlier SNAPSHOT with the book that messages have led to. */
  #reach(seq: number): void {
    const ahead = this.#ahead
    if (ahead === undefined || seq < ahead.seq) return
    this.#ahead = undefined
    if (seq === ahead.seq) this.#compareBook(ahead.book, seq, this.#sayer(ahead.text))
  }

  #noteBook(seq: number, say: Say): void {
    const book = this.#book
    if (book === undefined) return
    const { levels, orders, decimals } = book
    const entries = orders?.size ?? sizeOf(levels)
    if (entries > this.#entriesMax) {
      say('book-too-large', `it has ${entries} ${orders === undefined ? 'levels' : 'orders'} after message ${seq}`)
      this.distrust()
      return
    }
    this.#digests.set(seq, levels.digest())
    limit(this.#digests, NUMBERS_KEPT)
    const isCrossed = levels.isCrossed()
    if (isCrossed && !this.#isCrossed) say('crossed-book', bestText(levels, decimals))
    this.#isCrossed = isCrossed
  }
}

type Sides = Readonly<Record<BookSide, readonly PublishedLevel[]>>

/** The sides as the protocol names them in a digest. */
const NAMES: Readonly<Record<BookSide, string>> = { bids: 'bid', asks: 'ask' }

function sizeOf(book: NaiveBook): number {
  return book.size('bids') + book.size('asks')
}

function bestText(book: NaiveBook, decimals: Decimals): string {
  return BOOK_SIDES.map((side) => `${NAMES[side]} ${cutDecimals(book.best(side)?.price ?? '', decimals.price)}`).join(
    ', ',
  )
}

/** The first price with two levels. */
function firstTwice(levels: readonly PublishedLevel[]): string | undefined {
  const prices = new Set<string>()
  return levels.find(({ price }) => prices.size === prices.add(exactText(price)).size)?.price
}

function tradesOf(message: NumberedMessage): readonly PublishedExecution[] {
  if (message.type === 'INSTRUMENT') return []
  return [
    ...message.executions,
    ...(message.orders ?? []).flatMap((change) => (change.type === 'trade' ? [change] : [])),
  ]
}

function entriesOf({ bids, asks, executions, orders }: UpdateMessage) {
  return [...bids, ...asks, ...executions, ...(orders ?? []).map((change) => ('amount' in change ? change : {}))]
}

/**
 * Hashes everything the message means, regardless of member order and number format. An UPDATE's instrument does not
 * count: a relay repeats it in the first message after a resumption.
 */
function hashOf(message: NumberedMessage): string {
  const { prev: _, ...content } = message
  const levels = (side: readonly PublishedLevel[]) =>
    side.map(({ price, amount }) => `${exactText(price)} ${exactText(amount)}`)
  const meant =
    content.type === 'UPDATE'
      ? { ...content, instrument: undefined, bids: levels(content.bids), asks: levels(content.asks) }
      : content
  return createHash('sha1').update(JSON.stringify(meant)).digest('base64')
}

function limit(map: Map<unknown, unknown>, size: number): void {
  if (map.size > size) map.delete(map.keys().next().value)
}
