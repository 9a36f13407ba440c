/** SLIP-0010 for ed25519: derives private keys along a path with only hardened steps. Used only with test seeds. */
import { createHmac } from 'node:crypto'

const HARDENED = 0x80000000
const KEY_BYTES = 32

/** @param path the steps without their hardening marks: `[44, 501, 0, 0]` for m/44'/501'/0'/0' */
export function slip10PrivateKey(seed: Uint8Array, path: readonly number[]): Uint8Array {
  let node = hmac(Buffer.from('ed25519 seed', 'latin1'), seed)
  for (const step of path) {
    const data = Buffer.alloc(1 + KEY_BYTES + 4)
    data.set(node.subarray(0, KEY_BYTES), 1)
    data.writeUInt32BE(step + HARDENED, 1 + KEY_BYTES)
    node = hmac(node.subarray(KEY_BYTES), data)
  }
  return node.subarray(0, KEY_BYTES)
}

function hmac(key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac('sha512', key).update(data).digest()
}
