import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import {
  retryMilliseconds,
  VenueConnection,
  type VenueConnectionOptions,
} from '../../../../src/streaming/sources/venues/venue-connection.ts'
import { once } from '../../../support/awaited.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'
import { Waiters } from '../../../support/waiters.ts'

/** Below all that a system gives away by itself, and of no known use. */
const UNUSED_PORT = 2

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

/** A server that hands every connection to `serve`. */
async function listen(serve: (socket: WebSocket) => void = () => undefined): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    serve(socket)
  })
  await once(server, 'listening')
  opened.push({
    close: () => {
      for (const client of server.clients) client.terminate()
      return new Promise((resolve) => server.close(resolve))
    },
  })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The level of a warning in the lines of `captureLog`. */
const WARN = 40

/** A port that takes connections and never says a word. */
async function listenSilently(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => socket.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push({ close: async () => server.close() })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function follow(url: string, more: Partial<VenueConnectionOptions> = {}) {
  const clock = new VirtualClock()
  const calls: string[] = []
  const waiters = new Waiters()
  const note = (call: string) => {
    calls.push(call)
    waiters.notify()
  }
  const connection = new VenueConnection({
    venue: 'test',
    url,
    silenceMilliseconds: 10_000,
    random: () => 1,
    clock,
    log: createLog('silent'),
    metrics: createMetricsRegistry(),
    onOpen: () => note('open'),
    onMessage: (text) => note(`message ${text}`),
    onDown: (reason) => note(`down ${reason}`),
    ...more,
  })
  connection.start()
  opened.push({ close: () => connection.stop() })
  return { clock, calls, connection, until: (what: string, isMet: () => boolean) => waiters.until(what, isMet) }
}

describe('the delay before the next attempt', () => {
  it('the delay before the next attempt doubles up to a bound', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 1e9].map((failures) => retryMilliseconds(failures, () => 1))).toEqual([
      500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000,
    ])
  })

  it('the delay before the next attempt is spread at random over the upper half of that range', () => {
    expect([1, 2, 7].map((failures) => retryMilliseconds(failures, () => 0))).toEqual([250, 500, 15_000])
    expect(retryMilliseconds(2, () => 0.5)).toBe(750)
  })

  it('the delay before the next attempt grows while attempts fail, and every failed attempt is reported', async () => {
    const { clock, calls, until } = follow(`ws://127.0.0.1:${UNUSED_PORT}`)
    for (const [attempt, delay] of [500, 1000, 2000].entries()) {
      await until('a failed attempt', () => calls.length === attempt + 1)
      expect(calls[attempt]).toMatch(/^down .*ECONNREFUSED/)
      clock.advance(delay - 1)
      await new Promise(setImmediate)
      expect(calls).toHaveLength(attempt + 1)
      clock.advance(1)
    }
    await until('the last attempt', () => calls.length === 4)
  })

  it('the delay before the next attempt is logged as a warning less and less often while a venue stays away', async () => {
    const { log, lines } = captureLog()
    const { clock, calls, until } = follow(`ws://127.0.0.1:${UNUSED_PORT}`, { log })
    for (let attempt = 1; attempt <= 20; attempt++) {
      await until('a failed attempt', () => calls.length === attempt)
      clock.advance(retryMilliseconds(attempt, () => 1))
    }
    const warned = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === WARN)
    expect(warned.map(({ failures }) => failures)).toEqual([1, 2, 4, 8, 16])
  })

  it('the delay before the next attempt is short again after a connection that stood for a minute', async () => {
    const sockets: WebSocket[] = []
    const url = await listen((socket) => sockets.push(socket))
    const { clock, calls, until } = follow(url)
    const cut = async (count: number) => {
      await until('a connection', () => calls.filter((call) => call === 'open').length === count)
      sockets.at(-1)?.terminate()
      await until('its end', () => calls.filter((call) => call.startsWith('down')).length === count)
    }
    await cut(1)
    clock.advance(500)
    await cut(2)
    clock.advance(1000)
    await until('the third connection', () => calls.length === 5)
    for (let second = 0; second < 60; second += 5) {
      sockets.at(-1)?.send('alive')
      const seen = calls.length
      await until('the message', () => calls.length > seen)
      clock.advance(5_000)
    }
    await cut(3)
    clock.advance(500)
    await until('the fourth connection', () => calls.at(-1) === 'open')
  })
})

describe('a connection', () => {
  it('a connection is dead when nothing arrives on it, and new when it is back', async () => {
    const url = await listen((socket) => socket.send('hello'))
    const { clock, calls, until } = follow(url)
    await until('the message', () => calls.length === 2)
    clock.advance(9_999)
    expect(calls).toEqual(['open', 'message hello'])
    clock.advance(1)
    expect(calls.at(-1)).toBe('down nothing arrived for 10 s')
    clock.advance(500)
    await until('the second connection', () => calls.length === 5)
  })

  it('a connection is not taken for dead because this process stood still: the arrived data is read first', async () => {
    const url = await listen((socket) => socket.send('hello'))
    const { clock, calls, until } = follow(url)
    await until('the message', () => calls.length === 2)
    clock.standStill(60_000)
    expect(calls).toEqual(['open', 'message hello'])
    // Of that time half a second counts.
    clock.advance(9_499)
    expect(calls).toEqual(['open', 'message hello'])
    clock.advance(1)
    expect(calls.at(-1)).toBe('down nothing arrived for 10 s')
  })

  it('a connection is not taken for dead while this process runs only for a moment every few seconds', async () => {
    const url = await listen((socket) => socket.send('hello'))
    const { clock, calls, until } = follow(url)
    await until('the message', () => calls.length === 2)
    for (let second = 0; second < 54; second += 3) clock.standStill(3_000)
    expect(calls).toEqual(['open', 'message hello'])
  })

  it('a connection is dead when it does not even open', async () => {
    const { clock, calls } = follow(await listenSilently())
    clock.advance(14_999)
    expect(calls).toEqual([])
    clock.advance(1)
    expect(calls).toEqual(['down nothing arrived for 15 s'])
  })

  it('a connection ends over a frame that is too large', async () => {
    const url = await listen((socket) => socket.send('x'.repeat(16 * 1024 * 1024 + 1)))
    const { calls, until } = follow(url)
    await until('its end', () => calls.length === 2)
    expect(calls[1]).toMatch(/^down Max payload size exceeded/)
  })

  it('a connection hands on nothing of a connection that was given up', async () => {
    const url = await listen((socket) => {
      for (let number = 0; number < 100; number++) socket.send(String(number))
    })
    const { calls, connection, until } = follow(url)
    await until('the first message', () => {
      if (calls.length === 2) connection.restart('no good')
      return calls.length > 1
    })
    await new Promise(setImmediate)
    expect(calls).toEqual(['open', 'message 0', 'down no good'])
  })

  it('a connection sends nothing while it is not open, and reports no error', async () => {
    const { connection, calls } = follow(await listenSilently())
    connection.send({ method: 'ping' })
    expect(calls).toEqual([])
  })
})

describe('stop', () => {
  it('a stop ends a connection that is opening', async () => {
    const { connection, calls, clock } = follow(await listenSilently())
    await connection.stop()
    clock.advance(120_000)
    expect(calls).toEqual([])
  })

  it('a stop ends the wait for the next attempt', async () => {
    const url = await listen((socket) => socket.terminate())
    const { connection, calls, clock, until } = follow(url)
    await until('the end', () => calls.at(-1)?.startsWith('down') === true)
    const seen = [...calls]
    await connection.stop()
    clock.advance(120_000)
    await new Promise(setImmediate)
    expect(calls).toEqual(seen)
  })

  it('a connection may be stopped twice', async () => {
    const url = await listen()
    const { connection, calls, until } = follow(url)
    await until('the connection', () => calls.length === 1)
    await Promise.all([connection.stop(), connection.stop()])
    expect(calls).toEqual(['open'])
  })
})

describe('signs of life', () => {
  it('pings of the venue are signs of life too', async () => {
    const sockets: WebSocket[] = []
    const url = await listen((socket) => sockets.push(socket))
    const { clock, calls, until } = follow(url)
    await until('the connection', () => calls.length === 1)
    clock.advance(9_000)
    const ponged = once(sockets[0] as WebSocket, 'pong')
    sockets[0]?.ping()
    await ponged
    clock.advance(9_000)
    expect(calls).toEqual(['open'])
    clock.advance(1_000)
    expect(calls.at(-1)).toBe('down nothing arrived for 10 s')
  })

  it('signs of life are requested after a silence, and not before', async () => {
    const heard: string[] = []
    const waiters = new Waiters()
    const url = await listen((socket) => {
      socket.on('message', (data) => {
        heard.push(String(data))
        socket.send('pong')
        waiters.notify()
      })
    })
    const { clock, calls, until } = follow(url, { keepAlive: { text: 'ping', milliseconds: 4_000 } })
    await until('the connection', () => calls.length === 1)
    for (const count of [1, 2, 3]) {
      clock.advance(3_999)
      expect(heard).toHaveLength(count - 1)
      clock.advance(1)
      await until('the answer', () => calls.length === count + 1)
      expect(heard).toHaveLength(count)
    }
    expect(calls).toEqual(['open', ...Array(3).fill('message pong')])
  })

  it('a connection without a sign of life ends, although one was requested', async () => {
    const url = await listen()
    const { clock, calls, until } = follow(url, { keepAlive: { text: 'ping', milliseconds: 4_000 } })
    await until('the connection', () => calls.length === 1)
    clock.advance(15_000)
    expect(calls).toEqual(['open', 'down nothing arrived for 15 s'])
  })
})

describe('requests', () => {
  it('requests wait in order while the venue accepts no more, and are forgotten with the connection', async () => {
    const heard: string[] = []
    const waiters = new Waiters()
    const sockets: WebSocket[] = []
    const url = await listen((socket) => {
      sockets.push(socket)
      socket.on('message', (data) => {
        heard.push(String(data))
        waiters.notify()
      })
    })
    const { clock, calls, connection, until } = follow(url, { requestRate: { burst: 2, perSecond: 4 } })
    await until('the connection', () => calls.length === 1)
    for (const id of [1, 2, 3, 4, 5, 6]) connection.send({ id })
    await waiters.until('the first two', () => heard.length === 2)
    clock.advance(250)
    await waiters.until('the third', () => heard.length === 3)
    clock.advance(500)
    await waiters.until('the fifth', () => heard.length === 5)
    expect(heard).toEqual([1, 2, 3, 4, 5].map((id) => JSON.stringify({ id })))
    sockets[0]?.terminate()
    await until('the end', () => calls.at(-1)?.startsWith('down') === true)
    clock.advance(500)
    await until('the next connection', () => calls.at(-1) === 'open')
    connection.send({ id: 7 })
    await waiters.until('the seventh', () => heard.length === 6)
    expect(heard.at(-1)).toBe('{"id":7}')
  })
})
