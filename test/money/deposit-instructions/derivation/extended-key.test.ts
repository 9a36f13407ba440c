import { HDKey } from '@scure/bip32'
import { describe, expect, it } from 'vitest'
import {
  extendedKeyFault,
  type WatchedFamily,
} from '../../../../src/money/deposit-instructions/derivation/extended-key.ts'
import {
  WATCHED_FAMILIES,
  watchedMaterial,
} from '../../../../src/money/deposit-instructions/derivation/key-material.ts'

const SEED = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
/** Public and private version bytes: BIP 32, and SLIP-132 with the prefixes of Litecoin and Dogecoin wallets. */
const VERSIONS = {
  xpub: { public: 0x0488b21e, private: 0x0488ade4 },
  ypub: { public: 0x049d7cb2, private: 0x049d7878 },
  zpub: { public: 0x04b24746, private: 0x04b2430c },
  Ltub: { public: 0x019da462, private: 0x019d9cfe },
  Mtub: { public: 0x01b26ef6, private: 0x01b26792 },
  dgub: { public: 0x02facafd, private: 0x02fac398 },
  tpub: { public: 0x043587cf, private: 0x04358394 },
} as const

type Prefix = keyof typeof VERSIONS

function accountKey(prefix: Prefix, path = "m/84'/0'/0'"): { readonly open: string; readonly secret: string } {
  const key = HDKey.fromMasterSeed(SEED, VERSIONS[prefix]).derive(path)
  return { open: key.publicExtendedKey, secret: key.privateExtendedKey }
}

const ACCEPTED: Readonly<Record<WatchedFamily, readonly Prefix[]>> = {
  bitcoin: ['xpub', 'zpub'],
  bitcoin_cash: ['xpub'],
  litecoin: ['xpub', 'zpub', 'Ltub'],
  dogecoin: ['xpub', 'dgub'],
  evm: ['xpub'],
}

describe.each(WATCHED_FAMILIES)('the key of %s', (family) => {
  it.each(Object.keys(VERSIONS) as Prefix[])(
    'an extended key may begin with %s only if this prefix stands for its address format',
    (prefix) => {
      const fault = extendedKeyFault(family, accountKey(prefix).open)
      if (ACCEPTED[family].includes(prefix)) expect(fault).toBeUndefined()
      else
        expect(fault).toMatch(
          new RegExp(`^begins with ${prefix}, the prefix for another address type. It must begin with xpub`),
        )
    },
  )

  it.each(Object.keys(VERSIONS) as Prefix[])(
    'an extended key is never private, and an error does not repeat it (%s)',
    (prefix) => {
      const { secret } = accountKey(prefix)
      for (const text of [secret, `${secret.slice(0, 50)}…`]) {
        const fault = extendedKeyFault(family, text)
        // Without a known prefix, only a complete key shows that it is private.
        if (text === secret) expect(fault).toMatch(/^is a private key/)
        expect(fault).not.toContain(secret.slice(4, 12))
      }
    },
  )

  it('an extended key belongs to an account', () => {
    expect(extendedKeyFault(family, accountKey('xpub', 'm').open)).toMatch(/^has depth 0: it must be an account key/)
    expect(extendedKeyFault(family, accountKey('xpub', "m/84'/0'").open)).toMatch(/^has depth 2/)
    expect(extendedKeyFault(family, accountKey('xpub', "m/84'/0'/0'/0").open)).toMatch(/^has depth 4/)
  })

  it.each([
    ['nothing of the kind', 'abandon abandon abandon'],
    ['cut off', accountKey('xpub').open.slice(0, -1)],
    ['of a wrong checksum', `${accountKey('xpub').open.slice(0, -1)}1`],
    [
      // BIP 32, test vector 5.
      'of a version that does not fit its key',
      'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6LBpB85b3D2yc8sfvZU521AAwdZafEz7mnzBBsz4wKY5fTtTQBm',
    ],
    ['a book', accountKey('xpub').open.repeat(10_000)],
  ])('an extended key is refused when it is %s', (_what, text) => {
    const fault = extendedKeyFault(family, text)
    expect(fault).toBeDefined()
    expect(fault).not.toContain(text.slice(4, 20))
  })

  it('an extended key yields the same addresses with any prefix', () => {
    const materials = ACCEPTED[family].map((prefix) => watchedMaterial(family, accountKey(prefix).open))
    expect(new Set(materials.map(({ firstAddress }) => firstAddress)).size).toBe(1)
    expect(new Set(materials.map(({ addressAt }) => addressAt(2 ** 31 - 1))).size).toBe(1)
  })
})
