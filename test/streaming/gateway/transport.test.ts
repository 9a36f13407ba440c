import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type ServerOptions, WebSocket, WebSocketServer } from 'ws'
import { type Clock, createSystemClock } from '../../../src/platform/base/clock.ts'
import { Transport } from '../../../src/streaming/gateway/outbox.ts'
import { textMessage } from '../../../src/streaming/sequencing/frame.ts'
import { once } from '../../support/awaited.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const ends: (() => void)[] = []

/** What ws itself would cut is not to hide what the transport does not. */
const NEVER_MILLISECONDS = 600_000

afterEach(() => {
  for (const end of ends.splice(0)) end()
})

interface Served {
  readonly transport: Transport
  readonly webSocket: WebSocket
  /** The server's end of the connection. */
  readonly served: Socket
}

/** Serves one connection on a port of this machine and hands over its transport when it is there. */
async function serve(clock: Clock = createSystemClock()): Promise<{ port: number; accepted: Promise<Served> }> {
  const http = createServer()
  // The type declarations do not know `closeTimeout` yet.
  const options: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    perMessageDeflate: false,
    closeTimeout: NEVER_MILLISECONDS,
  }
  const server = new WebSocketServer(options)
  const accepted = new Promise<Served>((resolve) => {
    http.on('upgrade', (request, socket: Socket, head) => {
      server.handleUpgrade(request, socket, head, (webSocket) => {
        ends.push(() => webSocket.terminate())
        webSocket.on('error', () => webSocket.terminate())
        resolve({ transport: new Transport(webSocket, socket, clock, '127.0.0.1'), webSocket, served: socket })
      })
    })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  ends.push(() => http.close())
  return { port, accepted }
}

async function open(clock: Clock = createSystemClock()): Promise<Served & { client: WebSocket; texts: string[] }> {
  const { port, accepted } = await serve(clock)
  const client = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false })
  const texts: string[] = []
  client.on('message', (data) => texts.push(String(data)))
  ends.push(() => client.terminate())
  const served = await accepted
  if (client.readyState !== client.OPEN) await once(client, 'open')
  return { ...served, client, texts }
}

/** A peer that has shaken hands and reads nothing. */
async function openMute(clock: VirtualClock): Promise<Served & { socket: Socket }> {
  const { port, accepted } = await serve(clock)
  const socket = connect(port, '127.0.0.1')
  ends.push(() => socket.destroy())
  const key = Buffer.alloc(16).toString('base64')
  socket.write(
    `GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  )
  const served = await accepted
  await once(socket, 'data')
  socket.pause()
  return { ...served, socket }
}

describe('a connection over a real socket', () => {
  test('a connection over a real socket carries frames in order, fragments with pongs between them, and reports deliveries', async () => {
    const { transport, client, texts } = await open()
    let pongs = 0
    client.on('pong', () => {
      pongs += 1
    })
    let pings = 0
    client.on('ping', () => {
      pings += 1
    })
    const long = 'x'.repeat(200_000)
    for (let round = 0; round < 20; round++) {
      const frames = [...textMessage(`${round}a`), ...textMessage(`${round}${long}`)]
      for (const frame of frames) {
        const written = new Promise<void>((resolve) => transport.write(frame, resolve))
        transport.pong(Buffer.from('between'))
        await written
      }
      transport.write(Buffer.concat([...textMessage(`${round}b`), ...textMessage(`${round}c`)]))
      transport.ping()
    }
    await expect.poll(() => texts.length).toBe(80)
    expect(texts).toEqual(
      Array.from({ length: 20 }, (_, round) => [`${round}a`, `${round}${long}`, `${round}b`, `${round}c`]).flat(),
    )
    await expect.poll(() => [pongs, pings]).toEqual([100, 20])
  })

  test('a connection over a real socket counts the bytes that a peer has not read, and calls back when it has read them', async () => {
    const clock = new VirtualClock()
    const { transport, socket } = await openMute(clock)
    expect(transport.queuedBytes).toBe(0)
    expect(transport.isSaturated).toBe(false)
    const frame = textMessage('x'.repeat(65_000))[0] as Buffer
    let taken = 0
    let written = 0
    // How much a kernel takes for a peer that does not read differs; it takes no more when nothing goes in a round.
    for (let before = -1; taken > before || written === taken; ) {
      before = taken
      for (let count = 0; count < 20; count++, written++) transport.write(frame, () => taken++)
      for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(transport.isSaturated).toBe(true)
    expect(taken).toBeLessThan(written)
    expect(transport.queuedBytes).toBe((written - taken) * frame.length)
    socket.resume()
    await expect.poll(() => taken).toBe(written)
    expect(transport.queuedBytes).toBe(0)
  })

  test('a connection over a real socket reads nothing while it is paused', async () => {
    const { transport, client, webSocket } = await open()
    const received: string[] = []
    webSocket.on('message', (data) => received.push(String(data)))
    transport.pauseReading()
    await new Promise<void>((resolve) => client.send('held back', () => resolve()))
    // Round trips the other way: in each of them the server's loop could have read.
    for (let count = 0; count < 20; count++) {
      const pinged = once(client, 'ping')
      transport.ping()
      await pinged
    }
    expect(received).toEqual([])
    transport.resumeReading()
    await expect.poll(() => received).toEqual(['held back'])
  })
})

describe('closing', () => {
  test('a close sends code and reason after the data written before, and nothing after them', async () => {
    const clock = new VirtualClock()
    const { transport, socket } = await openMute(clock)
    const received: Buffer[] = []
    socket.on('data', (data) => received.push(data))
    socket.resume()
    const ended = once(socket, 'close')
    for (const frame of textMessage('last')) transport.write(frame)
    transport.close(4000, 'a reason', 5_000)
    for (const frame of textMessage('too late')) transport.write(frame)
    transport.ping()
    transport.pong(Buffer.from('x'))
    expect(transport.isOpen).toBe(false)
    const expected = Buffer.concat([
      Buffer.from([0x81, 4]),
      Buffer.from('last'),
      Buffer.from([0x88, 10, 0x0f, 0xa0]),
      Buffer.from('a reason'),
    ])
    await expect.poll(() => Buffer.concat(received).length).toBeGreaterThanOrEqual(expected.length)
    transport.cut()
    await ended
    expect(Buffer.concat(received)).toEqual(expected)
  })

  test('a closing connection reads the answer of a peer that was not read', async () => {
    const { transport, client, webSocket } = await open()
    transport.pauseReading()
    client.send('waits')
    let code: number | undefined
    webSocket.on('close', (found) => {
      code = found
    })
    transport.close(1012, 'restarting', NEVER_MILLISECONDS)
    await expect.poll(() => code).toBe(1012)
  })

  test.each([1_000, 5_000])(
    'a closing connection is cut after %i ms when its peer does not answer',
    async (cutMilliseconds) => {
      const clock = new VirtualClock()
      const { transport, served } = await openMute(clock)
      transport.close(4003, 'access revoked', cutMilliseconds)
      clock.advance(cutMilliseconds - 1)
      expect(served.destroyed).toBe(false)
      clock.advance(1)
      expect(served.destroyed).toBe(true)
    },
  )

  test('a connection that ended in time is not cut later', async () => {
    const clock = new VirtualClock()
    const { transport, webSocket } = await openMute(clock)
    let cuts = 0
    webSocket.terminate = () => {
      cuts += 1
    }
    transport.close(1001, 'x', 5_000)
    transport.ended()
    clock.advance(10_000)
    expect(cuts).toBe(0)
  })
})
