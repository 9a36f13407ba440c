/**
 * A raw recording of a venue, played to the same connector again: it forms the books that the venue had, in its order, and
 * reports each of its trades once.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { loadConfig } from '../../../../src/service/config/load.ts'
import { startRawRecorder } from '../../../../src/streaming/markets/raw-recorder.ts'
import { type RawEvent, readRawEvents, readRawHeader } from '../../../../src/streaming/recordings/raw/raw-file.ts'
import { startRawVenues } from '../../../../src/streaming/recordings/raw/raw-server.ts'
import { openRawWriter } from '../../../../src/streaming/recordings/raw/raw-writer.ts'
import { VENUES } from '../../../../src/streaming/sources/venues/venues.ts'
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
  const markets = symbols.map((symbol, index) => ({
    symbol: `A${index}USD`,
    base_asset: `A${index}`,
    quote_asset: 'USD',
    price_decimals: 8,
    amount_decimals: 8,
    depth: DEPTH,
    sources: [`${venue}:${symbol}`],
  }))
  const flags = {
    markets: JSON.stringify(markets),
    [`feeds.${venue}.url`]: server.url,
    [`feeds.${venue}.rest_url`]: server.restUrl,
  }
  const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const shared = { config: loaded.config, clock, random: () => 0.5, log }
  const recorder = await startRawRecorder({ ...shared, path, overwrites: false, onFailure })
  await vi.waitFor(() => expect(recorder.lost).toEqual([]), { timeout: 45_000 })
  release()
  await server.finished
  await server.heard()
  await recorder.stop()
  const port = new URL(server.restUrl).port
  await server.close()
  return { history, symbols, port, counts: recorder.counts }
}

describe.each(['okx', 'binance'] as const)('a raw recording of %s', (venue) => {
  it('plays its frames and answers to the connector again', async () => {
    const path = join(folder, `${venue}.raw.gz`)
    const { history, symbols, port, counts } = await record(venue, path)
    const text = gunzipSync(readFileSync(path)).toString()
    expect(text.trimEnd().split('\n')).toHaveLength(counts.entries + 1)
    // No address is in the file.
    expect(text).not.toContain(`127.0.0.1`)
    expect(text).not.toContain(`:${port}`)
    expect((await readRawHeader(path)).feeds).toEqual({ [venue]: venue })

    const venues = await startRawVenues({ feeds: [venue], events: readRawEvents(path), speed: 1_000, clock, log })
    const markets = symbols.map((symbol) => new FedMarket(symbol, history, DEPTH))
    const source = VENUES[venue].createSource(venues.addresses.get(venue)!, {
      name: venue,
      markets: markets.map((market) => market.source),
      clock,
      random: () => 0.5,
      log,
      metrics: createMetricsRegistry(),
    })
    source.start()
    await venues.play()
    for (const market of markets) {
      const { verifier } = market
      const isComplete = () =>
        verifier.state === history.now(verifier.symbol) &&
        verifier.executions === history.trades(verifier.symbol).length
      await market.until('everything', isComplete)
      expect(verifier.problems).toEqual([])
    }
    await source.stop()
    await venues.close()
  })
})

describe('the file of a raw recording', () => {
  it('is read up to its last complete part after a crash', async () => {
    const path = join(folder, 'torn.raw.gz')
    const header = { writtenBy: 'tidegate 0.0.0', startedAt: '2026-11-23T14:00:00.000Z', markets: [], feeds: {} }
    const writer = await openRawWriter({ path, header, overwrites: false, clock, onFailure })
    const event: RawEvent = {
      feed: 'kraken',
      at: 1_795_442_341_000_123_456n,
      kind: 'frame',
      connection: 1,
      text: '{"a":1}',
    }
    writer.write(event)
    await writer.close()
    const { bytes } = writer.counts
    const again = gunzipSync(readFileSync(path)).toString().split('\n')[1]
    expect(again).toBe(
      '{"at":"1795442341000123456","feed":"kraken","kind":"frame","connection":1,"text":"{\\"a\\":1}"}',
    )
    const events = async () => {
      const all: RawEvent[] = []
      for await (const one of readRawEvents(path)) all.push(one)
      return all
    }
    expect(await events()).toEqual([event])
    appendFileSync(path, readFileSync(path).subarray(0, 30))
    expect(await events()).toEqual([event])
    truncateSync(path, bytes - 5)
    expect((await events()).length).toBeLessThanOrEqual(1)
    await expect(openRawWriter({ path, header, overwrites: false, clock, onFailure })).rejects.toThrow('already exists')
    await expect(openRawWriter({ path: '/dev/full', header, overwrites: true, clock, onFailure })).rejects.toThrow(
      /ENOSPC/,
    )
  })
})
