/**
 * Where a book of OKX that was fetched by HTTP joins the messages of its channel, for subscriptions that do not begin
 * with a snapshot. It promises that a book is joined only where both name the same sequence number. That is stricter
 * than OKX's own procedure, which accepts a book whose number lies between those of two messages: a level that came and
 * went between these two would then stay in the book for ever. Pure.
 */
import type { OkxBookData } from './message.ts'

/** Messages that are kept: at ten a second they are older than any answer that is waited for. */
const MESSAGES_MAX = 200

/** A message or a book whose place is known. */
type Numbered = OkxBookData & { readonly sequence: NonNullable<OkxBookData['sequence']> }

export class OkxStart {
  /** Each follows the one before it. */
  #messages: Numbered[] = []
  #fetched: Numbered | undefined

  /** Takes in a message of the channel; returns the fetched book and the messages to apply to it, once they join. */
  add(message: OkxBookData): readonly OkxBookData[] | undefined {
    const last = this.#messages.at(-1)
    if (!isNumbered(message) || (last !== undefined && message.sequence.previous !== last.sequence.id)) this.#clear()
    if (!isNumbered(message)) return undefined
    this.#messages.push(message)
    if (this.#messages.length > MESSAGES_MAX) this.#messages.shift()
    return this.#join()
  }

  /** Takes in a book that was fetched, in place of the one before; returns as `add` does. */
  takeFetched(book: OkxBookData): readonly OkxBookData[] | undefined {
    this.#fetched = isNumbered(book) ? book : undefined
    return this.#join()
  }

  /** A missing message, or numbers that began again: what was fetched before says nothing of what comes now. */
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
