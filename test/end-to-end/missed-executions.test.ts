/**
 * A venue whose trade numbers prove that trades are missing: who reads the executions of that market on a real socket is
 * closed with 4000, who reads its book is not, and the operator sees why.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'

const folder = temporaryFolder()
const venue = new WebSocketServer({ port: 0, host: '127.0.0.1' })
let service: ServiceInside
let readsTrades: () => void
/** Resolved when the service has been told that it gets the trades: what is sent behind that, it gets. */
const tradesAreRead = new Promise<void>((resolve) => {
  readsTrades = resolve
})

/** Lists one pair, takes its trades to be subscribed, and refuses its book: that is another matter. */
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
    timestamp: '2026-11-20T10:00:00.000000Z',
  }))
  const text = JSON.stringify({ channel: 'trade', type: 'update', data })
  for (const socket of venue.clients) socket.send(text)
}

async function reader(...types: readonly string[]) {
  const socket = new WebSocket(service.ws, { headers: { authorization: `Bearer ${await newToken(service)}` } })
  const amounts: string[] = []
  const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
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
  if (venue.address() === null) await once(venue, 'listening')
  const { port } = venue.address() as AddressInfo
  const url = `ws://127.0.0.1:${port}`
  service = await startServiceInside(folder.path, [market('BTC', 2, 10, 'kraken:BTC/USD')], { 'feeds.kraken.url': url })
})

afterAll(async () => {
  await service?.stop()
  for (const socket of venue.clients) socket.terminate()
  venue.close()
  folder.remove()
})

describe('trades that a venue did not send', () => {
  test('close who reads executions with 4000, and who comes back reads on', async () => {
    const executions = await reader('execution_data')
    const books = await reader('market_data', 'market_data.top_of_book')
    await tradesAreRead
    trade(7)
    trade(8, 9)
    await executions.received(3)
    trade(12)
    expect(await executions.closed).toEqual({ code: 4000, reason: 'execution stream has a gap at its source' })
    expect(executions.amounts).toEqual(['0.00700000', '0.00800000', '0.00900000'])
    const again = await reader('execution_data')
    trade(12, 13)
    await again.received(1)
    expect(again.amounts).toEqual(['0.01300000'])
    expect(books.socket.readyState).toBe(WebSocket.OPEN)
    expect(await service.operator.metric('tidegate_executions_missed_total{market="BTCUSD"}')).toBe(1)
    expect(await service.operator.metric('tidegate_closes_total{cause="executionsMissed"}')).toBe(1)
    for (const { socket } of [again, books]) socket.terminate()
  })
})
