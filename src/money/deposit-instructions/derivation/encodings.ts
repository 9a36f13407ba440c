/**
 * The hashes and text encodings used in addresses. Only this file imports their packages. Decoding returns `undefined`
 * for text that is not exactly the encoding of some bytes.
 */
import { ripemd160 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base32, base58, createBase58check } from '@scure/base'

interface Codec {
  encode(bytes: Uint8Array): string
  decode(text: string): Uint8Array
}

/** RIPEMD-160 of SHA-256, the hash in most addresses. */
export function hash160(bytes: Uint8Array): Uint8Array {
  return ripemd160(sha256(bytes))
}

/** Keccak-256 as Ethereum uses it, with the padding from before FIPS 202. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes)
}

const base58check: Codec = createBase58check(sha256)

export function base58Text(bytes: Uint8Array): string {
  return base58.encode(bytes)
}

export function base58Bytes(text: string): Uint8Array | undefined {
  return decoded(base58, text)
}

/** The bytes in base58check text, without the checksum. Undefined when the checksum is wrong. */
export function base58CheckBytes(text: string): Uint8Array | undefined {
  return decoded(base58check, text)
}

export function base32Text(bytes: Uint8Array): string {
  return base32.encode(bytes).replace(/=+$/, '')
}

/** RFC 4648 section 6, without padding. */
export function base32Bytes(text: string): Uint8Array | undefined {
  const padded = text.padEnd(Math.ceil(text.length / 8) * 8, '=')
  const bytes = decoded(base32, padded)
  return bytes !== undefined && base32Text(bytes) === text ? bytes : undefined
}

/** Longer text is rejected without decoding, because base58 decoding takes time proportional to the length squared. */
const TEXT_CHARACTERS_MAX = 200

function decoded(codec: Codec, text: string): Uint8Array | undefined {
  if (text.length > TEXT_CHARACTERS_MAX) return undefined
  try {
    return codec.decode(text)
  } catch (error) {
    // The package throws this for text outside the encoding.
    if (error instanceof Error) return undefined
    throw error
  }
}
