/** `GET /v2/markets`: who may ask, what is said of each market, and how its state changes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Instrument } from '../../../src/streaming/market/event.ts'
import { RestNode } from '../../support/rest.ts'
import { LiveStream } from '../gateway/live-stream.ts'

const stream = new LiveStream({ markets: ['ZZZUSD', 'AAAUSD', 'SIMUSD'], depth: 5 })
let node: RestNode

beforeAll(async () => {
  node = await RestNode.open({ hub: stream.hub })
})
afterAll(() => node.close())

interface Item {
  readonly market: string
  readonly state: string
  readonly state_since: string
  readonly simulated: boolean
  readonly instrument_state?: string
  readonly instrument_reason?: string
  readonly proof: string
}

async function markets(): Promise<readonly Item[]> {
  const { call } = await node.newCustomer()
  const { status, body } = await call('GET', '/v2/markets')
  expect(status).toBe(200)
  return body.items
}

const now = () => new Date(stream.clock.wallInstant().milliseconds).toISOString()

/** Does something to the markets; the result is when it began and when it was over. */
function during(work: () => void): { readonly began: string; readonly ended: string } {
  const began = now()
  work()
  stream.clock.settle()
  return { began, ended: now() }
}

async function expectState(symbol: string, state: string, since: { readonly began: string; readonly ended: string }) {
  const item = (await markets()).find(({ market }) => market === symbol) as Item
  expect(item.state).toBe(state)
  expect(item.state_since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(item.state_since >= since.began && item.state_since <= since.ended, item.state_since).toBe(true)
}

describe('GET /v2/markets', () => {
  it('GET /v2/markets lists every market by name, none with a book yet', async () => {
    const since = now()
    const common = { quote_asset: 'USD', price_decimals: 2, amount_decimals: 4, depth: 5, state: 'STARTING' }
    const items = ['AAA', 'SIM', 'ZZZ'].map((base_asset) => ({
      market: `${base_asset}USD`,
      base_asset,
      ...common,
      ...{ tick_size: '0.01', amount_min: '0.0001' },
      state_since: since,
      simulated: base_asset === 'SIM',
      // While it is not known whether they trade, nothing is claimed.
      proof: 'NONE',
    }))
    expect(await markets()).toEqual(items)
  })

  it('GET /v2/markets names the state and since when: STARTING, LIVE, STALE, LIVE again', async () => {
    const start = during(() => undefined)
    stream.clock.advance(1_500)
    // A source that is lost before its first book changes nothing.
    during(() => stream.lose())
    await expectState('AAAUSD', 'STARTING', start)
    stream.clock.advance(500)
    const live = during(() => stream.snapshot())
    await expectState('AAAUSD', 'LIVE', live)
    stream.clock.advance(60_000)
    await expectState('AAAUSD', 'LIVE', live)
    const stale = during(() => stream.lose())
    stream.clock.advance(2_000)
    during(() => stream.lose())
    await expectState('AAAUSD', 'STALE', stale)
    await expectState('AAAUSD', 'STALE', stale)
    const liveAgain = during(() => stream.snapshot())
    await expectState('AAAUSD', 'LIVE', liveAgain)
    await expectState('ZZZUSD', 'STARTING', start)
  })

  it('GET /v2/markets names whether the instrument trades, and why not, whatever the state of its book', async () => {
    const report = (symbol: string, instrument: Instrument) => stream.sequencers.get(symbol)?.setInstrument(instrument)
    during(() => {
      report('AAAUSD', { state: 'OPEN', reason: '' })
      report('SIMUSD', { state: 'AUCTION', reason: 'binance:SIMUSDT: AUCTION_MATCH' })
      report('ZZZUSD', { state: 'HALTED', reason: 'kraken:ZZZ/USD: cancel_only' })
    })
    expect(
      (await markets()).map(({ instrument_state, instrument_reason }) => [instrument_state, instrument_reason]),
    ).toEqual([
      ['OPEN', undefined],
      ['AUCTION', 'binance:SIMUSDT: AUCTION_MATCH'],
      ['HALTED', 'kraken:ZZZ/USD: cancel_only'],
    ])
  })

  it('GET /v2/markets names what proves the book of a market while it is LIVE', async () => {
    const proofs = async () => (await markets()).map(({ proof }) => proof)
    during(() => stream.snapshot())
    expect(await proofs()).toEqual(['SEQUENCE', 'NONE', 'NONE'])
    during(() => stream.lose())
    expect(await proofs()).toEqual(['NONE', 'NONE', 'NONE'])
  })

  it('GET /v2/markets takes any valid token, whatever its scopes, and no other', async () => {
    const streamOnly = await node.newCustomer(['exchange:read_aggregated_marketdata_stream'])
    expect((await streamOnly.call('GET', '/v2/markets')).status).toBe(200)
    expect((await streamOnly.call('HEAD', '/v2/markets')).status).toBe(200)
    expect((await streamOnly.call('POST', '/v2/markets', {})).status).toBe(405)
    expect((await fetch(`${node.url}/v2/markets`)).status).toBe(401)
    await node.operator('PATCH', `/clients/${streamOnly.clientId}`, { enabled: false })
    expect((await streamOnly.call('GET', '/v2/markets')).status).toBe(403)
  })

  it('GET /v2/markets names the parameters that it ignores, as all lists do', async () => {
    const { call } = await node.newCustomer()
    const answer = await call('GET', '/v2/markets?limit=2&symbol=AAAUSD')
    expect([answer.status, answer.body.items.length]).toEqual([200, 3])
    expect(answer.headers.get('tidegate-ignored-parameters')).toBe('limit, symbol')
    expect((await call('GET', '/v2/markets')).headers.has('tidegate-ignored-parameters')).toBe(false)
  })

  it('GET /v2/markets has a rate limit of its own, as other operations have', async () => {
    const limited = await RestNode.open({ hub: stream.hub, ratePerSecond: 2 })
    const { call } = await limited.newCustomer()
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('GET', '/v2/markets')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429])
    expect(answers[0]?.headers.get('ratelimit-policy')).toMatch(/^"list-markets";q=4/)
    await limited.close()
  })
})
