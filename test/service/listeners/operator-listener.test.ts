/**
 * What the operator listener rejects before any route: upgrades, unknown hosts and origins, and repeated wrong tokens.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { listAudit } from '../../../src/platform/store/audit.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import { createOperatorListener } from '../../../src/service/listeners/operator-listener.ts'
import { OperatorGuesses } from '../../../src/service/parts/access/operator-guesses.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { operatorAccess } from '../../support/operator-access.ts'
import { openSocket, type RawAnswer, readToEnd, sendRaw, splitAnswers } from '../../support/raw-http.ts'
import { openTestStore } from '../../support/test-store.ts'
import { itemsOf } from '../../support/text-page.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const TOKEN = 'the-right-token-of-the-operator'
const { log, lines } = captureLog()
const clock = new NodeClock()
let allowedHosts: readonly string[] = []
let isReady = true
let db: Db
let guesses: OperatorGuesses
let listener: Listener

const start = (host: string, port: number): Promise<Listener> =>
  createOperatorListener({
    host,
    port,
    token: TOKEN,
    allowedHosts: () => allowedHosts,
    ...operatorAccess(db, clock),
    onGuess: (address) => guesses.record(address),
    log,
    metrics: createMetricsRegistry(),
    clock,
    readiness: () => ({ ready: isReady, checks: [] }),
    modules: [(app) => void app.get('/desk', async () => ({ fine: true }))],
  })

beforeAll(async () => {
  db = await openTestStore({ log })
  guesses = new OperatorGuesses({ db, clock, log, kind: 'token' })
  listener = await start('127.0.0.1', 0)
})
afterAll(async () => {
  await listener.close()
  await db.close()
})

async function ask(path: string, fields: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
  const all = { Host: new URL(listener.url).host, Connection: 'close', ...fields }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const [answer] = await sendRaw(listener.url, `GET ${path} HTTP/1.1\r\n${head.join('')}\r\n`)
  return answer as RawAnswer
}

const statusAndCode = ({ status, body }: RawAnswer) => [status, JSON.parse(body).code]
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
}

/** The number of open connections, including that of this request. */
async function openConnections(): Promise<number> {
  const { body } = await ask('/metrics')
  return Number(/tidegate_http_connections\{listener="operator"\} (\d+)\n/.exec(body)?.[1])
}

describe('an unusable address', () => {
  it('an unusable address names the setting and the remedy when another program uses the port', async () => {
    const { port } = new URL(listener.url)
    await expect(start('127.0.0.1', Number(port))).rejects.toThrow(
      `operator.port: another program listens on 127.0.0.1:${port} (EADDRINUSE): ` +
        'stop it, or name another port (--operator.port 0 takes any free one)',
    )
  })

  it('an unusable address names the setting when the address belongs to another machine', async () => {
    // The address is reserved for documentation: no machine has it.
    await expect(start('192.0.2.1', 0)).rejects.toThrow(
      /^operator\.host: 192\.0\.2\.1 is not an address of this machine/,
    )
  })
})

describe('a probe, a scrape or a read of the console', () => {
  /** The log level of the line about the response. */
  async function levelOf(path: string, fields: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
    const from = lines.length
    await ask(path, fields)
    await expect.poll(() => lines.slice(from).some((line) => line.includes('"request answered"'))).toBe(true)
    const line = lines.slice(from).find((each) => each.includes('"request answered"')) ?? '{}'
    return log.levels.labels[(JSON.parse(line) as { level: number }).level]
  }

  it('a probe, a scrape or a read of the console that succeeds is logged at debug level', async () => {
    for (const path of ['/livez', '/readyz', '/metrics']) expect([path, await levelOf(path)]).toEqual([path, 'debug'])
    expect(await levelOf('/admin/v1/session', { Authorization: `Bearer ${TOKEN}` })).toBe('debug')
    expect(await levelOf('/admin/v1/session')).toBe('info')
  })

  it('a probe, a scrape or a read of the console that fails is logged at info level', async () => {
    isReady = false
    expect(await levelOf('/readyz')).toBe('info')
    isReady = true
    expect(await levelOf('/livez', { Origin: 'https://attacker.example' })).toBe('info')
  })
})

describe('a WebSocket handshake', () => {
  it.each([
    ['/', 404],
    ['/livez', 200],
    ['/admin/v1/desk', 401],
  ])(
    'a WebSocket handshake to %s is answered as an ordinary request, and the connection is closed',
    async (path, status) => {
      const answer = await ask(path, HANDSHAKE)
      expect([answer.status, answer.headers.connection]).toEqual([status, 'close'])
    },
  )

  it('a WebSocket handshake from a web page is rejected', async () => {
    const answer = await ask('/', { ...HANDSHAKE, Origin: 'https://attacker.example' })
    expect(statusAndCode(answer)).toEqual([403, 'foreign_origin'])
  })

  it('a WebSocket handshake leaves no socket open, however it ends', async () => {
    const head = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`)
    for (let count = 0; count < 20; count++) {
      const socket = openSocket(listener.url)
      await once(socket, 'connect')
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${head.join('')}\r\n`)
      if (count % 2 === 0) await once(socket, 'data')
      socket.resetAndDestroy()
    }
    await expect.poll(openConnections).toBe(1)
  })
})

describe('Host and Origin', () => {
  it.each(['/livez', '/readyz', '/metrics', '/admin/v1/desk', '/nothing'])(
    'Host and Origin are checked at %s',
    async (path) => {
      const authorization = `Bearer ${TOKEN}`
      const rebound = await ask(path, { Host: 'attacker.example', Authorization: authorization })
      expect(statusAndCode(rebound)).toEqual([421, 'misdirected_request'])
      const foreign = await ask(path, { Origin: 'https://attacker.example', Authorization: authorization })
      expect(statusAndCode(foreign)).toEqual([403, 'foreign_origin'])
      const own = await ask(path, { Origin: listener.url, Authorization: authorization })
      expect(own.status).toBe(path === '/nothing' ? 404 : 200)
    },
  )

  it('Host and Origin follow a change of the setting at run time', async () => {
    expect((await ask('/livez', { Host: 'tidegate-operator:8081' })).status).toBe(421)
    allowedHosts = ['tidegate-operator']
    expect((await ask('/livez', { Host: 'tidegate-operator:8081' })).status).toBe(200)
  })

  it('Host and Origin are not required from a probe that uses HTTP/1.0', async () => {
    const socket = openSocket(listener.url)
    const text = readToEnd(socket)
    socket.write('GET /livez HTTP/1.0\r\n\r\n')
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([200])
  })
})

describe('wrong operator tokens', () => {
  const guess = (token: string) => ask('/admin/v1/desk', { Authorization: `Bearer ${token}` })
  const rows = async () => itemsOf(await listAudit(db, { order: 'ASC' }))

  it('wrong operator tokens are limited in rate, and the right token is not', async () => {
    const statuses: number[] = []
    for (let count = 0; count < 30; count++) {
      statuses.push((await guess(`wrong-${count}`)).status)
      if (count % 5 === 0) expect((await guess(TOKEN)).status).toBe(200)
    }
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(20).fill(429)])
    const limited = await guess('wrong')
    expect([limited.headers['retry-after'], JSON.parse(limited.body).code]).toEqual(['1', 'rate_limited'])
    clock.advance(1_000)
    expect((await guess('wrong')).status).toBe(401)
  })

  it('wrong operator tokens leave one log line and one audit row per period', async () => {
    expect(lines.filter((line) => line.includes('"wrong operator token"'))).toHaveLength(1)
    expect(await rows()).toEqual([])
    clock.advance(60_000)
    await expect.poll(rows).toHaveLength(1)
    expect((await rows())[0]).toMatchObject({
      actor: 'unknown',
      action: 'operator_token.reject',
      detail: { count: 32, addresses: { '127.0.0.1': 32 } },
    })
    expect(lines.filter((line) => line.includes('wrong operator tokens in the last period'))).toHaveLength(1)
    expect(lines.join('')).not.toContain('wrong-1')
    clock.advance(600_000)
    expect(await rows()).toHaveLength(1)
  })

  it('wrong operator tokens that could not be stored are counted in the next audit row', async () => {
    let isAway = true
    const written: unknown[] = []
    const away = {
      async transaction() {
        if (isAway) throw new StoreUnavailable('away')
        written.push('row')
      },
    } as unknown as Db
    const own = new OperatorGuesses({ db: away, clock, log: captureLog().log, kind: 'token' })
    for (let count = 0; count < 100; count++) own.record(`192.0.2.${count}`)
    clock.advance(60_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(written).toEqual([])
    isAway = false
    clock.advance(60_000)
    await expect.poll(() => written).toEqual(['row'])
    own.record('192.0.2.1')
    await own.stop()
    expect(written).toEqual(['row', 'row'])
  })
})
