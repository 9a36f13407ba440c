/** Connections are counted exactly: whatever becomes of one, its place is given back. */

import type { Server, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, createSystemClock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { NO_HOLDER } from '../../../src/platform/base/shared-pool.ts'
import { Connections } from '../../../src/platform/http/connections.ts'
import { createNodeServer, type TlsContext } from '../../../src/platform/http/node-server.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { readTlsFiles } from '../../../src/platform/http/tls.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'
import { openSocket, readToEnd, sendRaw } from '../../support/raw-http.ts'
import { NodeClock, VirtualClock } from '../../support/virtual-clock.ts'

const files = certificateFiles(await newCertificate('counted'))
const { context } = readTlsFiles(files, Date.now())
const servers: Server[] = []
let handled = 0
beforeEach(() => {
  handled = 0
})
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

const ASK = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'

interface Opened {
  readonly url: string
  readonly connections: Connections
  /** The answers to /wait, which the server has not sent. */
  readonly waiting: ServerResponse[]
}

async function open(
  tls: TlsContext | undefined,
  clock: Clock = createSystemClock(),
  connectionsMax = 100,
): Promise<Opened> {
  const { log } = captureLog()
  const connections = new Connections({
    clock,
    connectionsMax,
    unfinishedBytesMax: 1_048_576,
    // 127.0.0.1 is the address of many clients.
    holderOf: (address) => (address === '127.0.0.1' ? NO_HOLDER : address),
    onAnswer: () => undefined,
    onCut: () => undefined,
    upgrade(_request, socket) {
      socket.resume().write('HTTP/1.1 101 x\r\n\r\n')
      socket.on('end', () => socket.end())
    },
  })
  const options = { headerBytesMax: 16_384, requestMilliseconds: 60_000, tls, connections, log, clock }
  const waiting: ServerResponse[] = []
  const server = createNodeServer(options, (request, response) => {
    handled++
    if (request.url === '/wait') waiting.push(response)
    else response.setHeader('content-length', 1).end('x')
  })
  server.on('clientError', (error, socket) => connections.answerFault(error, socket as never))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, connections, waiting }
}

describe.each([
  ['plain', undefined],
  ['TLS', context],
])('over %s', (_name, tls) => {
  it('active, silent, broken and cut connections count while they exist and not after', async () => {
    const { url, connections } = await open(tls)
    const sockets = Array.from({ length: 3 }, () => openSocket(url))
    for (const socket of sockets) {
      socket.write(ASK)
      await once(socket, 'data')
    }
    expect(connections.size).toBe(3)
    await sendRaw(url, 'nonsense\r\n\r\n')
    const raw = connect(Number(new URL(url).port), '127.0.0.1')
    raw.on('error', () => undefined)
    const cut = readToEnd(raw)
    raw.end(tls === undefined ? ASK : 'nonsense')
    await cut
    await expect.poll(() => connections.size).toBe(3)
    sockets[0]?.end()
    sockets[1]?.destroy()
    await expect.poll(() => connections.size).toBe(1)
    const reset = connect(Number(new URL(url).port), '127.0.0.1')
    await expect.poll(() => connections.size).toBe(2)
    reset.resetAndDestroy()
    sockets[2]?.destroy()
    await expect.poll(() => connections.size).toBe(0)
  })

  it('upgraded connections do not count', async () => {
    const { url, connections } = await open(tls)
    const stream = openSocket(url)
    stream.write(UPGRADE)
    await once(stream, 'data')
    expect(connections.size).toBe(0)
    stream.destroy()
    await once(stream, 'close')
    expect(connections.size).toBe(0)
  })
})

describe('a full listener', () => {
  interface Peer {
    readonly socket: Socket
    isClosed: boolean
  }

  /** Connects from a local address, and sends bytes. */
  async function peerOf({ url, connections }: Opened, from: string, bytes = ''): Promise<Peer> {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from })
    const peer: Peer = { socket, isClosed: false }
    socket.on('error', () => undefined)
    socket.on('close', () => {
      peer.isClosed = true
    })
    const before = [connections.size, connections.unfinishedBytes]
    await once(socket, 'connect')
    socket.write(bytes)
    // The server has taken it, or has cut one for it.
    if (bytes !== '') await expect.poll(() => [connections.size, connections.unfinishedBytes]).not.toEqual(before)
    return peer
  }

  it('a full listener cuts an idle connection of an address over its quarter, and none of another address', async () => {
    const opened = await open(undefined, undefined, 16)
    const other = await peerOf(opened, '127.0.0.2')
    await expect.poll(() => opened.connections.size).toBe(1)
    const peers: Peer[] = []
    for (let count = 0; count < 40; count++) peers.push(await peerOf(opened, '127.0.0.3'))
    await expect.poll(() => peers.filter(({ isClosed }) => isClosed).length).toBe(36)
    await expect.poll(() => opened.connections.size).toBe(5)
    expect(other.isClosed).toBe(false)
  })

  it('a full listener does not cut a request that is being answered, whatever arrives from its own address', async () => {
    const opened = await open(undefined, undefined, 16)
    const asking = await peerOf(opened, '127.0.0.1', ASK.replace('/ ', '/wait '))
    await expect.poll(() => opened.waiting.length).toBe(1)
    const silent: Peer[] = []
    for (let count = 0; count < 60; count++) silent.push(await peerOf(opened, '127.0.0.1'))
    // One of 16 is kept for another address, and one is the request's.
    await expect.poll(() => silent.filter(({ isClosed }) => !isClosed).length).toBe(13)
    expect(asking.isClosed).toBe(false)
    const answer = once(asking.socket, 'data')
    opened.waiting[0]?.end('x')
    expect(String((await answer)[0])).toContain('200 OK')
  })

  it('a full listener cuts an unfinished request for a new connection before a finished one, and at last the new connection', async () => {
    const opened = await open(undefined, undefined, 8)
    const body = 'POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'
    const asking = await peerOf(opened, '127.0.0.2', ASK.replace('/ ', '/wait '))
    const dripping = await peerOf(opened, '127.0.0.2', body)
    await expect.poll(() => opened.waiting.length).toBe(2)
    const next = await peerOf(opened, '127.0.0.2', ASK.replace('/ ', '/wait '))
    await expect.poll(() => opened.waiting.length).toBe(3)
    expect([asking.isClosed, dripping.isClosed, next.isClosed]).toEqual([false, true, false])
    const last = await peerOf(opened, '127.0.0.2')
    await expect.poll(() => last.isClosed).toBe(true)
    expect([asking.isClosed, next.isClosed, opened.connections.size]).toEqual([false, false, 2])
  })

  it('a full listener counts a request behind a proxy for the client that it names, until its answer', async () => {
    const opened = await open(undefined, undefined, 16)
    const { connections, waiting } = opened
    const asking: Peer[] = []
    for (let count = 0; count < 5; count++) asking.push(await peerOf(opened, '127.0.0.1', ASK.replace('/ ', '/wait ')))
    await expect.poll(() => waiting.length).toBe(5)
    for (const { req } of waiting.slice(0, 4)) connections.hold(req, 'client A')
    const request = (waiting[4] as ServerResponse).req
    expect(() => connections.hold(request, 'client A')).toThrow(
      expect.objectContaining({ code: 'too_many_connections' }),
    )
    connections.hold(request, 'client B')
    waiting[0]?.end('x')
    await once(asking[0]?.socket as Socket, 'data')
    await expect.poll(() => caught(() => connections.hold(request, 'client A'))).toBe(false)
  })
})

function caught(run: () => void): boolean {
  try {
    run()
    return false
  } catch {
    return true
  }
}

describe('a connection whose broken request was answered', () => {
  /** A peer that does not end its side when the other one does. */
  async function stubborn(url: string, bytes: string): Promise<{ socket: Socket; answer: string }> {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    socket.write(bytes)
    const [answer] = await once(socket, 'data')
    return { socket, answer: String(answer) }
  }

  it.each([
    ['400', 'nonsense\r\n\r\n'],
    ['431', `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`],
  ])(
    'a connection with a broken request (%s) is cut after a fixed time, whatever its peer continues to send',
    async (status, bytes) => {
      const clock = new NodeClock()
      const { url, connections } = await open(undefined, clock)
      const { socket, answer } = await stubborn(url, bytes)
      expect(answer).toContain(`HTTP/1.1 ${status} `)
      const dribble = setInterval(() => socket.write('x'), 20)
      clock.advance(4_999)
      // Another connection is answered: whatever the cut would have done has been done by then.
      await sendRaw(url, ASK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
      expect(connections.size).toBe(1)
      clock.advance(1)
      await expect.poll(() => connections.size).toBe(0)
      clearInterval(dribble)
    },
  )

  it('a connection whose broken request was answered does not handle a request that becomes complete after all', async () => {
    const clock = new NodeClock()
    const { url } = await open(undefined, clock)
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    let text = ''
    socket.setEncoding('latin1').on('data', (part) => {
      text += part
    })
    const ended = once(socket, 'end')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n')
    await once(socket, 'ready')
    // Later than this the head is too slow.
    await expect
      .poll(() => {
        clock.advance(5_000)
        return text
      })
      .toContain('HTTP/1.1 408 ')
    socket.write('\r\n')
    await ended
    expect(text.split('HTTP/1.1 ')).toHaveLength(2)
    expect(handled).toBe(0)
    socket.destroy()
  })
})

describe('the check for requests that arrive too slowly', () => {
  it('the check for slow requests runs while a connection has sent something', async () => {
    const clock = new VirtualClock()
    const { url, connections } = await open(undefined, clock)
    const socket = openSocket(url)
    await expect.poll(() => connections.size).toBe(1)
    expect(clock.isDueIn(1_000)).toBe(false)
    socket.write('GET / HTTP/1.1\r\n')
    await expect.poll(() => clock.isDueIn(1_000)).toBe(true)
    clock.advance(1_000)
    expect(clock.isDueIn(1_000)).toBe(true)
    socket.destroy()
    await expect.poll(() => connections.size).toBe(0)
    clock.advance(1_000)
    expect(clock.isDueIn(1_000)).toBe(false)
  })
})

describe('closing', () => {
  it('closing a listener does not wait for TLS handshakes that go nowhere', async () => {
    const app = createHttpServer({
      listener: 'public',
      log: captureLog().log,
      metrics: createMetricsRegistry(),
      headerBytesMax: 16_384,
      requestMilliseconds: 600_000,
      translate: () => undefined,
      tls: context,
    })
    const url = (await listenOnFreePort(app)).replace('http:', 'https:')
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    silent.on('error', () => undefined)
    const cut = readToEnd(silent)
    // Whoever comes later and is answered shows that the server has taken the silent one.
    expect((await sendRaw(url, ASK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))).length).toBe(1)
    await app.close()
    expect(await cut).toBe('')
  })
})
