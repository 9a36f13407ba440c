/** A client that counts whole frames on a real socket, as the service meters them. */
import { WebSocket } from 'ws'
import { awaited, once } from './awaited.ts'
import { market, startServiceProcess } from './running-service.ts'

const BASES = ['BTC', 'ETH', 'SOL', 'BCH', 'LTC', 'DOGE']
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data']

/** The books are short, so no message is in fragments. */
const METERED_FLAGS = {
  markets: JSON.stringify(BASES.map((base) => market(base, 2, 20))),
  'simulator.rate': 1_000,
  'stream.drain_seconds': 1,
  'stream.ping_seconds': 2,
}

export function startMeteredService(data: string, flags: object) {
  return startServiceProcess('serve', data, { ...METERED_FLAGS, ...flags })
}

export interface Count {
  messages: number
  bytes: number
}

/** By market and channel. */
export type Counts = Map<string, Count>

function count(counts: Counts, key: string, payloadBytes: number): void {
  const header = payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10
  let sums = counts.get(key)
  if (sums === undefined) {
    sums = { messages: 0, bytes: 0 }
    counts.set(key, sums)
  }
  sums.messages += 1
  sums.bytes += header + payloadBytes
}

export function totalOf(counts: Counts): Count {
  const total = { messages: 0, bytes: 0 }
  for (const { messages, bytes } of counts.values()) {
    total.messages += messages
    total.bytes += bytes
  }
  return total
}

/** Subscribes to everything. */
export async function connectCounting(
  wsUrl: string,
  token: string,
  isExtended: boolean,
  counts: Counts,
): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${token}` }
  const socket = new WebSocket(wsUrl, isExtended ? ['tidegate.v1'] : [], { headers, perMessageDeflate: false })
  // Before the handshake's end, with whose answer a ping can arrive.
  socket.on('message', (data: Buffer) => {
    const [, channel, name = ''] =
      /^\{"channel":"([^"]+)"(?:,"payload":\{"market":"([^"]+)")?/.exec(data.toString('latin1', 0, 120)) ?? []
    count(counts, channel === undefined ? ' control' : `${name} ${channel}`, data.length)
  })
  socket.on('ping', (data: Buffer) => count(counts, ' control', data.length))
  socket.on('close', (code, reason) => {
    if (code !== 1006) count(counts, ' control', code === 1005 ? 0 : 2 + reason.length)
  })
  await awaited('the connection', once(socket, 'open'))
  socket.send(SUBSCRIBE)
  return socket
}

const ENTRIES = BASES.flatMap((base) => CHANNELS.map((type) => ({ type, params: { market: `${base}USD` } })))
export const SUBSCRIBE = JSON.stringify({ type: 'subscribe', channels: [...ENTRIES, { type: 'heartbeat' }] })
