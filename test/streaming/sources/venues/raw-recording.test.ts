/**
 * A raw recording of a venue, played to the same connector again: it forms the books that the venue had, in its order, and
 * reports each of its trades once.
 */
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import type { VenueAddresses } from '../../../../src/streaming/sources/venues/venue.ts'
import { VENUES } from '../../../../src/streaming/sources/venues/venues.ts'
import { openRawWriter, type RawEvent, readRawEvents, readRawHeader } from '../../../support/raw-recordings/raw-file.ts'
import { startRawVenues } from '../../../support/raw-recordings/raw-player.ts'
import { startRawRecorder } from '../../../support/raw-recordings/raw-recorder.ts'
import { binanceRecordings, startBinanceServer } from '../../../support/venues/binance.ts'
import { FedMarket } from '../../../support/venues/fed-market.ts'
import { okxRecordings, renamed, startOkxServer } from '../../../support/venues/okx.ts'
import type { VenueServer } from '../../../support/venues/server.ts'
import { VenueHistory } from '../../../support/venues/venue-history.ts'

const DEPTH = 25
const OKX_NAMES: Readonly<Record<string, string>> = { 'BTC-USD-220527': 'BTCF-USD', 'UNI-USD-SWAP': 'UNIS-USD' }
const folder = mkdtempSync(join(tmpdir(), 'tidegate-raw-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clock = createSystemClock()
const log = createLog('silent')
const onFailure = (error: Error): never => {
  throw error
}

interface Played {
  readonly speed: number
  readonly hold: (symbol: string, index: number) => Promise<void> | undefined
  readonly onPlayed: VenueHistory['onPlayed']
}

const SERVERS = {
  okx: (played: Played) =>
    startOkxServer({
      ...played,
      recordings: okxRecordings().map((one) => renamed(one, OKX_NAMES[one.instId] ?? one.instId)),
    }),
  binance: (played: Played) => startBinanceServer({ ...played, recordings: binanceRecordings() }),
} as const

/** The markets of a venue at these addresses, until `isComplete` holds for each. */
async function followVenue(
  venue: keyof typeof SERVERS,
  addresses: VenueAddresses,
  history: VenueHistory,
  symbols: readonly string[],
) {
  const markets = symbols.map((symbol) => new FedMarket(symbol, history, DEPTH))
  const source = VENUES[venue].createSource(addresses, {
    name: venue,
    markets: markets.map((market) => market.source),
    clock,
    random: () => 0.5,
    log,
    metrics: createMetricsRegistry(),
  })
  source.start()
  return {
    source,
    areLive: () => Promise.all(markets.map((market) => market.until('live', () => market.isLive))),
    async areComplete() {
      for (const market of markets) {
        const { verifier } = market
        const isComplete = () =>
          verifier.state === history.now(verifier.symbol) &&
          verifier.executions === history.trades(verifier.symbol).length
        await market.until('everything', isComplete)
        expect(verifier.problems).toEqual([])
      }
    },
  }
}

/** Records everything that a test venue sends; returns what it had. */
async function record(venue: keyof typeof SERVERS, path: string) {
  const history = new VenueHistory(DEPTH)
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  // Behind the beginnings of the books the venue waits until everything is subscribed.
  const hold = (_symbol: string, index: number) => (index < 1 ? undefined : released)
  const server: VenueServer = await SERVERS[venue]({
    speed: Number.POSITIVE_INFINITY,
    hold,
    onPlayed: history.onPlayed,
  })
  history.begin(server)
  const symbols = [...server.tracks.keys()]
  const { port } = new URL(server.restUrl)
  const recorder = await startRawRecorder(path, new Map([[venue, server]]), onFailure)
  const followed = await followVenue(venue, recorder.addresses.get(venue)!, history, symbols)
  await followed.areLive()
  release()
  await server.finished
  await followed.areComplete()
  await followed.source.stop()
  await recorder.stop()
  await server.close()
  return { history, symbols, port, eventCount: recorder.eventCount }
}

describe.each(['okx', 'binance'] as const)('a raw recording of %s', (venue) => {
  it('a raw recording plays its frames and responses to the connector again', async () => {
    const path = join(folder, `${venue}.raw.gz`)
    const { history, symbols, port, eventCount } = await record(venue, path)
    const text = gunzipSync(readFileSync(path)).toString()
    const lines = text.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(100)
    // The ends of the connections come when the recording has ended already.
    expect(lines.length).toBeLessThanOrEqual(eventCount + 1)
    // No address is in the file.
    expect(text).not.toContain(`127.0.0.1`)
    expect(text).not.toContain(`:${port}`)
    const { venues } = await readRawHeader(path)
    expect(venues).toEqual([venue])

    const differences: RawEvent[] = []
    const onDifference = (event: RawEvent): unknown => differences.push(event)
    const player = await startRawVenues({ venues, events: readRawEvents(path), speed: 1_000, clock, onDifference })
    const followed = await followVenue(venue, player.addresses.get(venue)!, history, symbols)
    await player.play()
    await followed.areComplete()
    expect(differences).toEqual([])
    await followed.source.stop()
    await player.close()
  })
})

describe('the file of a raw recording', () => {
  const event: RawEvent = { venue: 'kraken', at: 1_795_442_341_000, kind: 'frame', connection: 1, text: '{"a":1}' }
  const eventsOf = async (path: string) => {
    const all: RawEvent[] = []
    for await (const one of readRawEvents(path)) all.push(one)
    return all
  }

  it('the file of a raw recording is read up to its last complete part after a crash', async () => {
    const path = join(folder, 'torn.raw.gz')
    const writer = await openRawWriter(path, { venues: ['kraken'] }, onFailure)
    writer.write(event)
    await writer.close()
    writer.write(event)
    expect(await eventsOf(path)).toEqual([event])
    truncateSync(path, readFileSync(path).length - 5)
    expect(await eventsOf(path)).toEqual([event])
    await expect(openRawWriter(path, { venues: [] }, onFailure)).rejects.toThrow('EEXIST')
  })
})
