/**
 * The built program from its first start to its last, as an operator and customers see it: the ready line, the health
 * endpoints, a second start on the same folder, a crash, revocation, expiry, the shutdown. One data folder serves all
 * cases in order. At the end, no output of these processes contains a secret or a token.
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { once } from '../support/awaited.ts'
import { startCommand } from '../support/command-line.ts'
import {
  ensureBuilt,
  type Flags,
  market,
  type OperatorApi,
  type ServiceProcess,
  STREAM_SCOPE,
  startServiceProcess,
  startVerb,
  type TestClient,
  temporaryFolder,
  tokenOf,
} from '../support/running-service.ts'
import { fetchToken, HandshakeRefused, SampleClient } from '../support/sample-client.ts'

/** Long enough to open a stream on a busy machine, short enough to wait for. */
const TOKEN_SECONDS = 5
const DRAIN_DELAY_SECONDS = 3

const folder = temporaryFolder()
const data = join(folder.path, 'data')
const MARKETS: Flags = { markets: JSON.stringify([market('BTC', 2, 50)]), 'log.level': 'debug' }

/** Every secret that must never be written, by description. */
const secrets = new Map<string, string>()
const processes: ServiceProcess[] = []
/** The output of commands other than the services, and responses that clients other than the owner may see. */
const written: string[] = []

async function start(verb: 'serve' | 'demo', flags: Flags = {}): Promise<ServiceProcess> {
  const service = await startServiceProcess(verb, data, { ...MARKETS, ...flags })
  processes.push(service)
  secrets.set('operator token', service.operator.token)
  return service
}

async function connect(service: ServiceProcess, token: string): Promise<SampleClient> {
  const client = await SampleClient.connect({ wsUrl: service.ws, token })
  await client.subscribeAll('BTCUSD')
  await client.until('the book', () => client.book('BTCUSD').isComplete)
  return client
}

async function newClient(service: ServiceProcess): Promise<TestClient & { readonly token: string }> {
  const client = await service.operator.createClient()
  const token = await tokenOf(service, client)
  const name = `of client ${client.clientId}`
  secrets.set(`secret ${name}`, client.clientSecret)
  secrets.set(`basic credentials ${name}`, Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64'))
  secrets.set(`token ${name}`, token)
  return { ...client, token }
}

interface DemoFile {
  readonly client_id: string
  readonly client_secret: string
  readonly auth_url: string
  readonly ws_url: string
}

/** Gets a book with the credentials file of the demo alone; returns the token that opened the stream. */
async function readDemoBook(): Promise<string> {
  const file = JSON.parse(readFileSync(join(data, 'demo-client.json'), 'utf8')) as DemoFile
  secrets.set('secret of the demo client', file.client_secret)
  const token = await fetchToken({ authUrl: file.auth_url, clientId: file.client_id, clientSecret: file.client_secret })
  secrets.set(`token of the demo client from ${file.auth_url}`, token)
  await readBook(file.ws_url, token)
  return token
}

async function readBook(wsUrl: string, token: string): Promise<void> {
  const client = await SampleClient.connect({ wsUrl, token })
  await client.subscribeAll('BTCUSD')
  await client.until('an update', () => client.counts.updates > 0)
  expect(client.problems).toEqual([])
  await client.close()
}

/** The response to a handshake with this token when it is not an upgrade. */
async function refusalOf(wsUrl: string, token: string): Promise<HandshakeRefused> {
  const outcome = await SampleClient.connect({ wsUrl, token }).catch((error: unknown) => error)
  if (!(outcome instanceof HandshakeRefused)) throw new Error('the handshake was not refused')
  written.push(outcome.body, JSON.stringify(outcome.headers))
  return outcome
}

/** When the service wrote a line of its log, in milliseconds of its wall clock. */
function loggedAt(line: string): number {
  return Date.parse((JSON.parse(line) as { time: string }).time)
}

/** Names, sizes, modification times and contents below a folder. */
function fingerprint(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name)
      const { size, mtimeMs } = statSync(file)
      return `${file} ${size} ${mtimeMs} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`
    })
    .sort()
}

beforeAll(() => {
  ensureBuilt()
  mkdirSync(data)
})

afterAll(async () => {
  for (const { command } of processes) command.child.kill('SIGKILL')
  await Promise.all(processes.map(({ command }) => command.result))
  folder.remove()
})

describe('serve', () => {
  let service: ServiceProcess
  let oldToken = ''

  beforeAll(async () => {
    service = await start('serve')
  })

  it('serve prints exactly one line on stdout when it is ready', () => {
    const { http, ws } = service
    expect(service.command.stdout()).toBe(
      `${JSON.stringify({ ready: true, http, ws, operator: service.operator.url, pid: service.command.child.pid })}\n`,
    )
    expect(http).toMatch(/^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/)
    expect(ws).toBe(http.replace('http', 'ws'))
  })

  it('serve reports liveness, readiness and metrics on the operator listener alone', async () => {
    const { url } = service.operator
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    const ready = await fetch(`${url}/readyz`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({ ready: true })
    const metrics = await fetch(`${url}/metrics`)
    expect(metrics.headers.get('content-type')).toMatch(/^application\/openmetrics-text; *version=1\.0\.0/)
    const text = await metrics.text()
    expect(text.endsWith('# EOF\n')).toBe(true)
    expect(text).toContain('# TYPE tidegate_connections gauge')
    for (const path of ['livez', 'readyz', 'metrics', 'admin/v1/customers']) {
      expect((await fetch(`${service.http}/${path}`)).status, path).toBe(404)
    }
  })

  it('serve locks the folder: a second start names the holder, changes nothing and exits with 1', async () => {
    const lock = readFileSync(join(data, 'lock'), 'utf8')
    const second = startVerb('serve', data, { 'log.level': 'error' })
    const { code, stdout, stderr } = await second.result
    written.push(stdout, stderr)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`tidegate: the data folder ${data} is in use by process ${service.pid} on host`)
    expect(readFileSync(join(data, 'lock'), 'utf8')).toBe(lock)
    await readBook(service.ws, (await newClient(service)).token)
  })

  describe('closes with 4003 before it answers the operator, and answers 403 from then on, when', () => {
    type Revocation = (operator: OperatorApi, client: TestClient) => Promise<unknown>
    const revocations: readonly (readonly [string, Revocation])[] = [
      [
        'the client is disabled',
        (operator, { clientId }) => operator.call('PATCH', `/clients/${clientId}`, { enabled: false }),
      ],
      [
        'the customer is disabled',
        (operator, { customerId }) => operator.call('PATCH', `/customers/${customerId}`, { enabled: false }),
      ],
      [
        'the scope is removed',
        (operator, { clientId }) => operator.call('PATCH', `/clients/${clientId}`, { scopes: [] }),
      ],
      [
        'the place on the allow list is removed',
        (operator, { customerId }) => operator.call('PATCH', `/customers/${customerId}`, { streaming: false }),
      ],
    ]

    it.each(revocations)(
      'serve closes with 4003 before it answers the operator, and answers 403 from then on, when %s',
      async (_name, revoke) => {
        const client = await newClient(service)
        const [stream, bystander] = [
          await connect(service, client.token),
          await connect(service, (await newClient(service)).token),
        ]
        const replies = stream.replies.length
        await revoke(service.operator, client)
        // The change is in effect once it is answered: no later request on the connection is answered.
        stream.send({ type: 'subscription_list' })
        await stream.untilClosed()
        expect(stream.closed).toEqual({ code: 4003, reason: 'access revoked' })
        expect(stream.replies.length).toBe(replies)
        expect((await refusalOf(service.ws, client.token)).status).toBe(403)
        const plain = await fetch(service.http, { headers: { authorization: `Bearer ${client.token}` } })
        expect(plain.status).toBe(403)
        written.push(await plain.text())
        // No other client is affected.
        const { updates } = bystander.counts
        await bystander.until('another update', () => bystander.counts.updates > updates)
        await bystander.close()
      },
    )
  })

  it('on SIGTERM serve becomes not ready at once, closes its connections with 1012 and exits with 0', async () => {
    await service.stop()
    service = await start('serve', { 'http.drain_delay_seconds': DRAIN_DELAY_SECONDS, 'stream.drain_seconds': 0 })
    const client = await newClient(service)
    oldToken = client.token
    const streams = await Promise.all([1, 2, 3].map(() => connect(service, client.token)))
    const stopping = service.command.errorLine((line) => line.includes('"event":"stopping"'))
    const result = service.stop()
    const stoppingAt = loggedAt(await stopping)
    const ready = await fetch(`${service.operator.url}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({ ready: false })
    await Promise.all(streams.map((stream) => stream.untilClosed()))
    expect(streams.map(({ closed }) => closed?.code)).toEqual([1012, 1012, 1012])
    const { code, stderr } = await result
    expect(code).toBe(0)
    // No connection ended before the load balancer could notice, by the service's own clock.
    const closes = stderr.split('\n').filter((line) => line.includes('"event":"connection closed"'))
    expect(closes).toHaveLength(streams.length)
    for (const line of closes) expect(loggedAt(line) - stoppingAt).toBeGreaterThan(DRAIN_DELAY_SECONDS * 1_000 - 100)
    expect(streams.flatMap(({ problems }) => problems)).toEqual([])
    expect(readdirSync(data)).not.toContain('lock')
  })

  it('serve leaves a folder that no other verb changes', async () => {
    const before = fingerprint(data)
    const elsewhere = ['--url', 'http://127.0.0.1:1', '--credentials', join(folder.path, 'none.json')]
    for (const args of [
      ['check-config', '--data_dir', data],
      ['admin', 'customer', 'list', '--data_dir', data, '--operator-url', 'http://127.0.0.1:1'],
      ['watch', 'BTCUSD', ...elsewhere],
      ['verify', 'BTCUSD', ...elsewhere],
    ]) {
      const { stdout, stderr } = await startCommand(args, { isBuilt: true, cwd: data }).result
      written.push(stdout, stderr)
    }
    expect(fingerprint(data)).toEqual(before)
  })

  it('serve accepts an earlier token right after a restart, and closes expired ones with 4001 when configured', async () => {
    service = await start('serve', { 'stream.token_expiry': 'close', 'auth.token_seconds': TOKEN_SECONDS })
    const lasting = await connect(service, oldToken)
    const client = await newClient(service)
    const expiring = await SampleClient.connect({ wsUrl: service.ws, token: client.token })
    await expiring.untilClosed()
    expect(expiring.closed).toEqual({ code: 4001, reason: 'token expired' })
    expect((await refusalOf(service.ws, client.token)).status).toBe(401)
    expect(lasting.closed).toBeUndefined()
    // It still has the scope, and connects with a new token.
    const token = await tokenOf(service, client)
    secrets.set(`second token of client ${client.clientId}`, token)
    await readBook(service.ws, token)
    await lasting.close()
    expect((await service.stop()).code).toBe(0)
  })
})

describe('demo', () => {
  it('demo starts again after kill -9, with the earlier client and tokens', async () => {
    const first = await start('demo')
    const token = await readDemoBook()
    const client = await newClient(first)
    const stream = await connect(first, client.token)
    first.command.child.kill('SIGKILL')
    await Promise.all([once(first.command.child, 'exit'), stream.untilClosed()])
    expect(stream.closed?.code).toBe(1006)

    const second = await start('demo')
    await readDemoBook()
    await readBook(second.ws, token)
    await readBook(second.ws, client.token)
    const { items } = await second.operator.call<{ items: { client_id: string; scopes: string[] }[] }>(
      'GET',
      `/customers/${client.customerId}/clients`,
    )
    expect(items).toMatchObject([{ client_id: client.clientId, scopes: [STREAM_SCOPE] }])
    expect((await second.stop()).code).toBe(0)
  })
})

it('no output contains a secret, a token or an Authorization header', async () => {
  const service = await start('serve')
  const customer = await newClient(service)
  await readBook(service.ws, customer.token)
  // Invalid input is the most likely to be logged.
  const wrong = `wrong-${customer.clientSecret}`
  secrets.set('a wrong secret', wrong)
  await expect(fetchToken({ authUrl: service.http, clientId: customer.clientId, clientSecret: wrong })).rejects.toThrow(
    '401',
  )
  const foreign = `${customer.token.slice(0, -8)}AAAAAAAA`
  secrets.set('a token with a wrong signature', foreign)
  expect((await refusalOf(service.ws, foreign)).status).toBe(401)
  await fetch(`${service.http}/?access_token=${customer.token}`).then((response) => response.text())
  await fetch(`${service.operator.url}/admin/v1/customers`, { headers: { authorization: `Bearer ${wrong}` } })
  const bearer = await SampleClient.connect({
    wsUrl: service.ws,
    protocols: ['tidegate.default', `bearer.${customer.token}`],
  })
  await bearer.close()
  written.push(await service.operator.metricsText())
  expect((await service.stop()).code).toBe(0)

  const outputs = processes.flatMap(({ command }) => [command.stdout(), command.stderr()])
  const text = [...outputs, ...written].join('\n')
  // The logs exist, and mention these connections.
  expect(outputs.join('\n')).toContain('"event":"connection opened"')
  expect(text).toContain(customer.clientId)
  expect(secrets.size).toBeGreaterThan(5)
  expect([...secrets].filter(([, secret]) => text.includes(secret)).map(([what]) => what)).toEqual([])
  expect(text).not.toMatch(/Bearer (?!error=|realm=)[\w-]{8}|eyJ[\w-]{10,}\.[\w-]{10,}\./)
})
