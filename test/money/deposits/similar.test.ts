/** Bank payments that are reported together. Those in the store are compared in `bank-references`. */
import { expect, it } from 'vitest'
import type { Report } from '../../../src/money/deposits/report.ts'
import { findSimilar } from '../../../src/money/deposits/similar.ts'
import { createQueries } from '../../../src/platform/store/sql.ts'

/** A store without payments. */
const { transaction } = createQueries(async () => ({
  execute: async () => ({ rows: [], affectedRows: undefined }),
  begin: async () => undefined,
  commit: async () => undefined,
  rollback: async () => undefined,
  release: async () => undefined,
}))

const DAY = 86_400_000
const [FIRST, SECOND] = ['FT-0012345', 'FT0012345']

interface Payment {
  readonly source?: string
  readonly amount?: bigint
  readonly bankReference?: string
  /** Milliseconds after the first one. */
  readonly after?: number
  readonly profileId?: string
}

const custody: Payment = { source: 'custody' }

async function similarityOf(payments: readonly Payment[]) {
  const arriving = payments.map(({ profileId = null, after = 0, ...terms }, index) => {
    const payment = { source: 'bank', network: 'WIRE', asset: 'USD', amount: 1n, bankReference: null, ...terms }
    const report = { ...payment, occurredAt: new Date(Date.UTC(2026, 0, 1) + after).toISOString() } as Report
    return { report, depositId: `deposit ${index}`, profileId }
  })
  const found = await transaction((work) => findSimilar(work, arriving))
  return arriving.map(({ report }) => found.get(report)?.kind)
}

it.each<[string, readonly Payment[], readonly unknown[]]>([
  ['without references, of two sources', [{}, custody], [undefined, 'ambiguous']],
  ['without references, of one source', [{}, {}], [undefined, undefined]],
  ['without references, after one that is not recorded', [{}, custody, {}], [undefined, 'ambiguous', undefined]],
  ['of two amounts', [{}, { ...custody, amount: 2n }], [undefined, undefined]],
  ['with near references', [{ bankReference: FIRST }, { bankReference: SECOND }], [undefined, 'near']],
  [
    'of which one is near and one has no reference',
    [{ bankReference: FIRST }, {}, { ...custody, bankReference: SECOND }],
    [undefined, undefined, 'ambiguous'],
  ],
  ['to two profiles', [{ profileId: 'one' }, { ...custody, profileId: 'other' }], [undefined, undefined]],
  ['to a profile and an unknown one', [{ profileId: 'one' }, custody], [undefined, 'ambiguous']],
  ['seven days apart', [{ ...custody, after: 7 * DAY }, {}], [undefined, 'ambiguous']],
  ['more than seven days apart', [{ ...custody, after: 7 * DAY + 1 }, {}], [undefined, undefined]],
  [
    'with near references, more than seven days apart',
    [{ bankReference: FIRST }, { bankReference: SECOND, after: 7 * DAY + 1 }],
    [undefined, undefined],
  ],
])('bank payments that are reported together are compared with each other: %s', async (_what, payments, expected) => {
  expect(await similarityOf(payments)).toEqual(expected)
})
