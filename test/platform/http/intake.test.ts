/**
 * What connections hold for unfinished and unanswered requests is counted as it arrives, has a limit that the oldest
 * large ones pay for, and a message that arrives too slowly is answered 408.
 */

import type { Server } from 'node:http'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { NO_HOLDER } from '../../../src/platform/base/shared-pool.ts'
import { Connections, type CutReason } from '../../../src/platform/http/connections.ts'
import { createNodeServer } from '../../../src/platform/http/node-server.ts'
import { readTlsFiles } from '../../../src/platform/http/tls.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { certificateFiles, newCertificate } from '../../support/certificates.ts'
import { openSocket, readToEnd, sendRaw, splitAnswers } from '../../support/raw-http.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const files = certificateFiles(await newCertificate('counted'))
const { context } = readTlsFiles(files, Date.now())
const KIBIBYTE = 1_024
const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

interface Opened {
  readonly url: string
  readonly connections: Connections
  readonly clock: NodeClock
  readonly cuts: [CutReason, number][]
  /** Ends the answers to /wait. */
  release(): void
  /** @param from the local address */
  connect(bytes: string, from?: string): Promise<Client>
}

interface Client {
  readonly socket: Socket
  isClosed: boolean
  send(bytes: string): void
}

async function open(
  unfinishedBytesMax: number,
  tls?: typeof context,
  holderOf: (address: string) => string = () => NO_HOLDER,
): Promise<Opened> {
  const clock = new NodeClock()
  const cuts: [CutReason, number][] = []
  const connections = new Connections({
    clock,
    connectionsMax: 1_000,
    unfinishedBytesMax,
    holderOf,
    onAnswer: () => undefined,
    onCut: (reason, count) => cuts.push([reason, count]),
  })
  const waiting: (() => void)[] = []
  const { log } = captureLog()
  const options = { headerBytesMax: 524_288, requestMilliseconds: 600_000, tls, connections, log, clock }
  const server = createNodeServer(options, (request, response) => {
    // A body that breaks off is answered by whoever reads it, as routes do.
    request.on('error', (problem: { status?: number }) => {
      response.statusCode = problem.status ?? 500
      response.setHeader('content-length', 0).end()
    })
    if (request.url === '/dump') return void response.setHeader('content-length', 2).end('x\n')
    if (request.url === '/wait') return void waiting.push(() => response.setHeader('content-length', 2).end('x\n'))
    request.resume().on('end', () => response.setHeader('content-length', 2).end('x\n'))
  })
  server.on('clientError', (error, socket) => connections.answerFault(error, socket as Socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  return {
    url,
    connections,
    clock,
    cuts,
    release: () => {
      for (const end of waiting.splice(0)) end()
    },
    async connect(bytes, from) {
      const before = connections.unfinishedBytes
      const socket = from === undefined ? openSocket(url) : connectFrom(port, from)
      const client: Client = { socket, isClosed: false, send: (more) => void socket.write(more) }
      socket.on('close', () => {
        client.isClosed = true
      })
      socket.write(bytes)
      // All of it has arrived, or has made others go.
      await expect.poll(() => client.isClosed || cuts.length > 0 || connections.unfinishedBytes - before).toBeTruthy()
      return client
    },
  }
}

function connectFrom(port: number, localAddress: string): Socket {
  const socket = connectTcp({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => undefined)
  return socket
}

const HEAD = 'GET / HTTP/1.1\r\nHost: x\r\n'
const WHOLE = `${HEAD}\r\n`
const unfinished = (bytes: number) => `${HEAD}A: ${'a'.repeat(bytes - HEAD.length - 3)}`

describe.each([
  ['plain', undefined],
  ['TLS', context],
])('bytes over %s', (_name, tls) => {
  it('the bytes of a head count until the next one is complete or the connection is gone', async () => {
    const { connections, connect } = await open(1_048_576, tls)
    const client = await connect(unfinished(300 * KIBIBYTE))
    await expect.poll(() => connections.unfinishedBytes).toBe(300 * KIBIBYTE)
    client.send('\r\n\r\n')
    await once(client.socket, 'data')
    // The parser keeps it.
    await expect.poll(() => connections.unfinishedBytes).toBe(300 * KIBIBYTE + 4)
    client.send(WHOLE)
    await expect.poll(() => connections.unfinishedBytes).toBe(WHOLE.length)
    client.socket.destroy()
    await expect.poll(() => connections.unfinishedBytes).toBe(0)
  })
})

describe('bytes', () => {
  it('the bytes of a body count while it is read, and until the answer', async () => {
    const { connections, connect, release } = await open(1_048_576)
    const head = `POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: ${200 * KIBIBYTE}\r\n\r\n`
    const client = await connect(head)
    // As text of the request, and in the parser.
    await expect.poll(() => connections.unfinishedBytes).toBe(2 * head.length)
    client.send('x'.repeat(10 * KIBIBYTE))
    await expect.poll(() => connections.unfinishedBytes).toBe(2 * head.length + 10 * KIBIBYTE)
    release()
    await once(client.socket, 'data')
    await expect.poll(() => connections.unfinishedBytes).toBe(head.length)
    // Answered before it was complete: the rest is thrown away as it comes.
    client.send('x'.repeat(190 * KIBIBYTE))
    client.send(WHOLE)
    await once(client.socket, 'data')
    await expect.poll(() => connections.unfinishedBytes).toBe(WHOLE.length)
  })

  it('the bytes of requests sent ahead count one by one, and so does the head behind them', async () => {
    const { connections, connect, release } = await open(1_048_576)
    const wait = 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'
    const client = await connect(`${wait}${wait}${unfinished(30 * KIBIBYTE)}`)
    await expect.poll(() => connections.unfinishedBytes).toBe(3 * wait.length + 30 * KIBIBYTE)
    release()
    await expect.poll(() => connections.unfinishedBytes).toBe(wait.length + 30 * KIBIBYTE)
    client.socket.destroy()
    await expect.poll(() => connections.unfinishedBytes).toBe(0)
  })

  it('the bytes of chunked bodies and of unusual blanks are not taken for the next head', async () => {
    const { connections, clock, connect } = await open(1_048_576)
    const chunked = await connect('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    chunked.send(`2\r\n{}\r\n0\r\n\r\n`)
    await once(chunked.socket, 'data')
    const blanks = await connect('GET / HTTP/1.1\r\nHost:     x   \r\n\r\n')
    const trailing = await connect('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
    trailing.send('\r\n')
    clock.advance(60_000)
    for (const client of [chunked, blanks, trailing]) {
      client.send(WHOLE)
      await once(client.socket, 'data')
    }
    await expect.poll(() => connections.unfinishedBytes).toBe(3 * WHOLE.length)
  })
})

describe('the budget', () => {
  it('the intake budget is kept by cutting the oldest', async () => {
    const { connections, connect, cuts } = await open(256 * KIBIBYTE)
    const clients: Client[] = []
    for (let count = 0; count < 8; count++) clients.push(await connect(unfinished(32 * KIBIBYTE)))
    await expect.poll(() => connections.unfinishedBytes).toBe(256 * KIBIBYTE)
    expect(cuts).toEqual([])
    clients.push(await connect(unfinished(32 * KIBIBYTE)))
    await expect.poll(() => clients.map(({ isClosed }) => isClosed)).toEqual([true, true, ...Array(7).fill(false)])
    await expect.poll(() => connections.unfinishedBytes).toBe(224 * KIBIBYTE)
    expect(cuts.every(([reason]) => reason === 'unfinished_bytes')).toBe(true)
    expect(connections.size).toBe(7)
    clients.at(-1)?.send('\r\n\r\n')
    const [answer] = splitAnswers(String((await once(clients.at(-1)?.socket as Socket, 'data'))[0]))
    expect(answer?.status).toBe(200)
  })

  it('the intake budget is divided: an address with a quarter pays for itself, and others keep what they have', async () => {
    const { connections, connect } = await open(256 * KIBIBYTE, undefined, (address) => address)
    const other = await connect(unfinished(20 * KIBIBYTE), '127.0.0.2')
    const clients: Client[] = []
    for (let count = 0; count < 9; count++) clients.push(await connect(unfinished(16 * KIBIBYTE), '127.0.0.3'))
    await expect.poll(() => clients.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(4)
    expect(connections.unfinishedBytes).toBeLessThanOrEqual(84 * KIBIBYTE)
    expect([other.isClosed, clients.at(-1)?.isClosed]).toEqual([false, false])
    other.send('\r\n\r\n')
    const [answer] = splitAnswers(String((await once(other.socket, 'data'))[0]))
    expect(answer?.status).toBe(200)
  })

  it('the intake budget is not kept at the cost of small requests, however old', async () => {
    const { connections, connect } = await open(256 * KIBIBYTE)
    const small = await connect(unfinished(2 * KIBIBYTE))
    for (let count = 0; count < 100; count++) {
      await connect(unfinished(60 * KIBIBYTE))
      expect(connections.unfinishedBytes).toBeLessThanOrEqual(256 * KIBIBYTE)
    }
    small.send('\r\n\r\n')
    const [answer] = splitAnswers(String((await once(small.socket, 'data'))[0]))
    expect(answer?.status).toBe(200)
  })

  it('the intake budget covers idle connections whose last head was large, and unanswered requests ahead', async () => {
    const { connections, connect, cuts } = await open(512 * KIBIBYTE)
    const ahead = `GET /wait HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(30 * KIBIBYTE)}\r\n\r\n`
    for (let count = 0; count < 20; count++) {
      const idle = await connect(`${unfinished(60 * KIBIBYTE)}\r\n\r\n`)
      if (!idle.isClosed) await Promise.race([once(idle.socket, 'data'), once(idle.socket, 'close')])
      await connect(ahead.repeat(3))
      expect(connections.unfinishedBytes).toBeLessThanOrEqual(512 * KIBIBYTE)
    }
    expect(cuts.length).toBeGreaterThan(0)
  })

  it('the intake budget leaves the request with five arrays of a hundred long entries alone', async () => {
    const { url } = await open(67_108_864)
    const array = (name: string) =>
      Array(100)
        .fill(`${name}=${'x'.repeat(200)}`)
        .join('&')
    const query = ['a', 'b', 'c', 'd', 'e'].map(array).join('&')
    const answers = await sendRaw(url, `GET /?${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('a message that arrives too slowly', () => {
  it('a head that arrives too slowly is 408, and the connection ends', async () => {
    const { clock, connect, connections } = await open(1_048_576)
    const client = await connect(HEAD)
    const text = readToEnd(client.socket)
    clock.advance(4_000)
    expect(connections.size).toBe(1)
    clock.advance(1_000)
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([408])
  })

  it('a body that arrives too slowly is answered 408 by its route', async () => {
    const { clock, connect } = await open(1_048_576)
    const client = await connect('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')
    const text = readToEnd(client.socket)
    clock.advance(5_000)
    expect(splitAnswers(await text).map(({ status, headers }) => [status, headers.connection])).toEqual([
      [408, 'close'],
    ])
  })

  it('a message above the least rate, or one that is not read, is never too slow', async () => {
    const { clock, connect, connections } = await open(1_048_576)
    const quick = await connect(unfinished(10 * KIBIBYTE))
    const idle = await connect(WHOLE)
    await once(idle.socket, 'data')
    const unread = await connect('POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')
    clock.advance(15_000)
    for (const client of [quick, idle]) {
      client.send(client === quick ? '\r\n\r\n' : WHOLE)
      await once(client.socket, 'data')
    }
    expect([connections.size, unread.isClosed]).toEqual([3, false])
  })
})
