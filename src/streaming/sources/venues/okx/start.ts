/**
 * Joins a fetched OKX book with the messages of its channel, for subscriptions that do not begin with a snapshot. They
 * are joined only where both have the same sequence number. That is stricter than the procedure of OKX, which accepts a
 * book whose number is between those of two messages: a level that was added and removed between these two would then
 * stay in the book. Pure.
 */
import type { OkxBookData } from './message.ts'

/** Messages that are kept: at ten per second they are older than the time limit of the request. */
const MESSAGES_MAX = 200

/** A message or a book with a sequence number. */
type Numbered = OkxBookData & { readonly sequence: NonNullable<OkxBookData['sequence']> }

export class OkxStart {
  /** A chain: each message follows the one before. */
  #messages: Numbered[] = []
  #fetched: Numbered | undefined

  /** Adds a message of the channel. Returns the fetched book and the messages to apply to it, once they join. */
  add(message: OkxBookData): readonly OkxBookData[] | undefined {
    const last = this.#messages.at(-1)
    if (!isNumbered(message) || (last !== undefined && message.sequence.previous !== last.sequence.id)) this.#clear()
    if (!isNumbered(message)) return undefined
    this.#messages.push(message)
    if (this.#messages.length > MESSAGES_MAX) this.#messages.shift()
    return this.#join()
  }

  /** Replaces the fetched book; returns as `add` does. */
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
