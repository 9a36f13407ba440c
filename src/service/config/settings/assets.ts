/** The settings for assets and the deposit addresses' key material. */
import {
  extendedKeyFault,
  extendedKeyWords,
  type WatchedFamily,
} from '../../../money/deposit-instructions/derivation/extended-key.ts'
import { ASSETS_DEFAULT, assets } from '../assets.ts'
import type { Setting } from '../setting-kinds.ts'

export const ASSETS_SETTINGS = {
  assets: assets({
    initial: ASSETS_DEFAULT,
    live: true,
    meaning:
      'assets that addresses and rules may name, and their crypto networks; an asset without networks is a fiat asset',
  }),
  'custody.bitcoin.xpub': accountKey('bitcoin', 'extended public key from which addresses on BITCOIN are derived'),
  'custody.bitcoin_cash.xpub': accountKey(
    'bitcoin_cash',
    'extended public key from which addresses on BITCOIN_CASH are derived',
  ),
  'custody.litecoin.xpub': accountKey('litecoin', 'extended public key from which addresses on LITECOIN are derived'),
  'custody.dogecoin.xpub': accountKey('dogecoin', 'extended public key from which addresses on DOGECOIN are derived'),
  'custody.evm.xpub': accountKey(
    'evm',
    'extended public key from which addresses on ETHEREUM, POLYGON_POS, BASE, ARBITRUM_ONE, AVALANCHE and BNB are derived',
  ),
} as const

/**
 * A setting for an account's extended public key, or empty. A private key is rejected with its own message. No message
 * quotes the value, because it may be a private key.
 */
function accountKey(family: WatchedFamily, meaning: string): Setting<string> {
  const accepts = extendedKeyWords(family)
  return {
    initial: '',
    meaning,
    accepts,
    // It reveals all the account's addresses.
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
