/**
 * Validates an address's format, and its checksum where the format has one. Also finds the other texts that name the
 * same destination. It does not verify that any wallet has the key.
 */
import { type AddressFamily, CRYPTO_NETWORKS, type CryptoNetwork } from '../../../contract/crypto-networks.ts'
import { isBitcoinAddress } from './bitcoin-address.ts'
import { isCashAddress, plainCashAddress } from './cash-address.ts'
import { base58Bytes } from './encodings.ts'
import { checksummedEvmAddress, isEvmAddress } from './evm-address.ts'
import { isStellarAddress, stellarAccount } from './stellar-address.ts'

interface Format {
  readonly words: string
  fits(text: string): boolean
  /**
   * The form in which the service issues the address. Undefined for other text. Absent: addresses have only one form.
   */
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

/** The error detail for text that is not an address on the network. Undefined when it is one. */
export function addressFault(network: CryptoNetwork, address: string): string | undefined {
  const { fits, words } = FORMATS[CRYPTO_NETWORKS[network]]
  return fits(address) ? undefined : `is not an address of ${network} (${words})`
}

/**
 * The texts under which the store may have this destination: as it was sent, and in the form in which the service
 * issues addresses. Empty when it is not an address in the family.
 */
export function storedForms(family: AddressFamily, address: string): readonly string[] {
  const { fits, canonical = (text) => (fits(text) ? text : undefined) } = FORMATS[family]
  const form = canonical(address)
  return form === undefined ? [] : [...new Set([address, form])]
}

/** Segwit addresses may be in upper case, as in QR codes. The other formats are case-sensitive. */
function lowerSegwit(chain: 'bitcoin' | 'litecoin', text: string): string | undefined {
  if (!isBitcoinAddress(chain, text)) return undefined
  return /^(bc|ltc)1/i.test(text) ? text.toLowerCase() : text
}
