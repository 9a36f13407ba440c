/**
 * The markets of the process, put together with what goes with them: their sources, the times of their commits for the
 * next start, and the audit of their books. They are written once `startSources` knows the times before.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import type { Bus } from '../channel/bus.ts'
import { CommitTimes } from '../channel/commit-times.ts'
import { createSelfAuditMetrics, SelfAudit } from '../channel/self-audit.ts'
import { createSequencerMetrics } from '../channel/sequencer.ts'
import type { Config } from '../config/settings.ts'
import { createReplay } from '../feed/replay/replay.ts'
import { createSimulator, type SimulatedTrade } from '../feed/simulator/simulator.ts'
import type { Db } from '../store/db.ts'
import type { Lifecycle } from './lifecycle.ts'
import { MarketData, type MarketDataOptions } from './market-data.ts'
import { untilAborted, wait } from './store-wait.ts'
import { createFeedSource } from './venue-sources.ts'

export interface MarketParts {
  readonly config: Config
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly bus: Bus
  readonly lifecycle: Lifecycle
  /** Gives the start up. */
  readonly signal: AbortSignal
  /** Told of every trade of the simulator before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
}

/** How long a start waits for sources that say nothing; the service works without them and names them. */
const SOURCES_MILLISECONDS_MAX = 5_000

/** The markets with their readers. */
export function createMarkets(parts: MarketParts, db: Db): MarketData {
  const { config, clock, log, metrics, lifecycle } = parts
  const marketData = new MarketData({
    markets: config.markets,
    executionsKept: config['stream.executions_kept'],
    withdrawAfterMilliseconds: withdrawAfterMilliseconds(config),
    bus: parts.bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    createSource: createSources(parts),
  })
  lifecycle.started('replicas', () => marketData.stopReplicas())
  const commitTimes = new CommitTimes({
    db,
    clock,
    log,
    latest: () => marketData.commitTimes(),
  })
  lifecycle.started('commit times', () => commitTimes.stop())
  const audited = { markets: () => marketData.written, metrics: createSelfAuditMetrics(metrics) }
  const audit = new SelfAudit({ ...audited, clock, log })
  lifecycle.started('self-audit', () => audit.stop())
  return marketData
}

function withdrawAfterMilliseconds(config: Config): number | undefined {
  const seconds = config['stream.stale_seconds']
  return config['stream.stale_action'] === 'withdraw' && seconds > 0 ? seconds * 1000 : undefined
}

/**
 * Begins to write the markets, each later than its floor (milliseconds since the epoch), and to read their sources;
 * resolves when all have started, or after a while.
 */
export async function startSources(
  { clock, log, signal }: MarketParts,
  marketData: MarketData,
  floors: ReadonlyMap<string, number>,
): Promise<void> {
  const patience = wait(clock, SOURCES_MILLISECONDS_MAX)
  await untilAborted(signal, Promise.race([marketData.start(floors), patience]))
  if (marketData.starting.size > 0) log.warn({ markets: [...marketData.starting] }, 'sources have said nothing yet')
}

/** How the simulator, the player of recordings and each feed are made from the configuration. */
export function createSources(
  parts: Pick<MarketParts, 'config' | 'clock' | 'random' | 'log' | 'metrics' | 'onTrade'>,
): MarketDataOptions['createSource'] {
  const { config, clock, random, log, metrics, onTrade } = parts
  return (name, markets) => {
    if (name === 'simulator') {
      return createSimulator({
        markets,
        seed: config['simulator.seed'],
        updatesPerSecond: config['simulator.rate'],
        clock,
        ...(onTrade === undefined ? {} : { onTrade }),
      })
    }
    if (name !== 'replay') return createFeedSource(config, { name, markets, clock, random, log, metrics })
    return createReplay({
      markets,
      speed: config['replay.speed'],
      fromSeconds: config['replay.from_seconds'],
      loops: config['replay.loop'],
      clock,
      log,
    })
  }
}
