/** The settings of assets and the key material of deposit addresses. */
import { ASSETS_DEFAULT, assets } from '../assets.ts'
import { accountKey } from '../custody.ts'

export const ASSETS_SETTINGS = {
  assets: assets({
    initial: ASSETS_DEFAULT,
    live: true,
    meaning: 'assets that addresses and rules may name, and the networks that carry them; none = money at a bank',
  }),
  'custody.bitcoin.xpub': accountKey('bitcoin', 'public key that addresses of BITCOIN are derived from'),
  'custody.bitcoin_cash.xpub': accountKey('bitcoin_cash', 'public key that addresses of BITCOIN_CASH are derived from'),
  'custody.litecoin.xpub': accountKey('litecoin', 'public key that addresses of LITECOIN are derived from'),
  'custody.dogecoin.xpub': accountKey('dogecoin', 'public key that addresses of DOGECOIN are derived from'),
  'custody.evm.xpub': accountKey(
    'evm',
    'public key that addresses of ETHEREUM, POLYGON_POS, BASE, ARBITRUM_ONE, AVALANCHE and BNB are derived from',
  ),
} as const
