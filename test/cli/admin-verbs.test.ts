/** The API calls that verbs make for their arguments and options. */
import { expect, it } from 'vitest'
import { callOf } from '../../src/cli/admin/admin-verb.ts'
import { ADMIN_NOUNS } from '../../src/cli/admin/admin-verbs.ts'
import { ACCOUNT_FILTERS, REVIEW_FILTERS } from '../../src/money/accounts/schemas.ts'

function callOfVerb(noun: string, name: string, words: readonly string[], options: Readonly<Record<string, unknown>>) {
  const verb = ADMIN_NOUNS.find((candidate) => candidate.name === noun)?.verbs.find(
    ({ usage }) => usage.split(' ')[0] === name,
  )
  if (verb === undefined) throw new Error(`there is no verb ${noun} ${name}`)
  const { method, path, query } = callOf(verb, words, options)
  return {
    method,
    path,
    query: Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== undefined)),
  }
}

it("account list accepts the filters of the API's list", () => {
  const options = {
    customer: 'ID',
    status: 'PENDING,ERROR',
    identity: 'who',
    createdFrom: '2026-01-01T00:00:00Z',
    createdBefore: '2026-02-01T00:00:00Z',
    updatedFrom: '2026-01-02T00:00:00Z',
    updatedBefore: '2026-02-02T00:00:00Z',
    limit: '10',
  }
  const { path, query } = callOfVerb('account', 'list', [], options)
  expect(path).toBe('/accounts')
  expect(query).toEqual({
    customer_id: 'ID',
    summary_status: 'PENDING,ERROR',
    identity_id: 'who',
    'created_at.gte': '2026-01-01T00:00:00Z',
    'created_at.lt': '2026-02-01T00:00:00Z',
    'updated_at.gte': '2026-01-02T00:00:00Z',
    'updated_at.lt': '2026-02-02T00:00:00Z',
    limit: '10',
  })
  // Every filter of the API has an option; the API has a single order, which needs none.
  const reached = new Set(Object.keys(query).map((name) => name.split('.')[0]))
  const filters = Object.keys({ ...ACCOUNT_FILTERS, ...REVIEW_FILTERS }).filter((name) => name !== 'order_by')
  expect(filters.filter((name) => !reached.has(name))).toEqual([])
})

it('operator create and operator update send a subject, and null to remove it', () => {
  const verbs = ADMIN_NOUNS.find(({ name }) => name === 'operator')?.verbs ?? []
  const bodyOf = (name: string, options: Readonly<Record<string, unknown>>) => {
    const verb = verbs.find(({ usage }) => usage.split(' ')[0] === name)
    return verb === undefined ? undefined : callOf(verb, ['ada'], options).body
  }
  expect(bodyOf('create', { role: 'viewer' })).toEqual({ name: 'ada', role: 'viewer' })
  expect(bodyOf('create', { role: 'viewer', subject: 'id' })).toEqual({ name: 'ada', role: 'viewer', subject: 'id' })
  expect(bodyOf('update', { subject: 'id' })).toEqual({ subject: 'id' })
  // `--no-subject`
  expect(bodyOf('update', { subject: false })).toEqual({ subject: null })
  expect(bodyOf('update', { disable: true })).toEqual({ enabled: false })
})

it('deposit-address find and rule show request one record', () => {
  expect(callOfVerb('deposit-address', 'find', ['0xAb'], {})).toEqual({
    method: 'GET',
    path: '/deposit-addresses',
    query: { address: '0xAb' },
  })
  expect(callOfVerb('rule', 'show', ['a/b'], {})).toEqual({ method: 'GET', path: '/rules/a%2Fb', query: {} })
})

it('deposit report and return send crypto or fiat members, depending on the network', () => {
  const verbs = ADMIN_NOUNS.find(({ name }) => name === 'deposit')?.verbs ?? []
  const bodyOf = (name: string, options: Readonly<Record<string, unknown>>) => {
    const verb = verbs.find(({ usage }) => usage.split(' ')[0] === name)
    return verb === undefined ? undefined : callOf(verb, ['ID'], options).body
  }
  const common = { source: 'bank', externalId: '7', asset: 'USD', amount: '1', occurredAt: 'T' }
  const sent = { source: 'bank', external_id: '7', asset: 'USD', amount: '1', occurred_at: 'T' }
  expect(bodyOf('report', { ...common, network: 'WIRE', memo: 'M', bankReference: 'B' })).toEqual({
    ...sent,
    fiat: { network: 'WIRE', memo_id: 'M', bank_reference: 'B' },
  })
  const crypto = { network: 'BASE', address: '0x', tx_hash: '0xa', tx_index: -1 }
  const options = { network: 'BASE', address: '0x', txHash: '0xa', txIndex: -1, status: 'PENDING' }
  expect(bodyOf('report', { ...common, ...options })).toEqual({ ...sent, status: 'PENDING', crypto })
  expect(bodyOf('return', { reason: 'r', network: 'BASE', address: '0x' })).toEqual({
    reason: 'r',
    crypto: { network: 'BASE', address: '0x' },
  })
  // Not a payment without the memo: the API refuses the member.
  expect(bodyOf('return', { reason: 'r', network: 'STELLAR', address: 'G', memo: 'm' })).toEqual({
    reason: 'r',
    crypto: { network: 'STELLAR', address: 'G', memo: 'm' },
  })
  expect(bodyOf('return', { reason: 'r', fiatAccount: 'f', memo: 'm' })).toEqual({
    reason: 'r',
    fiat: { fiat_account_id: 'f', memo: 'm' },
  })
})

it('ledger entry create sends one leg per --leg', () => {
  const create = ADMIN_NOUNS.find(({ name }) => name === 'ledger entry')?.verbs[0]
  if (create === undefined) throw new Error('there is no verb')
  const options = { leg: ['USD:30000:IN', 'BTC:0.5:OUT'], reference: 'trade 7', reason: 'hedge' }
  expect(callOf(create, ['desk_hedge'], options).body).toEqual({
    kind: 'desk_hedge',
    legs: [
      { asset: 'USD', amount: '30000', direction: 'IN' },
      { asset: 'BTC', amount: '0.5', direction: 'OUT' },
    ],
    reference: 'trade 7',
    reason: 'hedge',
  })
  const repayment = { leg: ['USD:7'], profile: 'P', reference: 'r', reason: 'r', effectiveAt: 'T' }
  expect(callOf(create, ['debt_repayment'], repayment).body).toMatchObject({
    legs: [{ asset: 'USD', amount: '7' }],
    profile_id: 'P',
    effective_at: 'T',
  })
  for (const leg of ['USD', 'USD:', ':7', 'USD:7:IN:OUT']) {
    expect(() => callOf(create, ['desk_funding'], { ...options, leg: [leg] })).toThrow(`not ${leg}`)
  }
})

it('deposit trace prints one line per event on a terminal', () => {
  const trace = ADMIN_NOUNS.find(({ name }) => name === 'deposit')?.verbs.find(({ usage }) => usage === 'trace <id>')
  const deposit = { id: 'D', amount: '1', asset: 'USD', status: 'COMPLETED', disposition: { code: 'NO_RULE' } }
  const entries = [
    { at: 'T1', text: 'first' },
    { at: 'T2', text: 'se\u0007cond' },
  ]
  expect(trace?.text?.({ deposit, names: { customer: 'acme' }, entries })).toBe(
    'Deposit D: 1 USD, COMPLETED, NO_RULE, customer acme\n\nT1  first\nT2  se?cond\n',
  )
})
