/**
 * What a peer can cost before and right after its handshake: long heads, tokens that are checked for long, refusals that
 * are not read, resets at every stage, messages in very many pieces.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { TokenVerdict } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createGateway, type Gateway } from '../../../src/streaming/gateway/gateway.ts'
import { Hub } from '../../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../src/streaming/gateway/metrics.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { once, until } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { SETTINGS } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const GOOD: TokenVerdict = {
  ok: true,
  token: {
    clientId: 'client',
    customerId: 'customer',
    scopes: new Set([STREAM_SCOPE]),
    tokenId: 'good',
    keyId: 'key',
    issuedAtSeconds: 0,
    expiresAtMilliseconds: Date.now() + 3_600_000,
  },
}

const clock = new VirtualClock()
let hub: Hub
let gateway: Gateway
let lines: readonly string[]
let server: Server
let port: number
/** What the checks of tokens wait for; none: they are done at once. */
let verdict: Promise<TokenVerdict>
/** Sockets whose upgrade has been asked for. */
let upgraded: Socket[]

beforeEach(async () => {
  const directory = new Directory()
  const customer = { id: 'customer', name: 'Customer', enabled: true, streaming: true }
  const scopes = new Set([STREAM_SCOPE] as const)
  const client = { clientId: 'client', customerId: 'customer', name: 'Client', scopes, enabled: true }
  directory.replace({ customers: [customer], clients: [client] })
  const captured = captureLog()
  lines = captured.lines
  const { log } = captured
  const metrics = createGatewayMetrics(createMetricsRegistry())
  const bus = createMemoryBus()
  hub = new Hub({ replicas: [], bus, clock: createSystemClock(), log, metrics, settings: SETTINGS, random: () => 0 })
  const settings = { inboundBytesMax: 65_536, connectionsPerClientMax: 100, connectionsMax: 100 }
  verdict = Promise.resolve(GOOD)
  gateway = createGateway({ hub, directory, verifier: { verify: () => verdict }, clock, log, metrics, settings })
  upgraded = []
  // An answer that is larger than what the kernel takes for a peer that does not read.
  server = createServer({ maxHeaderSize: 524_288 }, (_request, response) => response.end(Buffer.alloc(16_777_216)))
  server.on('upgrade', (request, socket, head) => {
    upgraded.push(socket as Socket)
    gateway.upgrade(request, socket, head, { address: '127.0.0.1', holder: '' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterEach(async () => {
  gateway.stop()
  server.closeAllConnections()
  for (const socket of upgraded) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

const HEAD =
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const WITH_TOKEN = `${HEAD}Authorization: Bearer x\r\n\r\n`

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Resolves when a socket is gone, whether an error came before or not. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

/** All that comes until the other side ends the connection. */
async function answerTo(bytes: string): Promise<string> {
  const socket = await open()
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

describe('a handshake', () => {
  test('a handshake offers at most 16 subprotocols', async () => {
    verdict = Promise.resolve({ ok: false, reason: 'it is a trial' })
    const offer = (value: string) => answerTo(`${HEAD}Sec-WebSocket-Protocol: ${value}\r\n\r\n`)
    const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`).join()
    expect(await offer(names(16))).toMatch(/^HTTP\/1.1 401 /)
    for (const value of [names(17), names(70_000)]) {
      const answer = await offer(value)
      expect(answer).toMatch(/^HTTP\/1.1 400 /)
      expect(answer).toContain('Sec-WebSocket-Protocol must not list more than 16 names')
    }
    expect(await offer(`tidegate.v1,bearer.${'x'.repeat(400_000)}`)).toMatch(/^HTTP\/1.1 401 /)
  })

  test('a handshake above the memory budget for token checks is answered 503', async () => {
    let decide: (verdict: TokenVerdict) => void = () => undefined
    verdict = new Promise((resolve) => {
      decide = resolve
    })
    const headBytes = 450_000
    const held = Array.from({ length: 143 }, (_, index) => upgradeOf(headBytes, `192.0.2.${index}`))
    await new Promise((resolve) => setImmediate(resolve))
    expect(held.every(({ written }) => written().length === 0)).toBe(true)
    const refused = upgradeOf(headBytes)
    await once(refused.socket, 'close')
    expect(refused.written()).toMatch(/^HTTP\/1.1 503 .*Retry-After: 5\r\n.*too many handshakes/is)
    decide({ ok: false, reason: 'it is a trial' })
    await Promise.all(held.map(({ socket }) => once(socket, 'close')))
    expect(held.every(({ written }) => written().startsWith('HTTP/1.1 401 '))).toBe(true)
    // All of it was given back.
    const later = upgradeOf(headBytes)
    await once(later.socket, 'close')
    expect(later.written()).toMatch(/^HTTP\/1.1 401 /)
  })

  test('a handshake is checked while another address has its maximum of pending ones', async () => {
    verdict = new Promise(() => undefined)
    const headBytes = 450_000
    for (let count = 0; count < 35; count++) upgradeOf(headBytes)
    const refused = upgradeOf(headBytes)
    await once(refused.socket, 'close')
    expect(refused.written()).toMatch(/^HTTP\/1.1 503 /)
    verdict = Promise.resolve({ ok: false, reason: 'it is a trial' })
    const other = upgradeOf(headBytes, '192.0.2.1')
    await once(other.socket, 'close')
    expect(other.written()).toMatch(/^HTTP\/1.1 401 /)
  })

  test('a handshake whose refusal is not read is cut after 5 s', async () => {
    const socket = await open()
    socket.pause()
    // The refusal waits behind an answer that fills every buffer.
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${HEAD}\r\n`)
    await once(server, 'upgrade')
    const [refused] = upgraded as [Socket]
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(4_999)
    expect([refused.destroyed, refused.writableFinished]).toEqual([false, false])
    clock.advance(1)
    expect(refused.destroyed).toBe(true)
    socket.destroy()
  })
})

/** A request for an upgrade with a head of about `bytes` bytes, on a socket of the test's own. */
function upgradeOf(headBytes: number, holder = '192.0.2.255') {
  const parts: string[] = []
  const socket = new Duplex({
    read: () => undefined,
    write(chunk, _encoding, done) {
      parts.push(String(chunk))
      done()
    },
  })
  const headers = {
    host: 'x',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    authorization: 'Bearer x',
    'x-long': 'x'.repeat(headBytes),
  }
  const rawHeaders = Object.entries(headers).flat()
  const request = { method: 'GET', url: '/', httpVersion: '1.1', headers, rawHeaders, socket }
  gateway.upgrade(request as unknown as IncomingMessage, socket, Buffer.alloc(0), { address: '127.0.0.1', holder })
  return { socket, written: () => parts.join('') }
}

describe('a peer that resets the connection', () => {
  test('a peer that resets the connection while its token is checked leaves nothing open, whatever the result', async () => {
    for (const outcome of [GOOD, { ok: false, reason: 'it is a trial' } as const]) {
      let decide: (verdict: TokenVerdict) => void = () => undefined
      verdict = new Promise((resolve) => {
        decide = resolve
      })
      const socket = await open()
      socket.write(WITH_TOKEN)
      await once(server, 'upgrade')
      const accepted = upgraded.at(-1) as Socket
      socket.resetAndDestroy()
      // Nothing reads the socket yet; a write finds out.
      accepted.resume()
      await closed(accepted)
      decide(outcome)
      await new Promise((resolve) => setImmediate(resolve))
      expect(hub.sessions.size).toBe(0)
    }
  })

  test('a peer that resets the connection while its refusal waits to be written crashes nothing', async () => {
    const socket = await open()
    socket.pause()
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${HEAD}\r\n`)
    await once(server, 'upgrade')
    const [refused] = upgraded as [Socket]
    const ended = closed(refused)
    socket.resetAndDestroy()
    await ended
    expect(refused.listenerCount('error')).toBeGreaterThan(0)
  })

  test('a peer that resets the connection at any moment from the request on ends its own connection only', async () => {
    const watcher = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { authorization: 'Bearer x' } })
    await once(watcher, 'open')
    for (let count = 0; count < 60; count++) {
      const socket = await open()
      socket.write(count % 3 === 0 ? `${HEAD}\r\n` : WITH_TOKEN)
      for (let tick = 0; tick < count % 10; tick++) await new Promise((resolve) => setImmediate(resolve))
      socket.resetAndDestroy()
    }
    await expect.poll(() => hub.sessions.size).toBe(1)
    expect(watcher.readyState).toBe(WebSocket.OPEN)
    // Peers without a token can fill no log that an operator reads.
    const loud = lines.filter((line) => /"level":[45678]0/.test(line))
    expect(loud).toEqual([])
    watcher.terminate()
  })
})

describe('a message', () => {
  const connected = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { authorization: 'Bearer x' } })
    await once(socket, 'open')
    return socket
  }
  const REQUEST = '{"type":"subscription_list"}'

  /** A close frame with that code and no reason. */
  const CLOSE_1008 = '\x88\x02\x03\xf0'

  /** Sends a request as `count` frames, most of them empty. */
  function sendInFragments(socket: WebSocket, count: number): void {
    for (let sent = 1; sent < count; sent++) socket.send('', { fin: false, binary: false })
    socket.send(REQUEST, { fin: true, binary: false })
  }

  test('a message of 64 fragments is answered, of 65 closes with 1008', async () => {
    const socket = await connected()
    sendInFragments(socket, 64)
    expect(String((await once(socket, 'message'))[0])).toBe('{"type":"subscription_list","channels":[]}')
    const ended = once(socket, 'close')
    sendInFragments(socket, 65)
    expect((await ended)[0]).toBe(1008)
  })

  test('a message may come in a thousand reads, and one that never ends closes with 1008', async () => {
    const sendSlowly = async (length: number, pieces: number): Promise<{ received: () => string; socket: Socket }> => {
      const socket = await open()
      socket.setNoDelay()
      socket.write(WITH_TOKEN)
      await once(socket, 'data')
      let received = ''
      socket.on('data', (part) => {
        received += part.toString('latin1')
      })
      // Pings may come any time.
      const isAnswered = () => received.includes(CLOSE_1008) || received.includes('{')
      const accepted = upgraded.at(-1) as Socket
      const masked = Buffer.concat([
        Buffer.from([0x81, 0xfe, length >> 8, length & 255, 0, 0, 0, 0]),
        Buffer.from(REQUEST.padEnd(length)),
      ])
      // Each byte is read before the next is sent, until there is an answer.
      for (let at = 0; at < pieces && !isAnswered(); at++) {
        const before = accepted.bytesRead
        socket.write(masked.subarray(at, at + 1))
        await until(`byte ${at} to be read, or an answer`, () => accepted.bytesRead > before || isAnswered())
      }
      return { received: () => received, socket }
    }
    const sound = await sendSlowly(1_000, 1_008)
    await expect.poll(() => sound.received()).toContain('{"type":"subscription_list","channels":[]}')
    sound.socket.destroy()
    const endless = await sendSlowly(60_000, 1_100)
    await expect.poll(() => endless.received()).toContain(CLOSE_1008)
    endless.socket.destroy()
  })
})
