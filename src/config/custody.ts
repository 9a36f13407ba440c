/**
 * The kind of setting that holds key material: the extended public key of an account, or nothing. A private key is
 * refused for what it is; no value is ever quoted, since what stands there by mistake may be one.
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
    // Who has it sees every address of the account.
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
