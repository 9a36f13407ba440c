/** The one-time code secrets in the store: encrypted, where the node has an encryption key. */
import type { EncryptionKey } from '../clients/encryption-key.ts'
import { requireKey } from '../clients/encryption-key.ts'

const ROW = 'operators.totp_secret'
/** The first characters of an encrypted text, followed by the key's id. */
const ENCRYPTED = /^tg1\.([0-9a-f]{16})\./

export function storedTotpSecret(secret: Uint8Array, key: EncryptionKey | undefined): string {
  return key === undefined ? Buffer.from(secret).toString('base64url') : key.encrypt(secret, ROW)
}

/** Throws `EncryptionKeyProblem` when this node does not have the key. */
export function readTotpSecret(stored: string, key: EncryptionKey | undefined): Buffer {
  const keyId = ENCRYPTED.exec(stored)?.[1]
  return keyId === undefined ? Buffer.from(stored, 'base64url') : requireKey(key, keyId).decrypt(stored, ROW)
}
