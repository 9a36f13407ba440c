/** Starts what keeps customers' events for their time. */
import { startEventRetention } from '../../../access/events/retention.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { Db } from '../../../platform/store/db.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'

interface EventParts {
  readonly clock: Clock
  readonly log: Log
  readonly lifecycle: Lifecycle
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
}

/** Requires a store with the current schema. */
export function startEvents({ clock, log, lifecycle, current }: EventParts, db: Db): void {
  const retention = startEventRetention({ db, clock, log, days: () => current.config['events.retention_days'] })
  lifecycle.started('event retention', () => retention.stop())
}
