/** Both clients on a real service: books that name their venues, with fewer subscriptions on a connection than usual. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Book, type Credentials, RestClient, StreamClient } from '../../packages/client/src/index.ts'
import { endExamples, pythonWith, startExample, titleWith } from '../support/foreign-programs.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'
import {
  market,
  type ServiceInside,
  STREAM_SCOPE,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'

const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD', 'DDDUSD']
/** The heartbeat, and two books. */
const SUBSCRIPTIONS_MAX = 3
const PYTHON = pythonWith('websockets')

/** Opens all books together; prints what each came to, a line each. */
const PYTHON_PROGRAM = `
import asyncio, sys
from tidegate_client import Book, Credentials, StreamClient, TidegateError

def describe(level):
    return " ".join(share.venue for share in level.venues if share.amount == level.amount)

async def main():
    async with StreamClient(Credentials.read(sys.argv[1])) as client:
        opening = [client.book(market, attribution=True) for market in sys.argv[2:]]
        outcomes = await asyncio.gather(*opening, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Book):
                changes = aiter(outcome)
                while (await anext(changes)).type == "SNAPSHOT":
                    pass
                print(outcome.market, outcome.status, describe(outcome.best_bid))
            else:
                print(outcome.code, outcome)

asyncio.run(main())
`

/** Prints the market's book, number of trades, ticker and candles. */
const PYTHON_MARKET_DATA = `
import asyncio, json, sys
from tidegate_client import Credentials, MarketData

async def main():
    data = MarketData(Credentials.read(sys.argv[1]), sys.argv[2])
    book = await data.order_book("AAAUSD", depth=5)
    ticker = await data.ticker("AAAUSD")
    candles = await data.candles("AAAUSD", "1h", limit=1)
    trades = await data.trades("AAAUSD", limit=1)
    print(json.dumps([book["depth"], len(book["bids"]), book["market"], ticker["market"], len(candles), len(trades)]))

asyncio.run(main())
`

const folder = temporaryFolder()
let service: ServiceInside
let credentials: Credentials

beforeAll(async () => {
  const markets = MARKETS.map((symbol) => market(symbol.slice(0, 3), 2, 10))
  service = await startServiceInside(folder.path, markets, { 'stream.subscriptions_max': SUBSCRIPTIONS_MAX })
  const { customerId } = await service.operator.createClient()
  const scopes = [STREAM_SCOPE, 'exchange:read_marketdata']
  const created = await service.operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${customerId}/clients`,
    { name: 'both', scopes },
  )
  const { http, ws } = service
  const { client_id, client_secret } = created
  credentials = { client_id, client_secret, scopes, auth_url: http, base_url: http, ws_url: ws }
  writeFileSync(join(folder.path, 'credentials.json'), JSON.stringify(credentials))
})

afterAll(async () => {
  endExamples()
  await service.stop()
  folder.remove()
})

function refusal(symbol: string): string {
  const reason = `the limit of ${SUBSCRIPTIONS_MAX} subscriptions per connection is reached (NO_EFFECT_ACTION)`
  return `SUBSCRIPTION_REFUSED ${symbol}: ${reason}. Close others, or use one more StreamClient`
}

/** The first two markets have books, whatever was requested with them. */
const EXPECTED = MARKETS.map((symbol, index) =>
  index + 1 < SUBSCRIPTIONS_MAX ? `${symbol} LIVE simulator` : refusal(symbol),
)

/** The book after its first UPDATE. */
async function describe(book: Book): Promise<string> {
  for await (const { type } of book) if (type === 'UPDATE') break
  const { market: symbol, status, bestBid } = book
  const venues = bestBid?.venues?.filter(({ amount }) => amount === bestBid.amount)
  return `${symbol} ${status} ${venues?.map(({ venue }) => venue).join(' ')}`
}

it('the TypeScript client has as many books as the service allows', async () => {
  const client = new StreamClient({ credentials })
  const opening = MARKETS.map((symbol) => client.book(symbol, { attribution: true }))
  const outcomes = await Promise.allSettled(opening)
  const texts = outcomes.map(async (outcome) =>
    outcome.status === 'fulfilled' ? describe(outcome.value) : `${outcome.reason.code} ${outcome.reason.message}`,
  )
  expect(await Promise.all(texts)).toEqual(EXPECTED)
  client.close()
})

const test = PYTHON.isSkipped ? it.skip : it
test(titleWith('the client in Python has as many', PYTHON, 'python3 with websockets'), async () => {
  const args = ['-c', PYTHON_PROGRAM, join(folder.path, 'credentials.json'), ...MARKETS]
  const { stdout, stderr } = await startExample(PYTHON.file, args, PYTHON_ENVIRONMENT).result
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual(EXPECTED)
})

it('the TypeScript client reads a market’s book, trades, ticker and candles', async () => {
  const rest = new RestClient({ credentials })
  const { depth, bids, digest } = await rest.orderBook('AAAUSD', { depth: 5 })
  expect([depth, bids.length, digest.length]).toEqual([5, 5, 16])
  expect((await rest.ticker('AAAUSD')).market).toBe('AAAUSD')
  await expect.poll(() => rest.trades('AAAUSD', { limit: 1 }), { timeout: 20_000 }).toHaveLength(1)
  await expect.poll(() => rest.candles('AAAUSD', { interval: '1h', limit: 1 }), { timeout: 20_000 }).toHaveLength(1)
  await expect(rest.orderBook('NOUSD')).rejects.toThrow('AAAUSD')
})

test(titleWith('the client in Python reads them too', PYTHON, 'python3 with websockets'), async () => {
  const args = ['-c', PYTHON_MARKET_DATA, join(folder.path, 'credentials.json'), service.http]
  const { stdout, stderr } = await startExample(PYTHON.file, args, PYTHON_ENVIRONMENT).result
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual([5, 5, 'AAAUSD', 'AAAUSD', 1, 1])
})
