/**
 * Composes the markets of the process: both sides of the pipeline, the recorder, the record of commit times for the
 * next start, and the self-audit of subscribers' data. Sequencers start in `startSources`, which needs the last run's
 * commit times.
 */

import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { untilAborted, withTimeLimit } from '../../../platform/base/time-limit.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Hub } from '../../../streaming/gateway/hub.ts'
import type { MarketStream } from '../../../streaming/gateway/market-stream.ts'
import { type AuditedMarket, createSelfAuditMetrics, SelfAudit } from '../../../streaming/gateway/self-audit.ts'
import type { Ingest } from '../../../streaming/ingest/ingest.ts'
import { SourcePositionLog } from '../../../streaming/links/source-positions.ts'
import { CommitTimes } from '../../../streaming/markets/commit-times.ts'
import type { FeedLeadership } from '../../../streaming/markets/feed-leadership.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import { MarketWriters } from '../../../streaming/markets/market-writers.ts'
import { createSources } from '../../../streaming/markets/sources.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import { createSequencerMetrics } from '../../../streaming/sequencing/sequencer-metrics.ts'
import type { SimulatedTrade } from '../../../streaming/sources/simulator/simulator.ts'
import { feedTransportProblems } from '../../config/feeds.ts'
import { hasRole } from '../../config/roles.ts'
import type { Config } from '../../config/settings.ts'
import { checkModules } from '../../doctor/module-check.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { startRecording } from './start-recording.ts'

export interface MarketParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly bus: Bus
  readonly lifecycle: Lifecycle
  /** Aborts the start. */
  readonly signal: AbortSignal
  /** Called with every simulated trade before it is published. */
  readonly onTrade?: (trade: SimulatedTrade) => void
  /** Where engines publish. Absent without `ingest.port`. */
  readonly ingest: Pick<Ingest, 'createSource'> | undefined
}

/**
 * How long a start waits for each market's first book, or a message from all its sources. Then it logs which have none.
 */
const SOURCES_MILLISECONDS_MAX = 5_000

/** @param leadership that markets are written here, undefined = all, or none without the role `feed` */
export function createMarkets(parts: MarketParts, db: Db, leadership: FeedLeadership | undefined): Markets {
  const { config, clock, log, bus, metrics, lifecycle, ingest } = parts
  const { markets } = config
  for (const problem of feedTransportProblems(config.feeds)) log.warn({}, problem)
  // First, so it stops after the markets.
  const recorder = startRecording(parts)
  const replicas = new MarketReplicas({ markets, bus, executionsKept: config['stream.executions_kept'] })
  const positions = leadership === undefined ? undefined : new SourcePositionLog(clock)
  lifecycle.started('source positions', () => positions?.stop())
  const writers = new MarketWriters({
    markets: leadership === undefined ? writtenMarkets(config, config) : [],
    lead: leadership,
    replicaOf: leadership === undefined ? undefined : (symbol) => replicas.replicaOf(symbol),
    positions,
    withdrawAfterMilliseconds: withdrawAfterMilliseconds(config),
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    allowsSimulated: () => parts.current.config['simulator.allowed'],
    createSource: createSources({
      ...parts,
      ...(ingest === undefined ? {} : { createIngestSource: (list) => ingest.createSource(list) }),
    }),
  })
  lifecycle.started('replicas', () => replicas.stop())
  const commitTimes = new CommitTimes({ db, clock, log, latest: () => writers.commitTimes() })
  lifecycle.started('commit times', () => commitTimes.stop())
  return { writers, replicas, positions, recorder }
}

/**
 * The configured markets whose sequencers run in this process where no other one can write them.
 * @param started the start's configuration, which determines the roles
 */
export function writtenMarkets(started: Config, { markets }: Config): Config['markets'] {
  return hasRole(started, 'feed') ? markets : []
}

/** Audits the markets whose sequencers run in this process. */
export function startSelfAudit({ clock, log, metrics, lifecycle }: MarketParts, { writers }: Markets, hub: Hub): void {
  const markets = () =>
    [...hub.markets].flatMap((stream) => {
      const sequencer = writers.sequencerOf(stream.symbol)
      return sequencer === undefined ? [] : [{ stream, sequencer }]
    })
  const audit = new SelfAudit({ markets, hub, metrics: createSelfAuditMetrics(metrics), clock, log })
  lifecycle.started('self-audit', () => audit.stop())
}

/**
 * Audits the markets whose sequencers run in the process that started this one: subscribers' data is compared with the
 * replica's book. A difference ends this process, because the next one starts without it.
 * @param reportMetrics called before: the difference has just been counted
 */
export function auditFollowed(
  { clock, log, metrics }: Pick<MarketParts, 'clock' | 'log' | 'metrics'>,
  hub: Hub,
  reportMetrics: () => Promise<void>,
): void {
  const audited = (stream: MarketStream): AuditedMarket => ({
    stream,
    sequencer: {
      get settledBook() {
        return stream.replica.liveBook
      },
      async startOver(reason) {
        await reportMetrics()
        throw new Error(`${stream.symbol}: ${reason}`)
      },
    },
  })
  const markets = () => [...hub.markets].map(audited)
  new SelfAudit({ markets, hub, metrics: createSelfAuditMetrics(metrics), clock, log })
}

/** How long a market may be stale before its book is withdrawn. Undefined = it stays. */
export function withdrawAfterMilliseconds(
  config: Pick<Config, 'stream.stale_seconds' | 'stream.stale_action'>,
): number | undefined {
  const seconds = config['stream.stale_seconds']
  return config['stream.stale_action'] === 'withdraw' && seconds > 0 ? seconds * 1000 : undefined
}

/**
 * Starts the sequencers, each committing later than its floor (milliseconds since the epoch), and the sources. Resolves
 * when each market has a book, or a message from each source, at the latest after `SOURCES_MILLISECONDS_MAX`.
 * @throws {Error} when a module named by a market cannot be used
 */
export async function startSources(
  { config, clock, log, signal }: MarketParts,
  writers: MarketWriters,
  floors: ReadonlyMap<string, number>,
): Promise<void> {
  const { problems } = await checkModules(config, { markets: 'markets' }, clock)
  const [problem] = problems
  if (problem !== undefined) throw new Error(`${problem.key} ${problem.message}`)
  const started = withTimeLimit(clock, SOURCES_MILLISECONDS_MAX, writers.start(floors), () => undefined)
  await untilAborted(signal, started)
  if (writers.starting.size > 0) log.warn({ markets: [...writers.starting] }, 'no message from some sources yet')
}
