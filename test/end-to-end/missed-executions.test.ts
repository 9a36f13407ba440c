/**
 * A venue whose trade ids prove that trades are missing: the missing trades are fetched, and subscribers of the
 * executions on a real socket receive every one in order. When they cannot be fetched, these subscribers are closed
 * with 4000, subscribers of the book are not, and the operator sees the reason.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { awaited, once } from '../support/awaited.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'

const folder = temporaryFolder()
/** The venue's answers to requests for trades; none while it refuses requests for an hour. */
let page: readonly number[] | undefined
const rest = createServer((_request, response) => {
  if (page === undefined) {
    response.writeHead(429, { 'retry-after': '3600' }).end()
    return
  }
  const list = page.map((id) => ['60000.5', String(id / 1000), TRADE_MILLISECONDS / 1000, 'b', 'l', '', id])
  response.end(JSON.stringify({ error: [], result: { XXBTZUSD: list, last: `${TRADE_MILLISECONDS}000000` } }))
})
const venue = new WebSocketServer({ server: rest })
const TRADE_MILLISECONDS = Date.UTC(2026, 10, 20, 10)
let service: ServiceInside
let readsTrades: () => void
/** Resolves when the service has the acknowledgement of the trades subscription: it receives all later trades. */
const tradesAreRead = new Promise<void>((resolve) => {
  readsTrades = resolve
})

/** Lists one pair, acknowledges the subscription to its trades, and refuses its book, which is not tested here. */
function speak(socket: WebSocket): void {
  const say = (message: object): void => socket.send(JSON.stringify(message))
  socket.on('message', (data) => {
    const { method, params, req_id } = JSON.parse(String(data))
    if (params?.channel === 'instrument') {
      const pairs = [{ symbol: 'BTC/USD', status: 'online', price_precision: 1, qty_precision: 8 }]
      say({ channel: 'instrument', type: 'snapshot', data: { assets: [], pairs } })
    } else if (params?.channel === 'trade') {
      say({ method, success: true, result: { channel: 'trade', symbol: 'BTC/USD' }, req_id })
      readsTrades()
    } else if (params?.channel === 'book') {
      say({ method, success: false, error: 'not now', symbol: 'BTC/USD', req_id })
    }
  })
}

function trade(...ids: readonly number[]): void {
  const data = ids.map((id) => ({
    symbol: 'BTC/USD',
    side: 'buy',
    price: 60000.5,
    qty: id / 1000,
    ord_type: 'limit',
    trade_id: id,
    timestamp: new Date(TRADE_MILLISECONDS).toISOString(),
  }))
  const text = JSON.stringify({ channel: 'trade', type: 'update', data })
  for (const socket of venue.clients) socket.send(text)
}

async function reader(...types: readonly string[]) {
  const socket = new WebSocket(service.ws, { headers: { authorization: `Bearer ${await newToken(service)}` } })
  const amounts: string[] = []
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }))
  })
  const waiting = new Map<number, () => void>()
  await once(socket, 'open')
  const channels = types.map((type) => ({ type, params: { market: 'BTCUSD' } }))
  const subscribed = once(socket, 'message')
  socket.send(JSON.stringify({ type: 'subscribe', channels }))
  await subscribed
  socket.on('message', (data) => {
    const { channel, payload } = JSON.parse(String(data))
    if (channel !== 'execution_data') return
    amounts.push(payload.amount)
    waiting.get(amounts.length)?.()
  })
  const received = (count: number) =>
    new Promise<void>((resolve) => {
      if (amounts.length >= count) resolve()
      else waiting.set(count, resolve)
    })
  return { socket, amounts, closed, received }
}

beforeAll(async () => {
  venue.on('connection', speak)
  rest.listen(0, '127.0.0.1')
  await once(rest, 'listening')
  const { port } = rest.address() as AddressInfo
  service = await startServiceInside(folder.path, [market('BTC', 2, 10, 'kraken:BTC/USD')], {
    'feeds.kraken.url': `ws://127.0.0.1:${port}`,
    'feeds.kraken.rest_url': `http://127.0.0.1:${port}`,
  })
})

afterAll(async () => {
  await service?.stop()
  for (const socket of venue.clients) socket.terminate()
  venue.close()
  rest.close()
  rest.closeAllConnections()
  folder.remove()
})

describe('trades that a venue did not send', () => {
  test('missing trades of a venue are fetched; else subscribers of executions are closed with 4000 and continue', async () => {
    const executions = await reader('execution_data')
    const books = await reader('market_data', 'market_data.top_of_book')
    await tradesAreRead
    trade(7)
    trade(8, 9)
    await executions.received(3)
    page = [9, 10, 11]
    trade(12, 13)
    await executions.received(7)
    page = undefined
    trade(16)
    expect(await awaited('the close with a gap', executions.closed)).toEqual({
      code: 4000,
      reason: 'execution stream has a gap at its source',
    })
    expect(executions.amounts).toEqual([7, 8, 9, 10, 11, 12, 13].map((id) => (id / 1000).toFixed(8)))
    const again = await reader('execution_data')
    trade(16, 17)
    await again.received(1)
    expect(again.amounts).toEqual(['0.01700000'])
    expect(books.socket.readyState).toBe(WebSocket.OPEN)
    expect(await service.operator.metric('tidegate_executions_missed_total{market="BTCUSD"}')).toBe(1)
    expect(await service.operator.metric('tidegate_closes_total{cause="executionsMissed"}')).toBe(1)
    for (const { socket } of [again, books]) socket.terminate()
  })
})
