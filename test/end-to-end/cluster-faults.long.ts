/**
 * A cluster of eight processes of the built program in which something fails all the time, one random fault after the other,
 * for `TIDEGATE_CLUSTER_MINUTES`, 10 unless given; 20 are enough for each fault. `TIDEGATE_CLUSTER_NODE` is the Node.js program of the
 * processes.
 *
 * Two markets are simulated; an engine that keeps all of its messages publishes the third, and writes down what it publishes.
 * After each fault every process is ready again by itself, every reader has fresh books, no rule of the stream was broken, and
 * all digests and executions of the engine's market are those that it wrote down. Execution streams end with 4000 only where
 * executions are gone: never in the engine's market, and in a simulated one when another process has begun to simulate it.
 */

import { createWriteStream, mkdirSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ALL_KEYS } from '../support/address-keys.ts'
import { once } from '../support/awaited.ts'
import { ChainVerifier } from '../support/chain-verifier.ts'
import { CLUSTER_PROCESSES, Cluster } from '../support/cluster.ts'
import { type ClusterFault, clusterFaults } from '../support/cluster-faults.ts'
import { ClusterReader } from '../support/cluster-reader.ts'
import { ClusterWatch } from '../support/cluster-watch.ts'
import { startCommand } from '../support/command-line.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { hasPostgres, PostgresServer } from '../support/postgres.ts'
import { seedOf } from '../support/property.ts'
import { PublishedMarket } from '../support/published-market.ts'
import { Random } from '../support/random.ts'
import { executorFlags, ReportedDeposits, startExecutor } from '../support/reported-deposits.ts'
import { ensureBuilt, market, temporaryFolder } from '../support/running-service.ts'

const MINUTES = Number(process.env.TIDEGATE_CLUSTER_MINUTES ?? 10)
const NODE = process.env.TIDEGATE_CLUSTER_NODE ?? process.execPath
const SEED = Number(process.env.TIDEGATE_CLUSTER_SEED ?? seedOf(20_261_123))
/** A folder for the logs of the processes. */
const LOGS = process.env.TIDEGATE_CLUSTER_LOGS
const READERS = 50
const VERIFIERS = 4
const SIMULATED = ['BTCUSD', 'ETHUSD']
const PUBLISHED = 'SOLUSD'
/** Only to end what hangs. */
const FAULT_MILLISECONDS_MAX = 600_000
const GAP_CODE = 4000
/** After one fault. */
const PROBLEMS_SHOWN = 20

const folder = temporaryFolder()
const random = new Random(SEED)
const ending: (() => unknown)[] = [() => folder.remove()]
let cluster: Cluster
let watch: ClusterWatch
let deposits: ReportedDeposits
let published: PublishedMarket
let faults: readonly ClusterFault[]
let readers: readonly ClusterReader[] = []
let verifiers: readonly ChainVerifier[] = []

async function startStore(): Promise<{ readonly postgres: PostgresServer; readonly store: string }> {
  const postgres = PostgresServer.create()
  await postgres.start()
  ending.push(() => postgres.remove())
  const store = await postgres.createDatabase()
  const migrate = startCommand(['migrate', '--store.url', store, '--data_dir', folder.path], { isBuilt: true })
  const { code, stderr } = await migrate.result
  expect(code, stderr).toBe(0)
  return { postgres, store }
}

async function startCluster(executor: Server): Promise<PostgresServer> {
  const engine = await PublishedMarket.pulled(PUBLISHED, folder.path, SEED)
  published = engine.published
  ending.push(() => published.stop())
  const { postgres, store } = await startStore()
  cluster = await Cluster.start({
    processes: CLUSTER_PROCESSES,
    markets: [
      market('BTC', 2, 50),
      market('ETH', 2, 50),
      market('SOL', 2, 50, `${PublishedMarket.venue}:${PUBLISHED}`),
    ],
    feeds: engine.feeds,
    store,
    node: NODE,
    flags: { ...ALL_KEYS, 'simulator.rate': 5, 'auth.token_seconds': 86_400, ...executorFlags(executor) },
    onLaunch(name, { stderr }) {
      if (LOGS === undefined) return
      mkdirSync(LOGS, { recursive: true })
      stderr.pipe(createWriteStream(join(LOGS, `${name}.log`), { flags: 'a' }))
    },
  })
  ending.push(() => cluster.remove())
  return postgres
}

async function startClients(): Promise<void> {
  const { token, ...client } = await cluster.createClient()
  const addresses = () => cluster.withRole('gateway').map(({ ws }) => ws)
  readers = Array.from({ length: READERS }, () => new ClusterReader({ addresses, token, markets: SIMULATED }))
  ending.push(() => Promise.all(readers.map((reader) => reader.stop())))
  watch = new ClusterWatch(cluster, readers, SIMULATED)
  const service = {
    get ws() {
      return random.pick(addresses())
    },
    get http() {
      return random.pick(cluster.withRole('api')).http
    },
  }
  verifiers = Array.from({ length: VERIFIERS }, (_, index) => {
    const verifier = new ChainVerifier(`verifier ${index}`, { [PUBLISHED]: PublishedMarket.venue })
    verifier.start(service, client, [PUBLISHED])
    return verifier
  })
  ending.push(() => Promise.all(verifiers.map((verifier) => verifier.stop())))
  deposits = new ReportedDeposits(() => cluster.withRole('api'), token)
  await deposits.start()
  ending.push(() => deposits.end())
}

/** Which process leads, since when. */
async function lead(): Promise<string> {
  const name = await watch.leader()
  const { operator, command } = cluster.process(name)
  const taken = await operator.metric('tidegate_feed_lease_taken_total{feed_group="default"}')
  return `${name} ${command.child.pid} ${taken}`
}

const engineGaps = () => verifiers.reduce((sum, { closes }) => sum + (closes.get(GAP_CODE) ?? 0), 0)

/** Problems that were reported after an earlier fault. */
const reported = new Set<string>()

/** Runs a fault to its end, and waits until everything works again; returns a line about it, and what was wrong. */
async function survive({ name, run }: ClusterFault): Promise<{ readonly line: string; readonly problems: string[] }> {
  const before = { lead: await lead(), gaps: watch.closes(GAP_CODE), engineGaps: engineGaps() }
  const victim = await run()
  const ended = performance.now()
  await watch.fresh(ended)
  const fresh = performance.now()
  await published.reached(verifiers)
  await watch.ready()
  const ready = performance.now()
  const isSameLead = (await lead()) === before.lead
  const gaps = { simulated: watch.closes(GAP_CODE) - before.gaps, engine: engineGaps() - before.engineGaps }
  const problems = [...(await watch.problems()), ...published.problems(verifiers)].filter((text) => !reported.has(text))
  for (const text of problems) reported.add(text)
  if (gaps.engine > 0) problems.push(`${gaps.engine} streams of the engine’s market ended with ${GAP_CODE}`)
  if (gaps.simulated > 0 && isSameLead)
    problems.push(`${gaps.simulated} streams ended with ${GAP_CODE}, the leader is the same`)
  const seconds = (milliseconds: number) => `${(milliseconds / 1_000).toFixed(1)} s`
  const times = `fresh books after ${seconds(fresh - ended)}, all ready after ${seconds(ready - ended)}`
  const leadText = isSameLead ? 'the same leader' : `another leader, ${gaps.simulated} streams ended with ${GAP_CODE}`
  return { line: `${name} (${victim}): ${times}, ${leadText}`, problems }
}

/** All faults in a random order, and again, until the time is over. */
function* rounds(): Iterable<ClusterFault> {
  const end = performance.now() + MINUTES * 60_000
  for (let left: ClusterFault[] = []; performance.now() < end; ) {
    if (left.length === 0) left = [...faults]
    yield left.splice(random.integer(left.length), 1)[0] as ClusterFault
  }
}

function inTime<Value>(work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('not over in time')), FAULT_MILLISECONDS_MAX)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

describe.skipIf(NATS_SERVER.isSkipped || !hasPostgres)(
  titleWith('a cluster in which something fails all the time on PostgreSQL', NATS_SERVER, 'nats-server'),
  () => {
    beforeAll(async () => {
      ensureBuilt()
      const executor = startExecutor()
      await once(executor, 'listening')
      ending.push(() => {
        executor.closeAllConnections()
        executor.close()
      })
      const postgres = await startCluster(executor)
      await startClients()
      faults = clusterFaults({ cluster, postgres, random, leader: () => watch.leader() })
      await watch.fresh(0)
      await published.reached(verifiers)
    })

    afterAll(async () => {
      for (const end of ending.reverse()) await end()
    })

    test(
      'the cluster serves no wrong book, loses no execution silently, and is ready again by itself after each fault',
      async () => {
        console.info(`seed ${SEED}, ${NODE}, ${MINUTES} minutes`)
        let number = 0
        const failures: string[] = []
        for (const fault of rounds()) {
          const { line, problems } = await inTime(survive(fault)).catch((error: Error) => ({
            line: fault.name,
            problems: [error.message],
          }))
          console.info(`${++number}. ${line}`)
          for (const problem of problems.slice(0, PROBLEMS_SHOWN)) {
            console.info(`   WRONG: ${problem}`)
            failures.push(`${number}. ${line}: ${problem}`)
          }
        }
        for (const verifier of verifiers) console.info(`${verifier.name}: ${verifier.summary}`)
        expect(failures).toEqual([])
      },
      MINUTES * 60_000 + 3_600_000,
    )

    test('the cluster has converted and delivered every deposit that was acknowledged', async () => {
      const statuses = await deposits.stop()
      expect(deposits.acknowledged).toBeGreaterThan(5)
      expect(new Set(statuses)).toEqual(new Set(['COMPLETED']))
    })
  },
)
