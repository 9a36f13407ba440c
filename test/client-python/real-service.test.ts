/** Both clients on a real service: books that name their venues, with fewer subscriptions on a connection than usual. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Book, type Credentials, StreamClient } from '../../packages/client/src/index.ts'
import { endExamples, pythonWith, startExample, titleWith } from '../support/foreign-programs.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder } from '../support/running-service.ts'

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

const folder = temporaryFolder()
let service: ServiceInside
let credentials: Credentials

beforeAll(async () => {
  const markets = MARKETS.map((symbol) => market(symbol.slice(0, 3), 2, 10))
  service = await startServiceInside(folder.path, markets, { 'stream.subscriptions_max': SUBSCRIPTIONS_MAX })
  const { clientId, clientSecret } = await service.operator.createClient()
  const { http, ws } = service
  credentials = { client_id: clientId, client_secret: clientSecret, auth_url: http, base_url: http, ws_url: ws }
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
