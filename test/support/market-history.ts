/** A market's history, commit by commit, kept with the naive book: the oracle for the stream. */
import { millisecondText } from '../../src/platform/base/clock.ts'
import { formatDecimal } from '../../src/platform/base/decimal.ts'
import {
  type Attribution,
  BID,
  type LevelChange,
  type MarketDefinition,
  type VenueShare,
} from '../../src/streaming/market/event.ts'
import type { Bus } from '../../src/streaming/sequencing/bus.ts'
import { NaiveBook } from './naive-book.ts'

export class MarketHistory {
  #market: MarketDefinition
  #book = new NaiveBook()
  readonly #books = new Map<string, string>()
  readonly #tops = new Map<string, string>()
  /** The books with each level's venues, in the same notation. */
  readonly #attributed = new Map<string, string>()
  /** Every level's venue, or each one's shares, by side and price. */
  #venue: string | undefined
  readonly #shares = new Map<string, readonly VenueShare[]>()
  readonly #executions = new Map<string, number>()
  /** Gaps are numbered too, so that executions after a gap are never expected before earlier ones. */
  #executionCount = 0
  gapCount = 0
  readonly #times: string[] = []
  lastTime = ''
  /** Whether a source is connected, and whether the book was withdrawn because none is. */
  isLive = false
  isWithdrawn = false
  withdrawals = 0

  constructor(market: MarketDefinition, bus: Bus) {
    this.#market = market
    bus.subscribe(market.symbol, (message) => {
      if (message.type === 'state' || message.type === 'withdrawal') throw new Error('nothing is lost in one process')
      if (message.type === 'status') {
        this.isLive = message.live
        if (message.live) this.isWithdrawn = false
        return
      }
      this.#book.apply(message.changes)
      if (message.attribution !== undefined) this.#attribute(message.attribution)
      if (message.withdraws) this.#withdraw()
      this.lastTime = millisecondText(message.milliseconds)
      this.#times.push(this.lastTime)
      const levels = this.#book.levels(this.#market.depth)
      this.#books.set(this.lastTime, JSON.stringify([this.#side(levels, true), this.#side(levels, false)]))
      const attributed = [true, false].map((isBid) => this.#attributedSide(levels, isBid))
      this.#attributed.set(this.lastTime, JSON.stringify(attributed))
      const best = (isBid: boolean) =>
        this.#side(levels, isBid)
          .slice(0, 1)
          .map(([price, amount]) => ({ price, amount }))
      this.#tops.set(this.lastTime, JSON.stringify([best(true), best(false)]))
      for (const [place, execution] of message.executions.entries()) {
        if (place === message.missedAt) this.#miss()
        this.#executions.set(formatDecimal(execution.amount, this.#market.amountDecimals), this.#executionCount++)
      }
      if (message.missedAt === message.executions.length) this.#miss()
    })
  }

  /** Restarts the market after its removal: the book is empty, and the earlier history is kept. */
  restart(market: MarketDefinition): void {
    this.#market = market
    this.#book = new NaiveBook()
    this.isLive = false
    this.isWithdrawn = false
  }

  /** Only a book without a source is withdrawn. It becomes empty, whatever the commit contains. */
  #withdraw(): void {
    if (this.isLive) throw new Error('a live book was withdrawn')
    this.isWithdrawn = true
    this.withdrawals += 1
    this.#book = new NaiveBook()
  }

  /** The published view right after the commit at that time, in the verifiers' notation. */
  bookAt(time: string): string | undefined {
    return this.#books.get(time)
  }

  /** The same with each level's venues: price, amount, pairs of a venue and its amount. */
  attributedAt(time: string): string | undefined {
    return this.#attributed.get(time)
  }

  topAt(time: string): string | undefined {
    return this.#tops.get(time)
  }

  /** How many commits after one time, up to another, changed what `what` reads from the published view or top. */
  changesBetween(
    after: string,
    until: string,
    kind: 'books' | 'attributed' | 'tops',
    what: (text: string) => string,
  ): number {
    const texts = { books: this.#books, attributed: this.#attributed, tops: this.#tops }[kind]
    let later: string | undefined
    let changes = 0
    for (let index = this.#times.length - 1; index >= 0; index--) {
      const time = this.#times[index] as string
      if (time > until) continue
      const text = what(texts.get(time) as string)
      if (later !== undefined && text !== later) changes += 1
      if (time <= after) break
      later = text
    }
    return changes
  }

  executionIndex(amount: string): number {
    const index = this.#executions.get(amount)
    if (index === undefined) throw new Error(`no execution of ${amount} ever happened`)
    return index
  }

  /** The number of executions and gaps so far. */
  get executionCount(): number {
    return this.#executionCount
  }

  get bookNow(): string | undefined {
    return this.#books.get(this.lastTime)
  }

  #attribute(attribution: Attribution): void {
    this.#venue = attribution.type === 'only' ? attribution.venue : undefined
    if (attribution.type !== 'some') this.#shares.clear()
    if (attribution.type === 'only') return
    for (const { side, price, venues } of attribution.levels) this.#shares.set(`${side} ${price}`, venues)
  }

  #attributedSide(levels: readonly LevelChange[], isBid: boolean): [string, string, [string, string][]][] {
    const amountText = (amount: LevelChange['amount']) => formatDecimal(amount, this.#market.amountDecimals)
    return levels
      .filter(({ side }) => (side === BID) === isBid)
      .map(({ side, price, amount }) => {
        const shares: readonly VenueShare[] =
          this.#venue === undefined ? (this.#shares.get(`${side} ${price}`) ?? []) : [[this.#venue, amount]]
        const venues = shares.map(([venue, part]): [string, string] => [venue, amountText(part)])
        return [formatDecimal(price, this.#market.priceDecimals), amountText(amount), venues]
      })
  }

  #miss(): void {
    this.#executionCount += 1
    this.gapCount += 1
  }

  #side(levels: readonly LevelChange[], isBid: boolean): [string, string][] {
    return levels
      .filter(({ side }) => (side === BID) === isBid)
      .map(({ price, amount }) => [
        formatDecimal(price, this.#market.priceDecimals),
        formatDecimal(amount, this.#market.amountDecimals),
      ])
  }
}
