/**
 * A book's digest, as heartbeats carry it in `tidegate.v1`: the sum, modulo 2^64, over each level's hash. The hash is
 * 64-bit FNV-1a over `side|price|amount`, followed by MurmurHash3's finaliser `fmix64`.
 */
import type { Level, Side } from './level.ts'

const MASK = 0xffff_ffff_ffff_ffffn
const WORD = 0x1_0000_0000

/** A level never changes, so it is hashed only once, however many heartbeats follow. */
const hashes = new WeakMap<Level, bigint>()

/** 16 lower-case hexadecimal digits. */
export function digestOf(bids: Side, asks: Side): string {
  let sum = 0n
  for (const side of [bids, asks]) {
    const name = side === bids ? 'bid' : 'ask'
    for (const level of side) sum += hashOf(name, level)
  }
  return (sum & MASK).toString(16).padStart(16, '0')
}

function hashOf(name: string, level: Level): bigint {
  const known = hashes.get(level)
  if (known !== undefined) return known
  const hash = finalised(fnv1a(`${name}|${level.price}|${level.amount}`))
  hashes.set(level, hash)
  return hash
}

/** In two 32-bit words, because BigInt would take ten times as long. */
function fnv1a(text: string): bigint {
  let [high, low] = [0xcbf29ce4, 0x84222325]
  for (let index = 0; index < text.length; index++) {
    low = (low ^ text.charCodeAt(index)) >>> 0
    // Times the prime 2^40 + 0x1b3. All products are below 2^53.
    const product = low * 0x1b3
    high = (high * 0x1b3 + low * 256 + Math.floor(product / WORD)) >>> 0
    low = product >>> 0
  }
  return (BigInt(high) << 32n) | BigInt(low)
}

function finalised(hash: bigint): bigint {
  let mixed = ((hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  mixed = ((mixed ^ (mixed >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  return mixed ^ (mixed >> 33n)
}
