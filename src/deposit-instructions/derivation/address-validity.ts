/**
 * Whether text is an address of a network (its format and, where the format has one, its checksum), and which other
 * texts name the same destination. It promises nothing about who holds the key.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { isBitcoinAddress } from './bitcoin-address.ts'
import { isCashAddress, plainCashAddress } from './cash-address.ts'
import { base58Bytes } from './encodings.ts'
import { checksummedEvmAddress, isEvmAddress } from './evm-address.ts'
import { isStellarAddress, stellarAccount } from './stellar-address.ts'

interface Format {
  readonly words: string
  fits(text: string): boolean
  /** The form in which the service gives out an address; undefined for what is none. Absent: addresses have one form. */
  canonical?(text: string): string | undefined
}

const SOLANA_KEY_BYTES = 32

const FORMATS: Readonly<Record<AddressFamily, Format>> = {
  bitcoin: {
    words: 'bc1…, 1… or 3…, with its checksum',
    fits: (text) => isBitcoinAddress('bitcoin', text),
    canonical: (text) => lowerSegwit('bitcoin', text),
  },
  bitcoin_cash: {
    words: 'a CashAddr such as bitcoincash:q…, with its checksum',
    fits: isCashAddress,
    canonical: plainCashAddress,
  },
  litecoin: {
    words: 'ltc1…, L… or M…, with its checksum',
    fits: (text) => isBitcoinAddress('litecoin', text),
    canonical: (text) => lowerSegwit('litecoin', text),
  },
  dogecoin: { words: 'D…, 9… or A…, with its checksum', fits: (text) => isBitcoinAddress('dogecoin', text) },
  evm: {
    words: '0x and 40 hexadecimal digits, mixed case as in EIP-55',
    fits: isEvmAddress,
    canonical: checksummedEvmAddress,
  },
  solana: { words: '32 bytes in base58', fits: (text) => base58Bytes(text)?.length === SOLANA_KEY_BYTES },
  stellar: { words: 'G… or M…, with its checksum', fits: isStellarAddress, canonical: stellarAccount },
}

/** The rule that `address` breaks as an address of the network, in words for an error; undefined when it is one. */
export function addressFault(network: CryptoNetwork, address: string): string | undefined {
  const { fits, words } = FORMATS[CRYPTO_NETWORKS[network]]
  return fits(address) ? undefined : `is not an address of ${network} (${words})`
}

/**
 * The texts under which the store may hold the destination that `address` names in a family: as it was sent, and in the
 * form in which addresses are given out. None when it is no address of the family.
 */
export function storedForms(family: AddressFamily, address: string): readonly string[] {
  const { fits, canonical = (text) => (fits(text) ? text : undefined) } = FORMATS[family]
  const form = canonical(address)
  return form === undefined ? [] : [...new Set([address, form])]
}

/** Segwit addresses may be written in capital letters, as in QR codes; the others tell the cases apart. */
function lowerSegwit(chain: 'bitcoin' | 'litecoin', text: string): string | undefined {
  if (!isBitcoinAddress(chain, text)) return undefined
  return /^(bc|ltc)1/i.test(text) ? text.toLowerCase() : text
}
