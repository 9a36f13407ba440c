import { describe, expect, it } from 'vitest'
import { type ReadinessInput, readinessRows } from '../../../src/service/health/readiness.ts'

const ROLES = ['feed', 'gateway', 'api', 'worker']

const WELL: ReadinessInput = {
  roles: ROLES,
  draining: false,
  started: true,
  hasDescriptor: true,
  storeProblem: undefined,
  schema: 'current',
  directoryLoaded: true,
  directoryStale: false,
  feedHeard: true,
  markets: [{ market: { symbol: 'BTCUSD' }, live: true, reason: '' }],
  sourcesOf: () => [],
  withoutAddresses: [],
}

/** Ready when every gate passes; the hysteresis is tested with `readiness-watch`. */
function readinessOf(input: ReadinessInput) {
  const rows = readinessRows(input)
  const checks = rows.map(({ name, ok, detail }) => ({ name, ok, detail }))
  return { ready: rows.every(({ ok, gate }) => ok || gate === 'none'), checks }
}

const failing = (input: ReadinessInput) => readinessOf(input).checks.flatMap(({ name, ok }) => (ok ? [] : [name]))

it('the service is ready when every check passes', () => {
  expect(readinessOf(WELL)).toEqual({
    ready: true,
    checks: [
      'draining',
      'start',
      'descriptors',
      'store',
      'migrations',
      'directory',
      'feed',
      'deposit addresses',
      'market BTCUSD',
    ].map((name) => ({ name, ok: true, detail: 'ok' })),
  })
})

const BUS_LOST = { bus: { problem: 'gone' } }

describe.each([
  ['draining', ROLES, { draining: true }],
  ['start', ROLES, { started: false }],
  ['descriptors', ROLES, { hasDescriptor: false }],
  ['store', ['api', 'worker'], { storeProblem: 'no space left on device' }],
  ['store', ['api', 'worker'], { storeCorruption: 'invalid page in block 7 of relation x' }],
  ['migrations', ['api', 'worker'], { schema: undefined }],
  ['migrations', ['api', 'worker'], { schema: { missing: ['202611201230-accounts'] } }],
  ['directory', ['gateway'], { directoryLoaded: false }],
  ['directory', ['gateway'], { directoryStale: true }],
  ['gateway processes', ['gateway'], { gatewayProcesses: 0 }],
  ['feed', ['gateway'], { feedHeard: false }],
  ['bus', ['gateway'], { ...BUS_LOST, otherNodesHaveBus: true }],
  ['bus', [], { ...BUS_LOST, otherNodesHaveBus: false }],
] as const)('the failed check %s', (name, roles, difference) => {
  const failed: ReadinessInput = { ...WELL, ...difference }
  // Only a gateway has these rows.
  const isShown = (role: string) => role === 'gateway' || (name !== 'feed' && name !== 'gateway processes')

  it.each(ROLES.filter(isShown))(
    'a failed check is named by a process of the role %s, and makes it unready where the role needs it',
    (role) => {
      const input = { ...failed, roles: [role] }
      expect(failing(input)).toEqual([name])
      expect(readinessOf(input).ready).toBe(!(roles as readonly string[]).includes(role))
    },
  )

  it('a failed check makes a process with several roles unready when one of them needs it', () => {
    expect(readinessOf(failed).ready).toBe(roles.length === 0)
  })
})

it('readiness reports why the store is unavailable', () => {
  const { checks } = readinessOf({ ...WELL, storeProblem: 'no space left on device' })
  expect(checks).toContainEqual({
    name: 'store',
    ok: false,
    detail: 'the store is unavailable: no space left on device',
  })
})

it('readiness names the migrations that are missing', () => {
  const { checks } = readinessOf({ ...WELL, schema: { missing: ['1-first', '2-second'] } })
  expect(checks).toContainEqual({ name: 'migrations', ok: false, detail: 'missing: 1-first, 2-second' })
})

it.each(ROLES)('a process of the role %s names a market without a book and is ready', (role) => {
  const input = {
    ...WELL,
    roles: [role],
    markets: [{ market: { symbol: 'BTCUSD' }, live: false, reason: 'disconnected' }],
  }
  expect(readinessOf(input).ready).toBe(true)
  expect(readinessOf(input).checks.at(-1)).toEqual({ name: 'market BTCUSD', ok: false, detail: 'disconnected' })
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

  it('a market with several sources is ready and names each of them although one is lost', () => {
    const { ready, checks } = rows(live, source('kraken:BTC/USD', 'live', 'post_only'), source('okx:BTC-USD', 'lost'))
    expect(ready).toBe(true)
    expect(checks.slice(-3)).toEqual([
      { name: 'market BTCUSD', ok: true, detail: 'ok' },
      { name: 'market BTCUSD source kraken:BTC/USD', ok: true, detail: 'post_only' },
      { name: 'market BTCUSD source okx:BTC-USD', ok: false, detail: 'okx:BTC-USD is lost' },
    ])
  })

  it('a market with several sources is one row when it has one source, with the details of that source', () => {
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

it('readiness reports why NATS cannot be reached, and whether other nodes reach it', () => {
  const bus = { problem: 'nats:4222: connection refused' }
  const detail = 'NATS cannot be reached: nats:4222: connection refused'
  expect(readinessOf({ ...WELL, bus }).checks).toContainEqual({ name: 'bus', ok: false, detail })
  const alone = readinessOf({ ...WELL, bus, otherNodesHaveBus: true }).checks
  expect(alone).toContainEqual({ name: 'bus', ok: false, detail: `${detail}; other nodes reach it` })
  const well = readinessOf({ ...WELL, bus: { problem: undefined } }).checks
  expect(well).toContainEqual({ name: 'bus', ok: true, detail: 'ok' })
})

it('readiness names up to five nodes with other market definitions, and waits for none of them', () => {
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
