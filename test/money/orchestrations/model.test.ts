/** What an attempt to convert finds, and what follows from it. */
import { describe, expect, it } from 'vitest'
import { beforePrice, feeOf, networksOf } from '../../../src/money/orchestrations/model.ts'

const OPEN = { findings: [], isOwnAddress: false, isExpired: false, isRestored: false }

describe('before a price is asked for', () => {
  it('an ordinary orchestration is converted', () => {
    expect(beforePrice(OPEN)).toBeUndefined()
  })

  it.each([
    ['PAUSED', 'PAUSED'],
    ['RECEIVABLE', 'HOLD'],
    ['ACCOUNT_NOT_APPROVED', 'APPROVAL'],
  ] as const)('an orchestration with the finding %s waits for %s before a price', (code, waitingFor) => {
    const gates = [{ code, detail: 'why' }]
    const wait = { kind: 'wait', waitingFor, detail: 'why', gates }
    expect(beforePrice({ ...OPEN, findings: gates })).toEqual(wait)
    // The clock stands, so it is not over, and nothing fails behind a closed gate.
    expect(beforePrice({ ...OPEN, findings: gates, isOwnAddress: true, isExpired: true })).toEqual(wait)
  })

  it('before it has a price, an orchestration fails if it pays to the service’s own address or has expired', () => {
    expect(beforePrice({ ...OPEN, isOwnAddress: true })).toMatchObject({ kind: 'fail', code: 'OWN_ADDRESS' })
    expect(beforePrice({ ...OPEN, isExpired: true })).toMatchObject({ kind: 'fail', code: 'EXPIRED' })
  })

  it('in a restored store, an orchestration that would fail waits for a person', () => {
    const wait = { kind: 'wait', waitingFor: 'PAUSED', gates: [{ code: 'PAUSED' }] }
    expect(beforePrice({ ...OPEN, isExpired: true, isRestored: true })).toMatchObject(wait)
    expect(beforePrice({ ...OPEN, isOwnAddress: true, isRestored: true })).toMatchObject(wait)
    expect(beforePrice({ ...OPEN, isRestored: true })).toBeUndefined()
  })
})

describe('a fee', () => {
  it('a fee is rounded down', () => {
    expect([feeOf(9_999n, 1), feeOf(10_000n, 1), feeOf(1n, 5_000), feeOf(123n, 0)]).toEqual([0n, 1n, 0n, 0n])
  })
})

describe('networks', () => {
  it('networks are those by which money arrives and leaves', () => {
    const crypto = { crypto: { network: 'BASE', address: 'x' } } as const
    const profile = { profile: { profile_id: 'x' } }
    expect(networksOf({ fiat: { network: 'WIRE' } }, crypto)).toEqual(['WIRE', 'BASE'])
    expect(networksOf(crypto, { fiat: { fiat_account_id: 'x' } })).toEqual(['BASE'])
    expect(networksOf(profile, profile)).toEqual([])
  })
})
