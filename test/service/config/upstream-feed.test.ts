/** Feeds of the kind `tidegate`: their members, their secrets, and sources that name them. */
import { describe, expect, it } from 'vitest'
import { feedTransportProblems } from '../../../src/service/config/feeds.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { SETTINGS } from '../../../src/service/config/settings.ts'

const MARKET = { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2, amount_decimals: 8 }

function load(engine: object, source = 'engine:BTCUSD') {
  const feeds = JSON.stringify({ engine: { kind: 'tidegate', ...engine } })
  const markets = JSON.stringify([{ ...MARKET, depth: 10, sources: [source] }])
  return loadConfig({ flags: { feeds, markets }, environment: {}, file: undefined, readFile: () => '' })
}

function upstream(engine: object) {
  const result = load(engine)
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
  const feed = result.config.feeds.get('engine')
  if (feed?.kind !== 'tidegate') throw new Error('the feed is of another kind')
  const shown = SETTINGS.feeds.show(result.config.feeds) as Record<string, unknown>
  return { ...feed.upstream, shown: shown.engine, warnings: feedTransportProblems(result.config.feeds) }
}

function problems(engine: object, source?: string): string[] {
  const result = load(engine, source)
  return result.ok ? [] : result.problems.map(describeProblem)
}

describe('a feed of the kind tidegate', () => {
  it('a tidegate feed has an address and perhaps a token, which is masked where the configuration is shown', () => {
    expect(upstream({ url: 'wss://engine.internal:9001/' })).toMatchObject({
      url: 'wss://engine.internal:9001',
      credentials: { kind: 'none' },
      shown: { kind: 'tidegate', url: 'wss://engine.internal:9001' },
    })
    expect(upstream({ url: 'wss://engine', token: 'abc' })).toMatchObject({
      credentials: { kind: 'token', token: { text: 'abc' } },
      shown: { token: '********' },
    })
    expect(upstream({ url: 'wss://engine', token_file: '/run/token' })).toMatchObject({
      credentials: { kind: 'token', token: { file: '/run/token' } },
      shown: { token_file: '/run/token' },
    })
  })

  it("a tidegate feed may have another Tidegate's client, whose tokens come from the origin of the address", () => {
    const client = { client_id: 'relay', client_secret: 'swordfish' }
    expect(upstream({ url: 'wss://other.example:8443/stream', ...client })).toMatchObject({
      credentials: { kind: 'client', clientId: 'relay', authUrl: 'https://other.example:8443' },
      shown: { client_id: 'relay', client_secret: '********', auth_url: 'https://other.example:8443' },
    })
    expect(upstream({ url: 'ws://127.0.0.1:9', ...client })).toMatchObject({
      credentials: { authUrl: 'http://127.0.0.1:9' },
    })
    expect(upstream({ url: 'wss://other', auth_url: 'https://login.example', ...client })).toMatchObject({
      credentials: { authUrl: 'https://login.example' },
    })
  })

  it('a tidegate feed reports every wrong member, and quotes no secret', () => {
    const from = ' (from --feeds)'
    expect(problems({ token: 'swordfish', rest_url: 'https://x', client_id: 'a' })).toEqual([
      `feeds.engine.rest_url is unknown${from}`,
      `feeds.engine.url is missing. Set it to the publisher’s address${from}`,
      `feeds.engine.client_id is given beside token, but only one may identify this client${from}`,
      `feeds.engine.client_id has no client_secret or client_secret_file${from}`,
    ])
    expect(problems({ url: 'wss://x', token: 'sword fish' }).join()).toMatch(/^feeds.engine.token is not 1 to /)
    expect(problems({ url: 'wss://x', token: 'sword fish' }).join()).not.toContain('sword')
    expect(problems({ url: 'http://x', token: 7 })).toHaveLength(2)
    expect(problems({ url: 'wss://x', auth_url: 'https://y', client_secret: 'a', client_secret_file: 'b' })).toEqual([
      `feeds.engine.client_secret is given beside client_secret_file, but only one may identify this client${from}`,
      `feeds.engine.client_secret is given without client_id${from}`,
      `feeds.engine.client_secret_file is given without client_id${from}`,
      `feeds.engine.auth_url is given without client_id${from}`,
    ])
  })

  it('a tidegate feed takes the symbols of a publisher', () => {
    const url = 'wss://engine'
    expect(problems({ url }, 'engine:XBT/EUR_perp')).toEqual([])
    expect(problems({ url }, 'engine:')).toEqual([
      'markets[0].sources[0] is "engine", not like engine:BTCUSD (from --markets)',
    ])
  })

  it('a tidegate feed has its address replaced by a flag, but no address that it does not have', () => {
    const feeds = JSON.stringify({ engine: { kind: 'tidegate', url: 'wss://engine', token: 'abc' } })
    const flagged = (key: string, value: string) =>
      loadConfig({
        flags: { [key]: value },
        environment: { TIDEGATE_FEEDS: feeds },
        file: undefined,
        readFile: () => '',
      })
    const changed = flagged('feeds.engine.url', 'ws://localhost:1')
    expect(changed.ok && changed.config.feeds.get('engine')).toMatchObject({
      upstream: { url: 'ws://localhost:1', credentials: { kind: 'token' } },
    })
    const wrong = flagged('feeds.engine.rest_url', 'http://localhost:1')
    expect(!wrong.ok && wrong.problems.map(({ message }) => message)).toEqual([
      'is not a member of a feed with the kind tidegate',
    ])
  })

  it('a tidegate feed causes a warning when a secret is sent to another machine over a connection without TLS', () => {
    expect(upstream({ url: 'ws://engine.internal:9', token: 'abc' }).warnings).toEqual([
      'feeds.engine sends a secret over ws://: others can read it on the way to engine.internal:9; use wss',
    ])
    const client = { client_id: 'relay', client_secret: 'swordfish', auth_url: 'http://login.example' }
    expect(upstream({ url: 'wss://engine', ...client }).warnings).toEqual([
      'feeds.engine sends a secret over http://: others can read it on the way to login.example; use https',
    ])
    expect(upstream({ url: 'ws://engine.internal:9' }).warnings).toEqual([])
    expect(upstream({ url: 'ws://127.0.0.1:9', token: 'abc' }).warnings).toEqual([])
  })
})
