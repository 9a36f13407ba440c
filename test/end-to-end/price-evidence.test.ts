/**
 * The evidence of a price names the book as the stream sent it: a customer subscribes, deposits, has it converted at the
 * market, and verifies the price with both clients, against the book that it held and against the recording of the service.
 */

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import {
  ApiProblem,
  type HeldBook,
  type Price,
  RestClient,
  recordedBook,
  verifyPrice,
} from '../../packages/client/src/index.ts'
import { BookContent } from '../../packages/client/src/stream/book-content.ts'
import { parseMessage } from '../../packages/client/src/stream/messages.ts'
import { until } from '../support/awaited.ts'
import { pythonWith } from '../support/python.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'

/** The package of the client needs websockets when it is imported. */
const PYTHON = pythonWith('websockets')
const folder = temporaryFolder()
const recordings = join(folder.path, 'recordings')
const MISSING = '018f0000-0000-7000-8000-000000000000'

let price: Price
let purchase: Price
let parPrice: Price
/** The time of each UPDATE, and the book after each message, by cursor. */
const times = new Map<string, string>()
const books = new Map<string, HeldBook>()
const refusals: unknown[] = []

beforeAll(async () => {
  const flags = { 'rest.sandbox': 'true', 'recording.dir': recordings }
  const service = await startServiceInside(folder.path, [market('BTC', 2, 10)], flags)
  const { clientId, clientSecret, scopes } = await service.createDemoClient()
  const { http, ws } = service
  const credentials = { client_id: clientId, client_secret: clientSecret, auth_url: http, base_url: http, ws_url: ws }
  const stream = await subscribe(service, await fetchToken({ authUrl: service.http, clientId, clientSecret }))
  const rest = new RestClient({ credentials, scopes })
  const created = await rest.post('/v2/identity/accounts', {
    body: { account: { identity_id: 'alice' }, create_profile: true },
  })
  const profileId = (created as { profile_id: string }).profile_id
  const path = { profile_id: profileId }
  await rest.post('/v2/sandbox/profiles/{profile_id}/deposit', { path, body: { asset: 'USD', amount: '1000' } })
  const priceOf = async (source_asset: string, source_amount: string, destination_asset: string) => {
    const source = { profile: { profile_id: profileId } }
    const body = {
      ref_id: `${source_asset} ${destination_asset}`,
      source,
      source_asset,
      source_amount,
      destination_asset,
    }
    const { id } = await rest.post('/v2/orchestration/orchestrations', { body })
    const isCompleted = async () => {
      const { status } = await rest.get('/v2/orchestration/orchestrations/{id}', { path: { id } })
      return status === 'COMPLETED'
    }
    await until(`${id} to be COMPLETED`, isCompleted, () => new Promise((resolve) => setTimeout(resolve, 20)))
    return await rest.get('/v2/orchestration/orchestrations/{id}/price', { path: { id } })
  }
  purchase = await priceOf('USD', '700', 'BTC')
  price = await priceOf('BTC', '0.0075', 'USD')
  await priceOf('USD', '10', 'USDC')
  parPrice = await priceOf('USDC', '5.4321', 'USD')
  const id = price.orchestration_id
  const get = (other: string) => rest.get('/v2/orchestration/orchestrations/{id}/price', { path: { id: other } })
  refusals.push(await get(MISSING).catch((error: unknown) => error))
  const stranger = { authorization: `Bearer ${await strangerToken(service)}` }
  refusals.push(
    (await fetch(`${service.http}/v2/orchestration/orchestrations/${id}/price`, { headers: stranger })).status,
  )
  const streamer = { authorization: `Bearer ${await newToken(service)}` }
  refusals.push(
    (await fetch(`${service.http}/v2/orchestration/orchestrations/${id}/price`, { headers: streamer })).status,
  )
  stream.close()
  await service.stop()
})

afterAll(() => folder.remove())

/** A token for another customer's orchestrations. */
async function strangerToken({ http, operator }: ServiceInside): Promise<string> {
  const scope = 'orchestration:read_orchestration'
  const customer = await operator.call<{ id: string }>('POST', '/customers', { name: 'stranger' })
  const client = await operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${customer.id}/clients`,
    { name: 'reader', scopes: [scope] },
  )
  const { client_id: clientId, client_secret: clientSecret } = client
  return await fetchToken({ authUrl: http, clientId, clientSecret, scope })
}

/**
 * Resolves after the first UPDATE, so that no price is that of the SNAPSHOT, which has a time of its own; keeps what each
 * message made of the book.
 */
async function subscribe({ ws }: ServiceInside, token: string): Promise<WebSocket> {
  const socket = new WebSocket(ws, ['tidegate.v1'], { headers: { authorization: `Bearer ${token}` } })
  const content = new BookContent()
  const channels = [{ type: 'market_data', params: { market: 'BTCUSD' } }]
  socket.on('open', () => socket.send(JSON.stringify({ type: 'subscribe', channels })))
  await new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      const message = parseMessage(String(data))
      if (message?.kind !== 'book' || message.position === undefined) return
      const { cursor } = message.position
      if (message.isSnapshot) content.replace(message)
      else content.update(message, () => undefined)
      if (!message.isSnapshot) times.set(cursor, message.time)
      const [bids, asks] = [content.bids.top(10), content.asks.top(10)]
      books.set(cursor, { cursor, bids: (count) => bids.slice(0, count), asks: (count) => asks.slice(0, count) })
      if (!message.isSnapshot) resolve()
    })
  })
  return socket
}

function evidenceBook({ evidence } = price) {
  if (evidence.kind !== 'market') throw new Error('the conversion was not at the market')
  return evidence.book
}

/** The book of the evidence, from the recording of the service. */
async function fromRecording(): Promise<HeldBook | undefined> {
  const [file = ''] = readdirSync(recordings)
  return await recordedBook(new Uint8Array(readFileSync(join(recordings, file))), 'BTCUSD', evidenceBook())
}

describe('the evidence of a price at the market', () => {
  it('the evidence of a market price has the cursor and the time of a message that a subscriber received', () => {
    const { cursor = '', time } = evidenceBook()
    expect(times.get(cursor)).toBe(time)
    const bought = evidenceBook(purchase)
    expect(times.get(bought.cursor ?? '')).toBe(bought.time)
  })

  it("the TypeScript client verifies a market price's evidence to the digit against the book that was held", () => {
    const held = books.get(evidenceBook().cursor ?? '') as HeldBook
    expect(verifyPrice(price, [held])).toMatchObject({ differences: [], booksCompared: 1, books: 1 })
    expect(verifyPrice(price)).toMatchObject({ differences: [], booksCompared: 0, books: 1 })
    const asks = books.get(evidenceBook(purchase).cursor ?? '') as HeldBook
    expect(verifyPrice(purchase, [held, asks])).toMatchObject({ differences: [], booksCompared: 1 })
  })

  it("the TypeScript client verifies a market price's evidence against the service's recording, which has the same book", async () => {
    const recorded = (await fromRecording()) as HeldBook
    expect(verifyPrice(price, [recorded])).toMatchObject({ differences: [], booksCompared: 1 })
    const held = books.get(recorded.cursor ?? '') as HeldBook
    const levelsOf = (levels: readonly { price: string; amount: string }[]) =>
      levels.map(({ price, amount }) => [price, amount])
    expect(levelsOf(recorded.bids())).toEqual(levelsOf(held.bids()))
    expect(levelsOf(recorded.asks())).toEqual(levelsOf(held.asks()))
  })

  it('the evidence of a market price differs when a level, an amount or the price is another', () => {
    const held = books.get(evidenceBook().cursor ?? '') as HeldBook
    const other = (text: string) => text.replace(/[0-9]$/, (digit) => String((Number(digit) + 1) % 10))
    const fakes = [/"amount":"([0-9.]+)"/, /"taken":"([0-9.]+)"/, /"price":"([0-9.]+)"/, /"best_ask":"([0-9.]+)"/]
    for (const pattern of fakes) {
      const fake = JSON.stringify(price).replace(pattern, (whole, text: string) => whole.replace(text, other(text)))
      expect(verifyPrice(JSON.parse(fake) as Price, [held]).differences, String(pattern)).not.toEqual([])
    }
  })

  it.skipIf(PYTHON === undefined)(
    "the Python client verifies a market price's evidence against the book held and the recording (needs Python)",
    () => {
      const held = books.get(evidenceBook().cursor ?? '') as HeldBook
      const pairs = (levels: readonly { price: string; amount: string }[]) =>
        levels.map(({ price, amount }) => [price, amount])
      const file = join(folder.path, 'price.json')
      const own = { cursor: held.cursor, bids: pairs(held.bids()), asks: pairs(held.asks()) }
      writeFileSync(file, JSON.stringify({ price, par: parPrice, held: own }))
      const program = `
import json, pathlib, sys
from tidegate_client import KeptBook, recorded_book, verify_price
found = json.loads(pathlib.Path(sys.argv[1]).read_text())
recording = next(pathlib.Path(sys.argv[2]).iterdir()).read_bytes()
held = KeptBook(found["held"]["cursor"], found["held"]["bids"], found["held"]["asks"])
recorded = recorded_book(recording, "BTCUSD", found["price"]["evidence"]["book"])
assert (recorded.bids(), recorded.asks()) == (held.bids(), held.asks())
for book in (held, recorded):
    print(verify_price(found["price"], [book]))
print(verify_price(found["par"]))
found["price"]["destination_amount"] += "1"
print(len(verify_price(found["price"]).differences))
`
      const output = execFileSync(PYTHON as string, ['-c', program, file, recordings], {
        env: { ...process.env, ...PYTHON_ENVIRONMENT },
        encoding: 'utf8',
      })
      const verified = 'PriceCheck(differences=[], books_compared=1, books=1)'
      expect(output.trim().split('\n')).toEqual([
        verified,
        verified,
        'PriceCheck(differences=[], books_compared=0, books=0)',
        '1',
      ])
    },
  )
})

it('the evidence of a conversion at par without a market needs no book', () => {
  expect(parPrice).toMatchObject({ price_source: 'par', evidence: { kind: 'par', pegs: [], remainder: '0.0021' } })
  expect(verifyPrice(parPrice)).toMatchObject({ differences: [], books: 0 })
})

it('the evidence is shown to its own customer with the scope alone', () => {
  const [missing, stranger, streamer] = refusals
  expect(missing).toBeInstanceOf(ApiProblem)
  expect([(missing as ApiProblem).status, stranger, streamer]).toEqual([404, 404, 403])
})
