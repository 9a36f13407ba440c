/** Reloads of the configuration: which keys are applied, which wait for a restart, and when nothing changes. */
import { beforeEach, expect, it } from 'vitest'
import type { Log } from '../../src/platform/base/log.ts'
import { loadConfig } from '../../src/service/config/load.ts'
import { RELATIONS } from '../../src/service/config/relations.ts'
import { type Config, isLive } from '../../src/service/config/settings.ts'
import type { Origins } from '../../src/service/config/settings-in-force.ts'
import type { StoreDefault } from '../../src/service/config/store-defaults.ts'
import { reload } from '../../src/service/reload.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

let current: { config: Config; origins: Origins }
let lines: [event: string, fields: object][]
let applied: Config[]
let outcomes: string[]
const storeDefaults: readonly StoreDefault[] = []

const market = (base: string) =>
  `{symbol: ${base}USD, base_asset: ${base}, quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 10, sources: ['kraken:${base}/USD']}`

/** @param file text of the configuration file; absent: there is no file */
const read = (flags: Record<string, string>, file?: string) =>
  loadConfig({
    flags,
    environment: {},
    file: file === undefined ? undefined : 'tidegate.yaml',
    readFile: () => file ?? '',
  })

function load(flags: Record<string, string>, file?: string): void {
  const write = (fields: object, event: string) => void lines.push([event, fields])
  const log = { info: write, warn: write, error: write } as unknown as Log
  const decimals = new Map([['BTC', 8]])
  const options = {
    log,
    clock: new VirtualClock(),
    current,
    decimals,
    storeDefaults,
    apply: () => applied.push(current.config),
  }
  outcomes.push(reload(options, read(flags, file)))
}

function inForce(flags: Record<string, string>, file?: string): void {
  const result = read(flags, file)
  if (!result.ok) throw new Error('this cannot be in force')
  current = { config: result.config, origins: result.origins }
}

beforeEach(() => {
  const result = read({})
  if (!result.ok) throw new Error('the defaults do not serve')
  current = { config: result.config, origins: result.origins }
  lines = []
  applied = []
  outcomes = []
})

it('a reload applies the keys that can change at run time, and names them', () => {
  load({ 'stream.subscriptions_max': '7', markets: `[${market('BTC')}]` })
  expect(outcomes).toEqual(['applied'])
  expect(applied).toHaveLength(1)
  expect(applied[0]).toMatchObject({ 'stream.subscriptions_max': 7, markets: [{ definition: { symbol: 'BTCUSD' } }] })
  expect(lines).toEqual([['configuration reloaded', { keys: ['markets', 'stream.subscriptions_max'] }]])
})

it('a reload keeps the old value of a key that needs a restart, and names it each time', () => {
  const before = current.config
  for (let time = 0; time < 2; time++) {
    load({ 'http.port': '1234', 'operator.token': 'very-secret-token', 'log.level': 'warn' })
    expect(current.config).toEqual({ ...before, 'log.level': 'warn' })
    expect(current.origins).toMatchObject({ 'log.level': '--log.level', 'http.port': 'default' })
    expect(lines.at(-1)).toEqual([
      'keys that need a restart keep their old value',
      { keys: ['http.port', 'operator.token'] },
    ])
  }
  expect(lines.map(([event]) => event).filter((event) => event === 'configuration reloaded')).toHaveLength(2)
  expect(JSON.stringify(lines)).not.toContain('very-secret')
})

it('a reload with a problem changes nothing, and names every problem', () => {
  const before = current.config
  load({ 'stream.subscriptions_max': '7', 'http.port': 'x', 'log.level': 'loud' })
  expect(outcomes).toEqual(['refused'])
  expect(current.config).toBe(before)
  expect(applied).toEqual([])
  expect(lines).toEqual([
    [
      'the configuration has problems: it stays as it was',
      { problems: [expect.stringContaining('http.port'), expect.stringContaining('log.level')] },
    ],
  ])
})

it('a reload with an unreadable certificate changes nothing', () => {
  const before = current.config
  load({ 'stream.subscriptions_max': '7', 'http.tls.cert_file': '/nowhere/cert', 'http.tls.key_file': '/nowhere/key' })
  expect(current.config).toBe(before)
  expect(JSON.stringify(lines)).toContain('http.tls.cert_file names /nowhere/cert')
})

it('a reload never removes every market: a file without them is refused with the reason', () => {
  inForce({}, `markets: [${market('BTC')}, ${market('ETH')}]`)
  const before = current.config
  for (const file of ['stream: {subscriptions_max: 7}', 'markets: []', '# markets:', '']) load({}, file)
  expect(outcomes).toEqual(['refused', 'refused', 'refused', 'refused'])
  expect(current.config).toBe(before)
  expect(applied).toEqual([])
  const [noMarkets, , noValues] = lines
  const event = 'the configuration was not reloaded: it stays as it was'
  expect(noMarkets).toEqual([event, { reason: expect.stringMatching(/^markets would be empty/) }])
  expect(noValues).toEqual([event, { reason: 'the configuration file is empty' }])
  // Replacing the last market by another is allowed.
  load({}, `markets: [${market('SOL')}]`)
  expect(outcomes.at(-1)).toBe('applied')
})

it('a reload of a file that became empty is refused, even with markets from another origin', () => {
  const flags = { markets: `[${market('BTC')}]` }
  inForce(flags, 'stream: {subscriptions_max: 7}')
  load(flags, '')
  expect(outcomes).toEqual(['refused'])
  expect(current.config['stream.subscriptions_max']).toBe(7)
})

it('a reload of a file that was empty before is applied', () => {
  load({}, '')
  load({ markets: `[${market('BTC')}]` })
  expect(outcomes).toEqual(['applied', 'applied'])
})

it('a reload cannot enable the simulator where it is not allowed', () => {
  inForce({ markets: `[${market('BTC')}]` })
  const simulated = `[${market('BTC').replace('kraken:BTC/USD', 'simulator')}]`
  load({ markets: simulated })
  expect(outcomes).toEqual(['refused'])
  expect(JSON.stringify(lines)).toContain('simulator.allowed must be true')
  load({ markets: simulated, 'simulator.allowed': 'true' })
  expect(outcomes.at(-1)).toBe('applied')
})

it('a reload without changes is applied, because files that it names may have changed', () => {
  load({})
  expect(applied).toHaveLength(1)
  expect(lines).toEqual([['configuration reloaded', { keys: [] }]])
})

it('related keys are all changeable at run time or none, so that a mix of old and new breaks no relation', () => {
  // With rest.sandbox in force nothing is sent to a webhook, whatever its address is.
  const mixable = (key: string, other: string) => key === 'rest.sandbox' && other === 'deliveries.webhook_url'
  for (const { key, other } of RELATIONS) {
    if (!mixable(key, other)) expect(isLive(key), `${key} and ${other}`).toBe(isLive(other))
  }
})

it('a reload refuses markets that need a feed which only a restart can add', () => {
  const feeds = JSON.stringify({ 'kraken-2': { kind: 'kraken' } })
  const second = `[${market('BTC').replace('kraken:', 'kraken-2:')}]`
  load({ feeds, markets: second })
  expect(outcomes).toEqual(['refused'])
  expect(applied).toEqual([])
  expect(lines).toEqual([
    [
      'the configuration was not reloaded: it stays as it was',
      {
        reason:
          'a source of BTCUSD names the feed kraken-2, which is not configured (did you mean kraken?): new feeds need a restart',
      },
    ],
  ])
  load({ feeds, markets: `[${market('BTC')}]` })
  expect(outcomes).toEqual(['refused', 'applied'])
  expect(lines.at(-1)).toEqual(['keys that need a restart keep their old value', { keys: ['feeds'] }])
})

it('a reload is refused when it would change the decimals of an asset in the ledger', () => {
  load({ assets: '[{symbol: BTC, decimals: 6, networks: [BITCOIN]}, {symbol: USD, decimals: 2}]' })
  expect([outcomes, applied]).toEqual([['refused'], []])
  expect(JSON.stringify(lines)).toContain('assets: BTC has 6 decimals, and the ledger has 8: this needs a restart')
  load({
    assets: '[{symbol: BTC, decimals: 8, networks: [BITCOIN]}, {symbol: USD, decimals: 2}, {symbol: NEW, decimals: 3}]',
  })
  expect(outcomes).toEqual(['refused', 'applied'])
})
