/** The two elliptic curves for address keys. Only this file imports their package. */
import { ed25519 } from '@noble/curves/ed25519.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'

/** Both coordinates of a compressed public key, 64 bytes. */
export function secp256k1Coordinates(publicKey: Uint8Array): Uint8Array {
  return secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1)
}

/** A private key's public key (RFC 8032), 32 bytes. */
export function ed25519PublicKey(privateKey: Uint8Array): Uint8Array {
  return ed25519.getPublicKey(privateKey)
}
