/**
 * Recorded market data of an exchange through the built program to a client of the documented stream: the exchange's
 * own checksum of the ten best levels is compared with the one computed here from the client's texts. `TIDEGATE_LONG=1`
 * also replays at the recordings' own speed and as fast as the sockets accept.
 */
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { note } from '../support/note.ts'
import { krakenBtcUsd, krakenEthUsd } from '../support/recordings.ts'
import {
  ensureBuilt,
  market,
  newToken,
  type ServiceProcess,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'
import { type SampleBook, SampleClient, sortedLevels } from '../support/sample-client.ts'
import { type KrakenServer, startKrakenServer } from '../support/venues/kraken.ts'
import { Waiters } from '../support/waiters.ts'

const isLong = process.env.TIDEGATE_LONG === '1'

const MARKETS = [market('BTC', 1, 10, 'kraken:BTC/USD'), market('ETH', 2, 25, 'kraken:ETH/USD')]
const VENUE_SYMBOLS: Readonly<Record<string, string>> = { BTCUSD: 'BTC/USD', ETHUSD: 'ETH/USD' }
const CHECKSUM_LEVELS = 10

/**
 * At 100 times the speed the service conflates much of its input, so every fourth frame waits until both sides are
 * idle; at the original speed every frame does; at full speed none.
 */
const PACES = [
  { name: '100 times their pace', speed: 100, framesPerRest: 4, isRun: true },
  { name: 'their own pace', speed: 1, framesPerRest: 1, isRun: isLong },
  { name: 'full speed', speed: Number.POSITIVE_INFINITY, framesPerRest: 0, isRun: isLong },
].filter(({ isRun }) => isRun)

const folder = temporaryFolder()
beforeAll(ensureBuilt)
afterAll(() => folder.remove())

describe('recorded books of Kraken', () => {
  describe.each(PACES)('at $name', ({ name, speed, framesPerRest }) => {
    const verifier = new ChecksumVerifier(framesPerRest)
    let venue: KrakenServer
    let service: ServiceProcess

    beforeAll(async () => {
      venue = await startKrakenServer({ recordings: [krakenBtcUsd(), krakenEthUsd()], speed, hold: verifier.hold })
      verifier.sent = venue.checksums
      service = await startServiceProcess('serve', folder.path, {
        markets: JSON.stringify(MARKETS),
        'feeds.kraken.url': venue.url,
      })
    })

    afterAll(async () => {
      expect((await service?.stop())?.code).toBe(0)
      await venue?.close()
    })

    it("recorded books of Kraken reach the client with the exchange's checksums", async () => {
      const client = await SampleClient.connect({
        wsUrl: service.ws,
        token: await newToken(service),
        onMessage(message, { books }) {
          if ('channel' in message && message.channel === 'market_data')
            verifier.look(message.payload.market as string, books)
        },
      })
      await client.subscribeAll('BTCUSD', 'ETHUSD')
      await client.until('both books', () => ['BTCUSD', 'ETHUSD'].every((symbol) => client.book(symbol).isComplete))
      verifier.release()
      await venue.finished
      await verifier.atRest('BTCUSD')
      await verifier.atRest('ETHUSD')
      // The reply arrives after everything sent before it.
      await client.request({ type: 'subscription_list' })
      expect(verifier.problems).toEqual([])
      expect(client.problems).toEqual([])
      expect(checksumOf(client.book('BTCUSD'))).toBe(venue.checksums.get('BTC/USD')?.at(-1))
      expect(checksumOf(client.book('ETHUSD'))).toBe(venue.checksums.get('ETH/USD')?.at(-1))
      expect(client.book('BTCUSD').bids.size).toBe(10)
      expect(client.book('ETHUSD').asks.size).toBe(25)
      note(JSON.stringify({ pace: name, ...verifier.counts(), ...client.counts }))
      if (framesPerRest > 0) {
        expect(verifier.counts().restsBTCUSD).toBeGreaterThan(50)
        expect(verifier.counts().restsETHUSD).toBeGreaterThan(200)
      }
      await client.close()
    })
  })
})

/**
 * Compares the client's books with the checksums of the exchange: after every message the client's checksum is one of
 * them, later than the one before; and where the replay pauses it is the last one.
 */
class ChecksumVerifier {
  readonly problems: string[] = []
  sent: ReadonlyMap<string, readonly number[]> = new Map()
  readonly #framesPerRest: number
  readonly #waiters = new Waiters()
  readonly #checksums = new Map<string, number>()
  /** The index of the last match among the sent checksums, by market. */
  readonly #places = new Map<string, number>()
  readonly #matched = new Map<string, number>()
  readonly #rests = new Map<string, number>()
  #isReleased = false

  constructor(framesPerRest: number) {
    this.#framesPerRest = framesPerRest
  }

  /** Lets the replays continue after their first snapshot. */
  release(): void {
    this.#isReleased = true
    this.#waiters.notify()
  }

  readonly hold = (venueSymbol: string, index: number): Promise<void> | undefined => {
    if (index === 0) return undefined
    if (index === 1) return this.#waiters.until('a client', () => this.#isReleased, 60_000)
    const isRest = this.#framesPerRest > 0 && index % this.#framesPerRest === 0
    // After a problem the replay runs to its end, so that the test ends too.
    if (!isRest || this.problems.length > 0) return undefined
    const symbol = venueSymbol.replace('/', '')
    return this.atRest(symbol).then(() => void this.#rests.set(symbol, (this.#rests.get(symbol) ?? 0) + 1))
  }

  /** Waits until the client's book has the checksum that the exchange sent last; records a problem otherwise. */
  async atRest(symbol: string): Promise<void> {
    const last = this.#sentOf(symbol).at(-1)
    try {
      await this.#waiters.until(
        `${symbol} at ${last}`,
        () => this.#checksums.get(symbol) === last || this.problems.length > 0,
      )
    } catch (error) {
      this.problems.push((error as Error).message)
    }
  }

  /** Must be called after every book message that the client has applied. */
  look(symbol: string, books: ReadonlyMap<string, SampleBook>): void {
    const checksum = checksumOf(books.get(symbol) as SampleBook)
    this.#checksums.set(symbol, checksum)
    const place = this.#sentOf(symbol).indexOf(checksum, (this.#places.get(symbol) ?? -1) + 1)
    if (place < 0) {
      this.problems.push(
        `${symbol}: ${checksum} at ${books.get(symbol)?.time} was not sent, or not after the one before`,
      )
    } else {
      this.#places.set(symbol, place)
      this.#matched.set(symbol, (this.#matched.get(symbol) ?? 0) + 1)
    }
    this.#waiters.notify()
  }

  counts(): Record<string, number> {
    const entries = Object.keys(VENUE_SYMBOLS).flatMap((symbol) => [
      [`sent${symbol}`, this.#sentOf(symbol).length],
      [`matched${symbol}`, this.#matched.get(symbol) ?? 0],
      [`rests${symbol}`, this.#rests.get(symbol) ?? 0],
    ])
    return Object.fromEntries(entries)
  }

  #sentOf(symbol: string): readonly number[] {
    return this.sent.get(VENUE_SYMBOLS[symbol] as string) as readonly number[]
  }
}

/**
 * The exchange's checksum of a book, computed from the texts of the stream: the ten best asks, then bids, price and
 * amount without the decimal point and leading zeros. https://docs.kraken.com/api/docs/guides/spot-ws-book-v2
 */
function checksumOf(book: SampleBook): number {
  const digits = (side: 'bids' | 'asks') =>
    sortedLevels(book, side)
      .slice(0, CHECKSUM_LEVELS)
      .flatMap(({ price, amount }) => [price, amount])
      .map((text) => text.replace('.', '').replace(/^0+/, ''))
      .join('')
  return crc32(digits('asks') + digits('bids'))
}
