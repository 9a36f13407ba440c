/**
 * Key material: a family's addresses by index, which never change. It comes from an extended public key, which cannot
 * spend anything, or from a seed, which is for testing only.
 */
import { type AddressFamily, CRYPTO_NETWORKS } from '../../../contract/crypto-networks.ts'
import { bitcoinAddress } from './bitcoin-address.ts'
import { encodeCashAddress } from './cash-address.ts'
import { ed25519PublicKey } from './curves.ts'
import { base58Text, hash160 } from './encodings.ts'
import { evmAddress } from './evm-address.ts'
import { seedKeys, type WatchedFamily, watchedKeys } from './extended-key.ts'
import { slip10PrivateKey } from './slip10.ts'
import { stellarAddress } from './stellar-address.ts'

export interface KeyMaterial {
  readonly family: AddressFamily
  /** The address at index 0, which identifies the key material. */
  readonly firstAddress: string
  /** @param index 0 to 2147483647 */
  addressAt(index: number): string
}

const ADDRESS_OF_KEY: Readonly<Record<WatchedFamily, (publicKey: Uint8Array) => string>> = {
  bitcoin: (publicKey) => bitcoinAddress('bitcoin', hash160(publicKey)),
  bitcoin_cash: (publicKey) => encodeCashAddress({ type: 0, hash: hash160(publicKey) }),
  litecoin: (publicKey) => bitcoinAddress('litecoin', hash160(publicKey)),
  dogecoin: (publicKey) => bitcoinAddress('dogecoin', hash160(publicKey)),
  evm: evmAddress,
}

export const WATCHED_FAMILIES = Object.keys(ADDRESS_OF_KEY) as readonly WatchedFamily[]

/** An account's addresses. The extended public key must have passed `extendedKeyFault`. */
export function watchedMaterial(family: WatchedFamily, extendedKey: string): KeyMaterial {
  return materialOf(family, addressesOf(family, watchedKeys(extendedKey)))
}

/**
 * Every family's addresses from one seed, which can also spend their deposits: for testing only. A family's keys are
 * derived when its first address is requested, because deriving all of them would add 0.2 s to every start.
 */
export function testMaterials(seed: Uint8Array): readonly KeyMaterial[] {
  return [...new Set(Object.values(CRYPTO_NETWORKS))].map((family) => {
    let material: KeyMaterial | undefined
    const derived = (): KeyMaterial => {
      material ??= materialOf(family, testAddressesOf(family, seed))
      return material
    }
    return {
      family,
      get firstAddress() {
        return derived().firstAddress
      },
      addressAt: (index) => derived().addressAt(index),
    }
  })
}

function materialOf(family: AddressFamily, addressAt: (index: number) => string): KeyMaterial {
  return { family, firstAddress: addressAt(0), addressAt }
}

function testAddressesOf(family: AddressFamily, seed: Uint8Array): (index: number) => string {
  switch (family) {
    case 'solana':
      return (index) => base58Text(ed25519PublicKey(slip10PrivateKey(seed, [44, 501, index, 0])))
    case 'stellar':
      // SEP-5.
      return (index) => stellarAddress(ed25519PublicKey(slip10PrivateKey(seed, [44, 148, index])))
    default:
      return addressesOf(family, seedKeys(family, seed))
  }
}

function addressesOf(family: WatchedFamily, keyAt: (index: number) => Uint8Array): (index: number) => string {
  return (index) => ADDRESS_OF_KEY[family](keyAt(index))
}
