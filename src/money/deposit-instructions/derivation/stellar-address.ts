/**
 * Stellar addresses (SEP-23, "strkey"): a version byte, the key, and a CRC-16 in base32. Accounts begin with G. Muxed
 * accounts, with an id inside, begin with M. Secret seeds, which begin with S, are not addresses.
 */
import { base32Bytes, base32Text } from './encodings.ts'

const ACCOUNT = 6 << 3
const MUXED_ACCOUNT = 12 << 3
const KEY_BYTES = 32
/** Bytes after the version byte: a key, and for muxed accounts also an 8-byte id. */
const PAYLOAD_BYTES = new Map([
  [ACCOUNT, KEY_BYTES],
  [MUXED_ACCOUNT, KEY_BYTES + 8],
])
const CHECKSUM_BYTES = 2

/** @param publicKey ed25519, 32 bytes */
export function stellarAddress(publicKey: Uint8Array): string {
  const body = Uint8Array.of(ACCOUNT, ...publicKey)
  return base32Text(Uint8Array.of(...body, ...checksum(body)))
}

export function isStellarAddress(text: string): boolean {
  const bytes = base32Bytes(text)
  if (bytes === undefined) return false
  const body = bytes.subarray(0, -CHECKSUM_BYTES)
  const payloadBytes = PAYLOAD_BYTES.get(body[0] ?? -1)
  return body.length - 1 === payloadBytes && Buffer.compare(checksum(body), bytes.subarray(-CHECKSUM_BYTES)) === 0
}

/**
 * The account to which an address pays. For a muxed address it is the account inside. Undefined when the text is not an
 * address.
 */
export function stellarAccount(text: string): string | undefined {
  if (!isStellarAddress(text)) return undefined
  const payload = base32Bytes(text)?.subarray(1, 1 + KEY_BYTES)
  return payload === undefined ? undefined : stellarAddress(payload)
}

/** CRC-16 with the polynomial 0x1021, starting from 0 (XModem), the low byte first. */
function checksum(bytes: Uint8Array): Uint8Array {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff
  }
  return Uint8Array.of(crc & 0xff, crc >> 8)
}
