/**
 * A transaction hash's canonical form per network, so that two notations from different sources name the same payment.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'

/** Prefixes for hexadecimal hashes, by family. Absent: base58, which is case-sensitive (Solana). */
const PREFIXES: Readonly<Partial<Record<AddressFamily, '' | '0x'>>> = {
  bitcoin: '',
  bitcoin_cash: '',
  litecoin: '',
  dogecoin: '',
  evm: '0x',
  stellar: '',
}

const HEXADECIMAL = /^(?:0x)?([0-9a-f]+)$/i
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/

/** The hash in the stored form. Undefined when it is not a hash on this network. */
export function normalTxHash(network: CryptoNetwork, text: string): string | undefined {
  const prefix = PREFIXES[CRYPTO_NETWORKS[network]]
  if (prefix === undefined) return BASE58.test(text) ? text : undefined
  const digits = HEXADECIMAL.exec(text)?.[1]
  return digits === undefined ? undefined : prefix + digits.toLowerCase()
}

/** The error detail for text that is not a hash on this network. */
export function txHashRule(network: CryptoNetwork): string {
  return `must be a transaction hash of ${network} (${PREFIXES[CRYPTO_NETWORKS[network]] === undefined ? 'base58' : 'hexadecimal digits'})`
}
