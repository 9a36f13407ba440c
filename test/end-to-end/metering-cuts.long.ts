/**
 * Metered usage of connections that are cut, by the built service on real sockets: never less than the client saw, and the
 * excess is no more than the kernel's buffers and the service's queue hold.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { awaited, once } from '../support/awaited.ts'
import {
  type Count,
  type Counts,
  connectCounting,
  SUBSCRIBE,
  startMeteredService,
  totalOf,
} from '../support/counting-client.ts'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { Random } from '../support/random.ts'
import {
  ensureBuilt,
  type ServiceProcess,
  type TestClient,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'

const CONNECTIONS_PER_WAY = 20
/** Long enough that stalled connections fill every buffer. */
const STALLED_MILLISECONDS = 20_000
const CUT_MILLISECONDS_MAX = 20_000
const HIGH_WATER_BYTES = 262_144
/** One tick or reply in the service, one segment more than each kernel buffer's limit, and a frame that was read in part. */
const SLACK_BYTES = 262_144

const WAYS = ['destroyed', 'reset', 'stalled', 'killed'] as const
type Way = (typeof WAYS)[number]

interface Cut {
  readonly way: Way
  readonly client: TestClient
  readonly seen: Count
  /** What both kernel buffers of the connection could hold. */
  readonly kernelBytes: number
}

const folder = temporaryFolder()
beforeAll(() => ensureBuilt())
afterAll(() => folder.remove())

/** The sum of the peers' receive buffer and the service's send buffer, by the ports of the connection's client side. */
function kernelBuffers(servicePort: number): ReadonlyMap<number, number> {
  const { stdout } = spawnSync('ss', ['-tmnHO', `sport = :${servicePort} or dport = :${servicePort}`], {
    encoding: 'utf8',
  })
  const sums = new Map<number, number>()
  for (const line of stdout.split('\n')) {
    const [, local, peer, receive, send] = /^ESTAB.*:(\d+)\s+\S+:(\d+)\s.*rb(\d+),.*tb(\d+),/.exec(line) ?? []
    if (local === undefined) continue
    const isService = Number(local) === servicePort
    const port = Number(isService ? peer : local)
    sums.set(port, (sums.get(port) ?? 0) + Number(isService ? send : receive))
  }
  return sums
}

const socketOf = (webSocket: WebSocket) => (webSocket as unknown as { readonly _socket: Socket })._socket

async function cutOwn(service: ServiceProcess, way: Exclude<Way, 'killed'>, random: Random): Promise<Cut> {
  const client = await service.operator.createClient()
  const counts: Counts = new Map()
  const webSocket = await connectCounting(service.ws, await tokenOf(service, client), random.chance(0.5), counts)
  const closed = once(webSocket, 'close')
  await sleep(random.integer(CUT_MILLISECONDS_MAX))
  if (way === 'stalled') {
    webSocket.pause()
    await sleep(STALLED_MILLISECONDS)
  }
  const socket = socketOf(webSocket)
  const kernelBytes = kernelBuffers(Number(new URL(service.ws).port)).get(socket.localPort as number) as number
  if (way === 'reset') socket.resetAndDestroy()
  else socket.destroy()
  await awaited('the close', closed)
  return { way, client, seen: totalOf(counts), kernelBytes }
}

async function cutKilled(service: ServiceProcess): Promise<Cut[]> {
  const clients: TestClient[] = []
  for (let made = 0; made < CONNECTIONS_PER_WAY; made++) clients.push(await service.operator.createClient())
  const tokens = await Promise.all(clients.map((client) => tokenOf(service, client)))
  const file = join(folder.path, 'seen')
  const counted = JSON.stringify({ url: service.ws, tokens, subscribe: SUBSCRIBE, file })
  const child = spawn(process.execPath, [join(import.meta.dirname, '../support/counting-process.mjs')], {
    env: { ...process.env, TIDEGATE_COUNTED: counted },
    stdio: 'inherit',
  })
  await sleep(CUT_MILLISECONDS_MAX)
  // Any of them: which port belongs to which token is not known here.
  const kernelBytes = Math.max(...kernelBuffers(Number(new URL(service.ws).port)).values())
  child.kill('SIGKILL')
  await awaited('the end of the client', once(child, 'exit'))
  const seen = readFileSync(file)
  return clients.map((client, place) => ({
    way: 'killed' as const,
    client,
    seen: {
      messages: Number(seen.readBigUInt64LE(place * 16)),
      bytes: Number(seen.readBigUInt64LE(place * 16 + 8)),
    },
    kernelBytes,
  }))
}

const hasSocketStatistics = spawnSync('ss', ['-V']).status === 0

test.skipIf(!hasSocketStatistics)(
  'usage of cut connections is never less than the clients saw, and more by at most the buffers',
  async () => {
    const random = new Random(seedOf(1))
    const data = join(folder.path, 'cuts')
    mkdirSync(data)
    const service = await startMeteredService(data, {})
    const own = WAYS.filter((way) => way !== 'killed').flatMap((way) =>
      Array.from({ length: CONNECTIONS_PER_WAY }, () => cutOwn(service, way, random)),
    )
    const cuts = (await Promise.all([...own, cutKilled(service)])).flat()
    await service.stop()
    const restarted = await startMeteredService(data, {})
    const { items } = await restarted.operator.call<{ items: (Count & { client_id: string; incomplete: boolean })[] }>(
      'GET',
      '/usage?group_by=client&limit=1000',
    )
    await restarted.stop()
    const metered = new Map(items.map((item) => [item.client_id, item]))
    for (const way of WAYS) {
      const excesses: number[] = []
      let seenBytes = 0
      for (const { client, seen, kernelBytes } of cuts.filter((cut) => cut.way === way)) {
        const { messages = 0, bytes = 0 } = metered.get(client.clientId) ?? {}
        expect(seen.messages).toBeGreaterThan(0)
        expect(messages, way).toBeGreaterThanOrEqual(seen.messages)
        expect(bytes, way).toBeGreaterThanOrEqual(seen.bytes)
        const excess = bytes - seen.bytes
        expect(excess, way).toBeLessThanOrEqual(kernelBytes + HIGH_WATER_BYTES + SLACK_BYTES)
        excesses.push(excess)
        seenBytes += seen.bytes
      }
      excesses.sort((one, other) => one - other)
      const bounds = cuts.filter((cut) => cut.way === way).map(({ kernelBytes }) => kernelBytes)
      note(
        `${way}: ${seenBytes} bytes seen, excess per connection ${excesses[0]} to ${excesses.at(-1)} bytes, median ${excesses[excesses.length >> 1]}; ` +
          `kernel buffers up to ${Math.max(...bounds)} bytes`,
      )
    }
    expect(items.map(({ incomplete }) => incomplete)).not.toContain(true)
  },
)
