/** Key material for tests: publicly known accounts' extended public keys, each derived from its own number. */
import { HDKey } from '@scure/bip32'

/** An account's extended public key. */
export function accountPublicKey(number: number): string {
  return HDKey.fromMasterSeed(Buffer.alloc(32, number)).derive("m/84'/0'/0'").publicExtendedKey
}

/** Flags that configure a node with a key for every address family that takes one. */
export const ALL_KEYS = Object.fromEntries(
  ['bitcoin', 'bitcoin_cash', 'litecoin', 'dogecoin', 'evm'].map((family, index) => [
    `custody.${family}.xpub`,
    accountPublicKey(index + 1),
  ]),
)
