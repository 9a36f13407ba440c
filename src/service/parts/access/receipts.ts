/**
 * Receipts for books (`receipts.enabled`): the stream's signer, with the directory's key and issuer, and the first
 * key's creation. A store has one issuer, and one key for receipts at a time, for all nodes.
 */
import type { Directory } from '../../../access/clients/directory.ts'
import type { DirectoryLoader } from '../../../access/clients/directory-loader.ts'
import type { EncryptionKey } from '../../../access/clients/encryption-key.ts'
import { ensureReceiptKey } from '../../../access/clients/receipt-keys.ts'
import type { AuthTables } from '../../../access/clients/tables.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import {
  createReceiptCounter,
  type ReceiptIssuer,
  ReceiptSigner,
} from '../../../streaming/sequencing/receipt-signer.ts'
import type { Config } from '../../config/settings.ts'

interface ReceiptParts {
  readonly config: Pick<Config, 'receipts.enabled'>
  readonly directory: Directory
  readonly clock: Clock
  readonly metrics: MetricsRegistry
}

/** Undefined unless receipts are enabled. */
export function createReceiptSigner(
  { config, clock, metrics }: Pick<ReceiptParts, 'config' | 'clock' | 'metrics'>,
  current: () => ReceiptIssuer | undefined,
): ReceiptSigner | undefined {
  const signed = createReceiptCounter(metrics)
  if (!config['receipts.enabled']) return undefined
  return new ReceiptSigner({ clock, current, onSigned: () => signed.inc() })
}

/** Undefined while there is no key. */
export function receiptIssuerOf({ authority, receiptSigningKey: key }: Directory): ReceiptIssuer | undefined {
  if (authority === undefined || key?.privateKey === undefined) return undefined
  return { issuer: authority.issuer, keyId: key.keyId, privateKey: key.privateKey }
}

/** Creates the first key for receipts where there is none. The directory must be loaded. */
export async function prepareReceipts(
  { config, directory }: Pick<ReceiptParts, 'config' | 'directory'>,
  db: Db,
  loader: DirectoryLoader,
  encryptionKey: EncryptionKey | undefined,
): Promise<void> {
  if (!config['receipts.enabled'] || directory.receiptSigningKey !== undefined) return
  await db.transaction<AuthTables, void>((transaction) => ensureReceiptKey(transaction, encryptionKey))
  await loader.refresh()
}
