/**
 * The one form of a transaction hash per network, so that two sources that write it differently name the same payment.
 * Pure.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../contract/crypto-networks.ts'

/** Networks whose hashes are bytes in hexadecimal; Solana's are base58, which tells the cases apart. */
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

/** The hash as it is stored; undefined: it is no hash of this network. */
export function normalTxHash(network: CryptoNetwork, text: string): string | undefined {
  const prefix = PREFIXES[CRYPTO_NETWORKS[network]]
  if (prefix === undefined) return BASE58.test(text) ? text : undefined
  const digits = HEXADECIMAL.exec(text)?.[1]
  return digits === undefined ? undefined : prefix + digits.toLowerCase()
}

/** What a text has to be to be a hash of this network; the detail of an error. */
export function txHashRule(network: CryptoNetwork): string {
  return `is no transaction hash of ${network} (${PREFIXES[CRYPTO_NETWORKS[network]] === undefined ? 'base58' : 'hexadecimal digits'})`
}
