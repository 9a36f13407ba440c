/**
 * The notation in which destination addresses are compared. Two texts have one key when a payment to either reaches the
 * same beneficiary. A muxed Stellar address differs from its account: the id inside is a memo. The migration
 * `destinations` computes the same keys in SQL.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { storedForms } from '../deposit-instructions/derivation/address-validity.ts'

const CASE_INSENSITIVE: ReadonlySet<AddressFamily> = new Set<AddressFamily>(['evm'])

/** A valid address's key. */
export function addressKeyOf(network: CryptoNetwork, address: string): string {
  const shown = shownAddress(network, address)
  return CASE_INSENSITIVE.has(CRYPTO_NETWORKS[network]) ? shown.toLowerCase() : shown
}

/** A valid address as answers show it: with the checksum's case on EVM networks, otherwise in lower case if possible. */
export function shownAddress(network: CryptoNetwork, address: string): string {
  const family = CRYPTO_NETWORKS[network]
  return family === 'stellar' ? address : (storedForms(family, address).at(-1) ?? address)
}
