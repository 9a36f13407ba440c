/** The settings for the data folder, the store, and the key that encrypts the store's secrets. */
import { databaseUrl, integer, text } from '../setting-kinds.ts'

export const STORE_SETTINGS = {
  data_dir: text({
    initial: './data',
    meaning: 'folder for the embedded store, the encryption key, the operator token and the lock',
    accepts: 'a path',
    pattern: /^[^\0]{1,4096}$/,
  }),
  'store.url': databaseUrl({
    initial: '',
    meaning: 'address of PostgreSQL 15 or newer, without a transaction pooler. Empty = the embedded store',
  }),
  'store.connections_max': integer({
    initial: 10,
    min: 1,
    max: 1_000,
    meaning: 'connections to PostgreSQL for statements. One more is used to listen',
  }),
  'keys.encryption_key': text({
    initial: '',
    meaning:
      'encrypts signing keys and the pepper in the store, equal on every node. Empty = generated in ' +
      'DATA/encryption-key with the embedded store, none with store.url',
    accepts: '32 bytes in base64 or as 64 hexadecimal digits',
    pattern: /^(|[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
    secret: true,
  }),
} as const
