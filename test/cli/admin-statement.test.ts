/** The statement verb: its request and its CSV output. */
import { expect, it } from 'vitest'
import { LEDGER_NOUNS } from '../../src/cli/admin/admin-ledger-verbs.ts'
import { callOf } from '../../src/cli/admin/admin-verb.ts'

const verb = LEDGER_NOUNS.find(({ name }) => name === 'statement')?.verbs[0]
if (verb === undefined) throw new Error('there is no verb')

const BALANCES = { available: '0', in_transit: '0', held: '0', receivable: '0' }
const STATEMENT = {
  profile_id: 'P',
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  assets: [
    {
      asset: 'USD',
      opening: { balance: '1', ...BALANCES },
      lines: [
        {
          posting_id: '7',
          group_id: 'G',
          created_at: '2026-11-02T00:00:00.000Z',
          effective_at: '2026-11-01T23:00:00.000Z',
          debit: 'external',
          credit: 'available',
          amount: '2.5',
          change: '2.5',
          balance: '3.5',
        },
      ],
      closing: { balance: '3.5', ...BALANCES },
    },
  ],
}

it('a statement is requested for a profile and a period; a date means its start', () => {
  const options = { profile: 'P', from: '2026-11-01', to: '2026-12-01T12:00:00+01:00' }
  expect(callOf(verb, [], options)).toEqual({
    method: 'GET',
    path: '/profiles/P/statement',
    query: { from: '2026-11-01T00:00:00Z', to: '2026-12-01T12:00:00+01:00' },
  })
})

it('a statement is printed as CSV on request', () => {
  expect(verb.otherText?.(STATEMENT, {})).toBeUndefined()
  expect(verb.otherText?.(STATEMENT, { csv: true })).toBe(
    [
      'entry,asset,created_at,effective_at,posting_id,group_id,debit,debit_profile_id,credit,credit_profile_id,amount,change,balance',
      'opening,USD,2026-11-01T00:00:00.000Z,,,,,,,,,,1',
      'line,USD,2026-11-02T00:00:00.000Z,2026-11-01T23:00:00.000Z,7,G,external,,available,,2.5,2.5,3.5',
      'closing,USD,2026-12-01T00:00:00.000Z,,,,,,,,,,3.5',
      '',
    ].join('\n'),
  )
})

it('a statement is printed as one table per asset by default', () => {
  expect(verb.text?.(STATEMENT).split('\n')).toEqual([
    'USD                       debit     credit     amount  change  balance  group',
    '2026-11-01T00:00:00.000Z  opening                              1',
    '2026-11-02T00:00:00.000Z  external  available  2.5     2.5     3.5      G',
    '2026-12-01T00:00:00.000Z  closing                              3.5',
    '',
  ])
  expect(verb.text?.({ ...STATEMENT, assets: [] })).toBe('(none)\n')
})
