/**
 * The nodes of the release before, on one PostgreSQL, are replaced one by one by those of this one, whose migrations are
 * applied while they run; so are the eight processes of a cluster, which are also restarted one by one. Meanwhile customers
 * stream, write, read and request tokens through a balancer: no request fails, and connections end with 1012 alone. In a
 * cluster, books and executions of an engine's two markets, one that a feed pulls and one that the engine pushes, are compared
 * with what it published, and no execution is missing.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PUBLISH_SCOPE } from '../../src/contract/scopes.ts'
import { CLOSE_CODES } from '../../src/contract/stream-codes.ts'
import { Balancer } from '../support/balancer.ts'
import { ChainVerifier } from '../support/chain-verifier.ts'
import { CLUSTER_PROCESSES, Cluster } from '../support/cluster.ts'
import { ClusterWatch } from '../support/cluster-watch.ts'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { buildEarlierRelease, EARLIER_RELEASE } from '../support/earlier-release.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { claimPort } from '../support/ports.ts'
import { hasPostgres, migratedDatabase, sharedDatabase } from '../support/postgres.ts'
import { seedOf } from '../support/property.ts'
import { PublishedMarket } from '../support/published-market.ts'
import { RollingLoad } from '../support/rolling-load.ts'
import {
  BUILT_PROGRAM,
  ensureBuilt,
  type Flags,
  market,
  OperatorApi,
  temporaryFolder,
} from '../support/running-service.ts'
import { acceptInventedAnswers } from '../support/validated-answers.ts'

const STREAMS = 40
/** In which processes of a cluster get the next release. */
const MIXED_ORDER = ['gateway-1', 'feed-1', 'api-1', 'worker-1', 'feed-2', 'gateway-2', 'api-2', 'worker-2']
const NAMES = ['first', 'second', 'third']
/** Requests of each kind that must have been answered after each step. */
const REQUESTS_PER_STEP = 100

const folder = temporaryFolder()
const commands: RunningCommand[] = []
const closing: (() => unknown)[] = []
let store: string

beforeAll(async () => {
  ensureBuilt()
  if (hasPostgres) store = await sharedDatabase()
})

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

afterAll(async () => {
  for (const { child } of commands) child.kill('SIGKILL')
  await Promise.all(commands.map(({ result }) => result))
  folder.remove()
})

function run(program: string, verb: 'serve' | 'migrate', name: string, flags: Flags = {}) {
  const data = join(folder.path, name)
  mkdirSync(data, { recursive: true })
  const all = { data_dir: data, 'store.url': store, ...flags }
  const args = Object.entries(all).flatMap(([key, value]) => [`--${key}`, String(value)])
  const command = startProgram(process.execPath, [program, verb, ...args], {
    cwd: data,
    env: { PATH: process.env.PATH },
  })
  commands.push(command)
  return command
}

async function migrate(program: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, 'migrate', 'migrate').result
  expect(code, stderr).toBe(0)
  return stdout
}

interface Node {
  readonly name: string
  readonly http: string
  readonly operatorUrl: string
  command: RunningCommand
}

async function startNode(program: string, name: string, flags: Flags): Promise<Node> {
  const command = run(program, 'serve', name, { ...flags, 'http.port': 0, 'operator.port': 0 })
  const { http, operator } = JSON.parse(await command.line((line) => line.startsWith('{"ready":true')))
  return { name, http, operatorUrl: operator, command }
}

/** Stops a node as a supervisor does, and starts it with another program at the same addresses. */
async function replace(node: Node, program: string, flags: Flags): Promise<void> {
  node.command.child.kill('SIGTERM')
  expect((await node.command.result).code).toBe(0)
  const ports = { 'http.port': new URL(node.http).port, 'operator.port': new URL(node.operatorUrl).port }
  node.command = run(program, 'serve', node.name, { ...flags, ...ports })
  await node.command.line((line) => line.startsWith('{"ready":true'))
}

describe.skipIf(!hasPostgres || !EARLIER_RELEASE.isThere)(
  `a rolling restart under load (needs PostgreSQL, and commit ${EARLIER_RELEASE.commit} in the history)`,
  () => {
    it('a rolling restart under load fails no request and ends connections with 1012 alone', async ({ skip }) => {
      const balancer = await Balancer.listen()
      closing.push(() => balancer.close())
      // The release before answers without the members that came since.
      acceptInventedAnswers()
      const before = buildEarlierRelease()
      if (before === undefined) return skip('the packages of the release before cannot be installed')
      const flags = {
        markets: JSON.stringify([market('BTC', 2, 50)]),
        'simulator.allowed': 'true',
        'http.public_url': balancer.url,
        'http.drain_delay_seconds': 1,
        'stream.drain_seconds': 3,
        'keys.encryption_key': Buffer.alloc(32, 9).toString('base64'),
      }
      await migrate(before)
      const nodes = await Promise.all(NAMES.map((name) => startNode(before, name, flags)))
      for (const node of nodes) balancer.add(node)
      const load = await RollingLoad.start({
        url: balancer.url,
        operator: new OperatorApi(nodes[0]!.operatorUrl, join(folder.path, NAMES[0] as string)),
        market: 'BTCUSD',
        streams: STREAMS,
        hasExecutions: true,
      })
      closing.push(() => load.stop())
      await load.more(REQUESTS_PER_STEP)
      expect(await migrate(BUILT_PROGRAM)).toContain('202611232130-failed-logins')
      // Of the release before, on the schema of this one.
      await load.more(REQUESTS_PER_STEP)
      for (const node of nodes) {
        await replace(node, BUILT_PROGRAM, flags)
        await load.more(REQUESTS_PER_STEP)
      }
      await expectNothingElse(load)
    })
  },
)

/** Ends the load: no request failed, no account is missing, and each stream was closed with 1012 and with nothing else. */
async function expectNothingElse(load: RollingLoad): Promise<void> {
  await load.stop()
  expect(load.failures).toEqual([])
  expect(load.problems).toEqual([])
  expect(new Set(load.closeCodes)).toEqual(new Set([1012]))
  expect(load.closeCodes.length).toBeGreaterThanOrEqual(STREAMS)
  expect(await load.missingAccounts()).toEqual([])
}

const PULLED = 'SOLUSD'
const PUSHED = 'ETHUSD'
const CLUSTER_MARKETS = [
  market('BTC', 2, 50),
  market('SOL', 2, 50, `${PublishedMarket.venue}:${PULLED}`),
  market('ETH', 2, 50, 'ingest'),
]
const { executionGap } = CLOSE_CODES

async function createEngineClient(operator: OperatorApi) {
  const { id } = await operator.call<{ id: string }>('POST', '/customers', { name: 'The exchange' })
  const client = { name: 'engine', scopes: [PUBLISH_SCOPE], publish_markets: [PUSHED] }
  const created = await operator.call<Record<string, string>>('POST', `/customers/${id}/clients`, client)
  return { clientId: created.client_id as string, clientSecret: created.client_secret as string }
}

/** A cluster with clients of every kind: streams, requests, tokens, and verifiers of an engine's markets, which resume. */
async function startLoadedCluster(options: { readonly program?: string; readonly store: string }) {
  // In the release before, only processes with the role feed can have a market that an engine pushes.
  const hasPushed = options.program === undefined
  const balancer = await Balancer.listen()
  closing.push(() => balancer.close())
  const pulled = await PublishedMarket.pulled(PULLED, folder.path, seedOf(20_261_123))
  closing.push(() => pulled.published.stop())
  const ingestPorts = [await claimPort(), await claimPort()]
  const cluster = await Cluster.start({
    ...options,
    processes: CLUSTER_PROCESSES,
    markets: hasPushed ? CLUSTER_MARKETS : CLUSTER_MARKETS.slice(0, -1),
    feeds: pulled.feeds,
    flags: {
      'http.public_url': balancer.url,
      'http.drain_delay_seconds': 1,
      'stream.drain_seconds': 3,
    },
    flagsOf: hasPushed
      ? {
          'feed-1': { 'ingest.port': ingestPorts[0] as number },
          'feed-2': { 'ingest.port': ingestPorts[1] as number },
        }
      : {},
  })
  closing.push(() => cluster.remove())
  const serve = (name: string) => {
    const { http, operator } = cluster.process(name)
    const node = { http, operatorUrl: operator.url }
    if (name.startsWith('api')) balancer.add({ ...node, serves: 'requests' })
    if (name.startsWith('gateway')) balancer.add({ ...node, serves: 'stream' })
  }
  for (const name of cluster.names) serve(name)
  const { operator } = cluster.process('api-1')
  const load = await RollingLoad.start({
    url: balancer.url,
    operator,
    market: 'BTCUSD',
    streams: STREAMS,
    hasExecutions: false,
  })
  closing.push(() => load.stop())
  const client = await cluster.createClient()
  const published = [pulled.published]
  if (hasPushed) {
    const pushed = PublishedMarket.pushed(PUSHED, folder.path, seedOf(20_261_123), {
      url: ingestPorts.map((port) => `ws://127.0.0.1:${port}/`).join(),
      authUrl: balancer.url,
      ...(await createEngineClient(operator)),
    })
    closing.push(() => pushed.stop())
    published.push(pushed)
  }
  const symbols = hasPushed ? [PULLED, PUSHED] : [PULLED]
  const verifiers = Array.from({ length: 4 }, (_, index) => {
    const verifier = new ChainVerifier(`verifier ${index}`, { [PULLED]: PublishedMarket.venue, [PUSHED]: 'ingest' })
    verifier.start({ http: balancer.url, ws: balancer.url.replace('http', 'ws') }, client, symbols)
    return verifier
  })
  closing.push(() => Promise.all(verifiers.map((verifier) => verifier.stop())))
  const watch = new ClusterWatch(cluster, [], [])
  /** More of everything, with nothing wrong. */
  const more = async () => {
    await load.more(REQUESTS_PER_STEP)
    for (const each of published) {
      await each.reached(verifiers)
      expect([...(await watch.problems()), ...each.problems(verifiers)]).toEqual([])
    }
  }
  await more()
  /** What proves the books, as each process with the role `api` says, all of which follow the feeds over NATS. */
  const proofs = () =>
    Promise.all(
      cluster.withRole('api').map(async ({ http }) => {
        const response = await fetch(`${http}/v2/markets`, { headers: { authorization: `Bearer ${client.token}` } })
        const { items } = (await response.json()) as { items: { market: string; proof: string }[] }
        return Object.fromEntries(items.map(({ market, proof }) => [market, proof]))
      }),
    )
  return {
    cluster,
    load,
    more,
    proofs,
    verifiers,
    /** Ends a process as a deployment does, starts it again, and has it serve. */
    async replace(name: string): Promise<void> {
      await cluster.terminate(name)
      await cluster.launch(name)
      serve(name)
    },
  }
}

describe.skipIf(!hasPostgres || NATS_SERVER.isSkipped)(
  titleWith('a rolling restart of a cluster under load on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    it('a rolling restart of every process, one after the other, fails no request and ends connections with 1012 alone', async () => {
      const { cluster, load, more, proofs, replace, verifiers } = await startLoadedCluster({
        store: await migratedDatabase(),
      })
      const proven = { BTCUSD: 'NONE', [PULLED]: 'SEQUENCE', [PUSHED]: 'SEQUENCE' }
      await expect.poll(proofs).toEqual([proven, proven])
      for (const name of cluster.names) {
        await replace(name)
        await more()
        expect(verifiers.map(({ closes }) => closes.get(executionGap.code))).toEqual(verifiers.map(() => undefined))
      }
      await expectNothingElse(load)
    })

    it.skipIf(!EARLIER_RELEASE.isThere)(
      `a rolling restart replaces the release before (commit ${EARLIER_RELEASE.commit} of the history) while both serve`,
      async ({ skip }) => {
        acceptInventedAnswers()
        const program = buildEarlierRelease()
        if (program === undefined) return skip('the packages of the release before cannot be installed')
        store = await sharedDatabase()
        await migrate(program)
        const { cluster, load, more, replace } = await startLoadedCluster({ program, store })
        await migrate(BUILT_PROGRAM)
        await more()
        cluster.program = BUILT_PROGRAM
        // One of each role is replaced first, a gateway before the feeds: each release follows feeds of the other.
        for (const name of MIXED_ORDER) {
          await replace(name)
          await more()
        }
        await expectNothingElse(load)
      },
    )
  },
)
