import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { loadConfig } from '../../../../src/service/config/load.ts'
import { checkModules } from '../../../../src/service/doctor/module-check.ts'
import { sourceText } from '../../../../src/streaming/market/configured-market.ts'
import { createModuleSource } from '../../../../src/streaming/sources/module/module-source.ts'
import { readPublication } from '../../../../src/streaming/sources/publication/message.ts'
import type { Source } from '../../../../src/streaming/sources/source.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { PublishingEngine } from '../../../support/publishing-engine.ts'
import { FollowedMarket } from '../../../support/pulled-feed.ts'
import { Random } from '../../../support/random.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'
import { Waiters } from '../../../support/waiters.ts'

const EXAMPLE = join(import.meta.dirname, '../../../../examples/module/engine.mjs')
const folder = mkdtempSync(join(tmpdir(), 'tidegate-module-'))
afterAll(() => rmSync(folder, { recursive: true }))
const running: Source[] = []
afterEach(async () => {
  for (const source of running.splice(0)) await source.stop()
})

/** What a module of a test does, which it finds by the name of its file. */
interface Hooks {
  listener: (message: unknown) => void
  readonly calls: string[]
  createSource?: () => unknown
  start?: () => unknown
  requestSnapshot?: (symbol: string) => unknown
  stop?: () => unknown
}
type HooksByName = Record<string, Hooks>
writeFileSync(join(folder, 'hooks.mjs'), 'export const hooks = {}')
const { hooks } = (await import(pathToFileURL(join(folder, 'hooks.mjs')).href)) as { hooks: HooksByName }

/** Writes a module that calls the hooks. */
function write(name: string, given: Omit<Hooks, 'listener' | 'calls'> = {}, version = '1'): Hooks & { path: string } {
  const path = join(folder, `${name}.mjs`)
  const own: Hooks = { listener: () => undefined, calls: [], ...given }
  hooks[name] = own
  writeFileSync(
    path,
    `import { hooks as all } from './hooks.mjs'
    export const tidegate = ${version}
    const hooks = all['${name}']
    export function createSource({ symbols }) {
      hooks.calls.push('create ' + symbols)
      if (hooks.createSource) return hooks.createSource()
      return {
        start(listener) { hooks.listener = listener; hooks.calls.push('start'); return hooks.start?.() },
        requestSnapshot(symbol) { hooks.calls.push('request ' + symbol); return hooks.requestSnapshot?.(symbol) },
        async stop() { hooks.calls.push('stop'); return hooks.stop?.() },
      }
    }`,
  )
  return Object.assign(own, { path })
}

function run(path: string, symbols: readonly string[] = ['BTCUSD']) {
  const waiters = new Waiters()
  const clock = new VirtualClock()
  const { log, lines } = captureLog()
  const follow = (symbol: string) => {
    const market = new FollowedMarket(waiters, symbol)
    return Object.assign(market, { venueSymbol: `${path}:${symbol}` })
  }
  const markets = symbols.map(follow)
  const source = createModuleSource({ markets, clock, random: () => 0.5, log })
  running.push(source)
  source.start()
  const [market] = markets as [FollowedMarket]
  const until = (what: string, isMet: () => boolean) => waiters.until(what, isMet)
  return { source, market, markets, clock, lines, until, follow }
}

/** A module that publishes an engine and answers requests for a SNAPSHOT. */
function publishing(name: string) {
  const engine = new PublishingEngine({ symbol: 'BTCUSD', random: new Random(3), publishesOrders: true, keptMax: 9 })
  const module = write(name, {
    start: () => module.listener(engine.snapshot()),
    requestSnapshot: () => module.listener(engine.snapshot()),
  })
  return { engine, module }
}

describe('a module', () => {
  it('a module publishes to its markets, and sends a SNAPSHOT when it is asked', async () => {
    const { engine, module } = publishing('publishing')
    const { source, market, clock, until } = run(module.path)
    await until('the book', () => market.follower.isLive)
    for (let count = 0; count < 30; count++) module.listener(engine.step())
    expect(market.follower.levels()).toEqual(engine.levels())
    expect(market.follower.executions).toBeGreaterThan(0)
    engine.step()
    module.listener(engine.step())
    expect(market.follower.isLive).toBe(false)
    clock.advance(0)
    expect(market.follower.levels()).toEqual(engine.levels())
    source.rebuild(market, 'the book is crossed')
    clock.advance(1_000)
    expect(market.follower.isLive).toBe(true)
    module.listener(engine.setState('CLOSED'))
    expect(source.instrument(market)?.state).toBe('CLOSED')
    expect(source.notices(market)).toEqual(['the module reports BTCUSD as CLOSED: the engine is CLOSED'])
    expect(module.calls).toEqual(['create BTCUSD', 'start', 'request BTCUSD', 'request BTCUSD'])
  })

  it('a module is asked more and more rarely when it answers with a SNAPSHOT that breaks a rule', async () => {
    const broken = { channel: 'publication', payload: { market: 'BTCUSD', type: 'SNAPSHOT' }, stream: {} }
    const module = write('broken', {
      start: () => module.listener(broken),
      requestSnapshot: () => module.listener(broken),
    })
    const { market, clock, until } = run(module.path)
    await until('the loss', () => market.events.length > 0)
    for (let second = 0; second < 60; second++) clock.advance(1_000)
    const asked = module.calls.filter((call) => call.startsWith('request')).length
    expect(asked).toBeGreaterThan(3)
    expect(asked).toBeLessThan(12)
    expect(market.summary[0]).toBe('lost: the publisher breaks a rule: payload.time is missing')
  })

  it('a module that throws loses its markets until its next SNAPSHOT, and is logged', async () => {
    const failures: Record<string, (module: string) => ReturnType<typeof publishing>['module']> = {
      'in start': (name) => write(name, { start: () => fail('no license') }),
      'in a promise of start': (name) => write(name, { start: async () => fail('no license') }),
      'in createSource': (name) => write(name, { createSource: () => fail('no license') }),
    }
    for (const [index, [where, create]] of Object.entries(failures).entries()) {
      const module = create(`failing-${index}`)
      const { market, lines, until } = run(module.path)
      await until(where, () => market.events.length > 0)
      expect(market.summary).toEqual([`lost: the module ${module.path} failed to start: no license`])
      expect(lines.join()).toContain('no license')
    }
    for (const isAsync of [false, true]) {
      const { engine, module } = publishing(`request-${isAsync}`)
      module.requestSnapshot = isAsync ? async () => fail('busy') : () => fail('busy')
      const { source, market, clock, until } = run(module.path)
      await until('the book', () => market.follower.isLive)
      source.rebuild(market, 'the book is crossed')
      clock.advance(0)
      await until('the failure', () => market.events.length === 3)
      expect(market.summary.at(-1)).toBe('lost: the module failed in requestSnapshot: busy')
      module.listener(engine.step())
      expect(market.follower.isLive).toBe(false)
      module.listener(engine.snapshot())
      expect(market.follower.isLive).toBe(true)
    }
  })

  it('a module is loaded once for all its markets, learns of others by requests, and stops with the last', async () => {
    const module = write('shared')
    const { source, markets, follow, clock, until } = run(module.path, ['BTCUSD', 'ETHUSD'])
    const eth = new PublishingEngine({ symbol: 'ETHUSD', random: new Random(1), publishesOrders: false, keptMax: 9 })
    const sol = new PublishingEngine({ symbol: 'SOLUSD', random: new Random(2), publishesOrders: false, keptMax: 9 })
    module.start = () => module.listener(eth.snapshot())
    await until('the book', () => markets[1]?.follower.isLive === true)
    const added = follow('SOLUSD')
    source.add(added)
    await new Promise(setImmediate)
    clock.advance(0)
    module.listener(sol.snapshot())
    expect(added.follower.isLive).toBe(true)
    for (const market of [...markets, added]) source.remove(market)
    module.listener(eth.step())
    await source.stop()
    expect(module.calls).toEqual(['create BTCUSD,ETHUSD', 'start', 'request SOLUSD', 'stop'])
    expect(markets[1]?.summary).toEqual(['snapshot'])
  })

  it('a module that does not stop is left after 5 seconds', async () => {
    const { module } = publishing('stuck')
    module.stop = () => new Promise(() => undefined)
    const { source, market, clock, lines, until } = run(module.path)
    await until('the book', () => market.follower.isLive)
    const stopped = source.stop()
    running.length = 0
    await new Promise(setImmediate)
    clock.advance(5_000)
    await stopped
    expect(lines.join()).toContain('module did not stop in time')
  })
})

describe('the example', () => {
  it('the example module runs, with a path relative to the configuration file', async () => {
    const file = join(folder, 'tidegate.yaml')
    const market = '{symbol: BTCUSD, base_asset: BTC, quote_asset: USD, price_decimals: 2, amount_decimals: 8, depth: 9'
    const text = `simulator: {allowed: true}\nmarkets:\n  - ${market}, sources: ["module:./engine.mjs:BTCUSD"]}\n`
    const result = loadConfig({ flags: {}, environment: {}, file, readFile: () => text })
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    const [source] = result.config.markets[0]?.sources ?? []
    expect(source && sourceText(source)).toBe(`module:${join(folder, 'engine.mjs')}:BTCUSD`)

    const example = run(EXAMPLE)
    const { follower, events } = example.market
    await example.until('some trades', () => follower.executions >= 3 || events.length > 10)
    expect(follower.isLive).toBe(true)
    expect(example.source.instrument(example.market)).toEqual({ state: 'OPEN', reason: '', simulated: true })
  })
})

describe('the example, for a quarter of an hour', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
  })

  it('the example module has a book whenever it trades for a quarter of an hour, and every message is valid', async () => {
    let trade: () => void = () => undefined
    vi.stubGlobal('setInterval', (callback: () => void) => {
      trade = callback
    })
    const { createSource } = await import(pathToFileURL(EXAMPLE).href)
    const faults: unknown[] = []
    let trades = 0
    createSource({ symbols: ['BTCUSD'] }).start((message: unknown) => {
      const read = readPublication(message)
      if (read.type === 'UPDATE') trades += read.executions.length
      else if (read.type !== 'SNAPSHOT') faults.push(read)
    })
    for (let count = 0; count < 45_000; count++) trade()
    expect(faults).toEqual([])
    expect(trades).toBe(45_000)
  })
})

describe('a configuration with modules', () => {
  it('a configuration with modules is refused where a module cannot be loaded, or supports another version', async () => {
    const good = write('good')
    const future = write('future', {}, '2')
    const check = async (path: string) => {
      const definition = {
        symbol: 'BTCUSD',
        baseAsset: 'BTC',
        quoteAsset: 'USD',
        priceDecimals: 2,
        amountDecimals: 8,
        depth: 9,
      }
      const sources = [{ feed: 'module', symbol: `${path}:BTCUSD` }]
      const markets = [{ definition, sources, aggregation: { policy: 'recency' as const }, feedGroup: 'default' }]
      const { problems } = await checkModules({ markets }, { markets: 'tidegate.yaml' }, createSystemClock())
      return problems.map(({ key, message }) => `${key} ${message}`)
    }
    expect(await check(good.path)).toEqual([])
    expect(await check(future.path)).toEqual([
      `markets[0].sources[0] cannot be used: the module ${future.path} exports tidegate = 2, but this program supports version 1 of the contract`,
    ])
    expect((await check(join(folder, 'none.mjs'))).join()).toMatch(/none.mjs cannot be loaded: /)
    const { market, until } = run(future.path)
    await until('the loss', () => market.events.length > 0)
    expect(market.summary.join()).toContain('exports tidegate = 2')
  })

  it('a configuration with modules names a file and a symbol', () => {
    const definition = {
      symbol: 'BTCUSD',
      base_asset: 'BTC',
      quote_asset: 'USD',
      price_decimals: 2,
      amount_decimals: 8,
    }
    const markets = JSON.stringify([{ ...definition, depth: 1, sources: ['module:engine.mjs'] }])
    const result = loadConfig({ flags: { markets }, environment: {}, file: undefined, readFile: () => '' })
    expect(!result.ok && result.problems.map(({ message }) => message)).toEqual([
      'is "module:engine.mjs", not like module:FILE:SYMBOL',
    ])
  })
})

function fail(reason: string): never {
  throw new Error(reason)
}
