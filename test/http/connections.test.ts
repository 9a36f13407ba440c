/** Connections are counted exactly: whatever becomes of one, its place is given back. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, createSystemClock } from '../../src/base/clock.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { Connections } from '../../src/http/connections.ts'
import { createNodeServer } from '../../src/http/node-server.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { readTlsFiles } from '../../src/http/tls.ts'
import { listenOnFreePort } from '../support/auth-fixtures.ts'
import { captureLog } from '../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../support/certificates.ts'
import { openSocket, readToEnd, sendRaw } from '../support/raw-http.ts'
import { NodeClock } from '../support/virtual-clock.ts'

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

async function open(
  tls: SecureContextOptions | undefined,
  clock: Clock = createSystemClock(),
): Promise<{ url: string; connections: Connections }> {
  const { log } = captureLog()
  const connections = new Connections({
    clock,
    connectionsMax: 100,
    unfinishedBytesMax: 1_048_576,
    onAnswer: () => undefined,
    onCut: () => undefined,
    upgrade(_request, socket) {
      socket.resume().write('HTTP/1.1 101 x\r\n\r\n')
      socket.on('end', () => socket.end())
    },
  })
  const options = { headerBytesMax: 16_384, requestMilliseconds: 60_000, tls, connections, log, clock }
  const server = createNodeServer(options, (_request, response) => {
    handled++
    response.end('x')
  })
  server.on('clientError', (error, socket) => connections.answerFault(error, socket as never))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, connections }
}

describe.each([
  ['plain', undefined],
  ['TLS', context],
])('over %s', (_name, tls) => {
  it('asked, silent, broken and cut ones count while they are there and not after', async () => {
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

  it('upgraded ones do not count', async () => {
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
  ])('%s: is cut after a fixed time, whatever its peer continues to send', async (status, bytes) => {
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
  })

  it('does not handle a request that becomes complete after all', async () => {
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

describe('closing', () => {
  it('does not wait for TLS handshakes that go nowhere', async () => {
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
