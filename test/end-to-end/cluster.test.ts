/**
 * Two feeds, two gateways, two APIs and two workers of the built program on one PostgreSQL and one NATS server, with clients
 * that check every message and deposits that are reported all the time, while processes, servers and connections fail. After
 * each fault: every reader has fresh books of every market, no rule was broken, no time went back, the self-audit found
 * nothing, no deposit was lost and the ledger balances.
 */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { servedScopes } from '../../src/contract/scopes.ts'
import { ALL_KEYS } from '../support/address-keys.ts'
import { Cluster, type ClusterProcess } from '../support/cluster.ts'
import { ClusterReader } from '../support/cluster-reader.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { hasPostgres, migratedDatabase } from '../support/postgres.ts'
import { ETHEREUM_ADDRESS } from '../support/rules.ts'
import { market } from '../support/running-service.ts'
import { fetchToken } from '../support/sample-client.ts'

const IS_LONG = process.env.TIDEGATE_LONG === '1'
const READERS = IS_LONG ? 200 : 8
const ROUNDS = Number(process.env.TIDEGATE_CLUSTER_ROUNDS ?? 50)
/** A file that gets one line per fault. */
const LOG_FILE = process.env.TIDEGATE_CLUSTER_LOG
const MARKETS = ['BTCUSD', 'ETHUSD']
/** Only to end what hangs: the log has how long everything takes, some seconds where nothing else needs the machine. */
const POLL = { timeout: 120_000, interval: 20 }
const DEPOSIT_MILLISECONDS = 200
/** A request to a process that is suspended is given up. */
const REQUEST_MILLISECONDS_MAX = 5_000

type Json = Record<string, unknown>

let cluster: Cluster
let executor: Server
let readers: ClusterReader[]
let deposits: Deposits

/** Reports deposits through both APIs all the time, each until it is acknowledged. A rule converts and delivers them. */
class Deposits {
  acknowledged = 0
  #attempts = 0
  readonly #apis: () => readonly ClusterProcess[]
  readonly #token: string
  #address = ''
  #isStopped = false
  /** False: the last one may have been taken although it was not acknowledged. */
  #isLastKnown = true
  #done: Promise<void> = Promise.resolve()

  constructor(apis: () => readonly ClusterProcess[], token: string) {
    this.#apis = apis
    this.#token = token
  }

  async start(): Promise<void> {
    const account = { account: { identity_id: 'alice' }, create_profile: true }
    const { profile_id } = await this.#call('POST', '/v2/identity/accounts', account)
    const instruction = { profile_id, crypto_network: 'ETHEREUM' }
    const { address } = await this.#call('POST', '/v2/transfer/deposit-addresses', instruction)
    this.#address = address as string
    await this.#call('POST', '/v2/orchestration/rules', {
      ref_id: 'rule',
      profile_id,
      source_asset: 'USDC',
      destination_asset: 'USDG',
      source: { profile: { profile_id } },
      destination: { crypto: { network: 'ETHEREUM', address: ETHEREUM_ADDRESS } },
    })
    this.#done = this.#run()
  }

  /** Reports no more. */
  end(): void {
    this.#isStopped = true
    this.#isLastKnown = true
  }

  /** Reports no more when the last one is acknowledged; resolves with the status of the orchestration of each deposit when all are final. */
  async stop(): Promise<readonly unknown[]> {
    this.#isStopped = true
    await this.#done
    return await vi.waitFor(async () => {
      const statuses = await this.#statuses()
      const counts = {
        orchestrations: statuses.length,
        open: statuses.filter((status) => status === 'PROCESSING').length,
      }
      expect(counts).toEqual({ orchestrations: this.acknowledged, open: 0 })
      return statuses
    }, POLL)
  }

  async #statuses(): Promise<readonly unknown[]> {
    const statuses: unknown[] = []
    for (let page = '/v2/orchestration/orchestrations?limit=500'; ; ) {
      const { items, next_page_cursor: next } = await this.#call('GET', page)
      statuses.push(...(items as Json[]).map(({ status }) => status))
      if (typeof next !== 'string' || next === '') return statuses
      page = `/v2/orchestration/orchestrations?limit=500&page_cursor=${encodeURIComponent(next)}`
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped || !this.#isLastKnown) {
      const apis = this.#apis()
      const isAcknowledged = await this.#report(apis[this.#attempts++ % apis.length]).catch(() => false)
      if (isAcknowledged) this.acknowledged++
      this.#isLastKnown = isAcknowledged
      await new Promise((resolve) => setTimeout(resolve, DEPOSIT_MILLISECONDS))
    }
  }

  async #report(api: ClusterProcess | undefined): Promise<boolean> {
    if (api === undefined) return false
    const number = this.acknowledged + 1
    const response = await fetch(`${api.operator.url}/admin/v1/deposits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.operator.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        source: 'custody',
        external_id: `payment ${number}`,
        asset: 'USDC',
        amount: '1.5',
        crypto: {
          network: 'ETHEREUM',
          address: this.#address,
          tx_hash: number.toString(16).padStart(64, '0'),
          tx_index: 0,
        },
        occurred_at: '2026-11-22T12:00:00Z',
      }),
      signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX),
    })
    await response.arrayBuffer()
    return response.ok
  }

  async #call(method: string, path: string, body?: object): Promise<Json> {
    const [api] = this.#apis()
    const response = await fetch(`${api?.http}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).toBe(200)
    return JSON.parse(text)
  }
}

/** Pays every delivery at once; two with one reference would be refused. */
function startExecutor(): Server {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ status: 'SETTLED', reference: request.headers['webhook-id'] }))
    })
  })
  return server.listen(0, '127.0.0.1')
}

/** Resolves when every reader has had a message of every market's book since that time. */
async function recovered(since: number): Promise<void> {
  const isFresh = (reader: ClusterReader) => MARKETS.every((market) => (reader.received.get(market) ?? 0) > since)
  await vi.waitFor(() => expect(readers.filter((reader) => !isFresh(reader))).toHaveLength(0), POLL)
}

/** The sum of a metric over processes and labels. */
async function sumOf(processes: readonly ClusterProcess[], name: string): Promise<number> {
  let sum = 0
  for (const { operator } of processes) {
    const lines = (await operator.metricsText()).split('\n')
    for (const line of lines)
      if (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) sum += Number(line.split(' ').at(-1))
  }
  return sum
}

interface Fault {
  readonly name: string
  disturb(): Promise<void>
  /** After the readers have fresh books again; absent where nothing is left to be done. */
  repair?(): Promise<void>
}

/** Does something to the cluster, and checks that everything is right again; logs how long that took. */
async function survive({ name, disturb, repair }: Fault): Promise<void> {
  const start = performance.now()
  await disturb()
  const disturbed = performance.now()
  await recovered(disturbed)
  const fresh = performance.now()
  await repair?.()
  await recovered(performance.now())
  await leader()
  // How late heartbeats are depends on how busy the machine is.
  const broken = readers.flatMap(({ violations }) => violations.filter(({ name }) => name !== 'heartbeat-late'))
  expect(broken).toEqual([])
  expect(readers.flatMap(({ earlierTimes }) => earlierTimes)).toEqual([])
  const all = cluster.names.map((each) => cluster.process(each))
  expect(await sumOf(all, 'tidegate_self_audit_mismatches_total')).toBe(0)
  expect(await sumOf(all, 'tidegate_bus_audit_mismatches_total')).toBe(0)
  expect(await sumOf(all, 'tidegate_ledger_imbalance')).toBe(0)
  expect(await sumOf(all, 'tidegate_invariant_violations_total')).toBe(0)
  const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(2)
  const line = `${name}: ${seconds(disturbed - start)} s, then ${seconds(fresh - disturbed)} s until ${READERS} readers had fresh books of all markets`
  if (LOG_FILE !== undefined) appendFileSync(LOG_FILE, `${line}\n`)
}

function leader(): Promise<string> {
  return vi.waitFor(async () => {
    const leaders = await cluster.leaders()
    expect(leaders).toHaveLength(1)
    return leaders[0] as string
  }, POLL)
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** The process that the present fault has disturbed. */
let disturbed = ''

function kills(what: string, name: () => string | Promise<string>): Fault {
  return {
    name: `${what} is killed`,
    async disturb() {
      disturbed = await name()
      await cluster.kill(disturbed)
    },
    repair: async () => void (await cluster.launch(disturbed)),
  }
}

/** `npm test` has these once. */
const FAULTS: readonly Fault[] = [kills('the feed that leads', leader), kills('a gateway', () => 'gateway-1')]

const LONG_FAULTS: readonly Fault[] = [
  kills('the other gateway', () => 'gateway-2'),
  kills('an API', () => 'api-1'),
  kills('a worker', () => 'worker-1'),
  {
    name: 'the feed that leads is suspended, for 20 s',
    async disturb() {
      disturbed = await leader()
      cluster.suspend(disturbed)
    },
    async repair() {
      await wait(20_000)
      cluster.resume(disturbed)
    },
  },
  {
    name: 'the NATS server is killed and started again',
    disturb: () => cluster.nats.kill().then(() => cluster.nats.restart()),
  },
  {
    name: 'PostgreSQL refuses every connection, for 10 s',
    disturb: () => cluster.postgresProxy.refuse(),
    async repair() {
      await wait(10_000)
      await cluster.postgresProxy.accept()
    },
  },
  { name: 'all connections to NATS are cut', disturb: async () => cluster.natsProxy.cut() },
  { name: 'all connections to PostgreSQL are cut', disturb: async () => cluster.postgresProxy.cut() },
  {
    name: 'everything to and from NATS is held for 6 s',
    async disturb() {
      cluster.natsProxy.freeze()
      await wait(6_000)
      cluster.natsProxy.thaw()
    },
  },
  {
    name: 'everything to and from NATS is delayed by 300 ms for 5 s',
    async disturb() {
      cluster.natsProxy.delay(300)
      await wait(5_000)
      cluster.natsProxy.delay(0)
    },
  },
]

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a cluster (needs PostgreSQL)', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      executor = startExecutor()
      await once(executor, 'listening')
      cluster = await Cluster.start({
        processes: {
          'feed-1': '[feed]',
          'feed-2': '[feed]',
          'gateway-1': '[gateway]',
          'gateway-2': '[gateway]',
          'api-1': '[api]',
          'api-2': '[api]',
          'worker-1': '[worker]',
          'worker-2': '[worker]',
        },
        markets: [market('BTC', 2, 50), market('ETH', 2, 50)],
        store: await migratedDatabase(),
        flags: {
          ...ALL_KEYS,
          'simulator.rate': 5,
          'deliveries.webhook_url': `http://127.0.0.1:${(executor.address() as AddressInfo).port}/pay`,
          'deliveries.webhook_secrets': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        },
      })
      const { operator, http } = cluster.process('api-1')
      const { id } = await operator.call<Json>('POST', '/customers', { name: 'cluster', streaming: true })
      const scopes = servedScopes(false)
      const client = await operator.call<Json>('POST', `/customers/${id}/clients`, { name: 'cluster', scopes })
      const [clientId, clientSecret] = [client.client_id as string, client.client_secret as string]
      const token = await fetchToken({ authUrl: http, clientId, clientSecret, scope: scopes.join(' ') })
      const addresses = () => cluster.withRole('gateway').map(({ ws }) => ws)
      readers = Array.from({ length: READERS }, () => new ClusterReader({ addresses, token, markets: MARKETS }))
      deposits = new Deposits(() => cluster.withRole('api'), token)
      await deposits.start()
      await recovered(0)
    })

    afterAll(async () => {
      deposits?.end()
      for (const reader of readers ?? []) await reader.stop()
      await cluster?.remove()
      executor?.closeAllConnections()
      executor?.close()
    })

    test.each(FAULTS)('$name', (fault) => survive(fault))

    test.skipIf(!IS_LONG).each(LONG_FAULTS)('$name', (fault) => survive(fault))

    test.skipIf(!IS_LONG)(
      `${ROUNDS} rounds of random faults`,
      async () => {
        const all = [...FAULTS, ...LONG_FAULTS]
        for (let round = 1; round <= ROUNDS; round++) {
          const fault = all[Math.floor(Math.random() * all.length)] as Fault
          await survive({ ...fault, name: `round ${round}: ${fault.name}` })
        }
      },
      ROUNDS * 120_000,
    )

    test('every deposit that was acknowledged was converted and delivered', async () => {
      const statuses = await deposits.stop()
      expect(deposits.acknowledged).toBeGreaterThan(5)
      expect(new Set(statuses)).toEqual(new Set(['COMPLETED']))
    })
  },
)
