/**
 * CashAddr, the address format of Bitcoin Cash, by its specification (`spec/cashaddr.md` in bitcoincashorg's
 * repository): five bits per letter and a 40-bit BCH checksum over prefix and payload. Pure.
 */

const PREFIX = 'bitcoincash'
const LETTERS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const CHECKSUM_LETTERS = 8
/** Hash lengths in bytes, by the version byte's size bits. */
const HASH_BYTES = [20, 24, 28, 32, 40, 48, 56, 64]
const GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n]

/** The type bits: 0 is a key hash, 1 a script hash, 2 and 3 are the same for token-aware wallets. */
interface CashAddress {
  readonly type: number
  readonly hash: Uint8Array
}

export function encodeCashAddress({ type, hash }: CashAddress, prefix = PREFIX): string {
  const version = (type << 3) | HASH_BYTES.indexOf(hash.length)
  const payload = regroup([version, ...hash], 8, 5, true) ?? []
  const checksum = polymod([...prefixValues(prefix), ...payload, ...Array<number>(CHECKSUM_LETTERS).fill(0)])
  const tail = Array.from({ length: CHECKSUM_LETTERS }, (_, index) =>
    Number((checksum >> BigInt(5 * (CHECKSUM_LETTERS - 1 - index))) & 31n),
  )
  return `${prefix}:${[...payload, ...tail].map((value) => LETTERS[value]).join('')}`
}

/** Reads an address in a single case, with or without its prefix. Undefined for any other text. */
function decodeCashAddress(text: string): CashAddress | undefined {
  const lower = text.toLowerCase()
  if (text !== lower && text !== text.toUpperCase()) return undefined
  const letters = lower.startsWith(`${PREFIX}:`) ? lower.slice(PREFIX.length + 1) : lower
  const values = [...letters].map((letter) => LETTERS.indexOf(letter))
  if (values.length <= CHECKSUM_LETTERS || values.length > LETTERS_MAX || values.includes(-1)) return undefined
  if (polymod([...prefixValues(PREFIX), ...values]) !== 0n) return undefined
  const [version, ...hash] = regroup(values.slice(0, -CHECKSUM_LETTERS), 5, 8, false) ?? []
  if (version === undefined || version >= 0x80 || hash.length !== HASH_BYTES[version & 7]) return undefined
  return { type: version >> 3, hash: Uint8Array.from(hash) }
}

/** 65 bytes in groups of five bits, and the checksum. */
const LETTERS_MAX = 104 + CHECKSUM_LETTERS

/** Whether the text is an address. Key hashes have 20 bytes, script hashes 20 or 32. */
export function isCashAddress(text: string): boolean {
  const address = decodeCashAddress(text)
  if (address === undefined || address.type > 3) return false
  const { length } = address.hash
  return length === 20 || (length === 32 && address.type % 2 === 1)
}

/**
 * The address in the form in which the service issues addresses: lower case, with the prefix, and not token-aware
 * (token-aware types pay to the same script). Undefined when the text is not an address.
 */
export function plainCashAddress(text: string): string | undefined {
  const address = isCashAddress(text) ? decodeCashAddress(text) : undefined
  return address === undefined ? undefined : encodeCashAddress({ ...address, type: address.type % 2 })
}

/** Each letter's low five bits, and a zero. */
function prefixValues(prefix: string): number[] {
  return [...[...prefix].map((letter) => letter.charCodeAt(0) & 31), 0]
}

function polymod(values: readonly number[]): bigint {
  let state = 1n
  for (const value of values) {
    const top = state >> 35n
    state = ((state & 0x07ffffffffn) << 5n) ^ BigInt(value)
    for (const [bit, generator] of GENERATORS.entries()) {
      if ((top >> BigInt(bit)) & 1n) state ^= generator
    }
  }
  return state ^ 1n
}

/** Regroups bits into groups of another size. Undefined when the remaining bits are not zero padding. */
function regroup(values: readonly number[], from: number, to: number, isPadded: boolean): number[] | undefined {
  const groups: number[] = []
  let bits = 0
  let held = 0
  for (const value of values) {
    held = (held << from) | value
    bits += from
    while (bits >= to) {
      bits -= to
      groups.push(held >> bits)
      held &= (1 << bits) - 1
    }
  }
  if (isPadded) return bits === 0 ? groups : [...groups, held << (to - bits)]
  return bits < from && held === 0 ? groups : undefined
}
