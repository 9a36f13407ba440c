/**
 * The key that encrypts signing keys and the pepper in the store: AES-256-GCM (NIST SP 800-38D) with a random 96-bit
 * nonce. A ciphertext contains the key's id and is bound to its row, so it cannot be moved to another one. The key
 * itself is never in the store, and never in a message.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
/** Names the form `version.key.nonce.tag.data`, the last three in base64url. */
const VERSION = 'tg1'
const FORM = /^tg1\.([0-9a-f]{16})\.([\w-]{16})\.([\w-]{22})\.([\w-]+)$/

/** The store is encrypted with a key unknown to this node. */
export class EncryptionKeyProblem extends Error {
  override name = 'EncryptionKeyProblem'
}

export class EncryptionKey {
  /** Distinguishes keys without revealing anything about them. */
  readonly id: string
  readonly #key: KeyObject

  private constructor(bytes: Uint8Array) {
    this.#key = createSecretKey(bytes)
    this.id = createHmac('sha256', bytes).update('tidegate encryption key id').digest('hex').slice(0, 16)
  }

  /** Reads 64 hexadecimal digits or 32 bytes in base64. Undefined for anything else. */
  static parse(text: string): EncryptionKey | undefined {
    const bytes = Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64')
    return bytes.length === 32 && /^[\w+/-]+=?$/.test(text) ? new EncryptionKey(bytes) : undefined
  }

  /** @param row table, column and id of the place where the result is stored */
  encrypt(plain: Uint8Array, row: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(this.#boundTo(row))
    const data = Buffer.concat([cipher.update(plain), cipher.final()])
    return [VERSION, this.id, ...[nonce, cipher.getAuthTag(), data].map((part) => part.toString('base64url'))].join('.')
  }

  /** Throws when this is not the key, or when the text was changed or belongs to another row. */
  decrypt(text: string, row: string): Buffer {
    const [, id, nonce = '', tag = '', data = ''] = FORM.exec(text) ?? []
    if (id === undefined) throw new Error(`${row} has a format this version cannot decrypt`)
    requireKey(this, id)
    const decipher = createDecipheriv(ALGORITHM, this.#key, Buffer.from(nonce, 'base64url'), { authTagLength: 16 })
    decipher.setAAD(this.#boundTo(row)).setAuthTag(Buffer.from(tag, 'base64url'))
    try {
      return Buffer.concat([decipher.update(data, 'base64url'), decipher.final()])
    } catch (error) {
      throw new Error(`${row} was changed: it cannot be decrypted`, { cause: error })
    }
  }

  #boundTo(row: string): Buffer {
    return Buffer.from(`${VERSION}.${this.id}.${row}`)
  }
}

/** `key`, when it is the one needed by the store. Throws when it is not. */
export function requireKey(key: EncryptionKey | undefined, neededId: string): EncryptionKey {
  if (key?.id === neededId) return key
  const state = key === undefined ? 'is not set' : `has the id ${key.id}`
  throw new EncryptionKeyProblem(
    `keys.encryption_key ${state}, and the signing keys in the store are encrypted with the key ${neededId}: ` +
      'set it to that key, the same on every node (see docs/how-to/custody.md if it is lost)',
  )
}
