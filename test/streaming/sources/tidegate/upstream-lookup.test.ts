import { afterEach, expect, it } from 'vitest'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { loadConfig } from '../../../../src/service/config/load.ts'
import { describeProblem } from '../../../../src/service/config/problem-list.ts'
import { checkSources } from '../../../../src/service/doctor/source-check.ts'
import { PublishingEngine } from '../../../support/publishing-engine.ts'
import { Random } from '../../../support/random.ts'
import { TestPublisher } from '../../../support/test-publisher.ts'

const opened: TestPublisher[] = []
afterEach(async () => {
  for (const publisher of opened.splice(0)) await publisher.kill()
})

function engine(symbol: string) {
  return new PublishingEngine({ symbol, random: new Random(5), publishesOrders: false, keptMax: 9 })
}

/** What `check-config` reports about a market that is fed by this source. */
async function check(url: string, source: string, amountDecimals = 8) {
  const feeds = JSON.stringify({ engine: { kind: 'tidegate', url } })
  const market = { symbol: 'BTCUSD', base_asset: 'BTC', quote_asset: 'USD', price_decimals: 2, depth: 10 }
  const markets = JSON.stringify([{ ...market, amount_decimals: amountDecimals, sources: [source] }])
  const result = loadConfig({ flags: { feeds, markets }, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join())
  const { problems, warnings, goodCount } = await checkSources(result.config, result.origins, createSystemClock())
  return { problems: problems.map(({ key, message }) => `${key} ${message}`), warnings, goodCount }
}

it('check-config asks the publisher for its markets and their decimals', async () => {
  const [btc, eth] = [engine('BTCUSD'), engine('ETHUSD')]
  eth.setState('HALTED')
  const publisher = await TestPublisher.start([btc, eth])
  opened.push(publisher)
  expect(await check(publisher.url, 'engine:BTCUSD')).toEqual({ problems: [], warnings: [], goodCount: 1 })
  expect(await check(publisher.url, 'engine:XRPUSD')).toEqual({
    problems: ['markets[0].sources[0] is engine:XRPUSD, which engine does not list'],
    warnings: [],
    goodCount: 0,
  })
  expect(await check(publisher.url, 'engine:BTCUSD', 4)).toMatchObject({
    problems: [
      'markets[0].sources[0] is engine:BTCUSD, which has 2 price and 8 amount decimals, but BTCUSD keeps 2 and 4',
    ],
  })
  expect((await check(publisher.url, 'engine:ETHUSD')).warnings).toEqual([
    'markets[0].sources[0]: engine lists ETHUSD as HALTED. Its book may stand still',
  ])
  await publisher.until('the end of all connections', () => publisher.connections === 0)
})

it('a publisher that cannot be asked causes a warning', async () => {
  const publisher = await TestPublisher.start([engine('BTCUSD')], { token: 'secret' })
  opened.push(publisher)
  expect(await check(publisher.url, 'engine:BTCUSD')).toEqual({
    problems: [],
    warnings: ['engine could not be asked for its markets’ pairs: Unexpected server response: 401'],
    goodCount: 0,
  })
})
