/**
 * What an exchange sent, through its connector into a recording and out of it again: the markets that play the file are
 * given the books that the exchange had, in its order, and each of its trades once.
 */
import { setTimeout } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { startRecorder } from '../../../src/streaming/markets/recorder.ts'
import { createReplay } from '../../../src/streaming/recordings/replay.ts'
import { recordingFolder } from '../../support/recording-file.ts'
import { FedMarket } from '../../support/venues/fed-market.ts'
import { okxRecordings, renamed, startOkxServer } from '../../support/venues/okx.ts'
import type { VenueServer } from '../../support/venues/server.ts'
import { VenueHistory } from '../../support/venues/venue-history.ts'

const DEPTH = 25
/** More than between two commits of a market. */
const COMMIT_MILLISECONDS = 5
const NAMES: Readonly<Record<string, string>> = { 'BTC-USD-220527': 'BTCF-USD', 'UNI-USD-SWAP': 'UNIS-USD' }

const folder = recordingFolder()
afterAll(() => folder.remove())

describe('a recording of an exchange', () => {
  it('a recording of an exchange plays its books and trades again', async () => {
    const [clock, log, path] = [createSystemClock(), createLog('silent'), folder.next()]
    const history = new VenueHistory(DEPTH)
    const recordings = okxRecordings().map((one) => renamed(one, NAMES[one.instId] ?? one.instId))
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    // Behind the beginnings of the books the exchange waits until everything is subscribed, and then with every message
    // until the one before was read and its commit is over, which comes a millisecond after the last: what is read
    // before that is merged.
    const committed = async () => {
      await released
      await server.heard()
      await setTimeout(COMMIT_MILLISECONDS)
    }
    const hold = (_symbol: string, index: number) => (index < 1 ? undefined : committed())
    const speed = Number.POSITIVE_INFINITY
    const server: VenueServer = await startOkxServer({ recordings, speed, hold, onPlayed: history.onPlayed })
    history.begin(server)
    const symbols = [...server.tracks.keys()]
    const markets = symbols.map((symbol) => {
      const [base_asset, quote_asset] = symbol.split('-') as [string, string]
      const decimals = { price_decimals: 8, amount_decimals: 8 }
      return {
        symbol: base_asset + quote_asset,
        base_asset,
        quote_asset,
        ...decimals,
        depth: DEPTH,
        sources: [`okx:${symbol}`],
      }
    })
    const flags = { markets: JSON.stringify(markets), 'feeds.okx.url': server.url }
    const loaded = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const onFailure = (error: Error): never => {
      throw error
    }
    const shared = { config: loaded.config, clock, random: () => 0.5, log }
    const recorder = await startRecorder({ ...shared, path, overwrites: false, onFailure })
    await vi.waitFor(() => expect(recorder.lost).toEqual([]), { timeout: 45_000 })
    release()
    await server.finished
    await server.heard()
    await server.close()
    await vi.waitFor(() => expect(recorder.lost).toHaveLength(symbols.length), { timeout: 45_000 })
    await recorder.stop()

    const played = symbols.map((symbol) => new FedMarket(symbol, history, DEPTH))
    const source = createReplay({
      markets: played.map((one) => ({ ...one.source, venueSymbol: path })),
      speed: 1_000,
      fromSeconds: 0,
      loops: false,
      clock,
      log,
    })
    source.start()
    const hasEnded = (one: FedMarket) => one.reasons.at(-1)?.endsWith('has ended') === true
    for (const one of played) await one.until('the end of the recording', () => hasEnded(one))
    await source.stop()
    for (const { verifier, missed } of played) {
      expect(verifier.problems).toEqual([])
      expect(missed).toEqual([])
      expect(verifier.executions).toBe(history.trades(verifier.symbol).length)
      // The last book is the last that the exchange had.
      expect(verifier.state).toBe(history.now(verifier.symbol))
    }
    expect(played.reduce((sum, { verifier }) => sum + verifier.matched, 0)).toBeGreaterThan(100)
  })
})
