import { describe, expect, it } from 'vitest'
import { createCoinbaseProtocol } from '../../../src/feed/coinbase/protocol.ts'
import type { Listing } from '../../../src/feed/venue.ts'
import { VenueTrades } from '../../../src/feed/venue-trades.ts'
import { Book } from '../../../src/market/book.ts'
import { capturesMissing, readCapture, receivedFrames } from '../../support/captures.ts'

const FRAMES = 'COINBASE.ws.28.0.gz'
const PRODUCTS = 'COINBASE.0'

describe.skipIf(capturesMissing(FRAMES, PRODUCTS))('what Coinbase sent (needs ../shared/data)', () => {
  /** How the recorded products were listed: the list by HTTP has the members of the one on the connection. */
  function recordedListings(): Map<string, Listing> {
    const [answer] = readCapture(PRODUCTS)
    const status = { type: 'status', products: JSON.parse(answer?.text ?? '') }
    const [message] = createCoinbaseProtocol().read(JSON.stringify(status))
    if (message?.kind !== 'listings') throw new Error('no listings')
    expect(message.listings).toHaveLength(162)
    return new Map(message.listings.map((listing) => [listing.symbol, listing]))
  }

  it('reads every frame: 10 books that never end a message crossed, 97 trades with numbers that leave nothing out', () => {
    const listings = recordedListings()
    const protocol = createCoinbaseProtocol()
    const books = new Map<string, { venue: ReturnType<typeof protocol.createBook>; book: Book }>()
    const numbers = new Map<string, VenueTrades>()
    const counts: Record<string, number> = {}
    for (const { text } of receivedFrames(FRAMES)) {
      for (const message of protocol.read(text)) {
        if (message.kind === 'book') {
          const { symbol, data } = message
          const listing = listings.get(symbol) as Listing
          const priceMaximum = Number.MAX_SAFE_INTEGER
          const known = books.get(symbol) ?? {
            venue: protocol.createBook({ listing, depth: Infinity, priceMaximum }),
            book: new Book(),
          }
          books.set(symbol, known)
          const step = known.venue.apply(data)
          counts[step.kind] = (counts[step.kind] ?? 0) + 1
          if (step.kind === 'snapshot') known.book.replace(step.levels)
          if (step.kind === 'update') known.book.apply(step.changes)
          expect(known.book.isCrossed()).toBe(false)
          expect(message.eventMilliseconds === undefined).toBe(data.isSnapshot)
        } else if (message.kind === 'trades') {
          const known = numbers.get(message.symbol) ?? new VenueTrades(message.symbol)
          numbers.set(message.symbol, known)
          const kind = message.isRepeat ? 'repeated' : 'traded'
          counts[kind] = (counts[kind] ?? 0) + 1
          for (const step of known.take(message.trades, message.isRepeat)) {
            counts[step.kind] = (counts[step.kind] ?? 0) + 1
          }
        } else {
          throw new Error(`unexpected ${message.kind}`)
        }
      }
    }
    expect(counts).toEqual({ snapshot: 10, update: 9719, repeated: 10, traded: 97, trades: 97 })
  })
})
