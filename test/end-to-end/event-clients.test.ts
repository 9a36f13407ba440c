/**
 * Both clients follow a customer's events on a real service, while concurrent requests make more, the operator closes
 * their connections, and the store is lost for a while. Each gets exactly the events that the REST API lists.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Credentials,
  type CustomerEvent,
  EventsExpired,
  RestClient,
  StreamClient,
} from '../../packages/client/src/index.ts'
import { until } from '../support/awaited.ts'
import { endExamples, pythonWith, startExample, titleWith } from '../support/foreign-programs.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { proxyPostgres } from '../support/postgres-proxy.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'
import {
  market,
  type ServiceInside,
  STREAM_SCOPE,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'
import type { TcpProxy } from '../support/tcp-proxy.ts'

const SCOPES = [STREAM_SCOPE, 'events:read_event', 'identity:read_account', 'identity:write_account']
const PYTHON = pythonWith('websockets')
const WRITERS = 4
const ACCOUNTS_EACH = 15

/** Prints the sequences after the first argument's, until the second one. */
const PYTHON_PROGRAM = `
import asyncio, sys
from tidegate_client import Credentials, EventsExpired, StreamClient

async def main():
    file, after, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    async with StreamClient(Credentials.read(file)) as client:
        print("ready", flush=True)
        try:
            async for event in client.events(after=after):
                print(event["sequence"], flush=True)
                if event["sequence"] >= last:
                    break
        except EventsExpired as error:
            print("expired", error.oldest_sequence)

asyncio.run(main())
`

const folder = temporaryFolder()
let service: ServiceInside
let credentials: Credentials
let customerId: string
let rest: RestClient
/** Only with PostgreSQL. */
let proxy: TcpProxy | undefined

beforeAll(async () => {
  const proxied = hasPostgres ? await proxyPostgres(await migratedDatabase()) : undefined
  proxy = proxied?.proxy
  const store = proxied === undefined ? {} : { 'store.url': proxied.url }
  service = await startServiceInside(folder.path, [market('AAA', 2, 10)], store)
  const { id } = await service.operator.call<{ id: string }>('POST', '/customers', { name: 'acme', streaming: true })
  customerId = id
  credentials = await newClient('backend', SCOPES)
  rest = new RestClient({ credentials })
})

afterAll(async () => {
  endExamples()
  await service?.stop()
  await proxy?.close()
  folder.remove()
})

async function newClient(name: string, scopes: readonly string[]): Promise<Credentials> {
  const client = await service.operator.call<{ client_id: string; client_secret: string }>(
    'POST',
    `/customers/${customerId}/clients`,
    { name, scopes },
  )
  const { http, ws } = service
  return { ...client, auth_url: http, base_url: http, ws_url: ws, scopes }
}

let accounts = 0

/** Makes events in concurrent requests. */
async function makeEvents(): Promise<void> {
  const write = async () => {
    for (let count = 0; count < ACCOUNTS_EACH; count++) {
      const account = { identity_id: `person ${accounts}`, ref_id: `account ${accounts++}` }
      await rest.post('/v2/identity/accounts', { body: { account } })
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
}

async function listed(): Promise<readonly number[]> {
  const sequences: number[] = []
  for await (const { sequence } of rest.list('/v2/events')) sequences.push(sequence)
  return sequences
}

/** Collects a loop's events until it ends. */
async function collect(loop: AsyncIterable<CustomerEvent>, seen: number[]): Promise<void> {
  for await (const { sequence } of loop) seen.push(sequence)
}

async function closeConnections(): Promise<void> {
  const { items } = await service.operator.call<{ items: readonly { id: string }[] }>('GET', '/connections')
  for (const { id } of items) await service.operator.call('DELETE', `/connections/${id}`)
}

describe('events of a real service', () => {
  it('the TypeScript client gets every event once, over the stream and by polling, although connections are closed', async () => {
    const client = new StreamClient({ credentials })
    const [streamed, polled]: number[][] = [[], []]
    const abort = new AbortController()
    const ends = [
      collect(client.events({ after: 0 }), streamed!),
      collect(rest.events({ after: 0, pollSeconds: 0.2, signal: abort.signal }), polled!).catch(() => undefined),
    ]
    let isDone = false
    const writing = makeEvents().finally(() => {
      isDone = true
    })
    while (!isDone) {
      await closeConnections()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    await writing
    const all = await listed()
    expect(all.length).toBeGreaterThanOrEqual(WRITERS * ACCOUNTS_EACH)
    await until('all events', () => streamed!.length >= all.length && polled!.length >= all.length)
    client.close()
    abort.abort()
    await Promise.all(ends)
    expect(streamed).toEqual(all)
    expect(polled).toEqual(all)
  })

  const python = PYTHON.isSkipped ? it.skip : it
  python(titleWith('the Python client gets every event once', PYTHON, 'python3 with websockets'), async () => {
    const file = join(folder.path, 'credentials.json')
    writeFileSync(file, JSON.stringify(credentials))
    const before = (await listed()).at(-1) as number
    const args = ['-c', PYTHON_PROGRAM, file, '0', String(before + WRITERS * ACCOUNTS_EACH)]
    const program = startExample(PYTHON.file, args, PYTHON_ENVIRONMENT)
    await program.line((line) => line === 'ready')
    await makeEvents()
    const { stdout, stderr } = await program.result
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n').slice(1).map(Number)).toEqual(await listed())
  })

  it.skipIf(!hasPostgres)('events follow after an outage of the store, without a gap', async () => {
    const before = (await listed()).at(-1) as number
    const [early, late] = [new StreamClient({ credentials }), new StreamClient({ credentials })]
    const [seen, seenLate]: number[][] = [[], []]
    const loops = [collect(early.events({ after: before - 1 }), seen!)]
    await until('the first event', () => seen!.length === 1)
    const token = await fetchToken({
      authUrl: service.http,
      clientId: credentials.client_id,
      clientSecret: credentials.client_secret,
      scope: 'events:read_event',
    })
    const headers = { authorization: `Bearer ${token}` }
    const statusOf = async () => (await fetch(`${service.http}/v2/events?limit=1`, { headers })).status
    proxy?.freeze()
    await until('the outage', async () => (await statusOf()) === 503)
    loops.push(collect(late.events({ after: before - 1 }), seenLate!))
    await until('the subscription during the outage', async () => {
      const { items } = await service.operator.call<{ items: readonly object[] }>('GET', '/connections')
      return items.length === 2
    })
    proxy?.thaw()
    await until('the store', async () => (await statusOf()) === 200)
    await makeEvents()
    const last = (await listed()).at(-1) as number
    await until('all events', () => seen!.at(-1) === last && seenLate!.at(-1) === last)
    for (const client of [early, late]) client.close()
    await Promise.all(loops)
    const expected = Array.from({ length: last - before + 1 }, (_, at) => before + at)
    expect(seen).toEqual(expected)
    expect(seenLate).toEqual(expected)
  })

  it('a client without the scope gets the reason', async () => {
    const client = new StreamClient({ credentials: await newClient('feed', [STREAM_SCOPE]) })
    await expect(collect(client.events(), [])).rejects.toMatchObject({ code: 'TOKEN_REFUSED' })
    expect(new EventsExpired(3).oldestSequence).toBe(3)
  })
})
