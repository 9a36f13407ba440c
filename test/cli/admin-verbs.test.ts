/** The calls that verbs make of their arguments and options. */
import { expect, it } from 'vitest'
import { ACCOUNT_FILTERS, REVIEW_FILTERS } from '../../src/accounts/schemas.ts'
import { callOf } from '../../src/cli/admin-verb.ts'
import { ADMIN_NOUNS } from '../../src/cli/admin-verbs.ts'

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

it('account list filters as the list of the API does', () => {
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
  // Every filter of the API has an option; the only order there is needs none.
  const reached = new Set(Object.keys(query).map((name) => name.split('.')[0]))
  const filters = Object.keys({ ...ACCOUNT_FILTERS, ...REVIEW_FILTERS }).filter((name) => name !== 'order_by')
  expect(filters.filter((name) => !reached.has(name))).toEqual([])
})

it('deposit-address find and rule show ask for one thing', () => {
  expect(callOfVerb('deposit-address', 'find', ['0xAb'], {})).toEqual({
    method: 'GET',
    path: '/deposit-addresses',
    query: { address: '0xAb' },
  })
  expect(callOfVerb('rule', 'show', ['a/b'], {})).toEqual({ method: 'GET', path: '/rules/a%2Fb', query: {} })
})
