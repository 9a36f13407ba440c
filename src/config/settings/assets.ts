/** The settings of assets and the key material of deposit addresses. */
import { ASSETS_DEFAULT, assets } from '../assets.ts'
import { accountKey } from '../custody.ts'

export const ASSETS_SETTINGS = {
  assets: assets({
    initial: ASSETS_DEFAULT,
    live: true,
    meaning: 'assets that addresses and rules may name, and their crypto networks; no network = a bank currency',
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
