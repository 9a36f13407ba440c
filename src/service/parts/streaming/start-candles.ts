/** Composes the candles: those for requests, in every process, and the writer of the markets that this process writes. */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { WrittenMarket } from '../../../streaming/candles/candle-counter.ts'
import { CandleReader } from '../../../streaming/candles/candle-reader.ts'
import { CandleWriter } from '../../../streaming/candles/candle-writer.ts'
import { startCandleRetention } from '../../../streaming/candles/retention.ts'
import type { FeedLeadership } from '../../../streaming/markets/feed-leadership.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import { hasRole } from '../../config/roles.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'

/** A commit's way over the bus, and the difference between the processes' clocks. */
const BUS_DELAY_MILLISECONDS = 2_000

interface CandleParts {
  readonly config: Config
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

export interface Candles {
  readonly reader: CandleReader
  /** Writes from now on, in a process with the role `feed`. The store has its schema. */
  startWriting(): void
  /** To be called between the end of the sequencers and that of the leadership. */
  stopWriting(): Promise<void>
}

export function createCandles(
  { config, current, clock, log, metrics, lifecycle }: CandleParts,
  db: Db,
  { writers, replicas }: Pick<Markets, 'writers' | 'replicas'>,
  leadership: FeedLeadership | undefined,
): Candles {
  const retentionDays = () => current.config['candles.retention_days']
  const delayMilliseconds = config['bus.url'] === '' ? 0 : BUS_DELAY_MILLISECONDS
  const reader = new CandleReader({ db, clock, delayMilliseconds, retentionDays })
  lifecycle.started('candles', () => reader.stop())
  let writer: CandleWriter | undefined
  const written = () =>
    current.config.markets.flatMap(({ definition, feedGroup }): WrittenMarket[] => {
      const replica = replicas.replicaOf(definition.symbol)
      const leaseEpoch = leadership?.leaseEpochOf(feedGroup)
      // A lease that has just been lost.
      if (leaseEpoch === 0) return []
      const executions = writers.executionsOf(definition.symbol)
      if (replica === undefined || executions === undefined) return []
      return [{ replica, leaseEpoch: leaseEpoch ?? 0, ...executions }]
    })
  return {
    reader,
    startWriting() {
      if (!hasRole(config, 'feed')) return
      const retention = startCandleRetention({ db, clock, log, retentionDays })
      lifecycle.started('candle retention', () => retention.stop())
      writer = new CandleWriter({ db, clock, log, metrics, written })
    },
    async stopWriting() {
      await writer?.stop()
    },
  }
}
