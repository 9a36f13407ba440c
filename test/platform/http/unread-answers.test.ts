/** The memory and the time limit of answers that their clients do not read. */
import { connect, type Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { afterEach, expect, it } from 'vitest'
import { createMetricsRegistry, type MetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { RawJson, WRITES_RAW_JSON } from '../../../src/platform/http/raw-json.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { captureLog } from '../../support/captured-log.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

/** The rate of a peer is measured over so long. */
const READ_WINDOW_MILLISECONDS = 30_000

/** More than any operating system takes for a peer that reads nothing; it is one string, kept once. */
const PART = 'x'.repeat(1_048_576)
const BIG_BYTES = 64 * PART.length + '{"text":""}'.length
const LIMITS = { clientBytesMax: BIG_BYTES + 1_000_000, bytesMax: 5 * BIG_BYTES, bytesPerSecondMin: 10_000 }

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(limits = LIMITS) {
  const clock = new NodeClock()
  const metrics: MetricsRegistry = createMetricsRegistry()
  const app = createHttpServer({
    listener: 'public',
    log: captureLog().log,
    metrics,
    headerBytesMax: 16_384,
    requestMilliseconds: 60_000,
    translate: () => undefined,
    limits,
    clock,
  })
  let handled = 0
  let written = 0
  const guard = {
    async onRequest(request: FastifyRequest) {
      request.answeredClient = String(request.headers.client ?? '')
    },
  }
  const big = { ...WRITES_RAW_JSON, ...guard, schema: { response: { 200: {} } } }
  app.get('/big', big, async () => {
    handled++
    return { text: new RawJson('"', ...Array.from({ length: 64 }, () => PART), '"') }
  })
  let late = 'not received'
  app.get('/late', guard, async ({ raw }) => {
    late = 'received'
    await new Promise((resolve) => raw.socket.once('close', resolve))
    late = 'disconnected'
    return { fine: true }
  })
  app.get('/small', guard, async () => ({ fine: true }))
  app.post('/small', guard, async () => {
    written++
    return { fine: true }
  })
  const url = await listenOnFreePort(app)
  cleanups.push(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const ask = (path: string, client: string, method = 'GET') => fetch(url + path, { method, headers: { client } })
  const unread = async () => Number(/tidegate_http_unread_bytes\{[^}]*\} (\d+)/.exec(await metrics.metrics())?.[1])
  /** Asks and reads nothing; settles when the answer is waiting for its reader. */
  const ignore = async (client: string): Promise<Socket> => {
    const before = await unread()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    cleanups.push(() => socket.destroy())
    socket.pause()
    socket.write(`GET /big HTTP/1.1\r\nHost: x\r\nClient: ${client}\r\n\r\n`)
    await expect.poll(unread).toBe(before + BIG_BYTES)
    return socket
  }
  return { app, clock, metrics, url, ask, ignore, unread, late: () => late, counts: () => ({ handled, written }) }
}

it('a client that has not read its responses is refused until it has, and no other client is', async () => {
  const { ask, ignore, unread, counts } = await serve()
  const ignored = await ignore('one')
  const second = await ask('/big', 'one')
  expect(second.status).toBe(429)
  expect(second.headers.get('retry-after')).toBe('1')
  expect(await second.json()).toMatchObject({ code: 'too_many_unread_answers', status: 429 })
  // What fits is answered.
  expect((await ask('/small', 'one')).status).toBe(200)
  const other = await ask('/big', 'two')
  expect(other.status).toBe(200)
  expect((await other.arrayBuffer()).byteLength).toBe(BIG_BYTES)
  ignored.destroy()
  await expect.poll(unread).toBe(0)
  const again = await ask('/big', 'one')
  expect(again.status).toBe(200)
  expect(again.headers.get('content-length')).toBe(String(BIG_BYTES))
  await again.arrayBuffer()
  expect(counts().handled).toBe(4)
})

it('a client that disconnects before its responses holds no unread bytes afterwards', async () => {
  const { ask, ignore, unread, late, url } = await serve()
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nClient: one\r\n\r\n`
  // Pipelined behind a response that is not read.
  const ignored = await ignore('two')
  ignored.write(request('/small').repeat(3))
  await expect.poll(unread).toBe(BIG_BYTES + 3 * '{"fine":true}'.length)
  ignored.destroy()
  await expect.poll(unread).toBe(0)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(request('/late'))
  await expect.poll(late).toBe('received')
  socket.destroy()
  await expect.poll(late).toBe('disconnected')
  await (await ask('/small', 'one')).text()
  await expect.poll(unread).toBe(0)
})

it('a response larger than the budget is sent when it is alone, and a write before it is done is refused', async () => {
  const { ask, ignore, counts } = await serve({ ...LIMITS, clientBytesMax: 1_000_000 })
  await ignore('one')
  expect((await ask('/small', 'one', 'POST')).status).toBe(429)
  expect(counts().written).toBe(0)
  expect((await ask('/small', 'two', 'POST')).status).toBe(200)
})

it('the server refuses all clients with 503 when all together have not read too much', async () => {
  const { ask, ignore } = await serve({ ...LIMITS, bytesMax: 2 * BIG_BYTES + 1_000_000 })
  await ignore('one')
  await ignore('two')
  const third = await ask('/big', 'three')
  expect(third.status).toBe(503)
  expect(third.headers.get('retry-after')).toBe('1')
  expect(await third.json()).toMatchObject({ code: 'unavailable' })
})

it('a peer that takes too little in a window is cut, and none that has read everything', async () => {
  const { clock, ask, ignore, metrics, unread } = await serve()
  const reader = await ask('/big', 'reader')
  await reader.arrayBuffer()
  const ignored = await ignore('one')
  const closed = new Promise((resolve) => ignored.once('close', resolve))
  // The operating system takes its share in the first windows, and nothing more in one of the next.
  await expect
    .poll(async () => {
      clock.advance(READ_WINDOW_MILLISECONDS)
      return await unread()
    })
    .toBe(0)
  expect(await metrics.metrics()).toContain('tidegate_http_slow_readers_total{listener="public"} 1')
  ignored.resume()
  await closed
  expect((await ask('/small', 'reader')).status).toBe(200)
})

it('a long response is written in slices, not more than one per tick', async () => {
  const { app, ask } = await serve()
  const bytesByTick = new Map<number, number>()
  let tick = 0
  const count = () => {
    tick++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  cleanups.push(() => clearImmediate(counting))
  app.server.on('connection', (socket) => {
    const write = socket.write
    socket.write = function (this: Socket, chunk: string | Uint8Array, ...rest: never[]) {
      bytesByTick.set(tick, (bytesByTick.get(tick) ?? 0) + chunk.length)
      return write.call(this, chunk, ...rest)
    } as typeof write
  })
  const answer = await ask('/big', 'reader')
  expect((await answer.arrayBuffer()).byteLength).toBe(BIG_BYTES)
  expect(bytesByTick.size).toBeGreaterThan(64)
  expect(Math.max(...bytesByTick.values())).toBeLessThan(300_000)
})
