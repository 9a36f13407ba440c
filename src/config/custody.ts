/**
 * A kind of setting for key material: the extended public key of an account, or empty. A private key is refused with a
 * message of its own. Messages never quote the value, because it may be a private key.
 */
import {
  extendedKeyFault,
  extendedKeyWords,
  type WatchedFamily,
} from '../deposit-instructions/derivation/extended-key.ts'
import type { Setting } from './setting-kinds.ts'

export function accountKey(family: WatchedFamily, meaning: string): Setting<string> {
  const accepts = extendedKeyWords(family)
  return {
    initial: '',
    meaning,
    accepts,
    // It reveals every address of the account.
    secret: true,
    structured: false,
    show: (value) => value,
    read(raw) {
      if (raw === '') return { value: '' }
      const fault = typeof raw === 'string' ? extendedKeyFault(family, raw) : `is not ${accepts}`
      return fault === undefined ? { value: raw as string } : { problems: [{ path: '', message: fault }] }
    },
  }
}
