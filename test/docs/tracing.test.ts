/**
 * The file of docs/how-to/tracing.md, registered with the built program: requests, the store, the worker and updates of books
 * are recorded as the page says, parts below what they belong to, and nothing that is secret or private is in a span.
 */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { ensureBuilt, OperatorApi, temporaryFolder } from '../support/running-service.ts'
import { fetchToken, SampleClient } from '../support/sample-client.ts'
import { ROOT, readText } from './deployment-files.ts'

interface Line {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parent?: string
  readonly attributes: Readonly<Record<string, string | number>>
  readonly status?: number
  readonly start: number
  readonly end: number
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Json = any

const page = readText('docs/how-to/tracing.md')
const folder = temporaryFolder()
const file = join(folder.path, 'spans.jsonl')
let running: RunningCommand
let demo: Json
let operator: OperatorApi
let token: string

/** The last line may be incomplete. */
const spans = (): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
const named = (name: string): Line[] => spans().filter((span) => span.name === name)

beforeAll(async () => {
  ensureBuilt()
  const program = /```js otel\.mjs\n(.*?)```/s.exec(page)?.[1] as string
  writeFileSync(join(folder.path, 'otel.mjs'), program)
  // The packages of the operator's file: a copy of the API of its own, as with an SDK.
  mkdirSync(join(folder.path, 'node_modules'))
  symlinkSync(join(ROOT, 'node_modules/@opentelemetry'), join(folder.path, 'node_modules/@opentelemetry'))
  writeFileSync(file, '')
  const [, options = ''] = /^ {4}node (--import \S+) dist\/main\.js serve/m.exec(page) ?? []
  const data = join(folder.path, 'data')
  const args = [...options.split(' '), join(ROOT, 'dist/main.js'), 'demo', '--data_dir', data]
  running = startProgram(
    process.execPath,
    [...args, '--http.port', '0', '--operator.port', '0', '--stream.drain_seconds', '0'],
    { cwd: folder.path, env: { PATH: process.env.PATH, TRACE_FILE: file } },
  )
  const ready = JSON.parse(await running.line((line) => line.startsWith('{"ready"')))
  operator = new OperatorApi(ready.operator, data)
  copyFileSync(join(data, 'demo-client.json'), join(folder.path, 'client.json'))
  demo = JSON.parse(readFileSync(join(folder.path, 'client.json'), 'utf8'))
  const { auth_url: authUrl, client_id: clientId, client_secret: clientSecret, scopes } = demo
  token = await fetchToken({ authUrl, clientId, clientSecret, scope: scopes.join(' ') })
})

afterAll(async () => {
  running?.child.kill('SIGTERM')
  await running?.result
  folder.remove()
})

async function call(method: string, path: string, body: object): Promise<Json> {
  const response = await fetch(`${demo.base_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text)
}

it('a request is a trace with its transactions and statements, a step of the worker is another', async () => {
  const account = { account: { identity_id: 'a-private-name' }, create_profile: true }
  const { profile_id } = await call('POST', '/v2/identity/accounts', account)
  const rule = { ref_id: 'rule', profile_id, source_asset: 'BTC', destination_asset: 'USD' }
  await call('POST', '/v2/orchestration/rules', {
    ...rule,
    source: { crypto: { network: 'BITCOIN' } },
    destination: { profile: { profile_id } },
  })
  // More than the book has: it is not converted as it is credited, and waits for the worker.
  await call('POST', `/v2/sandbox/profiles/${profile_id}/deposit`, { asset: 'BTC', amount: '254000.75' })
  await expect.poll(() => named('orchestration step').length).toBeGreaterThan(0)

  const [request] = named('POST /v2/orchestration/rules') as [Line]
  expect(request).toMatchObject({
    attributes: {
      'http.route': '/v2/orchestration/rules',
      'http.response.status_code': 200,
      'tidegate.listener': 'public',
    },
  })
  expect(request.parent).toBeUndefined()
  const below = (parent: Line, name: string) => named(name).filter((span) => span.parent === parent.spanId)
  const [transaction] = below(request, 'store transaction') as [Line]
  expect(transaction.traceId).toBe(request.traceId)
  expect(below(transaction, 'store statement').length).toBeGreaterThan(1)
  const [step] = named('orchestration step') as [Line]
  expect(step.attributes['tidegate.orchestrations']).toBeGreaterThan(0)
  expect(below(step, 'store transaction').length).toBeGreaterThan(0)
})

it('book updates are sampled once per second, from the arrival through the commit to the write', async () => {
  const client = await SampleClient.connect({ wsUrl: demo.ws_url, token })
  await client.subscribeAll('BTCUSD')
  await expect.poll(() => named('market update').length).toBeGreaterThan(1)
  await client.close()
  const updates = named('market update').sort((left, right) => left.end - right.end)
  for (const [index, update] of updates.entries()) {
    const parts = spans().filter(({ parent }) => parent === update.spanId)
    expect(parts.map(({ name }) => name)).toEqual(['commit', 'bus', 'fan-out and write'])
    const places = parts.flatMap(({ start, end }) => [start, end])
    const [committed, arrived] = [parts[0]?.end, parts[1]?.end]
    expect(places).toEqual([update.start, committed, committed, arrived, arrived, update.end])
    const before = updates[index - 1]
    if (before !== undefined) expect(update.end - before.end).toBeGreaterThanOrEqual(1_000)
  }
})

it('a trace contains only the attributes that the page lists, and nothing private', () => {
  for (const { name, attributes } of spans()) {
    const isRequest = /^(GET|POST|PATCH|DELETE|PUT) \//.test(name)
    expect(isRequest || page.includes(`\`${name}\``), name).toBe(true)
    for (const key of Object.keys(attributes)) expect(page, key).toContain(`\`${key}\``)
  }
  const text = readFileSync(file, 'utf8')
  for (const secret of [token, demo.client_secret, demo.client_id, operator.token, 'a-private-name', '254000.75'])
    expect(text).not.toContain(secret)
})
