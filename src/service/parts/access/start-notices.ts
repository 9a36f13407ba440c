/** Starts the sender of notices to customers' security contacts, and their metrics. */
import { createNoticeMetrics } from '../../../access/notices/metrics.ts'
import { createNoticeSender } from '../../../access/notices/sender.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import { patiently } from '../../../platform/store/sql.ts'
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { type Waiting, waitFor } from '../../process/store-wait.ts'

interface NoticeParts extends Waiting {
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
}

/** Requires a store with the current schema. */
export async function startNotices(parts: NoticeParts, db: Db): Promise<void> {
  const { current, lifecycle } = parts
  const sender = createNoticeSender({
    ...parts,
    db,
    sends: createNoticeMetrics(parts.metrics, db),
    settings: () => ({
      mail: { url: current.config['notices.smtp_url'], from: current.config['notices.from'] },
      webhook: {
        url: current.config['notices.url'],
        secrets: secretsOf(current.config['notices.secrets']) ?? [],
        // The operator's own system may be on a private network: the address is the operator's, never a customer's.
        allowPrivate: true,
      },
    }),
  })
  await waitFor(
    parts,
    'notices',
    patiently(() => sender.start()),
  )
  lifecycle.started('notices', () => sender.stop())
}
