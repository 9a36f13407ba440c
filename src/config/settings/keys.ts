/** The setting of the key that encrypts what the store keeps secret. */
import { text } from '../setting-kinds.ts'

export const KEYS_SETTINGS = {
  'keys.encryption_key': text({
    initial: '',
    meaning:
      'encrypts signing keys and the pepper in the store, equal on every node; empty = generated in ' +
      'DATA/encryption-key with the embedded store, none with store.url',
    accepts: '32 bytes in base64 or as 64 hexadecimal digits',
    pattern: /^(|[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
    secret: true,
  }),
} as const
