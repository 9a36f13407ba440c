import { describe, expect, it } from 'vitest'
import { type ReadinessInput, readinessOf } from '../../src/app/readiness.ts'

const WELL: ReadinessInput = {
  draining: false,
  hasDescriptor: true,
  storeProblem: undefined,
  schema: 'current',
  directoryLoaded: true,
  markets: [{ market: { symbol: 'BTCUSD' }, live: true, reason: '' }],
  sourcesOf: () => [],
  starting: new Set(),
  withoutAddresses: [],
}

const failing = (input: ReadinessInput) => readinessOf(input).checks.flatMap(({ name, ok }) => (ok ? [] : [name]))

it('the service is ready when every check passes', () => {
  expect(readinessOf(WELL)).toEqual({
    ready: true,
    checks: ['draining', 'descriptors', 'store', 'migrations', 'directory', 'deposit addresses', 'market BTCUSD'].map(
      (name) => ({
        name,
        ok: true,
        detail: 'ok',
      }),
    ),
  })
})

it.each([
  ['draining', { draining: true }],
  ['gateway processes', { gatewayProcesses: 0 }],
  ['descriptors', { hasDescriptor: false }],
  ['store', { storeProblem: 'no space left on device' }],
  ['migrations', { schema: undefined }],
  ['migrations', { schema: { missing: ['202611201230-accounts'] } }],
  ['directory', { directoryLoaded: false }],
])('the service is not ready because of %s', (name, difference) => {
  expect(readinessOf({ ...WELL, ...difference }).ready).toBe(false)
  expect(failing({ ...WELL, ...difference })).toEqual([name])
})

it('readiness reports why the store is unavailable', () => {
  const { checks } = readinessOf({ ...WELL, storeProblem: 'no space left on device' })
  expect(checks).toContainEqual({
    name: 'store',
    ok: false,
    detail: 'the store cannot be reached: no space left on device',
  })
})

it('readiness names the migrations that are missing', () => {
  const { checks } = readinessOf({ ...WELL, schema: { missing: ['1-first', '2-second'] } })
  expect(checks).toContainEqual({ name: 'migrations', ok: false, detail: 'missing: 1-first, 2-second' })
})

it('readiness names a market without a source, but waits only for one that has never connected', () => {
  const lost = { ...WELL, markets: [{ market: { symbol: 'BTCUSD' }, live: false, reason: 'disconnected' }] }
  expect(readinessOf(lost).ready).toBe(true)
  expect(readinessOf(lost).checks.at(-1)).toEqual({ name: 'market BTCUSD', ok: false, detail: 'disconnected' })
  expect(readinessOf({ ...lost, starting: new Set(['BTCUSD']) }).ready).toBe(false)
})

it('the service is ready without markets, because REST alone may be served, and reports that', () => {
  const { ready, checks } = readinessOf({ ...WELL, markets: [] })
  expect(ready).toBe(true)
  expect(checks.at(-1)).toEqual({ name: 'markets', ok: true, detail: 'no market is configured' })
})

it('the service is ready without address keys and names those networks, because the stream needs none', () => {
  const { ready, checks } = readinessOf({ ...WELL, withoutAddresses: ['BITCOIN', 'BASE'] })
  expect(ready).toBe(true)
  const detail = 'no key in custody.* for BITCOIN, BASE'
  expect(checks).toContainEqual({ name: 'deposit addresses', ok: true, detail })
})

describe('a market with several sources', () => {
  const source = (name: string, state: 'starting' | 'live' | 'lost', ...notices: string[]) => ({
    source: name,
    state,
    reason: state === 'live' ? '' : `${name} is ${state}`,
    notices,
  })
  const rows = (market: ReadinessInput['markets'][number], ...sources: ReturnType<typeof source>[]) =>
    readinessOf({ ...WELL, markets: [market], sourcesOf: () => sources })
  const live = { market: { symbol: 'BTCUSD' }, live: true, reason: '' }

  it('is ready and names each of them although one is lost', () => {
    const { ready, checks } = rows(live, source('kraken:BTC/USD', 'live', 'post_only'), source('okx:BTC-USD', 'lost'))
    expect(ready).toBe(true)
    expect(checks.slice(-3)).toEqual([
      { name: 'market BTCUSD', ok: true, detail: 'ok' },
      { name: 'market BTCUSD source kraken:BTC/USD', ok: true, detail: 'post_only' },
      { name: 'market BTCUSD source okx:BTC-USD', ok: false, detail: 'okx:BTC-USD is lost' },
    ])
  })

  it('is one row when it has one source, with the details of that source', () => {
    const notices = ['post_only', 'gives 100 levels']
    expect(rows(live, source('kraken:BTC/USD', 'live', ...notices)).checks.at(-1)).toEqual({
      name: 'market BTCUSD',
      ok: true,
      detail: 'post_only; gives 100 levels',
    })
    expect(rows({ ...live, live: false, reason: 'gap' }, source('a', 'lost', 'post_only')).checks.at(-1)).toEqual({
      name: 'market BTCUSD',
      ok: false,
      detail: 'gap',
    })
  })
})

it('readiness reports why NATS cannot be reached, and waits for nothing because of it', () => {
  const lost = readinessOf({ ...WELL, bus: { problem: 'nats:4222: connection refused' } })
  expect(lost.ready).toBe(true)
  const detail = 'NATS cannot be reached: nats:4222: connection refused'
  expect(lost.checks).toContainEqual({ name: 'bus', ok: false, detail })
  expect(readinessOf({ ...WELL, bus: { problem: undefined } }).checks).toContainEqual({
    name: 'bus',
    ok: true,
    detail: 'ok',
  })
})

it('readiness names nodes with other market definitions, five of them, and waits for nothing because of it', () => {
  const nodes = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `n:${index}` }))
  const detailOf = (count: number) => {
    const { ready, checks } = readinessOf({ ...WELL, differingNodes: nodes(count) })
    expect(ready).toBe(true)
    return checks.find(({ name }) => name === 'nodes')
  }
  expect(detailOf(0)).toEqual({ name: 'nodes', ok: true, detail: 'ok' })
  expect(detailOf(1)).toEqual({ name: 'nodes', ok: false, detail: 'other market definitions: n:0' })
  expect(detailOf(7)?.detail).toBe('other market definitions: n:0, n:1, n:2, n:3, n:4 and 2 more')
})
