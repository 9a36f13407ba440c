/**
 * A FIX engine, the adapter, the whole service, and a customer: what the customer's stream adds up to is the engine's book
 * and every trade once, also after a gap in the engine's messages.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FixAdapter } from '../../packages/fix-adapter/adapter.mjs'
import { Random } from '../support/random.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'
import { FixAcceptor } from './fix-acceptor.ts'
import { EngineBook, type EngineSide, incremental } from './fix-stage.ts'

const SEED = 5
const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 20_000 : 300
const SYMBOL = 'BTC/USD'
const folder = temporaryFolder()
const ends: (() => Promise<unknown>)[] = []
let service: ServiceInside

beforeAll(async () => {
  service = await startServiceInside(folder.path, [market('BTC', 2, 50, 'ingest')], { 'ingest.port': 0 })
  ends.push(() => service.stop())
})

afterAll(async () => {
  for (const end of ends.reverse()) await end()
  folder.remove()
})

it("a FIX market's book reaches customers exactly, through the ingest listener", async () => {
  const random = new Random(SEED)
  const engine = new EngineBook(SYMBOL)
  const acceptor = await FixAcceptor.start()
  ends.push(() => acceptor.stop())
  let requestId = ''
  acceptor.onSubscribe = (_, id) => {
    requestId = id
    acceptor.send('W', engine.full(id))
  }
  const log = await startAdapter(acceptor)
  await expect.poll(() => log.join()).toContain('connected to Tidegate')
  const customer = await SampleClient.connect({ wsUrl: service.ws, token: await newToken(service) })
  await customer.subscribeAll('BTCUSD')
  await customer.until('the book', () => isEqual(customer, engine))

  for (let round = 1; round <= ROUNDS; round++) {
    const entries = engine.random(random).filter((fields) => !fields.some(([tag]) => tag === 1003))
    const fields = incremental(SYMBOL, requestId, [...entries, engine.trade(10_000, round)])
    if (round % 100 === 50) acceptor.lose('X', fields)
    else acceptor.send('X', fields)
    if (round % 20 === 0) await customer.until(`round ${round}`, () => isEqual(customer, engine))
  }
  await customer.until('every trade', () => customer.executions.length >= ROUNDS && isEqual(customer, engine))
  expect(customer.executions.map(({ amount }) => amount.replace(/0+$/, ''))).toEqual(
    Array.from({ length: ROUNDS }, (_, index) => ((index + 1) / 100).toFixed(2).replace(/0+$/, '')),
  )
  expect(customer.executions[0]).toMatchObject({ price: expect.stringMatching(/^100(\.0+)?$/) })
  expect(customer.problems).toEqual([])
  expect(acceptor.violations).toEqual([])
  expect(log.filter((line) => line.includes('messages of the engine are missing'))).toHaveLength(ROUNDS / 100)
  await customer.close()
})

/** Starts the adapter as an engine's client that may publish the market; returns its log. */
async function startAdapter(acceptor: FixAcceptor): Promise<string[]> {
  const { id } = await service.operator.call<{ id: string }>('POST', '/customers', { name: 'The exchange' })
  const client = await service.operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${id}/clients`,
    { name: 'engine', scopes: ['exchange:publish_marketdata'], publish_markets: ['BTCUSD'] },
  )
  const { ingest = '' } = service as ServiceInside & { readonly ingest?: string }
  const log: string[] = []
  const adapter = new FixAdapter(
    {
      fix: {
        host: '127.0.0.1',
        port: acceptor.port,
        tls: undefined,
        version: 'FIX.4.4',
        senderCompId: 'TIDEGATE',
        targetCompId: 'ENGINE',
        username: undefined,
        password: undefined,
        heartbeatSeconds: 30,
        resetSequenceNumbers: true,
      },
      markets: [
        {
          market: 'BTCUSD',
          symbol: SYMBOL,
          keyedBy: 'price',
          depth: 0,
          refresh: 'incremental',
          securityStatus: false,
          tradeSideTag: 2446,
          states: { tradingStatus: {}, sessionPhase: {} },
          priceDecimals: 2,
          amountDecimals: 2,
        },
      ],
      tidegate: {
        url: ingest.replace(/^http/, 'ws'),
        authUrl: service.http,
        clientId: client.client_id,
        clientSecret: client.client_secret,
      },
    },
    { log: (level, message, members) => log.push(JSON.stringify({ level, message, ...members })) },
  )
  adapter.start()
  ends.push(() => adapter.stop())
  return log
}

function isEqual(customer: SampleClient, engine: EngineBook): boolean {
  const book = customer.book('BTCUSD')
  return (['buy', 'sell'] as const).every((side) => {
    const received = [...(side === 'buy' ? book.bids : book.asks)].map(([price, amount]) => [trim(price), trim(amount)])
    return JSON.stringify(received.sort()) === JSON.stringify(expected(engine, side))
  })
}

function expected(engine: EngineBook, side: EngineSide): string[][] {
  return engine
    .levels(side)
    .map(({ price, amount }) => [price, amount])
    .sort()
}

/** Without superfluous zeros. */
function trim(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
