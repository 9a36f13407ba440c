/**
 * Endpoints' secrets (Standard Webhooks 1.0): random, shown once, and stored encrypted, because the sender signs with
 * them. An endpoint has one, or two while its receiver changes to the new one.
 */
import { randomBytes } from 'node:crypto'
import { Problem } from '../../platform/http/problem.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'

/** A stored secret. */
export interface StoredSecret {
  readonly created_at: string
  /** Encrypted. */
  readonly text: string
}

/** Both sign, so one can be replaced without a pause. */
export const SECRETS_PER_ENDPOINT_MAX = 2

/** More than 256 bits, and base64 without padding. */
const SECRET_BYTES = 33

export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}

/** @throws {Problem} 503 without a key */
export function encryptSecret(key: EncryptionKey | undefined, endpointId: string, secret: string): string {
  if (key !== undefined) return key.encrypt(Buffer.from(secret), rowOf(endpointId))
  const detail = 'this process cannot store a webhook secret: the operator must set its keys.encryption_key'
  throw new Problem('encryption_key_missing', detail)
}

/** Undefined without the key with which they were encrypted. */
export function decryptSecrets(
  key: EncryptionKey | undefined,
  endpointId: string,
  secrets: readonly StoredSecret[],
): readonly string[] | undefined {
  if (key === undefined || secrets.some(({ text }) => text.split('.')[1] !== key.id)) return undefined
  return secrets.map(({ text }) => key.decrypt(text, rowOf(endpointId)).toString())
}

function rowOf(endpointId: string): string {
  return `webhook_endpoints.secrets/${endpointId}`
}
