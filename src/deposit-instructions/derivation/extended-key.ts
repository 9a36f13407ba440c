/**
 * Extended keys of BIP 32: reading what an operator gives, which must be the public key of an account, and the public
 * keys below it. It refuses private keys by what they are, not by how they begin, and no refusal quotes what was given.
 */
import { HDKey } from '@scure/bip32'
import { base58CheckBytes } from './encodings.ts'

/** Families whose addresses follow from a public key alone. */
export type WatchedFamily = 'bitcoin' | 'bitcoin_cash' | 'litecoin' | 'dogecoin' | 'evm'

/** The account level of BIP 44: purpose, coin type, account. */
const ACCOUNT_DEPTH = 3
/** BIP 44: the chain of addresses that are given to others. */
const EXTERNAL_CHAIN = 0
const SERIALISED_BYTES = 78
/** Where the key is; a private one begins with a zero byte, which no public one does. */
const KEY_OFFSET = 45

/** Version bytes of BIP 32 and SLIP-132. Those that ask for another kind of address than we derive are not here. */
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

/** What is accepted for a family, in words. */
export function extendedKeyWords(family: WatchedFamily): string {
  const { prefixes, purpose, coinType } = FORMS[family]
  return `an extended public key (${prefixes.join(', ')}) of an account, m/${purpose}'/${coinType}'/0'`
}

/** The rule that text breaks as the key of a family; undefined when it can be used. */
export function extendedKeyFault(family: WatchedFamily, text: string): string | undefined {
  const { prefixes, purpose, coinType } = FORMS[family]
  if (/^[a-z]{1,4}prv/i.test(text)) return PRIVATE
  const bytes = base58CheckBytes(text)
  if (bytes?.length !== SERIALISED_BYTES) return `is not ${extendedKeyWords(family)}`
  if (bytes[KEY_OFFSET] === 0) return PRIVATE
  const version = Buffer.from(bytes).readUInt32BE(0)
  if (!prefixes.some((prefix) => VERSIONS[prefix] === version)) {
    return `begins with ${text.slice(0, 4)}, which stands for other addresses: it must be ${prefixes.join(' or ')}`
  }
  if (bytes[4] !== ACCOUNT_DEPTH) {
    return `has depth ${bytes[4]}: it must be the key of an account (depth ${ACCOUNT_DEPTH}, m/${purpose}'/${coinType}'/0')`
  }
  return publicKeyOf(text) === undefined ? `is not ${extendedKeyWords(family)}` : undefined
}

const PRIVATE =
  'is a private key: it must never be here; give the extended public key, and treat this private key as seen by others'

/** The public keys (compressed, 33 bytes) of the account's addresses, by index. `text` has no fault. */
export function watchedKeys(text: string): (index: number) => Uint8Array {
  const account = publicKeyOf(text)
  if (account === undefined) throw new Error('this extended key cannot be read')
  return keysBelow(account)
}

/** The same keys for an account of a test seed. */
export function seedKeys(family: WatchedFamily, seed: Uint8Array): (index: number) => Uint8Array {
  const { purpose, coinType } = FORMS[family]
  return keysBelow(HDKey.fromMasterSeed(seed).derive(`m/${purpose}'/${coinType}'/0'`))
}

function keysBelow(account: HDKey): (index: number) => Uint8Array {
  const chain = account.deriveChild(EXTERNAL_CHAIN)
  return (index) => {
    const { publicKey } = chain.deriveChild(index)
    if (publicKey === null) throw new Error('a derived key without its public part')
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
