/** Starts the sender of customers' events to their webhook endpoints, and its metrics. */
import type { Directory } from '../../../access/clients/directory.ts'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { createWebhookMetrics } from '../../../access/webhook-endpoints/metrics.ts'
import { WebhookSender } from '../../../access/webhook-endpoints/sender.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import { patiently } from '../../../platform/store/sql.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { type Waiting, waitFor } from '../../process/store-wait.ts'

interface WebhookParts extends Waiting {
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
  readonly directory: Directory
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
}

/** Requires a store with the current schema, and the loaded directory. */
export async function startWebhooks(
  parts: WebhookParts,
  db: Db,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  const { current, lifecycle } = parts
  const sender = new WebhookSender({
    ...parts,
    db,
    encryptionKey,
    allowPrivate: () => current.config['webhooks.allow_private'],
    requests: createWebhookMetrics(parts.metrics, db),
  })
  await waitFor(
    parts,
    'webhooks',
    patiently(() => sender.start()),
  )
  lifecycle.started('webhooks', () => sender.stop())
}
