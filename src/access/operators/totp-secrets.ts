/** The one-time code secrets in the store: encrypted, where the node has an encryption key. */
import { Problem } from '../../platform/http/problem.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'

const ROW = 'operators.totp_secret'
/** The first characters of an encrypted text, followed by the key's id. */
const ENCRYPTED = /^tg1\.([0-9a-f]{16})\./

export function storedTotpSecret(secret: Uint8Array, key: EncryptionKey | undefined): string {
  return key === undefined ? Buffer.from(secret).toString('base64url') : key.encrypt(secret, ROW)
}

/** @throws {Problem} 503 without the key with which it was encrypted, such as after that was replaced */
export function readTotpSecret(stored: string, key: EncryptionKey | undefined): Buffer {
  const keyId = ENCRYPTED.exec(stored)?.[1]
  if (keyId === undefined) return Buffer.from(stored, 'base64url')
  if (key?.id === keyId) return key.decrypt(stored, ROW)
  throw new Problem(
    'encryption_key_missing',
    'this process cannot read the authenticator, encrypted with another key: reset the operator',
  )
}
