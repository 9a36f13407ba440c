/** Screening: how deposits and payments apply a decision, and the sender that asks the operator's hook. */
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { screenedPayments } from '../../../money/deliveries/screened.ts'
import { screenedDeposits } from '../../../money/deposits/screened.ts'
import { createHookCounter } from '../../../money/screening/metrics.ts'
import type { ScreenedKinds } from '../../../money/screening/movements.ts'
import { createScreeningSender } from '../../../money/screening/sender.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import { secretsOf } from '../../../platform/webhooks/signature.ts'
import type { Config } from '../../config/settings.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'
import { readFromStore, type Waiting } from '../../process/store-wait.ts'
import type { Parts } from '../parts.ts'
import { deliveryOwners } from './delivery-owners.ts'
import { depositSettings } from './settings.ts'

export interface ScreeningParts extends Waiting {
  readonly db: Db
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
  /** The current configuration, which a reload replaces. */
  readonly current: { readonly config: Config }
  /** Has where this process last saw the store. */
  readonly state?: Pick<Parts['state'], 'seenStore'>
  readonly encryptionKey: EncryptionKey | undefined
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
}

/**
 * @param current the current configuration, which a reload replaces
 * @param state has where this process last saw the store
 */
export function screenedKinds(
  current: { readonly config: Config },
  state?: Pick<Parts['state'], 'seenStore'>,
): ScreenedKinds {
  return {
    deposit: screenedDeposits(() => depositSettings(current.config)),
    payment: screenedPayments(deliveryOwners(current, state)),
  }
}

/** Starts the sender, which sends nothing while `screening.url` is empty. */
export async function startScreening(parts: ScreeningParts): Promise<void> {
  const { current, state, lifecycle } = parts
  const sender = createScreeningSender({
    ...parts,
    kinds: screenedKinds(current, state),
    requests: createHookCounter(parts.metrics),
    settings: () => ({
      url: current.config['screening.url'],
      secrets: secretsOf(current.config['screening.secrets']) ?? [],
      allowPrivate: current.config['screening.allow_private'],
    }),
  })
  await readFromStore(parts, 'screening', () => sender.start())
  lifecycle.startedWorker('screening', () => sender.stop())
}
