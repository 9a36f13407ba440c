/**
 * One loop over a book's changes. It keeps what the loop has not seen yet: for each changed level, its state when the
 * loop last looked, not the changes themselves. So a slow loop gets one exact change for everything it missed, and the
 * reader never keeps much more than a book.
 */
import type { BookChange, BookStatus } from './book-change.ts'
import type { BookContent } from './book-content.ts'
import { isBetter, isSame, Level, SIDES, type SideName } from './level.ts'
import { type Readable, Reader } from './reader.ts'

const GONE = '0'
/** With this many more changed levels than the book has levels, the whole book is the shorter change. */
const SPARE = 100

export interface ReadableBook extends Readable {
  readonly content: BookContent
  readonly status: BookStatus
}

export class ChangeReader extends Reader<BookChange> {
  readonly #book: ReadableBook
  /** The next change is the whole book. */
  #isWhole = true
  /** The changed levels by price, each in its earlier state: undefined for a new one. */
  #before: Record<SideName, Map<string, Level | undefined>> = { bids: new Map(), asks: new Map() }
  #status: BookStatus | undefined

  constructor(book: ReadableBook, onReturn: () => void) {
    super(book, onReturn)
    this.#book = book
  }

  note(side: SideName, price: string, level: Level | undefined): void {
    if (this.#isWhole) return
    const before = this.#before[side]
    if (!before.has(price)) before.set(price, level)
    if (this.#before.bids.size + this.#before.asks.size > this.#book.content.size + SPARE) this.noteWhole()
  }

  /** The book was replaced. */
  noteWhole(): void {
    this.#isWhole = true
    this.#before = { bids: new Map(), asks: new Map() }
  }

  protected take(): BookChange | undefined {
    const { content, status } = this.#book
    const type = this.#isWhole ? 'SNAPSHOT' : 'UPDATE'
    const [bids, asks] = this.#isWhole
      ? SIDES.map((side) => content[side].top(Number.POSITIVE_INFINITY))
      : SIDES.map((side) => this.#difference(side))
    if (bids === undefined || asks === undefined) return undefined
    const isNew = this.#isWhole || bids.length + asks.length > 0 || status !== this.#status
    this.#isWhole = false
    this.#before = { bids: new Map(), asks: new Map() }
    this.#status = status
    return isNew ? { type, status, time: content.time, bids, asks } : undefined
  }

  #difference(side: SideName): Level[] {
    const levels: Level[] = []
    for (const [price, before] of this.#before[side]) {
      const now = this.#book.content[side].at(price)
      if (!isSame(now, before)) levels.push(now ?? new Level(price, GONE))
    }
    return levels.sort((left, right) => (isBetter(side, left.price, right.price) ? -1 : 1))
  }
}
