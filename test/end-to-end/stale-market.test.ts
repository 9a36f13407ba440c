/**
 * A venue that becomes unavailable while clients are subscribed: the book is withdrawn by default and restored with the
 * venue; with another setting the subscribers are closed instead.
 */

import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { awaited, once } from '../support/awaited.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'
import { Waiters } from '../support/waiters.ts'

const folders = [temporaryFolder(), temporaryFolder()]
let venue: WebSocketServer
let isAway = false
let withdrawing: ServiceInside
let closing: ServiceInside

/** Lists one pair and sends its book, with one level per side. */
function speak(socket: WebSocket): void {
  if (isAway) {
    socket.terminate()
    return
  }
  // A silent connection counts as lost, which a busy machine could reach.
  const heartbeats = setInterval(() => socket.send('{"channel":"heartbeat"}'), 500)
  socket.once('close', () => clearInterval(heartbeats))
  socket.on('message', (data) => {
    const { method, params, req_id } = JSON.parse(String(data))
    if (method !== 'subscribe') return
    if (params.channel === 'instrument') {
      const pair = '{"symbol":"BTC/USD","status":"post_only","price_precision":1,"qty_precision":1}'
      socket.send(`{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[${pair}]}}`)
    }
    if (params.channel !== 'book') return
    const result = { channel: 'book', symbol: 'BTC/USD', depth: params.depth }
    socket.send(JSON.stringify({ method, success: true, result, req_id }))
    const levels = '"bids":[{"price":100.1,"qty":2.5}],"asks":[{"price":100.2,"qty":1.5}]'
    const checksum = crc32('1002151001' + '25')
    const book = `{"symbol":"BTC/USD",${levels},"checksum":${checksum}}`
    socket.send(`{"channel":"book","type":"snapshot","data":[${book}]}`)
  })
}

function leave(): void {
  isAway = true
  for (const socket of venue.clients) socket.terminate()
}

interface Message {
  readonly channel: string
  readonly payload: {
    readonly type?: string
    readonly bids?: readonly { readonly price: string; readonly amount: string }[]
    readonly books?: readonly { readonly live: boolean; readonly digest?: string }[]
  }
}

async function reader(service: ServiceInside, token: string) {
  const socket = new WebSocket(service.ws, ['tidegate.v1'], { headers: { authorization: `Bearer ${token}` } })
  const messages: Message[] = []
  const waiters = new Waiters()
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)))
    waiters.notify()
  })
  await once(socket, 'open')
  const params = { market: 'BTCUSD' }
  socket.send(JSON.stringify({ type: 'subscribe', channels: [{ type: 'market_data', params }, { type: 'heartbeat' }] }))
  const books = () => messages.filter(({ channel }) => channel === 'market_data').map(({ payload }) => payload)
  const until = (what: string, predicate: () => boolean) => waiters.until(what, predicate)
  const statuses = () => messages.flatMap(({ payload }) => payload?.books ?? [])
  return { socket, closed, books, statuses, until }
}

async function served(service: ServiceInside, token: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.http}/v2/markets`, { headers: { authorization: `Bearer ${token}` } })
  const { items } = (await response.json()) as { items: readonly Record<string, unknown>[] }
  return items[0] as Record<string, unknown>
}

beforeAll(async () => {
  venue = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  venue.on('connection', speak)
  await once(venue, 'listening')
  const { port } = venue.address() as AddressInfo
  const start = (place: 0 | 1, flags: Record<string, string>) =>
    startServiceInside(folders[place]!.path, [market('BTC', 1, 10, 'kraken:BTC/USD', 1)], {
      'feeds.kraken.url': `ws://127.0.0.1:${port}`,
      'stream.stale_seconds': '0.5',
      'stream.heartbeat_seconds': '0.1',
      ...flags,
    })
  ;[withdrawing, closing] = await Promise.all([start(0, {}), start(1, { 'stream.stale_action': 'close' })])
})

afterAll(async () => {
  await Promise.all([withdrawing?.stop(), closing?.stop()])
  for (const socket of venue.clients) socket.terminate()
  venue.close()
  for (const folder of folders) folder.remove()
})

describe('a venue that becomes unavailable', () => {
  it('an unavailable venue has its book withdrawn or its subscribers closed, and the book returns with the venue', async () => {
    const token = await newToken(withdrawing)
    const held = await reader(withdrawing, token)
    const cut = await reader(closing, await newToken(closing))
    for (const { books, until } of [held, cut]) await until('the SNAPSHOT', () => books().length === 1)
    await held.until('a digest', () => held.statuses().some(({ digest }) => digest !== undefined))
    // A pair that does not trade keeps its book.
    expect(await served(withdrawing, token)).toMatchObject({
      state: 'LIVE',
      instrument_state: 'HALTED',
      instrument_reason: 'kraken:BTC/USD: post_only',
    })
    leave()
    await held.until('a heartbeat that reports the loss', () => held.statuses().at(-1)?.live === false)
    const late = await reader(withdrawing, token)
    await held.until('the withdrawal', () => held.books().length === 2)
    expect(held.books()[1]).toMatchObject({ type: 'UPDATE', bids: [{ price: '100.1', amount: '0' }] })
    expect(await served(withdrawing, token)).toMatchObject({ state: 'STALE' })
    expect(await awaited('the close of stale market data', cut.closed)).toBe(4002)
    expect(late.books()).toEqual([])
    isAway = false
    await held.until('the book', () => held.books().length === 3)
    expect(held.books()[2]).toMatchObject({ type: 'UPDATE', bids: [{ price: '100.1', amount: '2.5' }] })
    await late.until('the SNAPSHOT', () => late.books().length === 1)
    expect(late.books()[0]?.type).toBe('SNAPSHOT')
    for (const { socket } of [held, late]) socket.close()
  })
})
