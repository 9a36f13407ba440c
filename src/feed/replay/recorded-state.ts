/**
 * The state of one recorded market at a position of the recording: its book, and whether the book was live. It is built
 * from the entries up to there, and returned as events that lead to the same state. Pure.
 */
import { Book } from '../../market/book.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../market/event.ts'

export class RecordedState {
  readonly #book = new Book()
  #hasBook = false
  /** Why the book is not live; undefined while it is. */
  #reason: string | undefined

  constructor(reason: string) {
    this.#reason = reason
  }

  get isLive(): boolean {
    return this.#reason === undefined
  }

  apply(events: readonly MarketEvent[]): void {
    for (const event of events) {
      if (event.type === 'lost') {
        this.#reason = event.reason
      } else if (event.type === 'snapshot') {
        this.#book.replace(event.levels)
        this.#hasBook = true
        this.#reason = undefined
      } else if (event.type === 'update' && this.isLive) {
        this.#book.apply(event.changes)
      }
    }
  }

  /** Removes the last book of a lost market, which is no longer published. */
  withdraw(): void {
    this.#book.replace([])
    this.#hasBook = false
  }

  /** The last book, even when it was lost since, unless it was withdrawn. Empty before the first. */
  levels(): LevelChange[] {
    const levels: LevelChange[] = []
    for (const side of [BID, ASK] as const) {
      const present = this.#book.side(side)
      for (let rank = 0; rank < present.size; rank++) {
        levels.push({ side, price: present.priceAt(rank), amount: present.amountAt(rank) })
      }
    }
    return levels
  }

  /**
   * The events that lead to this state from any other, without executions, grouped by tick: a book that is lost in the
   * tick in which it arrived would never be published.
   */
  eventsByTick(): MarketEvent[][] {
    const ticks: MarketEvent[][] = []
    if (this.#hasBook) ticks.push([{ type: 'snapshot', levels: this.levels() }])
    if (this.#reason !== undefined) ticks.push([{ type: 'lost', reason: this.#reason }])
    return ticks
  }
}
