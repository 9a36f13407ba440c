/**
 * Records what the connectors of the configured markets receive, verbatim: sources and sequencers as in the service, with a
 * tap at every venue connection. Sources that are no venue (simulator, recordings, publications) have no frames.
 */
import { createMetricsRegistry } from '../../platform/base/metrics.ts'
import { programVersion } from '../../platform/base/version.ts'
import { nowNanoseconds, type RawEvent } from '../recordings/raw/raw-file.ts'
import { openRawWriter } from '../recordings/raw/raw-writer.ts'
import { createMemoryBus } from '../sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../sequencing/sequencer-metrics.ts'
import type { CreateTap } from '../sources/venues/venue-tap.ts'
import { isVenueSource, sourceText } from './configured-market.ts'
import { MarketReplicas } from './market-replicas.ts'
import { MarketWriters } from './market-writers.ts'
import type { Recorder, RecorderOptions } from './recorder.ts'
import { createSources } from './sources.ts'

/** @throws {Error} when the file cannot be created, or no market has a venue as its source */
export async function startRawRecorder(options: RecorderOptions): Promise<Recorder> {
  const { config, clock, random, log } = options
  const { markets } = config
  const names = new Set(markets.flatMap(({ sources }) => sources.filter(isVenueSource).map(({ feed }) => feed)))
  if (names.size === 0) throw new Error('no market has a venue as its source: there are no frames to record')
  const header = {
    writtenBy: `tidegate ${programVersion()}`,
    startedAt: new Date(clock.wallInstant().milliseconds).toISOString(),
    markets: markets.map(({ definition, sources }) => ({
      symbol: definition.symbol,
      base_asset: definition.baseAsset,
      quote_asset: definition.quoteAsset,
      price_decimals: definition.priceDecimals,
      amount_decimals: definition.amountDecimals,
      depth: definition.depth,
      sources: sources.map(sourceText),
    })),
    feeds: Object.fromEntries([...names].map((name) => [name, config.feeds.get(name)?.kind ?? name])),
  }
  const writer = await openRawWriter({ ...options, header })
  const createTap: CreateTap = (feed, restUrl) => {
    const write = (event: Omit<RawEvent, 'feed' | 'at'>): void =>
      writer.write({ feed, at: nowNanoseconds(clock), ...event })
    return {
      opened: (connection) => write({ kind: 'open', connection }),
      sent: (connection, text) => write({ kind: 'sent', connection, text }),
      received: (connection, text) => write({ kind: 'frame', connection, text }),
      closed: (connection, reason) => write({ kind: 'down', connection, text: reason }),
      answered(url, answer) {
        const path = url.startsWith(restUrl) ? url.slice(restUrl.length) : new URL(url).pathname
        if ('value' in answer) write({ kind: 'http', path, text: answer.value })
        else {
          const { problem, retryAfterMilliseconds: wait } = answer
          write({ kind: 'http', path, problem, ...(wait === undefined ? {} : { retryAfterMilliseconds: wait }) })
        }
      },
    }
  }
  const bus = createMemoryBus()
  const metrics = createMetricsRegistry()
  const replicas = new MarketReplicas({ markets, bus, executionsKept: 1 })
  const writers = new MarketWriters({
    markets,
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    // Only venues are recorded.
    allowsSimulated: () => false,
    createSource: createSources({ config, clock, random, log, metrics, createTap }),
  })
  // Not awaited: frames are recorded whenever they arrive.
  void writers.start(new Map())
  return {
    get counts() {
      return writer.counts
    },
    get lost() {
      return replicas.lost
    },
    async stop() {
      await writers.stop()
      replicas.stop()
      await writer.close()
    },
  }
}
