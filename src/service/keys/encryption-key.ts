/**
 * The key that encrypts signing keys and the pepper in the store: `keys.encryption_key`, or, for an embedded store, the
 * key in `DATA/encryption-key`, which is made once in the life of a data folder. A node does not start when the store
 * is encrypted with another key.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readAuthority } from '../../access/clients/authority.ts'
import { EncryptionKey, EncryptionKeyProblem } from '../../access/clients/encryption-key.ts'
import { readEncryptionKeyId } from '../../access/clients/key-encryption.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import type { Config } from '../config/settings.ts'
import { issuerOfNewStore, issuesTokens } from '../config/token-issuer.ts'
import { readOrCreatePrivateFile } from './private-file.ts'

const KEY_BYTES = 32

/** Path of an embedded store's key, which is used unless a key is configured. */
export function encryptionKeyFile(config: Config): string {
  return join(config.data_dir, 'encryption-key')
}

/**
 * Returns this node's key, or undefined when it has none. For an embedded store, which must be open and have the
 * current schema, a missing key is generated unless the store is already encrypted. Then this throws
 * `EncryptionKeyProblem`.
 */
export async function loadEncryptionKey(config: Config, db: Db): Promise<EncryptionKey | undefined> {
  if (config['keys.encryption_key'] !== '' || config['store.url'] !== '') return configuredKey(config)
  const path = encryptionKeyFile(config)
  const neededId = existsSync(path) ? undefined : await readEncryptionKeyId(db)
  if (typeof neededId === 'string') {
    throw new EncryptionKeyProblem(
      `${path} is missing and keys.encryption_key is not set, and the signing keys in the store are encrypted with the ` +
        `key ${neededId}: put the file back from its backup (docs/how-to/custody.md says what to do when it is lost)`,
    )
  }
  return createEncryptionKey(config)
}

/** Returns this node's key for callers that change nothing: no key is made, and a damaged file counts as none. */
export function existingEncryptionKey(config: Config): EncryptionKey | undefined {
  const path = encryptionKeyFile(config)
  if (config['keys.encryption_key'] !== '' || config['store.url'] !== '' || !existsSync(path))
    return configuredKey(config)
  return EncryptionKey.parse(readFileSync(path, 'utf8').trim())
}

/** As `loadEncryptionKey`, for a store whose keys are about to be replaced, whatever it is encrypted with now. */
export function createEncryptionKey(config: Config): EncryptionKey | undefined {
  if (config['keys.encryption_key'] !== '' || config['store.url'] !== '') return configuredKey(config)
  const path = encryptionKeyFile(config)
  const text = readOrCreatePrivateFile(path, () => `${randomBytes(KEY_BYTES).toString('base64')}\n`)
  const key = EncryptionKey.parse(text.trim())
  if (key === undefined) throw new Error(`${path} is damaged: put it back from its backup`)
  return key
}

/** `keys.encryption_key`, undefined when it is not set. Its format was checked when the configuration was loaded. */
function configuredKey(config: Config): EncryptionKey | undefined {
  const text = config['keys.encryption_key']
  return text === '' ? undefined : EncryptionKey.parse(text)
}

export interface KeyCheck {
  readonly config: Config
  readonly db: Db
  readonly log: Log
  readonly key: EncryptionKey | undefined
}

/**
 * Throws when the store is encrypted with another key than `key`. A new store gets its authority here, so when two
 * nodes start at the same time with different keys, one fails.
 */
export async function checkEncryptionKey({ config, db, log, key }: KeyCheck): Promise<void> {
  await readAuthority(db, issuerOfNewStore(config), key)
  if (!issuesTokens(config) || (await readEncryptionKeyId(db)) !== null) return
  const first = key === undefined ? 'set keys.encryption_key on every node, then ' : ''
  log.warn({}, `signing keys and the pepper are stored unencrypted: ${first}run tidegate admin key encrypt`)
}
