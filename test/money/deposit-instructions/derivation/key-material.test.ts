/** Published test vectors; each names its source. */
import { pbkdf2Sync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AddressFamily } from '../../../../src/contract/crypto-networks.ts'
import { ed25519PublicKey } from '../../../../src/money/deposit-instructions/derivation/curves.ts'
import { testMaterials, watchedMaterial } from '../../../../src/money/deposit-instructions/derivation/key-material.ts'
import { slip10PrivateKey } from '../../../../src/money/deposit-instructions/derivation/slip10.ts'

/** BIP 39: the seed of a mnemonic without a passphrase. */
function seedOf(mnemonic: string): Uint8Array {
  return pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512')
}

function addressesOf(seed: Uint8Array, family: AddressFamily, count: number): string[] {
  const material = testMaterials(seed).find((candidate) => candidate.family === family)
  return Array.from({ length: count }, (_, index) => material?.addressAt(index) ?? '')
}

const ABANDON = seedOf(`${'abandon '.repeat(11)}about`)

describe('addresses of an extended public key', () => {
  it('addresses of an extended public key are those of the BIP 84 test vectors', () => {
    const material = watchedMaterial(
      'bitcoin',
      'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs',
    )
    expect(material.firstAddress).toBe('bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
    expect(material.addressAt(0)).toBe(material.firstAddress)
    expect(material.addressAt(1)).toBe('bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g')
  })
})

describe('addresses of a seed', () => {
  it.each<[AddressFamily, string, string]>([
    ['bitcoin', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'BIP 84'],
    ['bitcoin_cash', 'bitcoincash:qqyx49mu0kkn9ftfj6hje6g2wfer34yfnq5tahq3q6', 'what wallets show, m/44h/145h/0h/0/0'],
    ['litecoin', 'ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh', 'what wallets show, m/84h/2h/0h/0/0'],
    ['dogecoin', 'DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC', 'what wallets show, m/44h/3h/0h/0/0'],
    ['evm', '0x9858EfFD232B4033E47d90003D41EC34EcaEda94', 'what MetaMask shows'],
    ['solana', 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk', 'what Phantom shows'],
  ])('addresses of a seed of %s for the mnemonic "abandon … about": %s (%s)', (family, address) => {
    expect(addressesOf(ABANDON, family, 1)).toEqual([address])
  })

  it('the addresses of a seed for EVM networks are the accounts that Hardhat and Anvil show', () => {
    expect(addressesOf(seedOf(`${'test '.repeat(11)}junk`), 'evm', 2)).toEqual([
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    ])
  })

  it('the addresses of a seed for STELLAR are those of SEP-5, test 1', () => {
    const seed = seedOf('illness spike retreat truth genius clock brain pass fit cave bargain toe')
    expect(Buffer.from(seed).toString('hex')).toMatch(/^e4a5a632e70943ae7f07659df1332160937fad82587216a4/)
    expect(addressesOf(seed, 'stellar', 2)).toEqual([
      'GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6',
      'GBAW5XGWORWVFE2XTJYDTLDHXTY2Q2MO73HYCGB3XMFMQ562Q2W2GJQX',
    ])
  })
})

describe('SLIP-0010, test vector 1 for ed25519', () => {
  const seed = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
  it.each([
    [
      [],
      '2b4be7f19ee27bbf30c667b642d5f4aa69fd169872f8fc3059c08ebae2eb19e7',
      'a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed',
    ],
    [
      [0],
      '68e0fe46dfb67e368c75379acec591dad19df3cde26e63b93a8e704f1dade7a3',
      '8c8a13df77a28f3445213a0f432fde644acaa215fc72dcdf300d5efaa85d350c',
    ],
    [
      [0, 1, 2, 2, 1000000000],
      '8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793',
      '3c24da049451555d51a7014a37337aa4e12d41e485abccfa46b47dfb2af54b7a',
    ],
  ])(
    'the key of test vector 1 for ed25519 (SLIP-0010) at the path %j is derived exactly',
    (path, privateKey, publicKey) => {
      const key = slip10PrivateKey(seed, path)
      expect(Buffer.from(key).toString('hex')).toBe(privateKey)
      expect(Buffer.from(ed25519PublicKey(key)).toString('hex')).toBe(publicKey)
    },
  )
})
