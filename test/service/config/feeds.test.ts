/** Feeds by name: which there are, how one is added, and how a flag or a variable replaces one address. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { SETTINGS } from '../../../src/service/config/settings.ts'
import { VENUE_NAMES } from '../../../src/streaming/sources/venues/venues.ts'

const US = { kind: 'binance', url: 'wss://stream.binance.us:9443/stream', rest_url: 'https://api.binance.us' }

interface Given {
  readonly flags?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
  /** Text of the configuration file. */
  readonly file?: string
}

function load({ flags = {}, environment = {}, file }: Given) {
  return loadConfig({ flags, environment, file: file === undefined ? undefined : 'a.yaml', readFile: () => file ?? '' })
}

/** All feeds as a configuration file would hold them. */
function shown(given: Given) {
  const result = load(given)
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
  return SETTINGS.feeds.show(result.config.feeds) as Record<string, Record<string, string>>
}

function problems(given: Given): string[] {
  const result = load(given)
  return result.ok ? [] : result.problems.map(describeProblem)
}

const feedsFlag = (feeds: object) => ({ flags: { feeds: JSON.stringify(feeds) } })

function withSources(feeds: object, ...sources: unknown[]): Given {
  const market = { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2, amount_decimals: 8 }
  const flags = { feeds: JSON.stringify(feeds), markets: JSON.stringify([{ ...market, depth: 10, sources }]) }
  return { flags }
}

describe('feeds', () => {
  it('each kind has a feed without being configured', () => {
    expect(Object.keys(shown({}))).toEqual(VENUE_NAMES)
    expect(shown({}).binance).toEqual({
      kind: 'binance',
      url: 'wss://stream.binance.com:9443/stream',
      rest_url: 'https://api.binance.com',
    })
    expect(shown({ file: 'feeds:\n' })).toEqual(shown({}))
  })

  it('feeds are added by name, beside those of their kind', () => {
    const spare = { kind: 'coinbase' }
    const feeds = shown(feedsFlag({ 'binance-us': US, 'coinbase-2': spare, kraken: { url: 'ws://127.0.0.1:9' } }))
    expect(feeds['binance-us']).toEqual(US)
    expect(feeds['coinbase-2']).toEqual(feeds.coinbase)
    expect(feeds.kraken).toMatchObject({ kind: 'kraken', url: 'ws://127.0.0.1:9' })
    expect(feeds.binance).toEqual(shown({}).binance)
  })

  it("feeds may have another host's addresses of the same exchange, one by one where they have their kind's name", () => {
    const url = 'wss://data-stream.binance.vision/stream'
    expect(shown(feedsFlag({ binance: { url } })).binance).toMatchObject({ url, rest_url: 'https://api.binance.com' })
    expect(problems(feedsFlag({ vision: { kind: 'binance', url } }))).toEqual([
      'feeds.vision.rest_url is missing: url and rest_url must belong to the same exchange. Set both or neither (from --feeds)',
    ])
  })

  it.each([
    [
      { 'binance-us': { ...US, kind: 'binanse' } },
      `.binance-us.kind is "binanse", not one of ${[...VENUE_NAMES, 'tidegate'].join(', ')}`,
    ],
    [{ us: { url: US.url } }, `.us.kind is missing, not one of ${[...VENUE_NAMES, 'tidegate'].join(', ')}`],
    [{ kraken: { kind: 'okx' } }, '.kraken.kind is okx, but the feed kraken is of the kind kraken'],
    [{ us: { ...US, rest_ur: 'x' } }, '.us.rest_ur is unknown; did you mean rest_url?'],
    [
      { us: { ...US, url: 'https://a.test' } },
      '.us.url is "https://a.test", not an address starting with wss:// or ws://',
    ],
    [
      { us: { ...US, rest_url: 'ws://a.test' } },
      '.us.rest_url is "ws://a.test", not an address starting with https:// or http://',
    ],
    [{ us: 7 }, '.us is not an object'],
    [{ replay: US }, '.replay is a reserved name (as are ingest, module, simulator)'],
    [{ ingest: US }, '.ingest is a reserved name (as are module, replay, simulator)'],
    [{ module: US }, '.module is a reserved name (as are ingest, replay, simulator)'],
    [{ simulator: US }, '.simulator is a reserved name (as are ingest, module, replay)'],
    [{ Binance: US }, '.Binance is not a name of 1 to 32 small letters, digits and hyphens, beginning with a letter'],
    [{ 'us-rest': US }, '.us-rest is not a name: it ends in -rest'],
    [[], ' is not a map of feeds by name'],
    [
      Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`f${index}`, US])),
      ' has 65 feeds, but at most 64 are allowed',
    ],
  ])('feeds refuse %j', (feeds, problem) => {
    expect(problems(feedsFlag(feeds))).toEqual([`feeds${problem} (from --feeds)`])
  })

  it('feeds have single addresses in flags, variables and flat keys of a file, the strongest first', () => {
    const file = `feeds: {binance-us: ${JSON.stringify(US)}}\nfeeds.kraken.url: ws://file.test\nfeeds.okx.url: ws://file.test\n`
    const environment = {
      TIDEGATE_FEEDS_BINANCE_US_URL: 'ws://variable.test',
      TIDEGATE_FEEDS_BINANCE_US_REST_URL: 'http://variable.test/',
      TIDEGATE_FEEDS_OKX_URL: 'ws://variable.test',
    }
    const flags = { 'feeds.binance-us.url': 'ws://flag.test' }
    const given = { file, environment, flags }
    expect(shown(given)).toMatchObject({
      'binance-us': { kind: 'binance', url: 'ws://flag.test', rest_url: 'http://variable.test' },
      kraken: { url: 'ws://file.test' },
      okx: { url: 'ws://variable.test' },
    })
    const result = load(given)
    expect(result.ok && result.origins.feeds).toBe('a.yaml')
    expect(load({ flags: { 'feeds.kraken.url': 'ws://flag.test' } })).toMatchObject({
      ok: true,
      warnings: [],
      origins: { feeds: '--feeds.kraken.url' },
    })
  })

  it('whole feeds replace single addresses that are weaker', () => {
    const flags = { feeds: JSON.stringify({ 'binance-us': US }) }
    const environment = { TIDEGATE_FEEDS_BINANCE_US_URL: 'ws://variable.test' }
    expect(shown({ flags })['binance-us']).toEqual(US)
    expect(problems({ environment })).toEqual([
      'feeds.binance-us.url names no feed (did you mean binance?). Add a new feed to feeds, with its kind (from TIDEGATE_FEEDS_BINANCE_US_URL)',
    ])
    expect(shown({ flags, environment })['binance-us']).toEqual(US)
  })

  it('feeds refuse single addresses that are wrong or of no feed, each with its own key', () => {
    const flags = {
      'feeds.kraken.url': 'http://a.test',
      'feeds.binanse.rest_url': 'http://a.test',
      'feeds.okx.urk': 'x',
    }
    expect(problems({ flags })).toEqual([
      expect.stringMatching(/^feeds\.okx\.urk is an unknown key/),
      'feeds.kraken.url is "http://a.test", not an address starting with wss:// or ws:// (from --feeds.kraken.url)',
      'feeds.binanse.rest_url names no feed (did you mean binance?). Add a new feed to feeds, with its kind (from --feeds.binanse.rest_url)',
    ])
  })
})

describe('sources', () => {
  it('market sources name feeds, and have symbols as their kind writes them', () => {
    const feeds = { 'binance-us': US }
    expect(problems(withSources(feeds, 'binance:BTCUSDT', 'binance-us:BTCUSDT'))).toEqual([])
    expect(problems(withSources(feeds, 'binance-us:BTC/USDT', { source: 'okx:BTCUSDT', max_age_ms: 5 }))).toEqual([
      'markets[0].sources[0] is "binance-us:BTC/USDT", not like binance-us:BTCUSDT (from --markets)',
      'markets[0].sources[1] is "okx:BTCUSDT", not like okx:BTC-USDT (from --markets)',
    ])
  })

  it('sources of an unknown feed are refused with the nearest name, also where the market has other problems', () => {
    const given = withSources({ 'binance-us': US }, 'binance-u:BTCUSDT', 'simulator:BTC', 'nowhere:BTC')
    expect(problems(given)).toEqual([
      'markets[0].sources[1] the simulator takes no symbol (from --markets)',
      'markets[0].sources[0] names the feed binance-u, which is not configured (did you mean binance-us?) (from --markets)',
      `markets[0].sources[2] names the feed nowhere, which is not configured (there are ${VENUE_NAMES.join(', ')}, binance-us) (from --markets)`,
    ])
  })
})
