/**
 * The nodes of the release before, on one PostgreSQL, are replaced one by one by those of this one, whose migrations are
 * applied while they run; and the eight processes of a cluster are restarted one by one. Meanwhile customers stream, write,
 * read and request tokens through a balancer: no request fails, and connections end with 1012 alone.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Balancer } from '../support/balancer.ts'
import { Cluster } from '../support/cluster.ts'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { buildEarlierRelease, EARLIER_RELEASE } from '../support/earlier-release.ts'
import { NATS_SERVER, titleWith } from '../support/foreign-programs.ts'
import { hasPostgres, migratedDatabase, sharedDatabase } from '../support/postgres.ts'
import { RollingLoad } from '../support/rolling-load.ts'
import {
  BUILT_PROGRAM,
  ensureBuilt,
  type Flags,
  market,
  OperatorApi,
  temporaryFolder,
} from '../support/running-service.ts'

const STREAMS = 40
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

afterAll(async () => {
  for (const close of closing.reverse()) await close()
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
    it('fails no request and ends connections with 1012 alone', async () => {
      const balancer = await Balancer.listen()
      closing.push(() => balancer.close())
      const before = buildEarlierRelease(folder.path)
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
      expect(await migrate(BUILT_PROGRAM)).toContain('202611230400-feed-leases')
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

describe.skipIf(!hasPostgres || NATS_SERVER.isSkipped)(
  titleWith('a rolling restart of a cluster under load (needs PostgreSQL)', NATS_SERVER, 'nats-server'),
  () => {
    it('of every process, one after the other, fails no request and ends connections with 1012 alone', async () => {
      const balancer = await Balancer.listen()
      closing.push(() => balancer.close())
      const names = ['worker', 'api', 'feed', 'gateway'].flatMap((role) => [`${role}-1`, `${role}-2`])
      const cluster = await Cluster.start({
        processes: Object.fromEntries(names.map((name) => [name, `[${name.split('-')[0]}]`])),
        markets: [market('BTC', 2, 50)],
        store: await migratedDatabase(),
        flags: { 'http.public_url': balancer.url, 'http.drain_delay_seconds': 1, 'stream.drain_seconds': 3 },
      })
      closing.push(() => cluster.remove())
      const serve = (name: string) => {
        const { http, operator } = cluster.process(name)
        const node = { http, operatorUrl: operator.url }
        if (name.startsWith('api')) balancer.add({ ...node, serves: 'requests' })
        if (name.startsWith('gateway')) balancer.add({ ...node, serves: 'stream' })
      }
      for (const name of names) serve(name)
      const { operator } = cluster.process('api-1')
      const options = { url: balancer.url, operator, market: 'BTCUSD', streams: STREAMS, hasExecutions: false }
      const load = await RollingLoad.start(options)
      closing.push(() => load.stop())
      await load.more(REQUESTS_PER_STEP)
      for (const name of names) {
        await cluster.terminate(name)
        await cluster.launch(name)
        serve(name)
        await load.more(REQUESTS_PER_STEP)
      }
      await expectNothingElse(load)
    })
  },
)
