/**
 * Metered usage of the built service against clients that count frames on real sockets: equal after a close handshake,
 * and over a kill, where at most a minute is missing and the answer says so.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { awaited, once } from '../support/awaited.ts'
import { note } from '../support/note.ts'
import {
  ensureBuilt,
  market,
  type ServiceProcess,
  startServiceProcess,
  type TestClient,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'

const MESSAGES = 10_000_000
const CONNECTIONS = 100
const BASES = ['BTC', 'ETH', 'SOL', 'BCH', 'LTC', 'DOGE']
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data']
const LOST_SECONDS = 60

const folder = temporaryFolder()
beforeAll(() => ensureBuilt())
afterAll(() => folder.remove())

/** Messages and bytes by market and channel. */
type Counts = Map<string, { messages: number; bytes: number }>

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

/** A connection that counts whole frames: the books are short, so none is in fragments. */
async function connect(wsUrl: string, token: string, isExtended: boolean, counts: Counts): Promise<WebSocket> {
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
  const entries = BASES.flatMap((base) => CHANNELS.map((type) => ({ type, params: { market: `${base}USD` } })))
  socket.send(JSON.stringify({ type: 'subscribe', channels: [...entries, { type: 'heartbeat' }] }))
  return socket
}

function totalOf(counts: Counts): { messages: number; bytes: number } {
  const total = { messages: 0, bytes: 0 }
  for (const { messages, bytes } of counts.values()) {
    total.messages += messages
    total.bytes += bytes
  }
  return total
}

interface Usage {
  readonly market: string
  readonly channel: string
  readonly messages: number
  readonly bytes: number
  readonly connection_seconds: number
  readonly incomplete: boolean
}

async function meteredOf({ operator }: ServiceProcess, { clientId }: TestClient) {
  const { items } = await operator.call<{ items: Usage[] }>('GET', `/usage?clients=${clientId}&group_by=market,channel`)
  return {
    items,
    counts: new Map(items.map(({ market, channel, messages, bytes }) => [`${market} ${channel}`, { messages, bytes }])),
  }
}

async function start(name: string, flags = {}): Promise<ServiceProcess> {
  const data = join(folder.path, name)
  mkdirSync(data, { recursive: true })
  return await startServiceProcess('serve', data, {
    markets: JSON.stringify(BASES.map((base) => market(base, 2, 20))),
    'simulator.rate': 1_000,
    'stream.drain_seconds': 1,
    'stream.ping_seconds': 2,
    ...flags,
  })
}

const inOrder = (counts: Counts) => [...counts].sort(([one], [other]) => (one < other ? -1 : 1))

async function compareOverStop(name: string, flags: object): Promise<void> {
  const service = await start(name, flags)
  const client = await service.operator.createClient()
  const token = await tokenOf(service, client)
  const counts: Counts = new Map()
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, at) => connect(service.ws, token, at % 2 === 0, counts)),
  )
  const closes = sockets.map((socket) => new Promise<void>((resolve) => socket.on('close', () => resolve())))
  while (totalOf(counts).messages < MESSAGES) await sleep(100)
  // Half of the connections are closed by the client, the others by the service.
  for (const [at, socket] of sockets.entries()) if (at % 4 < 2) socket.close(1000, at % 4 === 0 ? '' : 'done')
  await sleep(1_000)
  await service.stop()
  await awaited('the closes', Promise.all(closes))
  const restarted = await start(name, flags)
  const metered = await meteredOf(restarted, client)
  await restarted.stop()
  note(`${name}: ${JSON.stringify(totalOf(counts))} counted`)
  expect(inOrder(metered.counts)).toEqual(inOrder(counts))
  expect(metered.items.map(({ incomplete }) => incomplete)).not.toContain(true)
}

test('metered usage equals what clients count over ten million messages', async () => {
  await compareOverStop('one', {})
}, 1_800_000)

test.skipIf(!canSharePorts())(
  'metered usage of gateway processes equals what their clients count',
  async () => {
    await compareOverStop('several', { 'gateway.processes': 2, 'stream.port': 0 })
  },
  1_800_000,
)

test('after a kill at most a minute of usage is missing, and the answer says so', async () => {
  const service = await start('killed')
  const client = await service.operator.createClient()
  const counts: Counts = new Map()
  const socket = await connect(service.ws, await tokenOf(service, client), true, counts)
  await sleep(20_000)
  const early = structuredClone(counts)
  await sleep(LOST_SECONDS * 1_000)
  service.command.child.kill('SIGKILL')
  await service.command.result
  socket.terminate()
  const restarted = await start('killed')
  const { items, counts: metered } = await meteredOf(restarted, client)
  await restarted.stop()
  for (const [key, { messages, bytes }] of early) {
    expect(metered.get(key)?.messages, key).toBeGreaterThanOrEqual(messages)
    expect(metered.get(key)?.bytes, key).toBeGreaterThanOrEqual(bytes)
  }
  expect(new Set(items.map(({ incomplete }) => incomplete))).toEqual(new Set([true]))
}, 600_000)
