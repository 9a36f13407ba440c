/**
 * BIP 32 extended keys: validates the account's extended public key that the operator configures, and derives the
 * public keys below it. Private keys are also recognised by their content, whatever their prefix. No error quotes the
 * given text beyond its first four characters.
 */
import { HDKey } from '@scure/bip32'
import { base58CheckBytes } from './encodings.ts'

/** Families whose addresses can be derived from an extended public key. */
export type WatchedFamily = 'bitcoin' | 'bitcoin_cash' | 'litecoin' | 'dogecoin' | 'evm'

/** The account level in BIP 44: purpose, coin type, account. */
const ACCOUNT_DEPTH = 3
/** BIP 44: the chain for receiving addresses. */
const EXTERNAL_CHAIN = 0
const SERIALISED_BYTES = 78
/** The key's offset. A private key begins with a zero byte, a public key never does. */
const KEY_OFFSET = 45

/**
 * Accepted version bytes from BIP 32 and SLIP-132. Those for address types that the service does not derive are left
 * out.
 */
const VERSIONS = { xpub: 0x0488b21e, zpub: 0x04b24746, Ltub: 0x019da462, dgub: 0x02facafd } as const

interface AccountForm {
  readonly prefixes: readonly (keyof typeof VERSIONS)[]
  /** Purpose and coin type (SLIP-44), both hardened. */
  readonly purpose: number
  readonly coinType: number
}

const FORMS: Readonly<Record<WatchedFamily, AccountForm>> = {
  bitcoin: { prefixes: ['xpub', 'zpub'], purpose: 84, coinType: 0 },
  bitcoin_cash: { prefixes: ['xpub'], purpose: 44, coinType: 145 },
  litecoin: { prefixes: ['xpub', 'zpub', 'Ltub'], purpose: 84, coinType: 2 },
  dogecoin: { prefixes: ['xpub', 'dgub'], purpose: 44, coinType: 3 },
  evm: { prefixes: ['xpub'], purpose: 44, coinType: 60 },
}

/** Describes a family's accepted keys. */
export function extendedKeyWords(family: WatchedFamily): string {
  const { prefixes, purpose, coinType } = FORMS[family]
  return `an account’s extended public key (${prefixes.join(', ')}), m/${purpose}'/${coinType}'/0'`
}

/** Why the text cannot be used as the family's key. Undefined when it can. */
export function extendedKeyFault(family: WatchedFamily, text: string): string | undefined {
  const { prefixes, purpose, coinType } = FORMS[family]
  if (/^[a-z]{1,4}prv/i.test(text)) return PRIVATE
  const bytes = base58CheckBytes(text)
  if (bytes?.length !== SERIALISED_BYTES) return `is not ${extendedKeyWords(family)}`
  if (bytes[KEY_OFFSET] === 0) return PRIVATE
  const version = Buffer.from(bytes).readUInt32BE(0)
  if (!prefixes.some((prefix) => VERSIONS[prefix] === version)) {
    return `begins with ${text.slice(0, 4)}, the prefix for another address type. It must begin with ${prefixes.join(' or ')}`
  }
  if (bytes[4] !== ACCOUNT_DEPTH) {
    return `has depth ${bytes[4]}: it must be an account key (depth ${ACCOUNT_DEPTH}, m/${purpose}'/${coinType}'/0')`
  }
  return publicKeyOf(text) === undefined ? `is not ${extendedKeyWords(family)}` : undefined
}

const PRIVATE =
  'is a private key, which must never be configured: use the extended public key, and treat this private key as compromised'

/**
 * The public keys (compressed, 33 bytes) for the account's addresses, by index. `text` must have passed
 * `extendedKeyFault`.
 */
export function watchedKeys(text: string): (index: number) => Uint8Array {
  const account = publicKeyOf(text)
  if (account === undefined) throw new Error('this extended key cannot be read')
  return keysBelow(account)
}

/** The public keys for an account from a test seed, by index. */
export function seedKeys(family: WatchedFamily, seed: Uint8Array): (index: number) => Uint8Array {
  const { purpose, coinType } = FORMS[family]
  return keysBelow(HDKey.fromMasterSeed(seed).derive(`m/${purpose}'/${coinType}'/0'`))
}

function keysBelow(account: HDKey): (index: number) => Uint8Array {
  const chain = account.deriveChild(EXTERNAL_CHAIN)
  return (index) => {
    const { publicKey } = chain.deriveChild(index)
    if (publicKey === null) throw new Error('a derived key has no public part')
    return publicKey
  }
}

function publicKeyOf(text: string): HDKey | undefined {
  const bytes = base58CheckBytes(text)
  if (bytes === undefined) return undefined
  const version = Buffer.from(bytes).readUInt32BE(0)
  try {
    // No private key has version 0, so none is read.
    return HDKey.fromExtendedKey(text, { public: version, private: 0 })
  } catch (error) {
    if (error instanceof Error) return undefined
    throw error
  }
}
