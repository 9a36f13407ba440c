/** What postings do to balances, and amounts as text: pure. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatAmount, parseAmount } from '../../../src/money/ledger/amounts.ts'
import {
  balanceChanges,
  type LedgerAccount,
  type Posting,
  PROFILE_BUCKETS,
  withRepayments,
} from '../../../src/money/ledger/posting.ts'
import { propertySettings } from '../../support/property.ts'

const SERVICE_BUCKETS = ['external', 'desk', 'unattributed', 'fees'] as const
const PROFILES = ['0a000000-0000-4000-8000-000000000001', '0b000000-0000-4000-8000-000000000002']

const account: fc.Arbitrary<LedgerAccount> = fc.oneof(
  fc.record({ bucket: fc.constantFrom(...PROFILE_BUCKETS), profileId: fc.constantFrom(...PROFILES) }),
  fc.record({ bucket: fc.constantFrom(...SERVICE_BUCKETS) }),
)
const posting: fc.Arbitrary<Posting> = fc.record({
  asset: fc.constantFrom('BTC', 'USD'),
  amount: fc.bigInt({ min: 1n, max: 10n ** 30n }),
  debit: account,
  credit: account,
  groupId: fc.constant('00000000-0000-4000-8000-000000000000'),
})

/** Credits less debits of an account, as double entry has it. */
function sumOf(postings: readonly Posting[], asset: string, wanted: LedgerAccount): bigint {
  const isWanted = (one: LedgerAccount) =>
    JSON.stringify(one, ['bucket', 'profileId']) === JSON.stringify(wanted, ['bucket', 'profileId'])
  return postings
    .filter((one) => one.asset === asset)
    .reduce((sum, one) => sum + (isWanted(one.credit) ? one.amount : 0n) - (isWanted(one.debit) ? one.amount : 0n), 0n)
}

describe('postings', () => {
  it("postings change an asset's balance by credits less debits, and a debt's by debits less credits", () => {
    fc.assert(
      fc.property(fc.array(posting, { maxLength: 30 }), (postings) => {
        const changes = balanceChanges(postings)
        for (const { profileId, asset, ...change } of changes) {
          for (const bucket of PROFILE_BUCKETS) {
            const sum = sumOf(postings, asset, { bucket, profileId })
            expect(change[bucket]).toBe(bucket === 'receivable' ? -sum : sum)
          }
        }
        const keys = changes.map(({ profileId, asset }) => `${profileId}/${asset}`)
        expect(keys).toEqual([...new Set(keys)].toSorted())
      }),
      propertySettings(200),
    )
  })

  it('postings of one asset sum to zero over all accounts', () => {
    fc.assert(
      fc.property(fc.array(posting, { maxLength: 30 }), (postings) => {
        for (const asset of ['BTC', 'USD']) {
          const profiles = PROFILES.flatMap((profileId) => PROFILE_BUCKETS.map((bucket) => ({ bucket, profileId })))
          const accounts = [...profiles, ...SERVICE_BUCKETS.map((bucket) => ({ bucket }))]
          expect(accounts.reduce((sum, one) => sum + sumOf(postings, asset, one), 0n)).toBe(0n)
        }
      }),
      propertySettings(100),
    )
  })
})

describe('repayments', () => {
  it('repayments leave no debt beside an available amount, unless a repayment is given back', () => {
    const some = fc.bigInt({ min: 0n, max: 10n ** 30n })
    fc.assert(
      fc.property(fc.array(posting, { maxLength: 12 }), some, fc.boolean(), (all, amount, isOwed) => {
        const ofProfile = (one: LedgerAccount) => ('profileId' in one ? one.profileId : undefined)
        const requested = all.filter(
          ({ debit, credit }) =>
            debit.bucket !== 'receivable' || credit.bucket !== 'available' || ofProfile(debit) !== ofProfile(credit),
        )
        const before = isOwed ? { available: 0n, receivable: amount } : { available: amount, receivable: 0n }
        const made = withRepayments(requested, () => before)
        for (const change of balanceChanges(made)) {
          const [available, receivable] = [before.available + change.available, before.receivable + change.receivable]
          expect(available > 0n && receivable > 0n).toBe(false)
        }
        expect(made.filter((one) => requested.includes(one))).toEqual(requested)
        for (const { debit, credit } of made.filter((one) => !requested.includes(one))) {
          expect([debit.bucket, credit.bucket, ofProfile(debit)]).toEqual([
            'available',
            'receivable',
            ofProfile(credit),
          ])
        }
      }),
      propertySettings(200),
    )
  })
})

describe('amounts', () => {
  it('amounts come back from their text, which has no needless zeros', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 38n - 1n }), fc.integer({ min: 0, max: 18 }), (amount, decimals) => {
        const text = formatAmount(amount, decimals)
        expect(parseAmount(text, decimals)).toBe(amount)
        expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
      }),
      propertySettings(300),
    )
  })

  it.each([
    ['0', 2, 'must be a decimal number above zero, such as 12.5'],
    ['-1', 2, 'must be a decimal number above zero, such as 12.5'],
    ['1e2', 2, 'must be a decimal number above zero, such as 12.5'],
    [' 1', 2, 'must be a decimal number above zero, such as 12.5'],
    ['1.', 2, 'must be a decimal number above zero, such as 12.5'],
    ['0.001', 2, 'has more than 2 decimals'],
    ['1.5', 0, 'has more than 0 decimals'],
    ['1'.repeat(39), 0, 'has too many digits'],
  ])('the amount %s is refused where %i decimals are allowed', (text, decimals, fault) => {
    expect(parseAmount(text, decimals)).toBe(fault)
  })

  it('the amount 0.500 with 3 decimals equals 0.5', () => {
    expect(parseAmount('0.500', 1)).toBe(5n)
    expect(formatAmount(0n, 8)).toBe('0')
    expect(formatAmount(-1_050n, 2)).toBe('-10.5')
  })
})
