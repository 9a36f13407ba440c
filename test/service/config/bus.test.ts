/** The settings of roles and of the bus between processes: what is accepted, and that no problem quotes a secret. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { takesPublications } from '../../../src/service/config/sources.ts'

const STORE = { 'store.url': 'postgres://tidegate@db/tidegate' }
const PUBLISHED = JSON.stringify([
  {
    symbol: 'BTCUSD',
    base_asset: 'BTC',
    quote_asset: 'USD',
    price_decimals: 2,
    amount_decimals: 8,
    depth: 50,
    sources: ['ingest'],
  },
])
const PUBLISHERS = { 'ingest.port': '8100', 'http.port': '8080', 'operator.port': '9090' }

function load(flags: Readonly<Record<string, string>>, environment: Readonly<Record<string, string>> = {}) {
  return loadConfig({ flags, environment, file: undefined, readFile: () => 'nats://user:geheim@host\n' })
}

const keysOf = (result: ReturnType<typeof load>) => (result.ok ? [] : result.problems.map(({ key }) => key))

describe('the settings of the bus', () => {
  it('the bus settings are a process of all roles, without NATS, by default', () => {
    const result = load({})
    expect(result).toMatchObject({
      ok: true,
      config: { roles: ['feed', 'gateway', 'api', 'worker'], 'bus.url': '' },
    })
  })

  it.each([
    ['nats://host', true],
    ['nats://user:geheim@host:4222', true],
    ['tls://geheim@[::1]:4222/', true],
    ['nats://one:4222,tls://two', true],
    ['http://geheim@host', false],
    ['nats://geheim@host,', false],
    ['nats://geheim@host/path', false],
    ['nats://geheim@host?query', false],
    ['nats://', false],
  ])('the bus settings accept or reject the address %s: %s', (url, isAccepted) => {
    const result = load({ 'bus.url': url })
    expect(result.ok).toBe(isAccepted)
    if (isAccepted) return
    expect(keysOf(result)).toEqual(['bus.url'])
    expect(JSON.stringify(result)).not.toContain('geheim')
  })

  it('the bus settings accept an address with a password from a file', () => {
    const result = load({}, { TIDEGATE_BUS_URL_FILE: 'secret' })
    expect(result).toMatchObject({ ok: true, config: { 'bus.url': 'nats://user:geheim@host' } })
  })

  it.each([
    ['need NATS without the role feed', { roles: '[gateway, api]', ...STORE }, ['roles']],
    ['need PostgreSQL for a part of the roles', { roles: '[feed, gateway]', 'bus.url': 'nats://host' }, ['roles']],
    [
      'need the role feed for publishers',
      { roles: '[gateway]', 'bus.url': 'nats://host', ...STORE, ...PUBLISHERS },
      ['roles'],
    ],
    [
      'need publishers for a market that they publish',
      { roles: '[feed]', 'bus.url': 'nats://host', ...STORE, markets: PUBLISHED },
      ['markets'],
    ],
    ['know no other role', { roles: '[feed, sequencer]', ...STORE }, ['roles']],
    ['need NATS for its credentials', { 'bus.credentials_file': 'nats.creds' }, ['bus.credentials_file']],
    [
      'need TLS for its files',
      { 'bus.url': 'nats://host,tls://two', 'bus.tls.ca_file': 'ca.pem' },
      ['bus.tls.ca_file'],
    ],
    ['need a key for a certificate', { 'bus.url': 'tls://host', 'bus.tls.cert_file': 'c.pem' }, ['bus.tls.cert_file']],
  ])('the settings of the bus %s', (_title, flags, keys) => {
    const result = load(flags as unknown as Record<string, string>)
    expect(keysOf(result).map((key) => key.replace(/\[.*/, ''))).toEqual(keys)
  })

  it('the bus settings let a directory become stale after a minute with NATS, and never without it, unless configured', () => {
    const staleSecondsOf = (flags: Readonly<Record<string, string>>) => {
      const result = load(flags)
      return result.ok && result.config['auth.directory_stale_seconds']
    }
    const nats = { 'bus.url': 'nats://host' }
    expect([staleSecondsOf({}), staleSecondsOf(nats)]).toEqual([0, 60])
    const configured = { 'auth.directory_stale_seconds': '0' }
    expect(staleSecondsOf({ ...nats, ...configured })).toBe(0)
  })

  it('the bus settings accept a part of the roles with PostgreSQL and NATS', () => {
    expect(load({ roles: '[gateway, api]', 'bus.url': 'tls://host', ...STORE }).ok).toBe(true)
    expect(load({ roles: '[feed, worker]', ...STORE }).ok).toBe(true)
    const published = { 'bus.url': 'nats://host', ...STORE, markets: PUBLISHED }
    expect(load({ roles: '[gateway, api, worker]', ...published }).ok).toBe(true)
    expect(load({ roles: '[feed]', ...published, 'ingest.port': '8100' }).ok).toBe(true)
  })

  it('the scope for publishing exists beside another process’s feed, before a reload adds the first published market', () => {
    const takes = (flags: Readonly<Record<string, string>>) => {
      const result = load(flags)
      return result.ok && takesPublications(result.config)
    }
    expect(takes({ roles: '[api]', 'bus.url': 'nats://host', ...STORE })).toBe(true)
    expect(takes({})).toBe(false)
    expect(takes(PUBLISHERS)).toBe(true)
  })
})
