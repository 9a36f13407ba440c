/** The validity of the terms of a rule: each condition just inside and just outside. */
import { describe, expect, it } from 'vitest'
import { CRYPTO_NETWORK_NAMES } from '../../../src/contract/crypto-networks.ts'
import type { NewRuleBody } from '../../../src/money/rules/schemas.ts'
import { termsFaults } from '../../../src/money/rules/terms.ts'
import { ASSETS_DEFAULT } from '../../../src/service/config/assets.ts'

const TERMS = {
  assets: ASSETS_DEFAULT,
  parAssets: ['USD', 'USDC', 'USDG', 'PYUSD', 'USDP'],
  markets: [
    { baseAsset: 'BTC', quoteAsset: 'USD' },
    { baseAsset: 'ETH', quoteAsset: 'BTC' },
  ],
}
const ETHEREUM_ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const BITCOIN_ADDRESS = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'

function rule(body: Partial<NewRuleBody>): NewRuleBody {
  return {
    ref_id: 'r',
    profile_id: 'p',
    source_asset: 'USDC',
    destination_asset: 'USD',
    source: { profile: { profile_id: 'p' } },
    ...body,
  }
}

function faults(body: Partial<NewRuleBody>): string[] {
  return termsFaults(rule(body), TERMS).map(
    (fault) => `${'pointer' in fault ? fault.pointer : fault.parameter}: ${fault.detail}`,
  )
}

describe('the account type', () => {
  it('the account type is required for WIRE, and not for CUBIX', () => {
    const source_asset = 'USD'
    expect(faults({ source_asset, source: { fiat: { network: 'CUBIX' } } })).toEqual([])
    const required = '/source/fiat/account_type: is required for WIRE'
    expect(faults({ source_asset, source: { fiat: { network: 'WIRE' } } })).toEqual([required])
  })
})

describe('the pair of assets', () => {
  it.each([
    ['USDC', 'USD', 'at par'],
    ['USD', 'USDP', 'at par, the other way'],
    ['BTC', 'USD', 'a market'],
    ['USD', 'BTC', 'a market, the other way'],
    ['SOL', 'SOL', 'the same asset'],
  ])('the pair of assets is valid: %s into %s: %s', (source_asset, destination_asset) => {
    expect(faults({ source_asset, destination_asset })).toEqual([])
  })

  it.each([
    ['SOL', 'USD', 'no market'],
    ['BTC', 'USDC', 'a market of what is at par with it only'],
    ['ETH', 'USD', 'two markets'],
  ])('the pair of assets is invalid: %s into %s: %s', (source_asset, destination_asset) => {
    expect(faults({ source_asset, destination_asset })).toEqual([
      `/destination_asset: ${source_asset} cannot be converted into ${destination_asset}: they have no market and are not at par`,
    ])
  })

  it('the pair of assets needs two configured assets, named exactly', () => {
    const unknown = 'must be one of BTC, ETH, SOL, BCH, LTC, DOGE, XLM, USD, USDC, USDG, PYUSD, USDP'
    expect(faults({ source_asset: 'usdc' })).toEqual([`/source_asset: ${unknown}`])
    expect(faults({ destination_asset: 'EUR' })).toEqual([`/destination_asset: ${unknown}`])
    expect(faults({ source_asset: 'X', destination_asset: 'X' })).toHaveLength(2)
    // A market or a par entry does not define an asset.
    const foreign = { ...TERMS, parAssets: ['USD', 'EUR'], markets: [{ baseAsset: 'EUR', quoteAsset: 'USD' }] }
    expect(termsFaults(rule({ source_asset: 'EUR' }), foreign)).toHaveLength(1)
  })
})

describe('the source network', () => {
  it.each(CRYPTO_NETWORK_NAMES)('the source network %s is accepted for the assets that it carries', (network) => {
    for (const { symbol, networks } of ASSETS_DEFAULT) {
      const found = faults({ source_asset: symbol, destination_asset: symbol, source: { crypto: { network } } })
      expect(found.length, symbol).toBe(networks.includes(network) ? 0 : 1)
    }
  })

  it('the source network that does not carry the asset is named in the error', () => {
    const crypto = { network: 'ETHEREUM' } as const
    expect(faults({ source_asset: 'BTC', source: { crypto } })).toEqual([
      '/source/crypto/network: does not carry BTC; BITCOIN does',
    ])
    expect(faults({ source_asset: 'USDG', source: { crypto: { network: 'BASE' } } })).toEqual([
      '/source/crypto/network: does not carry USDG; ETHEREUM, SOLANA do',
    ])
    expect(faults({ source_asset: 'USD', source: { crypto } })).toEqual([
      '/source/crypto/network: does not carry USD; WIRE and CUBIX do, as fiat',
    ])
  })

  it('the source network is a fiat network for fiat assets and for nothing else', () => {
    const source = { fiat: { network: 'WIRE', account_type: 'ABA' } } as const
    expect(faults({ source_asset: 'USD', destination_asset: 'USDC', source })).toEqual([])
    expect(faults({ source_asset: 'USDC', source })).toEqual([
      '/source/fiat: does not carry USDC, which is not a fiat asset',
    ])
  })
})

describe('the destination', () => {
  const base = { source_asset: 'USD', destination_asset: 'USDC' }

  it('the destination of a rule is an address of a network that carries the asset', () => {
    const destination = (network: 'ETHEREUM' | 'BNB', address: string) => ({ crypto: { network, address } })
    expect(faults({ ...base, destination: destination('ETHEREUM', ETHEREUM_ADDRESS) })).toEqual([])
    expect(faults({ ...base, destination: destination('BNB', ETHEREUM_ADDRESS) })).toEqual([
      '/destination/crypto/network: does not carry USDC; ETHEREUM, SOLANA, BASE, POLYGON_POS, ARBITRUM_ONE, AVALANCHE, STELLAR do',
    ])
    for (const address of [BITCOIN_ADDRESS, ETHEREUM_ADDRESS.replace('5aA', '5Aa'), `${ETHEREUM_ADDRESS} `]) {
      expect(faults({ ...base, destination: destination('ETHEREUM', address) }), address).toEqual([
        expect.stringContaining('/destination/crypto/address: is not an address of ETHEREUM'),
      ])
    }
  })

  it('the destination of a rule is a bank account for fiat assets', () => {
    const destination = { fiat: { fiat_account_id: 'account' } }
    expect(faults({ destination })).toEqual([])
    expect(faults({ ...base, destination })).toHaveLength(1)
  })

  it('the destination of a rule is a profile, also when it is omitted', () => {
    expect(faults({ ...base, destination: { profile: { profile_id: 'p' } } })).toEqual([])
    expect(faults(base)).toEqual([])
  })

  it('the destination of a rule has all its errors reported together with those of the source', () => {
    const destination = { crypto: { network: 'BITCOIN', address: 'x' } } as const
    const source = { crypto: { network: 'BITCOIN' } } as const
    expect(faults({ source_asset: 'SOL', destination_asset: 'USD', source, destination })).toHaveLength(4)
  })
})
