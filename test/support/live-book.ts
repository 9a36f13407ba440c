/** A client's book, from one connection's messages. */
import { LiveBook } from '../../packages/client/src/stream/book.ts'
import { type BookMessage, parseMessage } from '../../packages/client/src/stream/messages.ts'

export function liveBook(market: string, ...messages: readonly object[]): LiveBook {
  const book = new LiveBook(market, {}, () => undefined)
  book.ready.catch(() => undefined)
  book.acknowledge()
  for (const message of messages) receive(book, message)
  return book
}

export function receive(book: LiveBook, message: object): void {
  book.receive(parseMessage(JSON.stringify(message)) as BookMessage)
}
