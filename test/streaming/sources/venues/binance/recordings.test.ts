import { describe, expect, it } from 'vitest'
import { parseDecimal } from '../../../../../src/platform/base/decimal.ts'
import { ASK, BID } from '../../../../../src/streaming/market/event.ts'
import { readListings, readSnapshot } from '../../../../../src/streaming/sources/venues/binance/answer.ts'
import type { BinanceBookData } from '../../../../../src/streaming/sources/venues/binance/book.ts'
import { BINANCE } from '../../../../../src/streaming/sources/venues/binance/protocol.ts'
import type {
  Listing,
  VenueBook,
  VenueProtocol,
  VenueTrade,
} from '../../../../../src/streaming/sources/venues/venue.ts'
import { readCapture } from '../../../../support/captures.ts'
import { NaiveBook } from '../../../../support/naive-book.ts'
import { areRecordingsGenerated } from '../../../../support/recorded-files.ts'

const FRAMES = 'BINANCE.ws.1.0'
const SNAPSHOTS = 'BINANCE.http.0.0.gz'
const LISTINGS = 'BINANCE.0.gz'
/** Levels per side at which the recorded snapshots were cut. */
const SNAPSHOT_LIMIT = 1000

interface Ticker {
  readonly u: number
  readonly s: string
  readonly b: string
  readonly B: string
  readonly a: string
  readonly A: string
}

/** One recorded pair: our book of it, and the book that its steps lead to. */
interface Followed {
  readonly listing: Listing
  readonly book: VenueBook<BinanceBookData>
  readonly naive: NaiveBook
  /** Changes behind the snapshot that were applied, and those after which the best levels were compared. */
  applied: number
  bestCompared: number
}

/** As fine as its levels may be, or as its steps are. */
function followed(protocol: VenueProtocol<BinanceBookData>, listing: Listing, isFine: boolean): Followed {
  const { finestPriceDecimals = 0, finestAmountDecimals = 0 } = listing
  const decimals = isFine ? { priceDecimals: finestPriceDecimals, amountDecimals: finestAmountDecimals } : {}
  const own = { ...listing, ...decimals }
  const book = protocol.createBook({ listing: own, depth: 10, priceMaximum: Number.MAX_SAFE_INTEGER })
  return { listing: own, book, naive: new NaiveBook(), applied: 0, bestCompared: 0 }
}

function recordedListings(): readonly Listing[] {
  const fetched = readListings(readCapture(LISTINGS).find(({ kind }) => kind === 'answer')?.text ?? '')
  if ('problem' in fetched) throw new Error(fetched.problem)
  return fetched.value
}

/** Plays everything in the order in which it arrived; `symbols` are those whose snapshot was recorded. */
function play(isFine: boolean): { readonly pairs: Map<string, Followed>; readonly trades: VenueTrade[] } {
  // A protocol of its own: positions of an earlier play would make these books too old.
  const protocol = BINANCE.createProtocol({ restUrl: '' })
  const listings = recordedListings()
  const lines = [...readCapture(FRAMES), ...readCapture(SNAPSHOTS)]
  const pairs = new Map<string, Followed>()
  const tickers: Ticker[] = []
  const trades: VenueTrade[] = []
  const pairOf = (symbol: string): Followed => {
    const listing = listings.find((one) => one.symbol === symbol) as Listing
    const pair = pairs.get(symbol) ?? followed(protocol, listing, isFine)
    pairs.set(symbol, pair)
    return pair
  }
  for (const { kind, text, address } of lines.toSorted((left, right) => left.milliseconds - right.milliseconds)) {
    if (kind === 'answer') {
      const snapshot = readSnapshot(text, SNAPSHOT_LIMIT)
      if ('problem' in snapshot) throw new Error(snapshot.problem)
      follow(pairOf(new URL(address).searchParams.get('symbol') as string), snapshot.value, tickers)
    } else if (kind === 'received') {
      const { stream, data } = JSON.parse(text) as { stream: string; data: Ticker }
      if (stream.endsWith('@bookTicker')) tickers.push(data)
      for (const message of protocol.read(text)) {
        if (message.kind === 'book') follow(pairOf(message.symbol), message.data, tickers)
        else if (message.kind === 'trades') trades.push(...message.trades)
        else throw new Error(JSON.stringify(message))
      }
    }
  }
  return { pairs, trades }
}

function follow(pair: Followed, data: BinanceBookData, tickers: readonly Ticker[]): void {
  const step = pair.book.apply(data)
  if (step.kind === 'wrong') throw new Error(step.reason)
  if (step.kind === 'waiting') return
  if (step.kind === 'snapshot') pair.naive.replace(step.levels)
  else pair.naive.apply(step.changes)
  if (data.kind !== 'diff') return
  pair.applied += 1
  const [bid, ask] = pair.naive.levels(1)
  expect(bid?.price).toBeLessThan(ask?.price ?? 0)
  // The venue's own word for the best levels is sent when they change, with the number of the change.
  const { symbol, priceDecimals, amountDecimals } = pair.listing
  const ticker = tickers.findLast(({ s, u }) => s === symbol && u <= data.lastUpdateId)
  if (ticker === undefined) return
  const level = (price: string, amount: string) => ({
    price: parseDecimal(price, priceDecimals),
    amount: parseDecimal(amount, amountDecimals),
  })
  expect([bid, ask]).toEqual([
    { side: BID, ...level(ticker.b, ticker.B) },
    { side: ASK, ...level(ticker.a, ticker.A) },
  ])
  pair.bestCompared += 1
}

describe('recorded books of Binance', () => {
  it.each([
    ['as fine as their levels', true],
    ['as fine as their steps', false],
  ])(
    'recorded books of Binance %s begin, apply every change, and have the best levels that the venue names',
    (_, isFine) => {
      const { pairs } = play(isFine)
      expect([...pairs.keys()].sort()).toEqual(['BLZETH', 'LRCBTC', 'NKNUSDT', 'RUNEEUR'])
      const sum = (what: 'applied' | 'bestCompared') =>
        [...pairs.values()].reduce((total, pair) => total + pair[what], 0)
      // Four that bracket a snapshot and 168 that follow the one before, and one that ends exactly at its snapshot.
      expect(sum('applied')).toBe(areRecordingsGenerated ? 4 * 59 : 4 + 168 + 1)
      expect(sum('bestCompared')).toBe(areRecordingsGenerated ? 4 * 59 : 159)
    },
  )

  it.skipIf(areRecordingsGenerated)(
    'recorded messages of Binance contain readable trades only, and every listed pair',
    () => {
      expect(play(true).trades).toEqual([
        {
          firstId: expect.any(Number) as number,
          lastId: expect.any(Number) as number,
          price: '0.35280000',
          amount: '58.00000000',
          executedAtMilliseconds: 1633998523963,
          side: expect.stringMatching(/^(buy|sell)$/) as string,
        },
        {
          firstId: expect.any(Number) as number,
          lastId: expect.any(Number) as number,
          price: '0.00000638',
          amount: '177.00000000',
          executedAtMilliseconds: 1633998534486,
          side: expect.stringMatching(/^(buy|sell)$/) as string,
        },
      ])
      const listings = recordedListings()
      expect(listings).toHaveLength(1695)
      expect(listings.find(({ symbol }) => symbol === 'NKNUSDT')).toEqual({
        symbol: 'NKNUSDT',
        priceDecimals: 4,
        amountDecimals: 0,
        finestPriceDecimals: 8,
        finestAmountDecimals: 8,
        status: 'TRADING',
        state: 'open',
      })
    },
  )
})
