/**
 * The state of one recorded market at a place of the recording: its book, and whether anybody vouched for it. Made from
 * the entries up to there, and told as the events that lead anyone to the same state. Pure.
 */
import { Book } from '../../market/book.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../market/event.ts'

export class RecordedState {
  readonly #book = new Book()
  #hasBook = false
  /** Why nobody vouches for the book; undefined while somebody does. */
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

  /** The last book, which was lost, is published no longer. */
  withdraw(): void {
    this.#book.replace([])
    this.#hasBook = false
  }

  /** The last book, also when it was lost since, unless it was withdrawn. Empty before the first. */
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
   * What leads to this state from any other, without executions: events for one turn after the other, because a book
   * that is lost within the turn that it came in is never published.
   */
  turns(): MarketEvent[][] {
    const turns: MarketEvent[][] = []
    if (this.#hasBook) turns.push([{ type: 'snapshot', levels: this.levels() }])
    if (this.#reason !== undefined) turns.push([{ type: 'lost', reason: this.#reason }])
    return turns
  }
}
