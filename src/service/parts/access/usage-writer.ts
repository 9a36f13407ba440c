/** Creates what writes the clients' usage. */
import { hostname } from 'node:os'
import type { Meter } from '../../../access/metering/meter.ts'
import { UsageWriter } from '../../../access/metering/usage-writer.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Hub } from '../../../streaming/gateway/hub.ts'
import { countAligned } from '../../../streaming/gateway/writes/count-aligned.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'

interface MeteringParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly meter: Meter
  readonly lifecycle: Lifecycle
}

/** Stopped after the connections and the gateway processes, whose usage it writes. It writes nothing before `start`. */
export function createUsageWriter(parts: MeteringParts, db: Db, hub: () => Hub): UsageWriter {
  const { config, clock, lifecycle } = parts
  // The embedded store has one process. Several on one host differ in their ports.
  const node = db.engine === 'embedded' ? 'embedded' : `${hostname()}:${config['operator.port']}`
  const writer = new UsageWriter({ ...parts, db, node, prepare: () => countAligned(hub().markets, clock) })
  lifecycle.started('metering', () => writer.stop())
  return writer
}
