/** Valid addresses come from the specification of each format; an invalid one is a valid one with one defect. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CRYPTO_NETWORK_NAMES, CRYPTO_NETWORKS, type CryptoNetwork } from '../../../../src/contract/crypto-networks.ts'
import { addressFault, storedForms } from '../../../../src/money/deposit-instructions/derivation/address-validity.ts'
import { encodeCashAddress } from '../../../../src/money/deposit-instructions/derivation/cash-address.ts'
import { testMaterials } from '../../../../src/money/deposit-instructions/derivation/key-material.ts'
import { propertySettings } from '../../../support/property.ts'

const VALID: readonly (readonly [CryptoNetwork, string, string])[] = [
  ['BITCOIN', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'the first block'],
  ['BITCOIN', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG', 'BIP 16 in use'],
  ['BITCOIN', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 'BIP 173'],
  ['BITCOIN', 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3', 'BIP 173, by its test network key'],
  ['BITCOIN', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0', 'BIP 350'],
  ['BITCOIN_CASH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'cashaddr.md'],
  ['BITCOIN_CASH', 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy', 'cashaddr.md'],
  ['BITCOIN_CASH', 'bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq', 'cashaddr.md'],
  ['BITCOIN_CASH', 'qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r', 'cashaddr.md, without its prefix'],
  ['BITCOIN_CASH', 'BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A', 'cashaddr.md, upper case'],
  ['LITECOIN', 'ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh', 'BIP 84 with coin type 2'],
  ['DOGECOIN', 'DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC', 'BIP 44 with coin type 3'],
  ['ETHEREUM', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'EIP-55'],
  ['POLYGON_POS', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', 'EIP-55'],
  ['BASE', '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB', 'EIP-55'],
  ['ARBITRUM_ONE', '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb', 'EIP-55'],
  ['AVALANCHE', '0x52908400098527886E0F7030069857D2E4169EE7', 'EIP-55, all caps'],
  ['BNB', '0xde709f2102306220921060314715629080e2fb77', 'EIP-55, all lower'],
  ['SOLANA', 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk', 'BIP 44 with coin type 501'],
  ['SOLANA', '11111111111111111111111111111111', 'the system program'],
  ['STELLAR', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ', 'SEP-23'],
  ['STELLAR', 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK', 'SEP-23, muxed'],
]

const INVALID: readonly (readonly [CryptoNetwork, string, string])[] = [
  ['BITCOIN', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', 'a wrong checksum'],
  ['BITCOIN', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'the test network'],
  ['BITCOIN', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5', 'BIP 173: a wrong checksum'],
  ['BITCOIN', 'bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du', 'BIP 350: a version with bech32'],
  ['BITCOIN', 'bc1rw5uspcuh', 'BIP 173: a program that is too short'],
  ['BITCOIN', 'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P', 'BIP 173: a program of a wrong length'],
  ['BITCOIN', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8F3t4', 'both cases'],
  ['BITCOIN', 'ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh', 'LITECOIN'],
  ['LITECOIN', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'BITCOIN'],
  ['LITECOIN', '3P14159f73E4gFr7JterCCQh9QjiTjiZrG', 'BITCOIN, which LITECOIN once looked like'],
  ['DOGECOIN', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'BITCOIN'],
  ['BITCOIN_CASH', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', 'the format of BITCOIN'],
  ['BITCOIN_CASH', 'bchtest:pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t', 'the test network'],
  ['BITCOIN_CASH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q', 'a wrong checksum'],
  ['BITCOIN_CASH', 'bitcoincash:Qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'both cases'],
  ['BITCOIN_CASH', 'bitcoincash:', 'a prefix alone'],
  ['ETHEREUM', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'a letter of the wrong case'],
  ['ETHEREUM', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe', '39 digits'],
  ['ETHEREUM', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'no 0x'],
  ['ETHEREUM', '0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'another 0x'],
  ['SOLANA', 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpq0', 'a letter that base58 lacks'],
  ['SOLANA', '1111111111111111111111111111111', '31 bytes'],
  ['STELLAR', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA', 'a wrong checksum'],
  ['STELLAR', 'SBGWSG6BTNCKCOB3DIFBGCVMUPQFYPA2G4O34RMTB343OYPXU5DJDVMN', 'a secret seed'],
  ['STELLAR', 'GAAAAAAAACGC6', 'SEP-23: too short'],
  ['STELLAR', 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA', 'SEP-23: too long'],
  ['STELLAR', 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK===', 'SEP-23: padding'],
]

describe('the address validation', () => {
  it.each(VALID)('the address validation accepts an address of %s: %s (%s)', (network, address) => {
    expect(addressFault(network, address)).toBeUndefined()
  })

  it.each(INVALID)('the address validation rejects an address of %s: %s (%s)', (network, address) => {
    expect(addressFault(network, address)).toContain(`is not an address of ${network} (`)
  })

  it.each(CRYPTO_NETWORK_NAMES)(
    'the address validation for %s rejects an empty, padded or very long address',
    (network) => {
      const [address = ''] = VALID.filter(([of]) => of === network).map(([, text]) => text)
      for (const text of ['', ' ', `${address} `, ` ${address}`, `${address}\n`, address.repeat(20_000)]) {
        expect(addressFault(network, text)).toBeDefined()
      }
    },
  )

  it('the address validation accepts every derived address for its networks, and rejects it with any one letter changed', () => {
    const materials = testMaterials(Buffer.alloc(32, 7))
    const changes = fc.tuple(
      fc.integer({ min: 0, max: 5_000 }),
      fc.nat(),
      fc.constantFrom(...'023456789acdefghjkmnpqrstuvwxyz'),
    )
    fc.assert(
      fc.property(changes, ([index, place, letter]) => {
        for (const { family, addressAt } of materials) {
          const address = addressAt(index)
          const networks = CRYPTO_NETWORK_NAMES.filter((network) => CRYPTO_NETWORKS[network] === family)
          for (const network of networks) expect(addressFault(network, address)).toBeUndefined()
          // These two have no checksum that detects every change.
          if (family === 'solana' || family === 'evm') continue
          const at = place % address.length
          const changed = address.slice(0, at) + letter + address.slice(at + 1)
          if (changed.toLowerCase() === address.toLowerCase()) continue
          for (const network of networks) expect([changed, addressFault(network, changed)]).not.toContain(undefined)
        }
      }),
      propertySettings(30),
    )
  })
})

describe('the forms in which the store may hold an address', () => {
  it.each([
    ['bitcoin', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
    ['bitcoin_cash', 'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A', VALID[5]?.[1]],
    ['bitcoin_cash', 'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', VALID[5]?.[1]],
    // CHIP-2022-02-CashTokens: the same script hash or key hash for wallets that support tokens.
    [
      'bitcoin_cash',
      'bitcoincash:zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe',
      'bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2',
    ],
    ['evm', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    [
      'stellar',
      'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK',
      'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
    ],
  ] as const)('the stored forms of an address of %s, the text %s, are %s', (family, address, canonical) => {
    expect(storedForms(family, address)).toEqual([address, canonical])
  })

  it.each(VALID)(
    'the stored forms of an address of %s include %s, and no form of another address',
    (network, address) => {
      const family = CRYPTO_NETWORKS[network]
      expect(storedForms(family, address)).toContain(address)
      expect(storedForms(family, `${address} `)).toEqual([])
    },
  )
})

describe('the test vectors of cashaddr.md', () => {
  it.each([
    [20, 0, 'bitcoincash', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9', 'qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2'],
    [20, 1, 'bchtest', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9', 'pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t'],
    [20, 1, 'pref', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9', 'pr6m7j9njldwwzlg9v7v53unlr4jkmx6ey65nvtks5'],
    [20, 15, 'prefix', 'F5BF48B397DAE70BE82B3CCA4793F8EB2B6CDAC9', '0r6m7j9njldwwzlg9v7v53unlr4jkmx6ey3qnjwsrf'],
    [
      24,
      0,
      'bitcoincash',
      '7ADBF6C17084BC86C1706827B41A56F5CA32865925E946EA',
      'q9adhakpwzztepkpwp5z0dq62m6u5v5xtyj7j3h2ws4mr9g0',
    ],
  ])('a CashAddr test vector with %i bytes of type %i is decoded', (_bytes, type, prefix, hash, letters) => {
    const address = { type, hash: Uint8Array.from(Buffer.from(hash, 'hex')) }
    expect(encodeCashAddress(address, prefix)).toBe(`${prefix}:${letters}`)
  })
})
