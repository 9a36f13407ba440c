/**
 * Addresses for Bitcoin and for the networks that kept its formats: native segwit where the network has it, otherwise
 * pay to public key hash. Formats: base58check, BIP 173 (bech32), BIP 350 (bech32m).
 */
import { Address } from '@scure/btc-signer'

/** A network's version bytes and human-readable part. */
interface Format {
  readonly bech32: string
  readonly pubKeyHash: number
  readonly scriptHash: number
  /** The version byte for private keys, which are never read. */
  readonly wif: number
}

/** From each network's own chain parameters (`chainparams.cpp`). */
const FORMATS = {
  bitcoin: { bech32: 'bc', pubKeyHash: 0x00, scriptHash: 0x05, wif: 0x80 },
  litecoin: { bech32: 'ltc', pubKeyHash: 0x30, scriptHash: 0x32, wif: 0xb0 },
  dogecoin: { bech32: '', pubKeyHash: 0x1e, scriptHash: 0x16, wif: 0x9e },
} as const satisfies Record<string, Format>

export type BitcoinFamily = keyof typeof FORMATS

/** The address that pays to the public key with this hash (20 bytes). */
export function bitcoinAddress(family: BitcoinFamily, publicKeyHash: Uint8Array): string {
  const format = FORMATS[family]
  return Address(format).encode({ type: format.bech32 === '' ? 'pkh' : 'wpkh', hash: Uint8Array.from(publicKeyHash) })
}

/** Whether the text is an address: a known output type with a correct checksum. */
export function isBitcoinAddress(family: BitcoinFamily, text: string): boolean {
  try {
    Address(FORMATS[family]).decode(text)
    return true
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}
