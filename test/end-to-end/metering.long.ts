/**
 * Metered usage of the built service against clients that count frames on real sockets: equal after a close handshake,
 * and over a kill, where at most a minute is missing and the answer says so.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import { awaited } from '../support/awaited.ts'
import { type Counts, connectCounting, startMeteredService, totalOf } from '../support/counting-client.ts'
import { note } from '../support/note.ts'
import {
  ensureBuilt,
  type ServiceProcess,
  type TestClient,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'

const MESSAGES = 10_000_000
const CONNECTIONS = 100
const LOST_SECONDS = 60
/** Of a gateway process: far longer than between its reports. */
const UNREPORTED_SECONDS = 20
const READY = 'gateway process ready'
const SEVERAL = { 'gateway.processes': 2, 'stream.port': 0 }

const folder = temporaryFolder()
beforeAll(() => ensureBuilt())
afterAll(() => folder.remove())

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

function start(name: string, flags = {}): Promise<ServiceProcess> {
  const data = join(folder.path, name)
  mkdirSync(data, { recursive: true })
  return startMeteredService(data, flags)
}

const inOrder = (counts: Counts) => [...counts].sort(([one], [other]) => (one < other ? -1 : 1))

function expectMetered(seen: Counts, metered: Counts): void {
  for (const [key, { messages, bytes }] of seen) {
    expect(metered.get(key)?.messages, key).toBeGreaterThanOrEqual(messages)
    expect(metered.get(key)?.bytes, key).toBeGreaterThanOrEqual(bytes)
  }
}

async function compareOverStop(name: string, flags: object): Promise<void> {
  const service = await start(name, flags)
  const client = await service.operator.createClient()
  const token = await tokenOf(service, client)
  const counts: Counts = new Map()
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, at) => connectCounting(service.ws, token, at % 2 === 0, counts)),
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
})

test.skipIf(!canSharePorts())('metered usage of gateway processes equals what their clients count', async () => {
  await compareOverStop('several', SEVERAL)
})

test('after a kill at most a minute of usage is missing, and the answer says so', async () => {
  const service = await start('killed')
  const client = await service.operator.createClient()
  const counts: Counts = new Map()
  const socket = await connectCounting(service.ws, await tokenOf(service, client), true, counts)
  await sleep(20_000)
  const early = structuredClone(counts)
  await sleep(LOST_SECONDS * 1_000)
  service.command.child.kill('SIGKILL')
  await service.command.result
  socket.terminate()
  const restarted = await start('killed')
  const { items, counts: metered } = await meteredOf(restarted, client)
  await restarted.stop()
  expectMetered(early, metered)
  expect(new Set(items.map(({ incomplete }) => incomplete))).toEqual(new Set([true]))
})

test.skipIf(!canSharePorts())(
  'after the kill of a gateway process only unreported usage is missing, and the answer says so',
  async () => {
    const service = await start('gateway', SEVERAL)
    const client = await service.operator.createClient()
    const token = await tokenOf(service, client)
    const counts: Counts = new Map()
    const sockets = await Promise.all(
      Array.from({ length: 20 }, (_, at) => connectCounting(service.ws, token, at % 2 === 0, counts)),
    )
    const closes = sockets.map((socket) => new Promise<void>((resolve) => socket.on('close', () => resolve())))
    await sleep(UNREPORTED_SECONDS * 1_000)
    const early = structuredClone(counts)
    await sleep(UNREPORTED_SECONDS * 1_000)
    const ready = await service.command.errorLine((line) => line.includes(READY))
    process.kill((JSON.parse(ready) as { pid: number }).pid, 'SIGKILL')
    await awaited('the end of its connections', Promise.race(closes))
    await service.stop()
    await awaited('the closes', Promise.all(closes))
    const restarted = await start('gateway', SEVERAL)
    const { items, counts: metered } = await meteredOf(restarted, client)
    await restarted.stop()
    expectMetered(early, metered)
    expect(new Set(items.map(({ incomplete }) => incomplete))).toEqual(new Set([true]))
  },
)
