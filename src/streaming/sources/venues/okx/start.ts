/**
 * Joins a fetched OKX book with its channel's messages, for subscriptions without a first snapshot. The book and a
 * message must have the same sequence number. OKX's own procedure is less strict: it accepts a book with a number
 * between two messages. A level added and removed between these two would then stay in the book. Pure.
 */
import type { OkxBookData } from './message.ts'

/** Limit for kept messages. At ten per second they are older than the request's time limit. */
const MESSAGES_MAX = 200

/** A message or a book with a sequence number. */
type Numbered = OkxBookData & { readonly sequence: NonNullable<OkxBookData['sequence']> }

export class OkxStart {
  /** A chain: each message follows the one before. */
  #messages: Numbered[] = []
  #fetched: Numbered | undefined

  /** Adds a channel message. Returns the fetched book and the messages to apply to it, once they join. */
  add(message: OkxBookData): readonly OkxBookData[] | undefined {
    const last = this.#messages.at(-1)
    if (!isNumbered(message) || (last !== undefined && message.sequence.previous !== last.sequence.id)) this.#clear()
    if (!isNumbered(message)) return undefined
    this.#messages.push(message)
    if (this.#messages.length > MESSAGES_MAX) this.#messages.shift()
    return this.#join()
  }

  /** Replaces the fetched book. Returns the same as `add`. */
  takeFetched(book: OkxBookData): readonly OkxBookData[] | undefined {
    this.#fetched = isNumbered(book) ? book : undefined
    return this.#join()
  }

  /** A message is missing, or the numbers restarted: the fetched book cannot join later messages. */
  #clear(): void {
    this.#messages = []
    this.#fetched = undefined
  }

  #join(): readonly OkxBookData[] | undefined {
    const book = this.#fetched
    if (book === undefined) return undefined
    const { id } = book.sequence
    const next = this.#messages.findIndex(({ sequence }) => sequence.previous === id)
    if (next >= 0) return [book, ...this.#messages.slice(next)]
    return this.#messages.at(-1)?.sequence.id === id ? [book] : undefined
  }
}

function isNumbered(data: OkxBookData): data is Numbered {
  return data.sequence !== undefined
}
