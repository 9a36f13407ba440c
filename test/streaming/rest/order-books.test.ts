/** Books for requests: one cursor stands for one text. */
import { expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import { OrderBooks } from '../../../src/streaming/rest/order-books.ts'
import { BASE } from '../../../src/streaming/sequencing/frame.ts'
import { deepBook, LiveStream } from '../gateway/live-stream.ts'

test('a book with the same cursor has the same text, also after a minute without requests', async () => {
  const stream = new LiveStream({ depth: 0 })
  stream.snapshot(deepBook(5, 10))
  const market = stream.hub.market('AAAUSD')
  if (market === undefined) throw new Error('the market is not served')
  // With a subscriber, the view outlives its requests.
  market.book.viewFor(1).join(BASE)
  const books = new OrderBooks(stream.clock)
  const first = await books.read(market, 1)
  stream.clock.advance(61_000)
  // Outside this view.
  stream.update([{ side: BID, price: 9_000_000, amount: 1 }])
  expect(await books.read(market, 1)).toEqual(first)
})
