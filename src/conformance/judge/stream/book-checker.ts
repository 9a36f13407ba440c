/**
 * Checks one market on one connection: keeps the book which the messages produce, and compares each book message and
 * each top of book with it. It reads no clock.
 */
import type { ChannelType } from '../../../contract/channels.ts'
import { BOOK_SIDES, type BookSide, NaiveBook, standsBefore, type WireLevel } from '../naive-book.ts'
import { fractionDigits, isDecimal, isTimeText, isZero, levelList, levelText, type Report } from './checker-forms.ts'

/**
 * How long the book's best levels may differ from the last top of book. Not zero, because a lagging subscriber may get
 * a conflated UPDATE before the newest top.
 */
const TOP_OVERDUE_MILLISECONDS = 5_000

type Top = Readonly<Record<BookSide, WireLevel | undefined>>

type Payload = Readonly<Record<string, unknown>>

export class BookChecker {
  readonly #market: string
  readonly #reportTo: Report
  #decimals: { price?: number; amount?: number } = {}
  #book: NaiveBook | undefined
  /** Kept across subscriptions, reset by a new connection. */
  #bookTime = ''
  #isTopSubscribed = false
  #top: Top | undefined
  #topTime = ''
  /** Since when the book's best has differed from the last top, or been there without one. */
  #differsSince: number | undefined

  constructor(market: string, report: Report) {
    this.#market = market
    this.#reportTo = report
  }

  levels(): { bids: number; asks: number } | undefined {
    return this.#book === undefined ? undefined : { bids: this.#book.size('bids'), asks: this.#book.size('asks') }
  }

  digest(): string | undefined {
    return this.#book?.digest()
  }

  /** A new connection. */
  reset(): void {
    this.#book = undefined
    this.#bookTime = ''
    this.#isTopSubscribed = false
    this.#top = undefined
    this.#topTime = ''
    this.#differsSince = undefined
  }

  onSubscription(type: ChannelType | string, isSubscribed: boolean): void {
    // A changed market may have other decimals after it is subscribed again.
    if (!isSubscribed) this.#decimals = {}
    if (type === 'market_data') {
      this.#book = undefined
      this.#differsSince = undefined
    }
    if (type === 'market_data.top_of_book') {
      this.#isTopSubscribed = isSubscribed
      this.#top = undefined
      this.#differsSince = undefined
    }
  }

  onSnapshot(payload: Payload, nowMilliseconds: number): void {
    this.#checkBookTime(payload.time)
    this.#book = new NaiveBook()
    for (const side of BOOK_SIDES) {
      for (const level of this.#readSide(side, payload)) {
        if (isZero(level.amount)) this.#report('zero-amount', `SNAPSHOT: ${side} ${levelText(level)}`)
        else this.#book.set(side, level.price, level.amount)
      }
    }
    this.#checkBook(this.#book, nowMilliseconds)
  }

  onUpdate(payload: Payload, nowMilliseconds: number): void {
    this.#checkBookTime(payload.time)
    const book = this.#book
    if (book === undefined) this.#report('update-before-snapshot', `UPDATE of ${JSON.stringify(payload.time)}`)
    for (const side of BOOK_SIDES) {
      for (const level of this.#readSide(side, payload)) {
        if (book !== undefined) this.#applyLevel(book, side, level)
      }
    }
    if (BOOK_SIDES.every((side) => levelList(payload[side])?.length === 0))
      this.#report('update-empty', `UPDATE of ${JSON.stringify(payload.time)}`)
    if (book !== undefined) this.#checkBook(book, nowMilliseconds)
  }

  onTop(payload: Payload, nowMilliseconds: number): void {
    this.#checkTopTime(payload)
    if (payload.type !== 'TOP_OF_BOOK')
      this.#report('field-missing', `top of book type is ${JSON.stringify(payload.type)}`)
    const best: Record<BookSide, WireLevel | undefined> = { bids: undefined, asks: undefined }
    for (const side of BOOK_SIDES) {
      const levels = this.#readSide(side, payload)
      if (levels.length > 1) this.#report('top-levels', `${levels.length} ${side}`)
      best[side] = levels[0]
      if (best[side] !== undefined && isZero(best[side].amount)) this.#report('zero-amount', `top of book: ${side}`)
    }
    if (this.#top !== undefined && isSameTop(this.#top, best)) this.#report('top-unchanged', topText(best))
    this.#top = best
    this.#differsSince = undefined
    if (this.#book === undefined) return
    const held = bestOf(this.#book)
    if (isSameTop(held, best)) return
    this.#differsSince = nowMilliseconds
    this.#report('top-not-best', `got ${topText(best)}, the book's is ${topText(held)}`)
  }

  /** Reports once when the last top has been wrong for too long. */
  checkTop(nowMilliseconds: number): void {
    if (this.#differsSince === undefined || nowMilliseconds - this.#differsSince < TOP_OVERDUE_MILLISECONDS) return
    const held = this.#book === undefined ? undefined : topText(bestOf(this.#book))
    this.#report(
      'top-overdue',
      `the book's best is ${held}, no top of book was sent for it within ${TOP_OVERDUE_MILLISECONDS} ms`,
    )
    this.#differsSince = Number.POSITIVE_INFINITY
  }

  /** A market's first price and amount determine its decimals. Exactly "0" is a removal, not a number. */
  checkDecimals(kind: 'price' | 'amount', text: string): void {
    if (kind === 'amount' && text === '0') return
    const digits = fractionDigits(text)
    const known = this.#decimals[kind]
    if (known === undefined) this.#decimals[kind] = digits
    else if (known !== digits) this.#report('decimals-changed', `${kind} ${text} has ${digits}, before it was ${known}`)
  }

  #applyLevel(book: NaiveBook, side: BookSide, { price, amount }: WireLevel): void {
    const held = book.amount(side, price)
    if (isZero(amount)) {
      if (amount !== '0') this.#report('zero-amount', `UPDATE: ${side} ${price} x ${amount} instead of 0`)
      if (held === undefined) this.#report('unknown-level-removed', `${side} ${price}`)
      else book.remove(side, price)
      return
    }
    if (held === amount) this.#report('amount-unchanged', `${side} ${price} x ${amount}`)
    book.set(side, price, amount)
  }

  /** One side's well-formed levels. Malformed ones are reported and skipped. */
  #readSide(side: BookSide, payload: Payload): WireLevel[] {
    const list = levelList(payload[side])
    if (list === undefined) {
      this.#report('field-missing', `${side} is not a level list`)
      return []
    }
    const levels: WireLevel[] = []
    const seen = new Set<string>()
    for (const { price, amount } of list) {
      if (!isDecimal(price) || !isDecimal(amount)) {
        this.#report('number-form', `${side} ${JSON.stringify({ price, amount })}`)
        continue
      }
      this.checkDecimals('price', price)
      this.checkDecimals('amount', amount)
      const previous = levels.at(-1)
      if (seen.has(price)) this.#report('price-repeated', `${side} ${price}`)
      else if (previous !== undefined && !standsBefore(side, previous.price, price)) {
        this.#report('side-unsorted', `${side} ${previous.price}, then ${price}`)
      }
      seen.add(price)
      levels.push({ price, amount })
    }
    return levels
  }

  #checkBook(book: NaiveBook, nowMilliseconds: number): void {
    const best = bestOf(book)
    if (book.isCrossed()) this.#report('crossed-book', topText(best))
    this.checkTop(nowMilliseconds)
    const isTopRight = this.#top !== undefined && isSameTop(this.#top, best)
    if (!this.#isTopSubscribed || isTopRight) this.#differsSince = undefined
    else this.#differsSince ??= nowMilliseconds
  }

  #checkBookTime(time: unknown): void {
    if (!isTimeText(time, 3)) {
      this.#report('time-form', `time is ${JSON.stringify(time)}`)
      return
    }
    if (time <= this.#bookTime) this.#report('time-order', `${time} after ${this.#bookTime}`)
    this.#bookTime = time
  }

  /** After a new subscription the same top may come again, with the instant it always had. */
  #checkTopTime({ timestamp }: Payload): void {
    if (!isTimeText(timestamp, 9)) {
      this.#report('time-form', `timestamp is ${JSON.stringify(timestamp)}`)
      return
    }
    const isInOrder = this.#top === undefined ? timestamp >= this.#topTime : timestamp > this.#topTime
    if (!isInOrder) this.#report('time-order', `top of book of ${timestamp} after ${this.#topTime}`)
    this.#topTime = timestamp
  }

  readonly #report = (name: Parameters<Report>[0], detail: string): void => {
    this.#reportTo(name, this.#market, detail)
  }
}

function bestOf(book: NaiveBook): Top {
  return { bids: book.best('bids'), asks: book.best('asks') }
}

function isSameTop(left: Top, right: Top): boolean {
  return BOOK_SIDES.every(
    (side) => left[side]?.price === right[side]?.price && left[side]?.amount === right[side]?.amount,
  )
}

function topText(top: Top): string {
  return `${levelText(top.bids)} / ${levelText(top.asks)}`
}
