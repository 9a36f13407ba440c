/**
 * 100,000 REST books during a fast replay equal the book that a subscriber had at the same cursor (all levels) or time
 * (fewer levels). The comparison is `tidegate verify --rest`'s, which shares no code with the service.
 */
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { registerRecord } from '../../../src/cli/record.ts'
import { RestChecker } from '../../../src/conformance/judge/rest/rest-checker.ts'
import { runCommand } from '../../support/command-run.ts'
import { note } from '../../support/note.ts'
import { recordingFolder } from '../../support/recording-file.ts'
import {
  market,
  type ServiceInside,
  STREAM_SCOPE,
  startServiceInside,
  temporaryFolder,
} from '../../support/running-service.ts'
import { fetchToken, SampleClient } from '../../support/sample-client.ts'
import { SIMULATED_ARGS } from '../../support/simulated-markets.ts'

const ANSWERS = 100_000
const CALLERS = 8
/** 0 = as many as the market has. */
const DEPTHS = [0, 1, 5, 10, 25]
const SYMBOL = 'BTCUSD'
const RECORDED_SECONDS = 20
const SCOPES = [STREAM_SCOPE, 'exchange:read_marketdata']

const files = recordingFolder()
const folder = temporaryFolder()
const agent = new Agent({ keepAlive: true })
let service: ServiceInside

beforeAll(async () => {
  const path = files.next()
  const rate = ['--simulator.rate', '100', '--log.level', 'silent']
  const run = runCommand(registerRecord, ['record', path, ...rate, ...SIMULATED_ARGS])
  await vi.waitFor(() => expect(run.clock.isDueIn(60_000)).toBe(true), { timeout: 45_000 })
  for (let step = 0; step < RECORDED_SECONDS * 1_000; step++) run.clock.advance(1)
  run.interrupt()
  await run.ended
  service = await startServiceInside(folder.path, [market('BTC', 2, 50, `replay:${path}`)], {
    'replay.speed': 5,
    'replay.loop': 'true',
    'rest.rate_per_second': 100_000,
  })
})

afterAll(async () => {
  agent.destroy()
  await service.stop()
  files.remove()
  folder.remove()
})

function get(path: string, token: string): Promise<{ readonly status: number; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(service.http + path, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

it('100,000 REST books during a fast replay equal the subscriber’s at the same cursor or time', async () => {
  const { customerId } = await service.operator.createClient()
  const { client_id: clientId, client_secret: clientSecret } = await service.operator.call<{
    client_id: string
    client_secret: string
  }>('POST', `/customers/${customerId}/clients`, { name: 'both', scopes: SCOPES })
  const token = (scope: string) => fetchToken({ authUrl: service.http, clientId, clientSecret, scope })
  const violations: string[] = []
  const checker = new RestChecker([SYMBOL], (name, _market, detail) => violations.push(`${name}: ${detail}`))
  const client = await SampleClient.connect({
    wsUrl: service.ws,
    token: await token(STREAM_SCOPE),
    protocols: ['tidegate.v1'],
    messagesKept: 0,
    onMessage: (_message, _client, text) => checker.onMessage(text),
  })
  client.send({ type: 'subscribe', channels: [{ type: 'market_data', params: { market: SYMBOL } }] })
  const restToken = await token('exchange:read_marketdata')
  let next = 0
  let asked = 0
  const call = async () => {
    while (checker.counts.books < ANSWERS && violations.length === 0) {
      const depth = DEPTHS[next++ % DEPTHS.length] as number
      const awaited = checker.expectBook(SYMBOL)
      const path = `/v2/markets/${SYMBOL}/order-book${depth === 0 ? '' : `?depth=${depth}`}`
      const { status, body } = await get(path, restToken)
      asked++
      if (awaited === undefined) continue
      if (status === 200) checker.onBook(SYMBOL, depth, body, awaited)
      else checker.forgetBook(SYMBOL, awaited)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
  await client.close()
  expect(violations).toEqual([])
  expect(checker.counts.books).toBeGreaterThanOrEqual(ANSWERS)
  note(`${checker.counts.books} of ${asked} REST books compared, ${client.books.get(SYMBOL)?.time}`)
})
