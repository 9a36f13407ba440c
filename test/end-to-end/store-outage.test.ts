/**
 * The built program on a PostgreSQL server that is suspended, shut down and restarted while customers stream, connect
 * and request tokens and an operator writes. No request waits for the outage to end: an outage ends here when all
 * requests made during it are answered. The stream is not affected, and acknowledged writes exist afterwards. And
 * starts: before the server, before its schema, and on the schema of a newer version. `TIDEGATE_LONG=1` repeats the
 * outages many times.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StreamChecker } from '../../src/conformance/judge/stream/stream-checker.ts'
import type { Violation } from '../../src/conformance/judge/stream/violations.ts'
import { until } from '../support/awaited.ts'
import { runCommand } from '../support/command-line.ts'
import { note } from '../support/note.ts'
import { hasPostgres, PostgresServer, withClient } from '../support/postgres.ts'
import {
  ensureBuilt,
  market,
  OperatorApi,
  type ServiceProcess,
  startServiceProcess,
  startVerb,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { HandshakeRefused, SampleClient } from '../support/sample-client.ts'

const isLong = process.env.TIDEGATE_LONG === '1'
const ROUNDS = isLong ? Number(process.env.TIDEGATE_OUTAGES ?? 6) : 1
const WELL_MILLISECONDS = isLong ? 5_000 : 1_000
const DOWN_MILLISECONDS = isLong ? 8_000 : 1_500
/** Writes that must have been sent and answered while the store is known to be unavailable. */
const REFUSED_MIN = 10
/** Writes that must have been acknowledged before each outage, and after the last. */
const ACKNOWLEDGED_MIN = 5
const WRITE_EVERY_MILLISECONDS = 50
const ASK_EVERY_MILLISECONDS = 100

const MARKETS = { markets: JSON.stringify([market('BTC', 2, 100), market('ETH', 2, 100)]), 'log.level': 'warn' }
const SYMBOLS = ['BTCUSD', 'ETHUSD']

interface Asked {
  readonly what: 'write' | 'token' | 'handshake' | 'readiness' | 'liveness'
  readonly at: number
  readonly milliseconds: number
  readonly status: number
  /** Of a write: the name of the created record. Of readiness: the failed checks. */
  readonly detail: string
  readonly hasRetryAfter: boolean
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly token: string
}

/** All requests to the service during the outages. */
class Load {
  readonly asked: Asked[] = []
  readonly #service: ServiceProcess
  readonly #credentials: Credentials
  readonly #running = new Set<Promise<void>>()
  /** The send times of the requests that are not answered yet. */
  readonly #waiting = new Set<{ readonly at: number }>()
  readonly #timers: NodeJS.Timeout[] = []
  #names = 0

  constructor(service: ServiceProcess, credentials: Credentials) {
    this.#service = service
    this.#credentials = credentials
    this.#every(WRITE_EVERY_MILLISECONDS, 'write', () => this.#write())
    this.#every(ASK_EVERY_MILLISECONDS, 'token', () => this.#token())
    this.#every(ASK_EVERY_MILLISECONDS, 'handshake', () => this.#handshake())
    this.#every(ASK_EVERY_MILLISECONDS, 'readiness', () => this.#readiness())
    this.#every(ASK_EVERY_MILLISECONDS, 'liveness', () => this.#liveness())
  }

  /** The requests sent after `from` and answered before `to`. */
  of(what: Asked['what'], from = 0, to = Number.POSITIVE_INFINITY): Asked[] {
    return this.asked.filter((one) => one.what === what && one.at >= from && one.at + one.milliseconds < to)
  }

  /** Whether a request sent before `to` is not answered yet. */
  isWaiting(to: number): boolean {
    return [...this.#waiting].some(({ at }) => at < to)
  }

  get acknowledged(): string[] {
    return this.of('write').flatMap(({ status, detail }) => (status === 200 ? [detail] : []))
  }

  slowestMilliseconds(what: Asked['what']): number {
    return Math.max(...this.of(what).map(({ milliseconds }) => milliseconds))
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#running)
  }

  /** Sends requests on schedule, whatever became of the previous one. */
  #every(milliseconds: number, what: Asked['what'], ask: () => Promise<Pick<Asked, 'status'> & Partial<Asked>>): void {
    const once = async () => {
      const at = performance.now()
      const question = { at }
      this.#waiting.add(question)
      const answer = await ask()
      this.#waiting.delete(question)
      this.asked.push({ detail: '', hasRetryAfter: false, ...answer, what, at, milliseconds: performance.now() - at })
    }
    this.#timers.push(
      setInterval(() => {
        const running = once().finally(() => this.#running.delete(running))
        this.#running.add(running)
      }, milliseconds),
    )
  }

  async #write() {
    const { url, token } = this.#service.operator
    const detail = `outage ${this.#names++}`
    const response = await fetch(`${url}/admin/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: detail }),
    })
    await response.text()
    return { status: response.status, detail, hasRetryAfter: response.headers.has('retry-after') }
  }

  async #token() {
    const { clientId, clientSecret } = this.#credentials
    const response = await fetch(`${this.#service.http}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'exchange:read_aggregated_marketdata_stream',
        client_id: clientId,
        client_secret: clientSecret,
      }),
    })
    await response.text()
    return { status: response.status }
  }

  async #handshake() {
    try {
      const client = await SampleClient.connect({ wsUrl: this.#service.ws, token: this.#credentials.token })
      client.terminate()
      return { status: 101 }
    } catch (error) {
      if (error instanceof HandshakeRefused) return { status: error.status }
      throw error
    }
  }

  async #readiness() {
    const response = await fetch(`${this.#service.operator.url}/readyz`)
    return { status: response.status, detail: failedChecks(await response.text()) }
  }

  async #liveness() {
    const response = await fetch(`${this.#service.operator.url}/livez`)
    await response.text()
    return { status: response.status }
  }
}

function failedChecks(body: string): string {
  const { checks } = JSON.parse(body) as { checks: { name: string; ok: boolean }[] }
  return checks
    .filter(({ ok }) => !ok)
    .map(({ name }) => name)
    .join(', ')
}

const passing = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

async function untilAnswered(url: string, status: number): Promise<string> {
  let text: string | undefined
  const isAnswered = async () => {
    const response = await fetch(url).catch(() => undefined)
    text = await response?.text()
    return response?.status === status
  }
  await until(`${url} to answer ${status}`, isAnswered, () => passing(20))
  return text as string
}

describe.skipIf(!hasPostgres)('with a PostgreSQL server (needs PostgreSQL)', () => {
  const folder = temporaryFolder()
  let server: PostgresServer
  const processes: { readonly child: { kill(signal: 'SIGKILL'): boolean } }[] = []

  beforeAll(async () => {
    ensureBuilt()
    server = PostgresServer.create()
    await server.start()
  })

  afterAll(async () => {
    for (const { child } of processes) child.kill('SIGKILL')
    await server?.remove()
    folder.remove()
  })

  const flagsOf = (data: string, url: string) => ({ ...MARKETS, 'store.url': url, data_dir: join(folder.path, data) })
  const migrate = (data: string, url: string) => {
    mkdirSync(join(folder.path, data), { recursive: true })
    return runCommand(['migrate', '--data_dir', join(folder.path, data), '--store.url', url], { isBuilt: true })
  }

  it('an outage of the store affects only requests that write', async () => {
    const address = await server.createDatabase()
    expect((await migrate('outage', address)).code).toBe(0)
    const data = join(folder.path, 'outage')
    const service = await startServiceProcess('serve', data, flagsOf('outage', address))
    processes.push(service.command)
    const customer = await service.operator.createClient()
    const token = await tokenOf(service, customer)
    const streams = await Promise.all([1, 2, 3].map(() => stream(service, token)))
    const load = new Load(service, { ...customer, token })

    const untilWell = async () => {
      const count = load.acknowledged.length + ACKNOWLEDGED_MIN
      await passing(WELL_MILLISECONDS)
      await until(
        `${count} acknowledged requests`,
        () => load.acknowledged.length >= count,
        () => passing(20),
      )
    }
    const outages: { readonly from: number; readonly to: number; readonly how: string }[] = []
    const ready = `${service.operator.url}/readyz`
    const outage = async (how: string, begin: () => Promise<void> | void, end: () => Promise<void> | void) => {
      await untilWell()
      await begin()
      await untilAnswered(ready, 503)
      const from = performance.now()
      const heartbeats = streams.map(({ client }) => client.counts.heartbeats)
      const isEnough = () =>
        load.of('write', from).length >= REFUSED_MIN &&
        load.of('readiness', from).length > 0 &&
        streams.every(({ client }, index) => client.counts.heartbeats > (heartbeats[index] as number))
      await passing(DOWN_MILLISECONDS)
      await until('refusals, answers of readiness and heartbeats', isEnough, () => passing(20))
      // A request made now is answered before the store is back.
      const asked = performance.now()
      await until(
        'the answers',
        () => !load.isWaiting(asked),
        () => passing(20),
      )
      const to = performance.now()
      await end()
      await untilAnswered(ready, 200)
      outages.push({ how, from, to })
      note(JSON.stringify({ how, backAfterMilliseconds: Math.round(performance.now() - to) }))
    }
    for (let round = 0; round < ROUNDS; round++) {
      await outage(
        'stands still',
        () => server.freeze(),
        () => server.thaw(),
      )
      await outage(
        'shut down at once',
        () => server.stop('immediate'),
        () => server.start(),
      )
    }
    await untilWell()
    await load.stop()

    for (const what of ['write', 'token', 'handshake', 'readiness', 'liveness'] as const) {
      const slowestMilliseconds = Math.round(load.slowestMilliseconds(what))
      note(JSON.stringify({ what, count: load.of(what).length, slowestMilliseconds }))
    }
    expect(new Set(load.of('token').map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(load.of('handshake').map(({ status }) => status))).toEqual(new Set([101]))
    expect(new Set(load.of('write').map(({ status }) => status))).toEqual(new Set([200, 503]))
    expect(load.of('write').filter(({ status, hasRetryAfter }) => (status === 503) !== hasRetryAfter)).toEqual([])
    for (const { how, from, to } of outages) {
      expect([how, ...new Set(load.of('write', from, to).map(({ status }) => status))]).toEqual([how, 503])
      expect([how, ...new Set(load.of('readiness', from, to).map(({ detail }) => detail))]).toEqual([how, 'store'])
    }

    for (const { client, violations } of streams) {
      expect(client.problems).toEqual([])
      expect(violations.filter(({ name }) => name !== 'heartbeat-late')).toEqual([])
      expect(client.closed).toBeUndefined()
      await client.close()
    }
    const stored = await withClient(address, async (client) => {
      const { rows } = await client.query<{ name: string }>("select name from customers where name like 'outage %'")
      return new Set(rows.map(({ name }) => name))
    })
    expect(load.acknowledged.length).toBeGreaterThan(10)
    expect(load.acknowledged.filter((name) => !stored.has(name))).toEqual([])
    const { rows: audited } = await withClient(address, (client) =>
      client.query(
        "select count(*)::int as n from audit where action = 'customer.create' and detail->>'name' like 'outage %'",
      ),
    )
    expect(audited).toEqual([{ n: stored.size }])
    expect((await service.stop()).code).toBe(0)
  })

  it('a node waits for a missing server, and then for its schema', async () => {
    const address = await server.createDatabase()
    await server.stop('fast')
    mkdirSync(join(folder.path, 'early'))
    const flags = { ...flagsOf('early', address), 'log.level': 'info' }
    const command = startVerb('serve', join(folder.path, 'early'), flags)
    processes.push(command)
    const listening = await command.errorLine((line) => line.includes('"event":"listening"'))
    const { http, operator: operatorUrl } = JSON.parse(listening) as { http: string; operator: string }
    const ready = `${operatorUrl}/readyz`
    expect(failedChecks(await untilAnswered(ready, 503))).toContain('store')
    const wsUrl = http.replace(/^http/, 'ws')
    const refused = await SampleClient.connect({ wsUrl, token: 'any' }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 503 })
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' })
    const token = await fetch(`${http}/oauth2/token`, { method: 'POST', body: form })
    expect(token.status).toBe(503)
    expect(token.headers.has('retry-after')).toBe(true)

    await server.start()
    for (let failed = 'store'; failed.includes('store'); ) failed = failedChecks(await untilAnswered(ready, 503))
    const { code, stdout } = await migrate('early', address)
    expect({ code, isApplied: stdout.includes('auth') }).toEqual({ code: 0, isApplied: true })
    const line = await command.line((text) => text.startsWith('{'))
    expect(JSON.parse(line)).toMatchObject({ ready: true })
    await untilAnswered(ready, 200)
    const operator = new OperatorApi(operatorUrl, join(folder.path, 'early'))
    await operator.createClient()
    command.child.kill('SIGTERM')
    expect((await command.result).code).toBe(0)
  })

  it('a node does not start on the schema of a newer version', async () => {
    const address = await server.createDatabase()
    expect((await migrate('newer', address)).code).toBe(0)
    await withClient(address, (client) =>
      client.query("insert into schema_migrations (name, checksum) values ('299901010000-future', 'x')"),
    )
    const command = startVerb('serve', join(folder.path, 'newer'), flagsOf('newer', address))
    processes.push(command)
    const { code, stdout, stderr } = await command.result
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('299901010000-future, which this version does not know')
  })
})

/** A subscriber of all channels, checked by itself and by the independent stream checker. */
async function stream(service: ServiceProcess, token: string) {
  const checker = new StreamChecker()
  const violations: Violation[] = []
  checker.onConnect()
  const client = await SampleClient.connect({
    wsUrl: service.ws,
    token,
    messagesKept: 1,
    executionsKept: 1,
    onMessage: (_, __, text) => void violations.push(...checker.onMessage(text, performance.now())),
  })
  await client.subscribeAll(...SYMBOLS)
  return { client, violations }
}
