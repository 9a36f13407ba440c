/**
 * Starts this process's workers: the runner of orchestrations, which prices them from the live books, the sender of
 * deliveries, or in a sandbox the executor that settles deliveries without paying them, and the sender of screenings.
 */
import { createRequestCounter } from '../../../money/deliveries/metrics.ts'
import { SandboxExecutor } from '../../../money/deliveries/sandbox-executor.ts'
import { createWebhookSender } from '../../../money/deliveries/webhook-sender.ts'
import type { Converter } from '../../../money/orchestrations/convert.ts'
import { OrchestrationRunner } from '../../../money/orchestrations/runner.ts'
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import { readFromStore } from '../../process/store-wait.ts'
import type { Parts } from '../parts.ts'
import { deliveryOwners } from './delivery-owners.ts'
import { type ScreeningParts, startScreening } from './screening.ts'

export interface MoneyWorkerParts extends ScreeningParts {
  /** Has where this process last saw the store. */
  readonly state: Pick<Parts['state'], 'seenStore'>
  readonly converter: Converter
}

/** Requires a store with the current schema, and the markets. */
export async function startMoneyWorkers(parts: MoneyWorkerParts): Promise<void> {
  const runner = new OrchestrationRunner({ ...parts, ...parts.converter })
  runner.start()
  parts.lifecycle.startedWorker('orchestration runner', () => runner.stop())
  if (parts.current.config['rest.sandbox']) await startSandboxExecutor(parts)
  else await startSender(parts)
  await startScreening(parts)
}

async function startSandboxExecutor(parts: MoneyWorkerParts): Promise<void> {
  const executor = new SandboxExecutor({ ...parts, owners: deliveryOwners(parts.current, parts.state) })
  await readFromStore(parts, 'deliveries', () => executor.start())
  parts.lifecycle.startedWorker('deliveries', () => executor.stop())
}

async function startSender(parts: MoneyWorkerParts): Promise<void> {
  const { current, state, lifecycle } = parts
  const sender = createWebhookSender({
    ...parts,
    owners: deliveryOwners(current, state),
    requests: createRequestCounter(parts.metrics),
    settings: () => ({
      url: current.config['deliveries.webhook_url'],
      secrets: secretsOf(current.config['deliveries.webhook_secrets']) ?? [],
      allowPrivate: current.config['deliveries.allow_private'],
    }),
  })
  await readFromStore(parts, 'deliveries', () => sender.start())
  lifecycle.startedWorker('deliveries', () => sender.stop())
}
