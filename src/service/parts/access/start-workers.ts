/**
 * Starts this process's workers for customers: the sender of notices to their security contacts, the sender of events
 * to their webhook endpoints, and the upkeep of their events and usage.
 */
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { startEventRetention } from '../../../access/events/retention.ts'
import { startUsageUpkeep } from '../../../access/metering/usage-upkeep.ts'
import { createNoticeMetrics } from '../../../access/notices/metrics.ts'
import { createNoticeSender } from '../../../access/notices/sender.ts'
import { createWebhookMetrics } from '../../../access/webhook-endpoints/metrics.ts'
import { WebhookSender } from '../../../access/webhook-endpoints/sender.ts'
import type { Db } from '../../../platform/store/db.ts'
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import { readFromStore } from '../../process/store-wait.ts'
import type { Parts } from '../parts.ts'

export interface AccessWorkerParts extends Parts {
  readonly db: Db
  readonly encryptionKey: EncryptionKey | undefined
}

/** Requires a store with the current schema, and the loaded directory. */
export async function startAccessWorkers(parts: AccessWorkerParts): Promise<void> {
  const { db, clock, log, lifecycle, current } = parts
  await startNotices(parts)
  const retention = startEventRetention({ db, clock, log, days: () => current.config['events.retention_days'] })
  lifecycle.startedWorker('event retention', () => retention.stop())
  const upkeep = startUsageUpkeep({ db, clock, log, days: () => current.config['metering.retention_days'] })
  lifecycle.startedWorker('usage upkeep', () => upkeep.stop())
  await startWebhooks(parts)
}

async function startNotices(parts: AccessWorkerParts): Promise<void> {
  const { db, current, lifecycle } = parts
  const sender = createNoticeSender({
    ...parts,
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
  await readFromStore(parts, 'notices', () => sender.start())
  lifecycle.startedWorker('notices', () => sender.stop())
}

async function startWebhooks(parts: AccessWorkerParts): Promise<void> {
  const { current, lifecycle } = parts
  const sender = new WebhookSender({
    ...parts,
    allowPrivate: () => current.config['webhooks.allow_private'],
    requests: createWebhookMetrics(parts.metrics, parts.db),
  })
  await readFromStore(parts, 'webhooks', () => sender.start())
  lifecycle.startedWorker('webhooks', () => sender.stop())
}
