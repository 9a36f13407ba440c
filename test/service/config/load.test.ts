/** The effective configuration: where values come from, what is refused, and what is said about it. */
import { describe, expect, it } from 'vitest'
import { canSharePorts } from '../../../src/platform/http/shared-port.ts'
import { type ConfigInput, loadConfig, variableOf } from '../../../src/service/config/load.ts'
import { DEMO_DEFAULTS, MARKETS_MAX } from '../../../src/service/config/markets.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { REMOVED_SETTINGS } from '../../../src/service/config/removed-settings.ts'
import { SETTING_KEYS, SETTINGS } from '../../../src/service/config/settings.ts'
import { isSimulated } from '../../../src/streaming/market/configured-market.ts'
import { accountPublicKey } from '../../support/address-keys.ts'

function load(parts: Partial<ConfigInput> & { files?: Record<string, string> } = {}) {
  const { files = {}, ...rest } = parts
  return loadConfig({
    flags: {},
    environment: {},
    file: undefined,
    readFile(path) {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      return text
    },
    ...rest,
  })
}

function loadFile(text: string) {
  return load({ file: 'tidegate.yaml', files: { 'tidegate.yaml': text } })
}

function configOf(result: ReturnType<typeof load>) {
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
  return result.config
}

function problemsOf(result: ReturnType<typeof load>): string[] {
  return result.ok ? [] : result.problems.map(describeProblem)
}

const MARKET = {
  symbol: 'BTCUSD',
  base_asset: 'BTC',
  quote_asset: 'USD',
  price_decimals: 1,
  amount_decimals: 8,
  depth: 10,
  sources: ['kraken:BTC/USD'],
}

function marketProblems(...markets: unknown[]): string[] {
  const flags = { markets: JSON.stringify(markets), 'simulator.allowed': 'true' }
  return problemsOf(load({ flags })).map((text) => text.replace(/ \(from .*/, ''))
}

describe('defaults', () => {
  it('defaults are a valid configuration without markets, in which the simulator is not allowed', () => {
    expect(configOf(load())).toMatchObject({ 'http.port': 8080, markets: [], 'simulator.allowed': false })
  })

  it('the defaults of demo are three simulated markets', () => {
    const { markets } = configOf(load({ verbDefaults: DEMO_DEFAULTS }))
    expect(markets.map(({ definition }) => definition.symbol)).toEqual(['BTCUSD', 'ETHUSD', 'SOLUSD'])
    expect(markets.every(isSimulated)).toBe(true)
  })

  it('the defaults pass their own rows, also in the form a file holds', () => {
    for (const key of SETTING_KEYS) {
      const row = SETTINGS[key] as { read(value: unknown): unknown; show(value: unknown): unknown; initial: unknown }
      expect(row.read(row.show(row.initial)), key).toEqual({ value: row.initial })
    }
  })
})

describe('order of sources', () => {
  const files = { 'tidegate.yaml': 'http: {port: 1, host: file.test}\noperator.port: 2\nlog.level: error' }

  it('the order of sources is flags, environment, file, defaults', () => {
    const result = load({
      files,
      file: 'tidegate.yaml',
      environment: { TIDEGATE_HTTP_PORT: '11', TIDEGATE_OPERATOR_PORT: '12' },
      flags: { 'http.port': '21' },
      verbDefaults: { 'log.level': 'warn', data_dir: './demo' },
    })
    const config = configOf(result)
    expect(config['http.port']).toBe(21)
    expect(config['operator.port']).toBe(12)
    expect(config['http.host']).toBe('file.test')
    expect(config['log.level']).toBe('error')
    expect(config.data_dir).toBe('./demo')
    expect(config['simulator.rate']).toBe(40)
    if (!result.ok) return
    expect(result.origins['http.port']).toBe('--http.port')
    expect(result.origins['operator.port']).toBe('TIDEGATE_OPERATOR_PORT')
    expect(result.origins['http.host']).toBe('tidegate.yaml')
    expect(result.origins['simulator.rate']).toBe('default')
  })

  it('every key has its environment variable, no two alike', () => {
    expect(variableOf('stream.token_expiry')).toBe('TIDEGATE_STREAM_TOKEN_EXPIRY')
    expect(new Set(SETTING_KEYS.map(variableOf)).size).toBe(SETTING_KEYS.length)
  })

  it('an empty environment variable counts as absent, and an empty file sets nothing', () => {
    expect(configOf(load({ environment: { TIDEGATE_HTTP_PORT: '' } }))['http.port']).toBe(8080)
    expect(configOf(loadFile(''))['http.port']).toBe(8080)
    expect(configOf(loadFile('http:\n# port: 1\n'))['http.port']).toBe(8080)
  })

  it('lists in text are read as YAML or JSON', () => {
    const yaml =
      '[{symbol: BTCUSD, base_asset: BTC, quote_asset: USD, price_decimals: 1, amount_decimals: 8, depth: 10, sources: [kraken:BTC/USD]}]'
    const expected = {
      definition: {
        symbol: 'BTCUSD',
        baseAsset: 'BTC',
        quoteAsset: 'USD',
        priceDecimals: 1,
        amountDecimals: 8,
        depth: 10,
      },
      sources: [{ feed: 'kraken', symbol: 'BTC/USD' }],
      aggregation: { policy: 'recency' },
      feedGroup: 'default',
    }
    expect(configOf(load({ environment: { TIDEGATE_MARKETS: yaml } })).markets).toEqual([expected])
    expect(configOf(load({ flags: { markets: JSON.stringify([MARKET]) } })).markets).toEqual([expected])
  })
})

describe('unknown keys', () => {
  it('unknown keys are errors in flags and files that name the nearest known key', () => {
    expect(problemsOf(load({ flags: { 'http.prt': '1' } }))).toEqual([
      'http.prt is an unknown key; did you mean http.port? (from --http.prt)',
    ])
    expect(problemsOf(loadFile('htp:\n  port: 1\nzebra: {crossing: {}}'))).toEqual([
      'htp.port is an unknown key; did you mean http.port? (from tidegate.yaml)',
    ])
    expect(problemsOf(loadFile('zebra: 1'))).toEqual(['zebra is an unknown key (from tidegate.yaml)'])
    expect(problemsOf(loadFile('http: 1'))).toEqual(['http is an unknown key (from tidegate.yaml)'])
    expect(problemsOf(loadFile('__proto__: {port: 1}'))).toHaveLength(1)
  })

  it('unknown keys in the environment cause one warning line', () => {
    const result = load({
      environment: {
        TIDEGATE_HTTP_PROT: '1',
        TIDEGATE_ZZZZZZZZ: '1',
        TIDEGATE_CLIENT_ID: 'a',
        TIDEGATE_LONG: '1',
        HOME: '/',
      },
    })
    expect(result.ok).toBe(true)
    expect(result.warnings).toEqual([
      'unknown variables: TIDEGATE_HTTP_PROT (did you mean TIDEGATE_HTTP_PORT?), TIDEGATE_ZZZZZZZZ',
    ])
  })
})

describe('removed keys', () => {
  it('removed keys are warnings that name each key and its replacement, wherever the key is given', () => {
    const result = load({
      file: 'tidegate.yaml',
      files: { 'tidegate.yaml': 'rest: {unread_bytes_max: 1, rate_per_second: 7}' },
      environment: { TIDEGATE_REST_READ_BYTES_PER_SECOND_MIN: '0' },
      flags: { 'auth.signing_key_days': 'many' },
    })
    expect(configOf(result)['rest.rate_per_second']).toBe(7)
    const text = 'is no longer a setting and is ignored'
    expect(result.warnings).toEqual([
      `rest.unread_bytes_max (from tidegate.yaml) ${text}: the limit is 128 MiB`,
      `rest.read_bytes_per_second_min (from TIDEGATE_REST_READ_BYTES_PER_SECOND_MIN) ${text}: the limit is 16 KiB per second`,
      `auth.signing_key_days (from --auth.signing_key_days) ${text}: signing keys rotate after 90 days`,
    ])
  })

  it('removed keys are not settings', () => {
    expect(Object.keys(REMOVED_SETTINGS).filter((key) => Object.hasOwn(SETTINGS, key))).toEqual([])
  })
})

describe('problems', () => {
  it('problems are reported all at once, each with its key and origin', () => {
    const result = load({
      files: { 'tidegate.yaml': 'stream: {ping_seconds: often, token_expiry: later}\nhttp: {host: 1}' },
      file: 'tidegate.yaml',
      environment: { TIDEGATE_SIMULATOR_RATE: '0' },
      flags: { 'http.port': '65536', markets: '[' },
    })
    expect(problemsOf(result).sort()).toEqual([
      'http.host is 1, not a host name or IP address (from tidegate.yaml)',
      'http.port is "65536", not a whole number from 0 to 65535 (from --http.port)',
      'markets line 1 is not valid YAML (missing char) (from --markets)',
      'simulator.rate is "0", not a whole number from 1 to 10000 (from TIDEGATE_SIMULATOR_RATE)',
      'stream.ping_seconds is "often", not seconds from 0.1 to 3600, at most 3 fraction digits (from tidegate.yaml)',
      'stream.token_expiry is "later", not one of keep, close (from tidegate.yaml)',
    ])
  })

  it('a problem names a file that cannot be read, is not YAML, or repeats a key', () => {
    expect(problemsOf(load({ file: 'missing.yaml' }))).toEqual(['missing.yaml: cannot be read: ENOENT'])
    expect(problemsOf(loadFile('- 1'))).toEqual(['tidegate.yaml: does not contain keys and values'])
    expect(problemsOf(loadFile('http: {port: 1}\nhttp: {host: a}'))).toEqual([
      'tidegate.yaml: line 2 is not valid YAML (duplicate key)',
    ])
    expect(problemsOf(loadFile('http: {port: 1}\nhttp.port: 2'))).toEqual([
      'http.port is given twice (from tidegate.yaml)',
    ])
  })

  it.each([
    ['http.port', ['0', '65535'], ['-1', '65536', '1.5', '', 'x', '0x10', ' 1']],
    ['stream.ping_seconds', ['0.1', '15', '0.125'], ['0', '0.05', '-1', '1e1', '0.1234', 'NaN', 'Infinity']],
    [
      'http.public_url',
      ['http://a.test', 'https://a.test/x/'],
      ['a.test', 'ftp://a.test', 'http://u:p@a.test', 'http://a.test/?q'],
    ],
    ['feeds.kraken.url', ['wss://a.test/v2', 'ws://127.0.0.1:1'], ['http://a.test', '']],
    [
      'operator.token',
      ['', 'sixteen-or-more=', 'x'.repeat(512)],
      ['fifteen-of-them', 'more than two words', 'ümlaut-ümlaut-ümlaut', 'line\nbreak-line-break', 'x'.repeat(513)],
    ],
    [
      'operator.allowed_hosts',
      ['', 'operator.internal', '[tidegate, tidegate-operator.svc.cluster.local]'],
      ['operator:8081', 'http://operator', '"*"', 'a/b'],
    ],
  ])('the setting %s accepts valid values and rejects others', (key, good, bad) => {
    for (const value of good) expect(problemsOf(load({ flags: { [key]: value } })), value).toEqual([])
    for (const value of bad) expect(problemsOf(load({ flags: { [key]: value } })), value).toHaveLength(1)
  })

  it('gateway processes and a shared port are refused where they cannot work', () => {
    const rules = (flags: Record<string, string>) =>
      problemsOf(load({ flags })).filter((text) => !text.includes('Node.js'))
    const own = { 'gateway.processes': '2', 'stream.port': '0' }
    expect(rules(own)).toEqual([])
    expect(rules({ 'gateway.processes': '2' })[0]).toContain('must be 0 while stream.port is empty')
    expect(rules({ ...own, 'bus.url': 'nats://host' })[0]).toContain('start several processes with roles: [gateway]')
    expect(rules({ 'stream.reuse_port': 'true' })[0]).toContain('must be false while stream.port is empty')
    expect(rules({ 'stream.port': '8080' })[0]).toContain('must differ from http.port')
    for (const flags of [own, { 'stream.port': '0', 'stream.reuse_port': 'true' }]) {
      const problems = problemsOf(load({ flags }))
      expect(problems.map((text) => text.includes('needs Node.js 22.12 or newer'))).toEqual(
        canSharePorts() ? [] : [true],
      )
    }
  })

  it('problems between several keys are found', () => {
    const rules = (flags: Record<string, string>) => problemsOf(load({ flags })).map((text) => text.split(' ')[0])
    expect(rules({ 'stream.ping_seconds': '900' })).toEqual(['stream.ping_seconds'])
    expect(rules({ 'stream.ping_seconds': '899.999' })).toEqual([])
    expect(rules({ 'stream.inbound_burst': '49' })).toEqual(['stream.inbound_burst'])
    expect(rules({ 'stream.inbound_burst': '50' })).toEqual([])
    expect(rules({ 'stream.connections_max': '1999' })).toEqual(['stream.connections_per_client_max'])
    expect(rules({ 'stream.connections_max': '2000' })).toEqual([])
    expect(rules({ 'http.header_bytes_max': '8388609' })).toEqual(['http.unfinished_bytes_max'])
    expect(rules({ 'http.header_bytes_max': '8388608' })).toEqual([])
    expect(rules({ 'operator.port': '8080' })).toEqual(['operator.port'])
    expect(rules({ 'operator.port': '0', 'http.port': '0' })).toEqual([])
    expect(problemsOf(load({ flags: { 'stream.silence_seconds': '15' } }))[0]).toContain(
      '(from --stream.silence_seconds)',
    )
  })
})

describe('the address of the store', () => {
  it.each([
    'postgres://tidegate:p%40ss@db.example:5432/tidegate?sslmode=verify-full',
    'postgresql://db/tidegate',
    'postgres://tidegate@/tidegate?host=%2Frun%2Fpostgresql',
    'postgres:///tidegate?host=/run/postgresql',
    '',
  ])('the store address may be %j', (address) => {
    expect(configOf(load({ flags: { 'store.url': address } }))['store.url']).toBe(address)
  })

  it.each([
    'mysql://tidegate:hidden@db/tidegate',
    'postgres://',
    'postgres://tidegate:hidden@db:port/tidegate',
    'db/hidden',
    'postgres://db/a hidden',
  ])('the store address may not be %j, and is not quoted', (address) => {
    const problems = problemsOf(load({ flags: { 'store.url': address } }))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain('store.url')
    expect(problems[0]).not.toContain('hidden')
  })

  it('the store address comes from a file without its last line break, as every secret may', () => {
    const environment = { TIDEGATE_STORE_URL_FILE: '/run/secrets/store' }
    const result = load({ environment, files: { '/run/secrets/store': 'postgres://db/tidegate\n' } })
    expect(configOf(result)['store.url']).toBe('postgres://db/tidegate')
    expect(SETTINGS['store.url'].secret).toBe(true)
  })
})

describe('secrets', () => {
  const files = { '/run/token': 'the-token-from-a-file\n', '/run/bad': 'two words' }

  it('secrets are read from the file that a variable names', () => {
    const environment = { TIDEGATE_OPERATOR_TOKEN_FILE: '/run/token' }
    expect(configOf(load({ files, environment }))['operator.token']).toBe('the-token-from-a-file')
  })

  it('secrets that are given twice or unreadable are problems', () => {
    const both = { TIDEGATE_OPERATOR_TOKEN_FILE: '/run/token', TIDEGATE_OPERATOR_TOKEN: 'another-token-than-that' }
    expect(problemsOf(load({ files, environment: both }))).toHaveLength(1)
    expect(problemsOf(load({ files, environment: { TIDEGATE_OPERATOR_TOKEN_FILE: '/none' } }))).toEqual([
      'operator.token cannot be read from /none: ENOENT (from TIDEGATE_OPERATOR_TOKEN_FILE)',
    ])
  })

  it('secrets are never repeated in a problem', () => {
    const bad = { files, environment: { TIDEGATE_OPERATOR_TOKEN_FILE: '/run/bad' } }
    expect(problemsOf(load(bad))).toHaveLength(1)
    expect(problemsOf(load(bad)).join()).not.toContain('two words')
    expect(problemsOf(load({ flags: { 'operator.token': 'two words' } })).join()).not.toContain('two words')
    expect(problemsOf(loadFile('operator: {token: "secret-one')).join()).not.toContain('secret-one')
  })

  it('secrets are not repeated where they break a rule together with another key', () => {
    const xpub = accountPublicKey(1)
    const problems = problemsOf(load({ flags: { 'rest.sandbox': 'true', 'custody.bitcoin.xpub': xpub } }))
    expect(problems).toEqual([
      expect.stringMatching(/^rest\.sandbox is true; it must be false while custody\.bitcoin\.xpub is set.* \(set\) /),
    ])
    expect(problems.join()).not.toContain(xpub)
  })
})

describe('markets', () => {
  it('markets may be simulated only with simulator.allowed; each other one is named with both keys', () => {
    const simulated = ['BTC', 'ETH'].map((base) => {
      return { ...MARKET, symbol: `${base}USD`, base_asset: base, sources: ['simulator'] }
    })
    const text = JSON.stringify([simulated[0], { ...MARKET, symbol: 'SOLUSD', base_asset: 'SOL' }, simulated[1]])
    const refused = problemsOf(load({ flags: { markets: text } }))
    expect(refused).toHaveLength(2)
    expect(refused[0]).toMatch(/^markets\[0\]\.sources\[0\] is simulator, .*simulator\.allowed.* \(from --markets\)$/)
    expect(refused[1]).toMatch(/^markets\[2\]\.sources\[0\] is simulator, .*simulator\.allowed/)
    expect(problemsOf(load({ flags: { markets: text, 'simulator.allowed': 'true' } }))).toEqual([])
  })

  it('markets are limited in number', () => {
    const many = (count: number) => Array.from({ length: count }, () => MARKET)
    expect(SETTINGS.markets.read(many(MARKETS_MAX + 1))).toEqual({
      problems: [{ path: '', message: 'has 5001 markets, but at most 5000 are allowed' }],
    })
    // Checked one by one, all but the first are repeated.
    expect((SETTINGS.markets.read(many(MARKETS_MAX)) as { problems: object[] }).problems).toHaveLength(4_999)
  })

  it('markets keep every rule of their members', () => {
    expect(marketProblems(MARKET)).toEqual([])
    expect(marketProblems({ ...MARKET, price_decimals: 18, amount_decimals: 0, depth: 0 })).toEqual([])
    expect(marketProblems({ ...MARKET, price_decimals: 19, amount_decimals: -1, depth: 1.5 })).toEqual([
      'markets[0].price_decimals is 19, not a whole number from 0 to 18',
      'markets[0].amount_decimals is -1, not a whole number from 0 to 18',
      'markets[0].depth is 1.5, not a whole number from 0 to 1000000',
    ])
    expect(marketProblems({ ...MARKET, symbol: 'BTCEUR' })).toEqual([
      'markets[0].symbol is BTCEUR, but base and quote make BTCUSD',
    ])
    expect(marketProblems({ ...MARKET, symbol: 'btcusd', base_asset: 'btc' })).toHaveLength(2)
    expect(marketProblems({ ...MARKET, price_decimal: 1 })).toEqual([
      'markets[0].price_decimal is unknown; did you mean price_decimals?',
    ])
    expect(marketProblems(1, {})).toHaveLength(8)
    expect(problemsOf(load({ flags: { markets: 'BTCUSD' } }))).toEqual([
      'markets is not a list of markets (from --markets)',
    ])
  })

  it('markets are unique', () => {
    expect(marketProblems(MARKET, { ...MARKET, sources: ['simulator'] })).toEqual([
      'markets[1].symbol is BTCUSD, which markets[0] already has',
    ])
  })

  it('markets may have only the sources of this version', () => {
    const sources = (...list: unknown[]) => marketProblems({ ...MARKET, sources: list })
    expect(sources('simulator')).toEqual([])
    expect(sources('kraken:BTC/USD', 'kraken:BTC/USDT')).toEqual([])
    expect(sources('kraken:BTC/USD', 'nowhere:BTC-USD')).toEqual([
      expect.stringMatching(
        /^markets\[0\]\.sources\[1\] names the feed nowhere, which is not configured \(there are kraken, /,
      ),
    ])
    expect(sources('constructor:BTC')).toHaveLength(1)
    expect(sources('simulator:BTC')).toEqual(['markets[0].sources[0] the simulator takes no symbol'])
    expect(sources('kraken')).toEqual(['markets[0].sources[0] is "kraken", not like kraken:BTC/USD'])
    expect(sources()).toEqual(['markets[0].sources is [], not a list of sources'])
    expect(marketProblems({ ...MARKET, amount_decimals: 9, sources: ['simulator'] })).toEqual([
      'markets[0].sources[0] is simulator, which has at most 8 decimals',
    ])
    expect(sources(7)).toHaveLength(1)
  })

  it('markets have each source once, eight at most, and nothing beside one that stands alone', () => {
    const sources = (...list: unknown[]) => marketProblems({ ...MARKET, sources: list })
    const many = Array.from({ length: 8 }, (_, index) => `kraken:BTC/US${index}`)
    expect(sources(...many)).toEqual([])
    expect(sources(...many, 'kraken:BTC/USD')).toEqual([
      'markets[0].sources names 9 sources, but at most 8 are allowed',
    ])
    expect(sources('kraken:BTC/USD', 'kraken:ETH/USD', 'kraken:BTC/USD')).toEqual([
      'markets[0].sources[2] is kraken:BTC/USD, which sources[0] already names',
    ])
    expect(sources('kraken:BTC/USD', 'simulator')).toEqual([
      'markets[0].sources names simulator beside other sources, but a simulated or recorded book must be the only source',
    ])
    expect(sources('replay:a.tgr')).toEqual([])
    expect(sources('replay:a.tgr', 'replay:b.tgr')).toHaveLength(1)
  })

  it('markets may name how their sources are aggregated, and a maximum age of each', () => {
    const own = { source: 'okx:BTC-USD', max_age_ms: 500 }
    const aggregation = { policy: 'priority', max_age_ms: 2_000 }
    const entry = { ...MARKET, sources: ['kraken:BTC/USD', own], aggregation }
    const { markets } = configOf(load({ flags: { markets: JSON.stringify([entry]) } }))
    expect(markets[0]).toMatchObject({
      sources: [
        { feed: 'kraken', symbol: 'BTC/USD' },
        { feed: 'okx', symbol: 'BTC-USD', maxAgeMilliseconds: 500 },
      ],
      aggregation: { policy: 'priority', maxAgeMilliseconds: 2_000 },
    })
    expect(SETTINGS.markets.show(markets)).toMatchObject([{ sources: ['kraken:BTC/USD', own], aggregation }])
    const problems = (change: object) => marketProblems({ ...entry, ...change })
    expect(problems({ aggregation: { policy: 'newest', max_age_ms: 0, age: 1 } })).toEqual([
      'markets[0].aggregation.age is unknown (there are policy and max_age_ms)',
      'markets[0].aggregation.policy is "newest", not recency or priority',
      'markets[0].aggregation.max_age_ms is 0, not a whole number of milliseconds from 1 to 86400000',
    ])
    expect(problems({ aggregation: [] })).toEqual(['markets[0].aggregation is [], not an object'])
    expect(problems({ sources: [{ source: 'kraken:BTC/USD', max_age_ms: 1.5 }] })).toEqual([
      'markets[0].sources[0] has max_age_ms that is 1.5, not a whole number of milliseconds from 1 to 86400000',
    ])
    expect(problems({ sources: [{ source: 'kraken:BTC/USD', age: 1 }] })).toEqual([
      'markets[0].sources[0] has the unknown member age (there are source and max_age_ms)',
    ])
  })

  it('markets show their sources as they were written', () => {
    const { markets } = configOf(
      load({ flags: { markets: JSON.stringify([{ ...MARKET, sources: ['kraken:A/B', 'kraken:C/D'] }]) } }),
    )
    expect(SETTINGS.markets.show(markets)).toMatchObject([{ sources: ['kraken:A/B', 'kraken:C/D'] }])
  })
})
