/** Which rule a deposit is for: the whole table of precedence and of what keeps it from being converted. */

import { describe, expect, it } from 'vitest'
import { type Candidates, match } from '../../../src/money/deposits/match.ts'
import type { CandidateRule } from '../../../src/money/rules/matching.ts'
import { OPEN_GATES } from '../../support/gates.ts'

const ARRIVAL = { profileId: 'p', asset: 'USDC', amount: 100n, network: 'ETHEREUM' }
const ADDRESS = { id: 'a', address: '0x', network: 'ETHEREUM', conversionTargetAsset: 'NO_CONVERSION' } as const
const NOTHING: Candidates = {
  own: undefined,
  address: ADDRESS,
  ofProfile: undefined,
  hasInactiveOfProfile: false,
}
const SETTINGS = {
  conversions: { assets: [], parAssets: ['USDC', 'USD', 'USDG'], markets: [] },
  minimumOf: (asset: string) => (asset === 'USDC' ? 100n : undefined),
  gates: OPEN_GATES,
}

function rule(id: string, changes: Partial<CandidateRule> = {}): CandidateRule {
  return {
    id,
    status: 'ACTIVE',
    identityId: null,
    sourceAsset: 'USDC',
    destinationAsset: 'USD',
    source: { crypto: { network: 'ETHEREUM' } },
    destination: { profile: { profile_id: 'p' } },
    ...changes,
  }
}

const ofProfile = rule('of profile', { source: { profile: { profile_id: 'p' } } })

/** The rule that applies, or the disposition. */
function found(candidates: Partial<Candidates>, arrival: Partial<typeof ARRIVAL> = {}) {
  const result = match({ ...ARRIVAL, ...arrival }, { ...NOTHING, ...candidates }, SETTINGS)
  return result.kind === 'matched' ? [result.wanted.ruleId, result.wanted.destinationAsset] : result.disposition
}

describe('the rule of the address or memo', () => {
  it("the rule of the address or memo comes before the address's target asset, and before rules about the profile", () => {
    const address = { ...ADDRESS, conversionTargetAsset: 'USDG' }
    expect(found({ own: rule('own'), address, ofProfile })).toEqual(['own', 'USD'])
  })

  it.each(['DELETED', 'PENDING', 'REJECTED'] as const)(
    'a rule of the address or memo that is %s keeps every other rule away',
    (status) => {
      expect(found({ own: rule('own', { status }), ofProfile })).toBe('RULE_NOT_ACTIVE')
    },
  )

  it('the rule of the address or memo is for its network and asset alone', () => {
    expect(found({ own: rule('own') }, { network: 'BASE' })).toBe('NETWORK_MISMATCH')
    expect(found({ own: rule('own'), ofProfile }, { asset: 'PYUSD' })).toBe('ASSET_MISMATCH')
    const wire = rule('own', { source: { fiat: { network: 'WIRE' } }, sourceAsset: 'USD', destinationAsset: 'USDC' })
    const arrival = { asset: 'USD', network: 'WIRE' }
    expect(found({ own: wire, address: undefined }, arrival)).toEqual(['own', 'USDC'])
    expect(found({ own: wire, address: undefined }, { ...arrival, network: 'CUBIX' })).toBe('NETWORK_MISMATCH')
  })
})

describe('what an address is converted into', () => {
  const address = { ...ADDRESS, conversionTargetAsset: 'USDG' }

  it("an address's target asset comes before rules about the profile, on every network of the address", () => {
    expect(found({ address, ofProfile })).toEqual([null, 'USDG'])
    expect(found({ address }, { network: 'BASE' })).toEqual([null, 'USDG'])
  })

  it("an address's target asset is there already, or cannot be had", () => {
    expect(found({ address, ofProfile }, { asset: 'USDG' })).toBe('NO_RULE')
    expect(found({ address }, { asset: 'ETH' })).toBe('NOT_CONVERTIBLE')
  })
})

describe('a rule about the profile', () => {
  it('a rule about the profile is the last to be looked at', () => {
    expect(found({ ofProfile })).toEqual(['of profile', 'USD'])
    expect(found({ ofProfile, address: undefined }, { network: 'BASE' })).toEqual(['of profile', 'USD'])
    expect(found({ hasInactiveOfProfile: true })).toBe('RULE_NOT_ACTIVE')
    expect(found({})).toBe('NO_RULE')
  })
})

it('the minimum is of the source asset, and is enough', () => {
  expect(found({ own: rule('own') }, { amount: 99n })).toBe('BELOW_MINIMUM')
  expect(found({ own: rule('own') }, { amount: 100n })).toEqual(['own', 'USD'])
  expect(
    found({ address: undefined, ofProfile: rule('x', { sourceAsset: 'USDG' }) }, { asset: 'USDG', amount: 1n }),
  ).toEqual(['x', 'USD'])
  const market = rule('own', { destinationAsset: 'BTC' })
  expect(found({ own: market })).toBe('NOT_CONVERTIBLE')
})
