import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { ClientRecord, CustomerRecord, DirectoryContent } from '../../../src/access/clients/directory-records.ts'
import type { TokenVerdict } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createGateway, type Gateway } from '../../../src/streaming/gateway/gateway.ts'
import { refuseAdmission, refuseRequest } from '../../../src/streaming/gateway/handshake.ts'
import { Hub } from '../../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../src/streaming/gateway/metrics.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { SETTINGS } from '../../support/stream-simulation.ts'

const CUSTOMER: CustomerRecord = { id: 'customer', name: 'Customer', enabled: true, streaming: true }
const CLIENT: ClientRecord = {
  clientId: 'client',
  customerId: 'customer',
  name: 'Client',
  scopes: new Set([STREAM_SCOPE]),
  enabled: true,
}

/** Of the directory. */
const currency = { isStale: false }

/** Set by a test that needs time to stand still. */
let stoppedAt: number | undefined
const systemClock = createSystemClock()
const clock = { ...systemClock, monotonicMilliseconds: () => stoppedAt ?? systemClock.monotonicMilliseconds() }
let captured = captureLog()
let directory: Directory
let gateway: Gateway
let server: Server
let port: number
const sockets: WebSocket[] = []

/** Tokens of this test: `good`, `scopeless`, anything else is invalid. */
async function verify(token: string): Promise<TokenVerdict> {
  if (token !== 'good' && token !== 'scopeless') return { ok: false, reason: 'its signature is wrong' }
  const scopes = new Set(token === 'good' ? [STREAM_SCOPE] : [])
  const expiresAtMilliseconds = Date.now() + 60_000
  return {
    ok: true,
    token: {
      clientId: 'client',
      customerId: 'customer',
      scopes,
      tokenId: token,
      keyId: 'key',
      issuedAtSeconds: 0,
      expiresAtMilliseconds,
    },
  }
}

beforeEach(async () => {
  captured = captureLog()
  directory = new Directory()
  directory.replace({ customers: [CUSTOMER], clients: [CLIENT] })
  const { log } = captured
  const metrics = createGatewayMetrics(createMetricsRegistry())
  const bus = createMemoryBus()
  const hub = new Hub({ replicas: [], bus, clock, log, metrics, settings: SETTINGS, random: () => 0 })
  const settings = { inboundBytesMax: 65_536, connectionsPerClientMax: 2, connectionsMax: 3 }
  currency.isStale = false
  gateway = createGateway({ hub, directory, currency, verifier: { verify }, clock, log, metrics, settings })
  server = createServer()
  server.on('upgrade', (request, socket, head) =>
    gateway.upgrade(request, socket, head, { address: '127.0.0.1', holder: '' }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterEach(async () => {
  stoppedAt = undefined
  for (const socket of sockets.splice(0)) socket.terminate()
  gateway.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  Authorization: 'Bearer good',
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: { status?: number; code?: string; detail?: string; request_id?: string }
}

function ask(headers: Record<string, string | undefined>, path = '/', method = 'GET'): Promise<Answer> {
  const present = Object.fromEntries(Object.entries(headers).filter((entry) => entry[1] !== undefined))
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, method, headers: present as Record<string, string> })
    request.on('error', reject)
    request.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: 101, headers: response.headers, body: {} })
    })
    request.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part) => parts.push(part))
      response.on('end', () => {
        const body = JSON.parse(Buffer.concat(parts).toString())
        resolve({ status: response.statusCode as number, headers: response.headers, body })
      })
    })
    request.end()
  })
}

function open(protocols: string[], headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, protocols, { headers })
  sockets.push(socket)
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(socket))
    socket.on('error', reject)
  })
}

describe('a handshake', () => {
  test.each([
    ['another path', {}, '/stream', 404, 'not_found'],
    ['no version', { 'Sec-WebSocket-Version': undefined }, '/', 426, 'upgrade_required'],
    ['version 8', { 'Sec-WebSocket-Version': '8' }, '/', 426, 'upgrade_required'],
    ['another upgrade', { Upgrade: 'h2c' }, '/', 426, 'upgrade_required'],
    ['no key', { 'Sec-WebSocket-Key': undefined }, '/', 400, 'bad_handshake'],
    ['a short key', { 'Sec-WebSocket-Key': 'c2hvcnQ=' }, '/', 400, 'bad_handshake'],
    ['a subprotocol twice', { 'Sec-WebSocket-Protocol': 'a, a' }, '/', 400, 'bad_handshake'],
    ['bearer alone', { 'Sec-WebSocket-Protocol': 'bearer.good', Authorization: undefined }, '/', 400, 'bad_handshake'],
    ['no token', { Authorization: undefined }, '/', 401, 'unauthorized'],
    ['an empty token', { Authorization: 'Bearer ' }, '/', 401, 'invalid_token'],
    ['another scheme', { Authorization: 'Basic Zm9vOmJhcg==' }, '/', 401, 'unauthorized'],
    ['a wrong token', { Authorization: 'Bearer wrong' }, '/', 401, 'invalid_token'],
    ['a token in the URL only', { Authorization: undefined }, '/?access_token=good', 401, 'unauthorized'],
    ['no scope', { Authorization: 'Bearer scopeless' }, '/', 403, 'insufficient_scope'],
  ])('a handshake with %s is refused', async (_, change, path, status, code) => {
    const answer = await ask({ ...HANDSHAKE, ...change }, path)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ status, code, detail: expect.any(String), request_id: expect.any(String) })
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  })

  test('a refused handshake is a log line, limited in number for each code', async () => {
    stoppedAt = systemClock.monotonicMilliseconds()
    const refuse = async (times: number, change: Record<string, string | undefined>) => {
      for (let count = 0; count < times; count++) await ask({ ...HANDSHAKE, ...change })
    }
    const refusals = () =>
      captured.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'handshake refused')
    await refuse(150, { Authorization: 'Bearer wrong' })
    await refuse(1, { Authorization: undefined })
    expect(refusals()).toHaveLength(101)
    expect(refusals().at(-1)).toMatchObject({ status: 401, code: 'unauthorized', client_address: '127.0.0.1' })
    stoppedAt += 100
    await refuse(2, { Authorization: 'Bearer wrong' })
    expect(refusals()).toHaveLength(102)
    expect(refusals().at(-1)).toMatchObject({ code: 'invalid_token', suppressed: 50 })
    expect(captured.lines.join('')).not.toContain('wrong')
  })

  test('a handshake response names the missing requirements in its headers', async () => {
    const version = await ask({ ...HANDSHAKE, 'Sec-WebSocket-Version': '12' })
    expect(version.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-version': '13' })
    const missing = await ask({ ...HANDSHAKE, Authorization: undefined })
    expect(missing.headers['www-authenticate']).toBe('Bearer')
    const invalid = await ask({ ...HANDSHAKE, Authorization: 'Bearer wrong' })
    expect(invalid.headers['www-authenticate']).toContain('error="invalid_token"')
    const scope = await ask({ ...HANDSHAKE, Authorization: 'Bearer scopeless' })
    expect(scope.headers['www-authenticate']).toContain('error="insufficient_scope"')
  })

  test('a handshake is checked in the documented order', async () => {
    const everythingWrong = { Connection: 'Upgrade', Upgrade: 'websocket', Authorization: 'Bearer wrong' }
    expect((await ask(everythingWrong, '/nowhere')).status).toBe(404)
    expect((await ask(everythingWrong)).status).toBe(426)
    directory.replace({ customers: [{ ...CUSTOMER, streaming: false }], clients: [] })
    expect((await ask({ ...HANDSHAKE, Authorization: 'Bearer scopeless' })).body.code).toBe('insufficient_scope')
  })

  test('a handshake is refused when access was taken away', async () => {
    const cases: [CustomerRecord[], ClientRecord[], string][] = [
      [[CUSTOMER], [{ ...CLIENT, enabled: false }], 'disabled'],
      [[{ ...CUSTOMER, enabled: false }], [CLIENT], 'disabled'],
      [[CUSTOMER], [{ ...CLIENT, scopes: new Set() }], 'insufficient_scope'],
      [[{ ...CUSTOMER, streaming: false }], [CLIENT], 'not_allowed'],
      [[], [], 'disabled'],
    ]
    for (const [customers, clients, code] of cases) {
      directory.replace({ customers, clients })
      expect((await ask(HANDSHAKE)).body).toMatchObject({ status: 403, code })
    }
  })

  test('a handshake before the directory is loaded is 503 with Retry-After at once', async () => {
    const empty = new Directory()
    const { log } = captured
    const metrics = createGatewayMetrics(createMetricsRegistry())
    const hub = new Hub({
      replicas: [],
      bus: createMemoryBus(),
      clock,
      log,
      metrics,
      settings: SETTINGS,
      random: () => 0,
    })
    const settings = { inboundBytesMax: 65_536, connectionsPerClientMax: 2, connectionsMax: 3 }
    gateway.stop()
    gateway = createGateway({ hub, directory: empty, verifier: { verify }, clock, log, metrics, settings })
    const answer = await ask({ ...HANDSHAKE, Authorization: 'Bearer wrong' })
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toMatch(/^[0-9]+$/)
  })

  test('a handshake is refused with 503 while the directory is stale, whatever its token, and an open connection stays', async () => {
    const socket = await open([], { Authorization: 'Bearer good' })
    currency.isStale = true
    for (const token of ['good', 'scopeless', 'wrong']) {
      const answer = await ask({ ...HANDSHAKE, Authorization: `Bearer ${token}` })
      expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
      expect(answer.headers['retry-after']).toMatch(/^[0-9]+$/)
    }
    expect((await ask({ ...HANDSHAKE, Authorization: undefined })).status).toBe(401)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    currency.isStale = false
    expect((await ask(HANDSHAKE)).status).toBe(101)
  })

  test('a handshake meets the limit of the client, then of the node, then of a node that drains', async () => {
    await open([], { Authorization: 'Bearer good' })
    await open([], { Authorization: 'Bearer good' })
    const limited = await ask(HANDSHAKE)
    expect(limited.status).toBe(429)
    expect(limited.headers['retry-after']).toMatch(/^[0-9]+$/)
    sockets[1]?.terminate()
    const drained = gateway.drain(0)
    await drained
    const draining = await ask(HANDSHAKE)
    expect(draining.status).toBe(503)
    expect(draining.headers['retry-after']).toMatch(/^[0-9]+$/)
  })
})

describe('the last tenth of the connections', () => {
  test.each([
    { open: 89, ofClient: 1, perClientMax: 25, status: undefined },
    { open: 90, ofClient: 1, perClientMax: 25, status: 503 },
    { open: 99, ofClient: 0, perClientMax: 25, status: undefined },
    { open: 100, ofClient: 0, perClientMax: 25, status: 503 },
    // The operator lets one client have more than a quarter.
    { open: 99, ofClient: 99, perClientMax: 100, status: undefined },
  ])(
    'the last tenth of the connections is shared: with $open of 100 open, a client with $ofClient gets $status',
    async ({ open, ofClient, perClientMax, status }) => {
      const verdict = await verify('good')
      const context = {
        directory,
        verifier: { verify },
        connectionsPerClientMax: () => perClientMax,
        connectionsMax: () => 100,
        connections: () => open,
        connectionsOf: () => ofClient,
        isDirectoryStale: () => false,
        isDraining: () => false,
        isReady: () => true,
      }
      expect(verdict.ok && refuseAdmission(verdict.token, context)?.status).toBe(status)
    },
  )
})

describe('simultaneous handshakes', () => {
  test('simultaneous handshakes never open more connections than the limit', async () => {
    const attempts = Array.from({ length: 10 }, () => open([], { Authorization: 'Bearer good' }))
    const outcomes = await Promise.allSettled(attempts)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  })
})

describe('subprotocols', () => {
  test('subprotocols in a list that is too long are refused before it is read', () => {
    const list = Array.from({ length: 100_000 }, (_, index) => `name-${index}`).join(',')
    const headers = { ...HANDSHAKE, Host: 'tidegate.test', 'Sec-WebSocket-Protocol': list }
    const request = {
      url: '/',
      method: 'GET',
      httpVersion: '1.1',
      rawHeaders: Object.entries(headers).flat(),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    } as unknown as IncomingMessage
    const before = process.cpuUsage()
    for (let count = 0; count < 100; count++) expect(refuseRequest(request)).toMatchObject({ status: 400 })
    const { user, system } = process.cpuUsage(before)
    // To split the list and to look at each name takes five seconds.
    expect((user + system) / 1_000).toBeLessThan(1_000)
  })

  test.each([
    [[], ''],
    [['tidegate.default'], 'tidegate.default'],
    [['tidegate.v1'], 'tidegate.v1'],
    [['other', 'tidegate.v1', 'tidegate.default'], 'tidegate.v1'],
  ])('subprotocols of %j select %j', async (offered, selected) => {
    const socket = await open(offered, { Authorization: 'Bearer good' })
    expect(socket.protocol).toBe(selected)
  })

  test('a handshake with no known subprotocol gets the base protocol, and none is selected', async () => {
    const answer = await ask({ ...HANDSHAKE, 'Sec-WebSocket-Protocol': 'chat' })
    expect(answer.status).toBe(101)
    expect(answer.headers['sec-websocket-protocol']).toBeUndefined()
  })

  test("the subprotocol bearer carries a browser's token, is never selected, and yields to the Authorization header", async () => {
    const socket = await open(['bearer.good', 'tidegate.default'])
    expect(socket.protocol).toBe('tidegate.default')
    const both = { 'Sec-WebSocket-Protocol': 'tidegate.default, bearer.good', Authorization: 'Bearer wrong' }
    expect((await ask({ ...HANDSHAKE, ...both })).status).toBe(401)
  })
})

describe('live connections', () => {
  const closedWith = (socket: WebSocket) => new Promise<number>((resolve) => socket.on('close', resolve))

  test('live connections end with 4003 when access is taken away, and only then', async () => {
    const socket = await open([], { Authorization: 'Bearer good' })
    const closed = closedWith(socket)
    directory.replace({ customers: [CUSTOMER], clients: [{ ...CLIENT, name: 'renamed' }] })
    const answered = once(socket, 'pong')
    socket.ping()
    await answered
    expect(socket.readyState).toBe(WebSocket.OPEN)
    directory.replace({ customers: [{ ...CUSTOMER, streaming: false }], clients: [CLIENT] })
    expect(await closed).toBe(4003)
  })

  test.each<[string, Partial<DirectoryContent>]>([
    [
      'token',
      { revokedTokens: [{ tokenId: 'good', clientId: CLIENT.clientId, expiresAtMilliseconds: Date.now() + 60_000 }] },
    ],
    ['signing key', { revokedKeyIds: ['key'] }],
    ['client has all of its tokens', { clients: [{ ...CLIENT, tokensValidFromSeconds: 1 }] }],
  ])(
    'live connections end with 4001 when their %s revoked: a new token opens the stream again',
    async (_, revocation) => {
      const socket = await open([], { Authorization: 'Bearer good' })
      const closed = closedWith(socket)
      directory.replace({ customers: [CUSTOMER], clients: [CLIENT], ...revocation })
      expect(await closed).toBe(4001)
      expect((await ask(HANDSHAKE)).status).toBe(401)
    },
  )

  test('live connections end with 1012 when the node drains', async () => {
    const socket = await open([], { Authorization: 'Bearer good' })
    const closed = closedWith(socket)
    await gateway.drain(0.05)
    expect(await closed).toBe(1012)
  })

  test.each([
    ['an oversized message', (socket: WebSocket) => socket.send('x'.repeat(65_537)), 1009],
    ['invalid UTF-8', (socket: WebSocket) => socket.send(Buffer.from([0xc3, 0x28]), { binary: false }), 1007],
    ['a flood of pings', (socket: WebSocket) => Array.from({ length: 1_000 }, () => socket.ping()), 1008],
  ])('live connections end by %s with the documented code', async (_, provoke, code) => {
    const socket = await open([], { Authorization: 'Bearer good' })
    const closed = closedWith(socket)
    provoke(socket)
    expect(await closed).toBe(code)
  })

  test('live connections answer a ping', async () => {
    const socket = await open([], { Authorization: 'Bearer good' })
    const pong = new Promise<Buffer>((resolve) => socket.on('pong', resolve))
    socket.ping('are you there')
    expect(String(await pong)).toBe('are you there')
  })
})
