/**
 * The built service with two gateway processes, which listen to one port: they share its connections and its limits, one
 * that is killed takes only its own connections, and access, markets and the end of the service reach both.
 */

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { canSharePorts } from '../../src/platform/http/shared-port.ts'
import type { ConnectionDetails } from '../../src/streaming/gateway/connection-document.ts'
import { ProcessWatch } from '../hostile/process-watch.ts'
import { awaited, once } from '../support/awaited.ts'
import { type RunningCommand, startCommand } from '../support/command-line.ts'
import {
  ensureBuilt,
  market,
  newToken,
  OperatorApi,
  type RunningService,
  STREAM_SCOPE,
  type TestClient,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { fetchToken, HandshakeRefused, SampleClient } from '../support/sample-client.ts'
import { storeFlags } from '../support/test-store.ts'

const CONNECTIONS_PER_CLIENT_MAX = 4
const BOOK = { type: 'market_data', params: { market: 'BTCUSD' } } as const

const isLinux = process.platform === 'linux'
const isSkipped = !canSharePorts()

const folder = temporaryFolder()
const file = join(folder.path, 'tidegate.yaml')
let command: RunningCommand
let service: RunningService

function configure(...markets: readonly ReturnType<typeof market>[]): void {
  writeFileSync(file, JSON.stringify({ markets, simulator: { allowed: true } }))
}

beforeAll(async () => {
  if (isSkipped) return
  ensureBuilt()
  configure(market('BTC', 2, 50), market('ETH', 2, 50))
  const flags = {
    config: file,
    data_dir: folder.path,
    'http.port': 0,
    'operator.port': 0,
    'gateway.processes': 2,
    'stream.port': 0,
    'stream.connections_per_client_max': CONNECTIONS_PER_CLIENT_MAX,
    'stream.drain_seconds': 0,
    'stream.ping_seconds': 0.5,
    ...(await storeFlags(folder.path)),
  }
  const args = Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])
  command = startCommand(['serve', ...args], { isBuilt: true })
  const { http, ws, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
  service = { http, ws, operator: new OperatorApi(operator, folder.path), folder: folder.path }
})

afterAll(async () => {
  command?.child.kill('SIGTERM')
  await command?.result
  folder.remove()
})

const READY = 'gateway process ready'

/** The process ids of the gateway processes in the order of their start, as the log has them. */
function pids(): number[] {
  const lines = command.stderr().split('\n')
  return lines.filter((line) => line.includes(READY)).map((line) => (JSON.parse(line) as { pid: number }).pid)
}

const connect = (token: string, more = {}) => SampleClient.connect({ wsUrl: service.ws, token, ...more })

interface Listed {
  readonly items: readonly {
    readonly id: string
    readonly subscriptions: number
    readonly bytes_out: number
    readonly reading: boolean
  }[]
}

const listed = (clientId: string) => service.operator.call<Listed>('GET', `/connections?client_id=${clientId}`)

const EARLY_CLIENTS = 12

/** Resolves with the reply to a request that is sent these milliseconds after the handshake, whether it was answered or not. */
function replyToEarlyRequest(token: string, delayMilliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(service.ws)
    const socket = createConnection(Number(port), '127.0.0.1')
    let received = ''
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed after ${JSON.stringify(received.slice(0, 300))}`)))
    socket.on('data', (data) => {
      received += data.toString('latin1')
      if (!received.includes('"type":"subscribe"')) return
      resolve()
      socket.destroy()
    })
    const lines = [
      'GET / HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
      `Authorization: Bearer ${token}`,
    ]
    const text = Buffer.from(JSON.stringify({ type: 'subscribe', channels: [{ type: 'heartbeat' }] }))
    // A mask of zeros leaves the payload as it is (RFC 6455, section 5.3).
    const frame = Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text])
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    if (delayMilliseconds === 0) socket.write(frame)
    else setTimeout(() => socket.write(frame), delayMilliseconds)
  })
}

describe.skipIf(isSkipped)(`a service with gateway processes${isSkipped ? ' (needs Node.js 22.12)' : ''}`, () => {
  test('a service streams exact books from both gateway processes, and shows and closes their connections', async () => {
    const client = await service.operator.createClient()
    const token = await tokenOf(service, client)
    const readers = await Promise.all(Array.from({ length: CONNECTIONS_PER_CLIENT_MAX }, () => connect(token)))
    for (const reader of readers) await reader.subscribeAll('BTCUSD', 'ETHUSD')
    await Promise.all(readers.map((reader) => reader.until('messages', () => reader.counts.updates > 20)))
    expect(readers.flatMap(({ problems }) => problems)).toEqual([])
    // A process that does not answer within a second is left out, once on a busy machine.
    let items: Listed['items'] = []
    const shown = async () => {
      items = (await listed(client.clientId)).items
      return items.map(({ subscriptions, bytes_out }) => [subscriptions, bytes_out > 1_000])
    }
    await expect.poll(shown).toEqual(Array(CONNECTIONS_PER_CLIENT_MAX).fill([7, true]))
    for (const { id } of items) {
      let markets: ConnectionDetails['markets'] = []
      const symbols = async () => {
        markets = (await service.operator.call<ConnectionDetails>('GET', `/connections/${id}`)).markets
        return markets.map(({ market }) => market).toSorted()
      }
      await expect.poll(symbols).toEqual(['BTCUSD', 'ETHUSD'])
      for (const { version = 0, current_version } of markets) {
        expect(version).toBeGreaterThan(0)
        expect(current_version).toBeGreaterThanOrEqual(version)
      }
    }
    const subscribers = async () =>
      (await service.operator.call<{ items: { subscribers: number }[] }>('GET', '/markets')).items.map(
        (market) => market.subscribers,
      )
    await expect.poll(subscribers).toEqual([4, 4])
    await expect.poll(() => service.operator.metric('tidegate_connections')).toBe(4)
    await expect.poll(() => service.operator.metric('tidegate_messages_out_total')).toBeGreaterThan(80)
    // The limit is counted over all processes.
    const refused = await connect(token).catch((error: unknown) => error as HandshakeRefused)
    expect(refused).toBeInstanceOf(HandshakeRefused)
    expect((refused as HandshakeRefused).status).toBe(429)
    const { id } = items[0] as Listed['items'][number]
    const closing = await fetch(`${service.operator.url}/admin/v1/connections/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${service.operator.token}` },
    })
    expect(closing.status).toBe(200)
    await Promise.race(readers.map((reader) => reader.untilClosed()))
    expect(readers.map(({ closed }) => closed?.code).filter((code) => code !== undefined)).toEqual([1001])
    // Access that is taken away ends the others, whichever process serves them.
    await service.operator.call('PATCH', `/customers/${client.customerId}`, { streaming: false })
    await Promise.all(readers.map((reader) => reader.untilClosed()))
    expect(readers.map(({ closed }) => closed?.code).toSorted()).toEqual([1001, 4003, 4003, 4003])
    await expect.poll(async () => (await listed(client.clientId)).items).toEqual([])
  })

  test('a service sends a customer’s events from both gateway processes, until the scope is withdrawn', async () => {
    const { id } = await service.operator.call<{ id: string }>('POST', '/customers', {
      name: 'events',
      streaming: true,
    })
    const scopes = [STREAM_SCOPE, 'events:read_event', 'identity:read_account', 'identity:write_account']
    const made = await service.operator.call<{ client_id: string; client_secret: string }>(
      'POST',
      `/customers/${id}/clients`,
      { name: 'backend', scopes },
    )
    const names = { clientId: made.client_id, clientSecret: made.client_secret }
    const token = await fetchToken({ authUrl: service.http, ...names, scope: scopes.join(' ') })
    const headers = { authorization: `Bearer ${token}` }
    const received = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_CLIENT_MAX }, async () => {
        const texts: string[] = []
        const socket = new WebSocket(service.ws, ['tidegate.v1'], { headers })
        socket.on('message', (data) => texts.push(String(data)))
        await once(socket, 'open')
        socket.send(JSON.stringify({ type: 'subscribe', channels: [{ type: 'events', params: { after: 0 } }] }))
        return { texts, socket }
      }),
    )
    const makeAccount = async (number: number) => {
      const body = JSON.stringify({ account: { identity_id: `person ${number}` } })
      const json = { ...headers, 'content-type': 'application/json' }
      const answer = await fetch(`${service.http}/v2/identity/accounts`, { method: 'POST', headers: json, body })
      expect(answer.status).toBe(200)
    }
    for (let number = 0; number < 5; number++) await makeAccount(number)
    // The secret, and the accounts.
    const wanted = [1, 2, 3, 4, 5, 6]
    const sequencesOf = (texts: readonly string[]) =>
      texts
        .map((text) => JSON.parse(text))
        .flatMap(({ channel, payload }) => (channel === 'events' ? payload.sequence : []))
    for (const { texts } of received) await expect.poll(() => sequencesOf(texts)).toEqual(wanted)
    await service.operator.call('PATCH', `/clients/${made.client_id}`, {
      scopes: scopes.filter((name) => name !== 'events:read_event'),
    })
    for (const { texts } of received) await expect.poll(() => texts.at(-1)).toContain('"type":"unsubscribe"')
    await makeAccount(6)
    for (const { texts, socket } of received) {
      expect(sequencesOf(texts)).toEqual(wanted)
      expect(socket.readyState).toBe(WebSocket.OPEN)
      socket.terminate()
    }
  })

  test('a service with gateway processes shows which client of a gateway process reads nothing', async () => {
    const client = await service.operator.createClient()
    const token = await tokenOf(service, client)
    const [paused, reading] = (await Promise.all([connect(token), connect(token)])) as [SampleClient, SampleClient]
    const states = async () =>
      (await service.operator.call<Listed>('GET', `/connections?client_id=${client.clientId}`)).items
        .map((item) => item.reading)
        .toSorted()
    const notReading = () => service.operator.metric('tidegate_connections_not_reading')
    paused.pause()
    await expect.poll(states).toEqual([false, true])
    await expect.poll(notReading).toBe(1)
    paused.resume()
    await expect.poll(states).toEqual([true, true])
    await expect.poll(notReading).toBe(0)
    for (const reader of [paused, reading]) reader.terminate()
  })

  test('a service with gateway processes answers a handshake on the public port with the address of the stream', async () => {
    const token = await newToken(service)
    const wsUrl = service.http.replace('http', 'ws')
    const refused = await SampleClient.connect({ wsUrl, token }).catch((error: unknown) => error as HandshakeRefused)
    expect(refused).toBeInstanceOf(HandshakeRefused)
    expect((refused as HandshakeRefused).status).toBe(503)
    expect(JSON.parse((refused as HandshakeRefused).body)).toMatchObject({
      code: 'unavailable',
      detail: `the stream is at ${service.ws}: connect there`,
    })
    expect((await fetch(service.ws.replace('ws', 'http'))).status).toBe(426)
    const client = await service.operator.call<{ ws_url: string }>(
      'POST',
      `/customers/${(await service.operator.createClient()).customerId}/clients`,
      { name: 'second', scopes: [STREAM_SCOPE] },
    )
    expect(client.ws_url).toBe(service.ws)
    const description = (await (await fetch(`${service.http}/asyncapi.json`)).json()) as { servers: object }
    expect(JSON.stringify(description.servers)).toContain(new URL(service.ws).host)
  })

  test('a service with gateway processes ends the connections of a token, a client and a customer within a second of losing access', async () => {
    const { operator } = service
    const clients = await Promise.all([operator.createClient(), operator.createClient(), operator.createClient()])
    const readers = await Promise.all(
      clients.map(async (client) => {
        const token = await tokenOf(service, client)
        // Both processes have some of them, unless every one of eleven falls to the same side.
        return [token, await Promise.all([connect(token), connect(token), connect(token), connect(token)])] as const
      }),
    )
    const [[token, ofToken], [, ofClient], [, ofCustomer]] = readers as [
      (typeof readers)[number],
      (typeof readers)[number],
      (typeof readers)[number],
    ]
    const [one, two, three] = clients as [TestClient, TestClient, TestClient]
    const closes = async (connections: readonly SampleClient[], change: () => Promise<unknown>): Promise<unknown[]> => {
      await change()
      const answered = performance.now()
      await Promise.all(connections.map((reader) => reader.untilClosed()))
      expect(performance.now() - answered).toBeLessThan(1_000)
      return [...new Set(connections.map(({ closed }) => closed?.code))]
    }
    const basic = Buffer.from(`${one.clientId}:${one.clientSecret}`).toString('base64')
    const revoke = () =>
      fetch(`${service.http}/oauth2/revoke`, {
        method: 'POST',
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ token }),
      })
    expect(await closes(ofToken, revoke)).toEqual([4001])
    const disable = () => operator.call('PATCH', `/clients/${two.clientId}`, { enabled: false })
    expect(await closes(ofClient, disable)).toEqual([4003])
    expect(
      await closes(ofCustomer, () => operator.call('PATCH', `/customers/${three.customerId}`, { enabled: false })),
    ).toEqual([4003])
  })

  test('a service with gateway processes replaces a process that is killed; connections of the other stay', async () => {
    const tokens = await Promise.all(Array.from({ length: EARLY_CLIENTS }, () => newToken(service)))
    // The system chooses the process: each of them gets some of 24.
    const readers = await Promise.all(tokens.flatMap((token) => [connect(token), connect(token)]))
    for (const reader of readers) await reader.subscribe(BOOK)
    const before = pids()
    process.kill(before[0] as number, 'SIGKILL')
    await command.errorLine((line) => line.includes(READY) && !before.some((pid) => line.includes(`"pid":${pid}`)))
    const lost = readers.filter(({ closed }) => closed !== undefined)
    const left = readers.filter(({ closed }) => closed === undefined)
    expect(new Set(lost.map(({ closed }) => closed?.code))).toEqual(new Set([1006]))
    const updates = left.map(({ counts }) => counts.updates)
    expect(left.length).toBeGreaterThan(0)
    await Promise.all(
      left.map((reader, place) =>
        reader.until('more updates', () => reader.counts.updates > (updates[place] as number) + 5),
      ),
    )
    const again = await Promise.all(tokens.map((token) => connect(token)))
    for (const reader of again) await reader.subscribe(BOOK)
    await Promise.all(again.map((reader) => reader.until('updates', () => reader.counts.updates > 5)))
    for (const reader of [...left, ...again]) {
      expect(reader.problems).toEqual([])
      reader.terminate()
    }
    expect(await service.operator.metric('tidegate_gateway_process_ends_total')).toBe(1)
  })

  test('a service with gateway processes kills one that hangs, with the connections that it never accepted, while the other serves', async () => {
    const tokens = await Promise.all(Array.from({ length: EARLY_CLIENTS }, () => newToken(service)))
    await expect.poll(() => service.operator.metric('tidegate_gateway_processes_ready')).toBe(2)
    const watch = new ProcessWatch(command.child.pid as number)
    watch.stop()
    // Not all files: the store opens some at any time.
    const before = isLinux ? watch.openSockets : 0
    const { length } = pids()
    const [frozen] = pids().slice(-1) as [number]
    process.kill(frozen, 'SIGSTOP')
    const attempts = tokens.flatMap((token) => [connect(token), connect(token), connect(token)])
    const served: SampleClient[] = []
    for (const attempt of attempts) attempt.then((reader) => served.push(reader)).catch(() => undefined)
    await expect.poll(() => served.length).toBeGreaterThan(0)
    const [reader] = served as [SampleClient]
    await reader.subscribe(BOOK)
    // Until the service has ended it and started the next.
    await expect.poll(() => pids().length, { timeout: 30_000 }).toBe(length + 1)
    expect(command.stderr()).toContain('a gateway process does not answer. It is killed')
    await reader.until('updates', () => reader.counts.updates > 20)
    expect(reader.problems).toEqual([])
    for (const attempt of await Promise.allSettled(attempts)) {
      if (attempt.status === 'fulfilled') attempt.value.terminate()
      else expect(String(attempt.reason)).toMatch(/socket hang up|ECONNRESET/)
    }
    if (isLinux) await expect.poll(() => watch.openSockets).toBeLessThanOrEqual(before)
  })

  test('a service with gateway processes loses nothing that a client sends right after its handshake', async () => {
    const tokens = await Promise.all(Array.from({ length: EARLY_CLIENTS }, () => newToken(service)))
    // The request arrives with the handshake, while the token is verified, or afterwards.
    for (const delay of [0, 1, 2, 3, 4, 6]) {
      const replies = tokens.map((token) => replyToEarlyRequest(token, delay))
      await awaited(`replies to requests ${delay} ms after the handshake`, Promise.all(replies))
    }
  })

  test('a service with gateway processes adds, changes and removes markets in both at a reload', async () => {
    const token = await newToken(service)
    const readers = await Promise.all([connect(token), connect(token)])
    for (const reader of readers) await reader.subscribe(BOOK, { type: 'market_data', params: { market: 'ETHUSD' } })
    // Another number of decimals: what is on its way of the old definition must not be taken for the new one.
    configure(market('ETH', 3, 50), market('SOL', 2, 50))
    command.child.kill('SIGHUP')
    await command.errorLine((line) => line.includes('"event":"configuration reloaded"'))
    for (const reader of readers) {
      const isEnd = ({ type }: { type: string }) => type === 'unsubscribe'
      await reader.until('two notices', () => reader.replies.filter(isEnd).length >= 2)
      await reader.subscribe(
        { type: 'market_data', params: { market: 'ETHUSD' } },
        { type: 'market_data', params: { market: 'SOLUSD' } },
      )
      const books = () => ['ETHUSD', 'SOLUSD'].map((symbol) => reader.books.get(symbol))
      await reader.until('both books', () => books().every((book) => book?.isComplete === true))
      const { updates } = reader.counts
      await reader.until('updates', () => reader.counts.updates > updates + 20)
      expect(reader.problems).toEqual([])
      const prices = [...(reader.books.get('ETHUSD')?.bids.keys() ?? [])]
      expect(prices.every((price) => /^[0-9]+[.][0-9]{3}$/.test(price))).toBe(true)
      reader.terminate()
    }
  })

  test("a service with gateway processes closes both processes' connections when it stops, and leaves no process behind", async () => {
    const token = await newToken(service)
    const readers = await Promise.all([connect(token), connect(token), connect(token)])
    const processes = pids().slice(-2)
    command.child.kill('SIGTERM')
    await Promise.all(readers.map((reader) => reader.untilClosed()))
    expect(readers.map(({ closed }) => closed?.code)).toEqual([1012, 1012, 1012])
    expect((await command.result).code).toBe(0)
    const isRunning = (pid: number) => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    expect(processes.filter(isRunning)).toEqual([])
  })

  test('a service with gateway processes does not start while another program listens to its port', async () => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const second = temporaryFolder()
    const flags = {
      'gateway.processes': 2,
      'stream.port': port,
      'http.port': 0,
      'operator.port': 0,
      data_dir: second.path,
    }
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])
    const { code, stderr } = await startCommand(['serve', ...args], { isBuilt: true }).result
    server.close()
    second.remove()
    expect(code).toBe(1)
    expect(stderr).toContain(`stream.port: another program listens on 127.0.0.1:${port} (EADDRINUSE)`)
  })
})
