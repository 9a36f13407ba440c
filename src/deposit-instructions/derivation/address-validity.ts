/**
 * Whether text is an address of a network: its format and, where the format has one, its checksum. It promises nothing
 * about who holds the key. Pure.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { isBitcoinAddress } from './bitcoin-address.ts'
import { isCashAddress } from './cash-address.ts'
import { base58Bytes } from './encodings.ts'
import { isEvmAddress } from './evm-address.ts'
import { isStellarAddress } from './stellar-address.ts'

interface Format {
  readonly words: string
  fits(text: string): boolean
}

const SOLANA_KEY_BYTES = 32

const FORMATS: Readonly<Record<AddressFamily, Format>> = {
  bitcoin: { words: 'bc1…, 1… or 3…, with its checksum', fits: (text) => isBitcoinAddress('bitcoin', text) },
  bitcoin_cash: { words: 'a CashAddr such as bitcoincash:q…, with its checksum', fits: isCashAddress },
  litecoin: { words: 'ltc1…, L… or M…, with its checksum', fits: (text) => isBitcoinAddress('litecoin', text) },
  dogecoin: { words: 'D…, 9… or A…, with its checksum', fits: (text) => isBitcoinAddress('dogecoin', text) },
  evm: { words: '0x and 40 hexadecimal digits, mixed case as in EIP-55', fits: isEvmAddress },
  solana: { words: '32 bytes in base58', fits: (text) => base58Bytes(text)?.length === SOLANA_KEY_BYTES },
  stellar: { words: 'G… or M…, with its checksum', fits: isStellarAddress },
}

/** The rule that `address` breaks as an address of the network, in words for an error; undefined when it is one. */
export function addressFault(network: CryptoNetwork, address: string): string | undefined {
  const { fits, words } = FORMATS[CRYPTO_NETWORKS[network]]
  return fits(address) ? undefined : `is not an address of ${network} (${words})`
}
