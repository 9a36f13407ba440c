/**
 * Addresses for Ethereum and the networks that share its accounts: the last 20 bytes of a public key's Keccak-256 in
 * hexadecimal, with the EIP-55 checksum in the letters' case.
 */
import { secp256k1Coordinates } from './curves.ts'
import { keccak256 } from './encodings.ts'

const HEXADECIMAL = /^0x([0-9a-fA-F]{40})$/

/** @param publicKey compressed, 33 bytes */
export function evmAddress(publicKey: Uint8Array): string {
  const hash = keccak256(secp256k1Coordinates(publicKey)).subarray(-20)
  return withChecksum(Buffer.from(hash).toString('hex'))
}

/** An address with letters in one case has no checksum and is valid. Mixed case must match the checksum. */
export function isEvmAddress(text: string): boolean {
  const digits = HEXADECIMAL.exec(text)?.[1]
  return digits !== undefined && (hasOneCase(digits) || text === withChecksum(digits.toLowerCase()))
}

function hasOneCase(digits: string): boolean {
  return digits === digits.toLowerCase() || digits === digits.toUpperCase()
}

/** EIP-55: a letter is upper case where the hash of the lower-case digits has a digit of 8 or more. */
function withChecksum(digits: string): string {
  const hash = Buffer.from(keccak256(Buffer.from(digits, 'latin1'))).toString('hex')
  const letters = [...digits].map((digit, index) => ((hash[index] ?? '') >= '8' ? digit.toUpperCase() : digit))
  return `0x${letters.join('')}`
}

/** The address with the EIP-55 checksum. Undefined when the text is not an address. */
export function checksummedEvmAddress(text: string): string | undefined {
  const digits = HEXADECIMAL.exec(text)?.[1]
  if (digits === undefined) return undefined
  const checksummed = withChecksum(digits.toLowerCase())
  return text === checksummed || hasOneCase(digits) ? checksummed : undefined
}
