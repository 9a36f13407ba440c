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
    meaning: 'the assets for addresses and rules, with their crypto networks',
  }),
  'custody.bitcoin.xpub': accountKey('bitcoin', 'extended public key for deposit addresses on BITCOIN'),
  'custody.bitcoin_cash.xpub': accountKey('bitcoin_cash', 'extended public key for deposit addresses on BITCOIN_CASH'),
  'custody.litecoin.xpub': accountKey('litecoin', 'extended public key for deposit addresses on LITECOIN'),
  'custody.dogecoin.xpub': accountKey('dogecoin', 'extended public key for deposit addresses on DOGECOIN'),
  'custody.evm.xpub': accountKey(
    'evm',
    'extended public key for deposit addresses on ETHEREUM, POLYGON_POS, BASE, ARBITRUM_ONE, AVALANCHE and BNB',
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
