/**
 * Recorded market data of three more exchanges through the built program to a client of the documented stream. After
 * every message its book is one that the exchange had, later than the one before; where a replay pauses it is the last
 * one, and matches what the exchange sends about its book: the checksum over the 25 best levels, the best price and
 * amount of another channel. Every trade is an execution, once and in order. `TIDEGATE_LONG=1` also replays at the
 * recordings' own speed and as fast as the sockets accept.
 */
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { note } from '../support/note.ts'
import {
  ensureBuilt,
  newToken,
  type ServiceProcess,
  startServiceProcess,
  temporaryFolder,
} from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'
import { type BinanceRecording, binanceRecordings, startBinanceServer } from '../support/venues/binance.ts'
import { coinbaseRecordings, startCoinbaseServer } from '../support/venues/coinbase.ts'
import { okxRecordings, renamed, startOkxServer } from '../support/venues/okx.ts'
import type { PlainLevels } from '../support/venues/plain-book.ts'
import type { PlaybackOptions } from '../support/venues/playback.ts'
import type { Outgoing, Script } from '../support/venues/script.ts'
import type { VenueServer } from '../support/venues/server.ts'
import { trimmed, VenueHistory } from '../support/venues/venue-history.ts'
import { bookLevels, WireVerifier } from '../support/venues/wire-verifier.ts'
import { Waiters } from '../support/waiters.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const DEPTH = 25
const AMOUNT_DECIMALS = 8
/**
 * A market with more digits than its venue cannot represent extreme levels in real books: 888888004.0000 at CRV-EUR.
 */
const PRICE_DECIMALS: Readonly<Record<string, number>> = { 'CRV-EUR': 4 }
const PRICE_DECIMALS_ELSE = 8

const PACES = [
  { name: '100 times their pace', speed: 100, hasRests: true, isRun: true },
  { name: 'their own pace', speed: 1, hasRests: true, isRun: isLong },
  { name: 'full speed', speed: Number.POSITIVE_INFINITY, hasRests: false, isRun: isLong },
].filter(({ isRun }) => isRun)

/** What an exchange sends about one of its books at this moment, and the same derived from a client's book. */
interface Oracle {
  /** Undefined until the exchange has sent it. */
  readonly said: (symbol: string) => string | undefined
  readonly found: (book: PlainLevels) => string
}

interface Exchange {
  readonly name: string
  /** The frame at which a replay waits for the client: after the first frame of the book. */
  readonly firstHeld: number
  /**
   * At 100 times the speed the service conflates much of its input, so after this many frames a replay waits for the
   * client.
   */
  readonly framesPerRest: number
  readonly start: (options: PlaybackOptions) => Promise<{ readonly server: VenueServer; readonly oracle?: Oracle }>
}

const EXCHANGES: readonly Exchange[] = [
  {
    name: 'coinbase',
    firstHeld: 1,
    framesPerRest: 16,
    // This exchange sends only its books: they are never crossed, which the client checks.
    start: async (options) => ({
      server: await startCoinbaseServer({ ...options, recordings: coinbaseRecordings() }),
    }),
  },
  {
    name: 'okx',
    firstHeld: 1,
    framesPerRest: 2,
    start: async (options) => {
      const checksums = new Map<string, string>()
      const onPlayed = (script: Script, outgoing: Outgoing | undefined, index: number) => {
        const checksum = /"checksum":(-?[0-9]+)/.exec(outgoing?.text ?? '')?.[1]
        if (checksum !== undefined) checksums.set(script.symbol, checksum)
        options.onPlayed?.(script, outgoing, index)
      }
      const names: Record<string, string> = { 'BTC-USD-220527': 'BTCF-USD', 'UNI-USD-SWAP': 'UNIS-USD' }
      const recordings = okxRecordings().map((one) => renamed(one, names[one.instId] ?? one.instId))
      const server = await startOkxServer({ ...options, onPlayed, recordings })
      return { server, oracle: { said: (symbol) => checksums.get(symbol), found: okxChecksum } }
    },
  },
  {
    name: 'binance',
    firstHeld: 0,
    framesPerRest: 2,
    start: async (options) => {
      const recordings = binanceRecordings()
      const updateIds = new Map<string, number>()
      const onPlayed = (script: Script, outgoing: Outgoing | undefined, index: number) => {
        const id = /"u":([0-9]+)/.exec(outgoing?.text ?? '')?.[1]
        if (id !== undefined) updateIds.set(script.symbol, Number(id))
        options.onPlayed?.(script, outgoing, index)
      }
      const server = await startBinanceServer({ ...options, onPlayed, recordings })
      return { server, oracle: { said: (symbol) => bestSaid(recordings, symbol, updateIds.get(symbol)), found: best } }
    },
  },
]

const folder = temporaryFolder()
beforeAll(ensureBuilt)
afterAll(() => folder.remove())

describe.each(EXCHANGES)('$name', (exchange) => {
  describe('recorded', () => {
    describe.each(PACES)('at $name', ({ name, speed, hasRests }) => {
      const framesPerRest = speed === 1 ? 1 : exchange.framesPerRest
      const history = new VenueHistory(DEPTH)
      const released = new Waiters()
      let isReleased = false
      const rests = { checked: 0, said: 0 }
      const markets = new Map<string, string>()
      let verifier: WireVerifier
      let client: SampleClient
      let oracle: Oracle | undefined
      let server: VenueServer
      let service: ServiceProcess

      async function rest(symbol: string): Promise<void> {
        await verifier.atRest(symbol)
        rests.checked++
        const said = oracle?.said(symbol)
        const [market] = [...markets].find(([, venueSymbol]) => venueSymbol === symbol) as [string, string]
        if (said === undefined || oracle === undefined || verifier.problems.length > 0) return
        rests.said++
        const found = oracle.found(bookLevels(client.book(market)))
        if (found !== said)
          verifier.verifiers.get(market)?.problems.push(`${symbol}: ${found}, the exchange said ${said}`)
      }
      const hold = (symbol: string, index: number): Promise<void> | undefined => {
        if (index < exchange.firstHeld) return undefined
        if (index === exchange.firstHeld) return released.until('a client', () => isReleased, 60_000)
        // After a problem the replay runs to its end, so that the test ends too.
        if (!hasRests || index % framesPerRest > 0 || verifier.problems.length > 0) return undefined
        return rest(symbol)
      }

      beforeAll(async () => {
        const started = await exchange.start({ speed, hold, onPlayed: history.onPlayed })
        server = started.server
        oracle = started.oracle
        history.begin(server)
        for (const symbol of server.tracks.keys()) markets.set(symbol.replace('-', ''), symbol)
        verifier = new WireVerifier(markets, history)
        service = await startServiceProcess('serve', folder.path, {
          markets: JSON.stringify([...markets].map(([market, symbol]) => marketEntry(market, exchange.name, symbol))),
          [`feeds.${exchange.name}.url`]: server.url,
          [`feeds.${exchange.name}.rest_url`]: server.restUrl,
        })
      })

      afterAll(async () => {
        expect((await service?.stop())?.code).toBe(0)
        await server?.close()
      })

      it('recorded books reach the client as the exchange had them', async () => {
        client = await SampleClient.connect({
          wsUrl: service.ws,
          token: await newToken(service),
          onMessage: (message, self) => verifier.onMessage(message, self),
        })
        await client.subscribeAll(...markets.keys())
        await client.until('all books', () => [...markets.keys()].every((market) => client.book(market).isComplete))
        isReleased = true
        released.notify()
        await server.finished
        for (const symbol of markets.values()) await rest(symbol)
        // The reply arrives after everything sent before it.
        await client.request({ type: 'subscription_list' })
        expect(verifier.problems).toEqual([])
        expect(client.problems).toEqual([])
        for (const [market, one] of verifier.verifiers) {
          expect(`${market}: ${one.executions}`).toBe(`${market}: ${history.trades(one.symbol).length}`)
        }
        note(JSON.stringify({ exchange: exchange.name, pace: name, ...rests, ...client.counts }))
        if (hasRests) expect(rests.checked).toBeGreaterThan(80)
        if (hasRests && oracle !== undefined) expect(rests.said).toBeGreaterThan(80)
        await client.close()
      })
    })
  })
})

function marketEntry(symbol: string, venue: string, venueSymbol: string): object {
  return {
    symbol,
    base_asset: symbol.slice(0, -3),
    quote_asset: symbol.slice(-3),
    price_decimals: PRICE_DECIMALS[venueSymbol] ?? PRICE_DECIMALS_ELSE,
    amount_decimals: AMOUNT_DECIMALS,
    depth: DEPTH,
    sources: [`${venue}:${venueSymbol}`],
  }
}

/** https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel */
function okxChecksum({ bids, asks }: PlainLevels): string {
  const parts: string[] = []
  for (let index = 0; index < DEPTH; index++) {
    for (const level of [bids[index], asks[index]]) if (level !== undefined) parts.push(...level.map(trimmed))
  }
  return String(crc32(parts.join(':')) | 0)
}

/** The last `bookTicker` message up to this update of the book. */
function bestSaid(recordings: readonly BinanceRecording[], symbol: string, updateId = 0): string | undefined {
  const last = recordings.find((one) => one.symbol === symbol)?.best.findLast(({ u }) => u <= updateId)
  return last === undefined ? undefined : best({ bids: [last.bid], asks: [last.ask] })
}

function best({ bids, asks }: PlainLevels): string {
  return [bids[0], asks[0]].map((level) => level?.map(trimmed).join(':')).join(' ')
}
