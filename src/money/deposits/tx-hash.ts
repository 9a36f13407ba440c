/** The canonical form of a transaction hash per network, so that sources that write it differently name the same payment. */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'

/** Prefixes of hexadecimal hashes by family. Absent: base58, which is case-sensitive (Solana). */
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

/** The hash in the form in which it is stored; undefined when it is not a hash of this network. */
export function normalTxHash(network: CryptoNetwork, text: string): string | undefined {
  const prefix = PREFIXES[CRYPTO_NETWORKS[network]]
  if (prefix === undefined) return BASE58.test(text) ? text : undefined
  const digits = HEXADECIMAL.exec(text)?.[1]
  return digits === undefined ? undefined : prefix + digits.toLowerCase()
}

/** The detail of the error for text that is not a hash of this network. */
export function txHashRule(network: CryptoNetwork): string {
  return `must be a transaction hash of ${network} (${PREFIXES[CRYPTO_NETWORKS[network]] === undefined ? 'base58' : 'hexadecimal digits'})`
}
