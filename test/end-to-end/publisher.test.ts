/**
 * An engine that pushes its book, the whole service, and a customer: the engine's token, what the customer receives, what
 * is rejected, how access ends, and that none of it exists in a service without the ingest listener.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { PUBLISH_SCOPE } from '../../src/contract/scopes.ts'
import { claimPort } from '../support/ports.ts'
import { PublisherClient } from '../support/publisher-client.ts'
import { ENGINE_DECIMALS, PublishingEngine } from '../support/publishing-engine.ts'
import { Random } from '../support/random.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  type TestClient,
  temporaryFolder,
} from '../support/running-service.ts'
import { startRunningTime } from '../support/running-time.ts'
import { fetchToken, SampleClient } from '../support/sample-client.ts'
import type { SampleExecution, SampleLevel } from '../support/sample-messages.ts'

const SEED = 20_261_123
const ROUNDS = 400
const folder = temporaryFolder()
const { price: priceDecimals, amount: amountDecimals } = ENGINE_DECIMALS
const MARKETS = ['BTC', 'ETH'].map((base) => market(base, priceDecimals, 50, 'ingest', amountDecimals))
let service: ServiceInside
let engineClient: TestClient

beforeAll(async () => {
  service = await startServiceInside(folder.path, MARKETS, {
    // The same again for the service that is started later.
    'ingest.port': await claimPort(),
    'receipts.enabled': 'true',
  })
  engineClient = await createEngineClient()
})

afterAll(async () => {
  await service?.stop()
  folder.remove()
})

/** A client that may publish BTCUSD. */
async function createEngineClient(): Promise<TestClient> {
  const { id: customerId } = await service.operator.call<{ id: string }>('POST', '/customers', { name: 'The exchange' })
  const client = await service.operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${customerId}/clients`,
    { name: 'engine', scopes: [PUBLISH_SCOPE], publish_markets: ['BTCUSD'] },
  )
  return { customerId, clientId: client.client_id, clientSecret: client.client_secret }
}

function publishToken({ clientId, clientSecret }: Omit<TestClient, 'customerId'> = engineClient): Promise<string> {
  return fetchToken({ authUrl: service.http, clientId, clientSecret, scope: PUBLISH_SCOPE })
}

function connect(token: string): Promise<PublisherClient> {
  return PublisherClient.connect({ url: service.ingest, token })
}

/** @param name distinct for engines that publish one market one after the other */
function newEngine(symbol: string, name = ''): PublishingEngine {
  return new PublishingEngine({ symbol, random: new Random(SEED), publishesOrders: false, keptMax: 10, name })
}

/** `side price` → amount, as the customer has it. */
function levelsOf(customer: SampleClient): Map<string, string> {
  const { bids, asks } = customer.book('BTCUSD')
  const keyed = (side: string, levels: ReadonlyMap<string, string>) =>
    [...levels].map(([price, amount]) => [`${side} ${price}`, amount] as const)
  return new Map([...keyed('bids', bids), ...keyed('asks', asks)])
}

function tradeTexts(executions: readonly (SampleLevel | SampleExecution)[]): string[] {
  return executions.map(({ price, amount }) => `${amount} at ${price}`)
}

it("the service serves an engine's book and executions exactly, and rejects a market that it may not publish", async () => {
  const [engine, other] = [newEngine('BTCUSD'), newEngine('ETHUSD')]
  const publisher = await connect(await publishToken())
  expect(await publisher.until(({ type }) => type === 'accepted')).toEqual({
    type: 'accepted',
    markets: [{ market: 'BTCUSD' }],
  })
  const customer = await SampleClient.connect({ wsUrl: service.ws, token: await newToken(service) })
  await customer.subscribeAll('BTCUSD', 'ETHUSD')
  publisher.send(engine.snapshot())
  publisher.send(other.snapshot())
  const trades: SampleLevel[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const message = engine.step()
    trades.push(...(message.payload.executions as SampleLevel[]))
    publisher.send(message)
    publisher.send(other.step())
    if (round % 50 === 0) await publisher.untilRead()
  }
  await publisher.untilAccepted('BTCUSD', engine.epoch, ROUNDS)
  const isComplete = () => customer.executions.length >= trades.length
  await customer.until('every trade', isComplete)
  const expected = [...engine.levels()].sort()
  await customer.until(
    'the last book',
    () => JSON.stringify([...levelsOf(customer)].sort()) === JSON.stringify(expected),
  )
  expect(tradeTexts(customer.executions)).toEqual(tradeTexts(trades))
  expect(trades.length).toBeGreaterThan(100)
  expect(customer.problems).toEqual([])
  const rejected = publisher.received.filter(({ type }) => type === 'rejected')
  expect(rejected).toHaveLength(ROUNDS + 1)
  expect(rejected[0]).toEqual({
    type: 'rejected',
    market: 'ETHUSD',
    message: 'the client may not publish this market',
  })
  expect(service.record.market('ETHUSD').commits).toEqual([])
  expect(customer.books.get('ETHUSD')?.isComplete ?? false).toBe(false)
  await publisher.close()
  await customer.close()
})

/** The first receipt that the heartbeats of the extended protocol bring. */
async function receiptOf(symbol: string): Promise<string> {
  const headers = { authorization: `Bearer ${await newToken(service)}` }
  const socket = new WebSocket(service.ws, ['tidegate.v1'], { headers })
  const channels = [{ type: 'market_data', params: { market: symbol } }, { type: 'heartbeat' }]
  socket.once('open', () => socket.send(JSON.stringify({ type: 'subscribe', channels })))
  try {
    return await new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.once('close', (code) => reject(new Error(`closed with ${code} before a receipt`)))
      socket.on('message', (data) => {
        const { channel, payload } = JSON.parse(String(data))
        const receipt = channel === 'heartbeat' ? payload.books?.[0]?.receipts?.[0] : undefined
        if (receipt !== undefined) resolve(receipt)
      })
    })
  } finally {
    socket.terminate()
  }
}

it('a receipt of a book is accepted as a token nowhere', async () => {
  const engine = newEngine('BTCUSD', 'second-')
  const publisher = await connect(await publishToken())
  publisher.send(engine.snapshot())
  publisher.send(engine.step())
  const receipt = await receiptOf('BTCUSD')
  const [header = ''] = receipt.split('.')
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ typ: 'tidegate-receipt-2+jws' })
  const refusal = { status: 401, body: expect.stringContaining('"invalid_token"') }
  await expect(connect(receipt)).rejects.toMatchObject(refusal)
  await expect(SampleClient.connect({ wsUrl: service.ws, token: receipt })).rejects.toMatchObject(refusal)
  const headers = { authorization: `Bearer ${receipt}` }
  const lines = JSON.stringify(engine.snapshot())
  for (const [url, request] of [
    [`${service.ingest}/publish`, { method: 'POST', body: lines, type: 'application/x-ndjson' }],
    [`${service.http}/v2/profiles`, { method: 'GET' }],
    [`${service.http}/v2/markets`, { method: 'GET' }],
  ] as const) {
    const type = 'type' in request ? { 'content-type': request.type } : {}
    const { status } = await fetch(url, { ...request, headers: { ...headers, ...type } })
    expect(status, url).toBe(401)
  }
  await publisher.close()
})

it('the publisher is closed within 1 s when its token is revoked, and when its client is disabled', async () => {
  const token = await publishToken()
  const first = await connect(token)
  const { clientId: client_id, clientSecret: client_secret } = engineClient
  const revocation = new URLSearchParams({ token, client_id, client_secret })
  const response = await fetch(`${service.http}/oauth2/revoke`, { method: 'POST', body: revocation })
  expect(response.status).toBe(200)
  const revoked = startRunningTime()
  expect(await first.untilClosed()).toEqual({ code: 4001, reason: 'token revoked' })
  expect(revoked.end()).toBeLessThan(1_000)
  await expect(connect(token)).rejects.toMatchObject({ status: 401 })

  const fresh = await publishToken()
  const second = await connect(fresh)
  await service.operator.call('PATCH', `/clients/${client_id}`, { enabled: false })
  const disabled = startRunningTime()
  expect(await second.untilClosed()).toEqual({ code: 4003, reason: 'access revoked' })
  expect(disabled.end()).toBeLessThan(1_000)
  await expect(connect(fresh)).rejects.toMatchObject({ status: 403 })
  await service.operator.call('PATCH', `/clients/${client_id}`, { enabled: true })
})

it('a publisher that waits for the service to start is admitted when its markets exist', async () => {
  const token = await publishToken()
  const { port } = new URL(service.ingest)
  await service.stop()
  const starting = startServiceInside(folder.path, MARKETS, { 'ingest.port': port })
  const first = new Promise<PublisherClient>((resolve) => {
    const attempt = async (): Promise<void> => {
      for (;;) {
        try {
          resolve(await connect(token))
          return
        } catch {
          // It does not listen yet, or admits no publishers yet.
          await new Promise((next) => setImmediate(next))
        }
      }
    }
    for (let attempts = 0; attempts < 4; attempts++) attempt()
  })
  const publisher = await first
  expect(await publisher.until(({ type }) => type === 'accepted')).toMatchObject({ markets: [{ market: 'BTCUSD' }] })
  service = await starting
  publisher.terminate()
})

it("the demo's client may never publish", async () => {
  const demo = await service.createDemoClient()
  expect(demo.scopes).not.toContain(PUBLISH_SCOPE)
  const { scopes } = await service.operator.call<{ scopes: string[] }>('GET', `/clients/${demo.clientId}`)
  expect(scopes).not.toContain(PUBLISH_SCOPE)
  await expect(publishToken(demo)).rejects.toThrow('400 invalid_scope')
})

it('the publish scope is unknown without the listener, also where a client had it before', async () => {
  await service.stop()
  service = await startServiceInside(folder.path, [market('BTC', 2, 10)])
  expect(service.ingest).toBe('')
  await expect(publishToken()).rejects.toThrow('400 invalid_scope')
  const grant = { name: 'another engine', scopes: [PUBLISH_SCOPE] }
  const path = `/customers/${engineClient.customerId}/clients`
  await expect(service.operator.call('POST', path, grant)).rejects.toThrow(/was answered 400: .*scopes/)
  const change = service.operator.call('PATCH', `/clients/${engineClient.clientId}`, { scopes: [PUBLISH_SCOPE] })
  await expect(change).rejects.toThrow(/was answered 400: .*scopes/)
})
