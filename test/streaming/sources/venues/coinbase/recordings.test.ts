/**
 * What Coinbase sent over its older Exchange feed, converted to the form of Advanced Trade: the matching engine is the
 * same. Ten books and their trades, as the frames of one connection.
 */
import { describe, expect, it } from 'vitest'
import { Book } from '../../../../../src/streaming/market/book.ts'
import { readListings } from '../../../../../src/streaming/sources/venues/coinbase/answer.ts'
import type { CoinbaseBookData } from '../../../../../src/streaming/sources/venues/coinbase/book.ts'
import { COINBASE } from '../../../../../src/streaming/sources/venues/coinbase/protocol.ts'
import type { Listing, VenueBook } from '../../../../../src/streaming/sources/venues/venue.ts'
import { VenueTrades } from '../../../../../src/streaming/sources/venues/venue-trades.ts'
import { areRecordingsGenerated } from '../../../../support/recorded-files.ts'
import { NUMBER_MARK } from '../../../../support/venues/client.ts'
import { coinbaseRecordings, recordedProducts } from '../../../../support/venues/coinbase.ts'

interface FollowedBook {
  readonly venue: VenueBook<CoinbaseBookData>
  readonly book: Book
}

describe('what Coinbase sent', () => {
  /** How the recorded products were listed. */
  function recordedListings(): Map<string, Listing> {
    const listed = readListings(JSON.stringify({ products: recordedProducts() }))
    if ('problem' in listed) throw new Error(listed.problem)
    expect(listed.value).toHaveLength(areRecordingsGenerated ? 4 : 162)
    return new Map(listed.value.map((listing) => [listing.symbol, listing]))
  }

  it('recorded Coinbase frames are all readable: no book ends a message crossed, trade numbers have no gaps', () => {
    const listings = recordedListings()
    const recordings = coinbaseRecordings()
    const symbols = recordings.map(({ product }) => product.product_id)
    const protocol = COINBASE.createProtocol({ restUrl: '' })
    for (const channel of ['book', 'trades'] as const) protocol.requests('subscribe', channel, symbols, Infinity)
    const books = new Map<string, FollowedBook>(
      symbols.map((symbol) => {
        const listing = listings.get(symbol) as Listing
        const options = { listing, depth: Infinity, priceMaximum: Number.MAX_SAFE_INTEGER }
        return [symbol, { venue: protocol.createBook(options), book: new Book() }]
      }),
    )
    const numbers = new Map(symbols.map((symbol) => [symbol, new VenueTrades(symbol)]))
    const counts: Record<string, number> = {}
    const count = (name: string) => {
      counts[name] = (counts[name] ?? 0) + 1
    }
    const frames = recordings
      .flatMap((recording) => recording.frames)
      .sort((left, right) => left.milliseconds - right.milliseconds)
    for (const [index, { text }] of frames.entries()) {
      for (const message of protocol.read(text.replace(NUMBER_MARK, `"sequence_num":${index}`))) {
        if (message.kind === 'book') {
          const { venue, book } = books.get(message.symbol) as FollowedBook
          const step = venue.apply(message.data)
          count(step.kind)
          if (step.kind === 'snapshot') book.replace(step.levels)
          if (step.kind === 'update') book.apply(step.changes)
          expect(book.isCrossed()).toBe(false)
          expect(message.eventMilliseconds === undefined).toBe(step.kind === 'snapshot')
        } else if (message.kind === 'trades') {
          count('traded')
          for (const step of numbers.get(message.symbol)?.take(message.trades, message.isRepeat) ?? []) count(step.kind)
        } else {
          throw new Error(`unexpected ${message.kind}`)
        }
      }
    }
    const real = { snapshot: 10, update: 9719, traded: 97, trades: 97 }
    expect(counts).toEqual(areRecordingsGenerated ? { snapshot: 4, update: 1260, traded: 97, trades: 97 } : real)
  })
})
