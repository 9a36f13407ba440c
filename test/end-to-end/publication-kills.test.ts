/**
 * `kill -9` of every process between an engine and its readers. An engine pushes one market to a first service and lets a
 * second one pull another; the second service pulls the first market from the first service too. So a kill of the engine is
 * that of the publisher of a push and of a pull, one of the first service that of the receiver of a push and of the upstream
 * of a pull, and one of the second service that of the receiver of two pulls. A client of each service rebuilds the books
 * from frames alone; all digests and executions are compared with what the engine wrote down before it published it.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { PUBLISH_SCOPE } from '../../src/contract/scopes.ts'
import { ChainVerifier } from '../support/chain-verifier.ts'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { note } from '../support/note.ts'
import { claimPort } from '../support/ports.ts'
import { seedOf } from '../support/property.ts'
import { type KilledPublisherOptions, PublishedRecord } from '../support/published-record.ts'
import { Random } from '../support/random.ts'
import {
  ensureBuilt,
  type Flags,
  market,
  type ServiceProcess,
  startServiceProcess,
  type TestClient,
  temporaryFolder,
} from '../support/running-service.ts'

const IS_LONG = process.env.TIDEGATE_LONG === '1'
/** Of each process. */
const KILLS = Number(process.env.TIDEGATE_KILLS ?? 20)
/** After this time no more processes are killed. */
const MINUTES_MAX = Number(process.env.TIDEGATE_KILLS_MINUTES ?? Number.POSITIVE_INFINITY)
const PUSHED = 'BTCUSD'
const PULLED = 'ETHUSD'
/** As the services name them: the ingest listener, and the feed. */
const VENUES = { [PUSHED]: 'ingest', [PULLED]: 'engine' }
const ENGINE_TOKEN = 'token-of-the-engine'
/** Two processes are killed at the same moment as often. */
const TOGETHER_CHANCE = 0.1
/** Messages of each market that pass after a recovery before the next kill, at most. */
const CALM_MESSAGES = 40
/** Only turns a hang into an error, also on a machine that is busy with other work. */
const WAIT_MILLISECONDS = 300_000
const ROUND_MILLISECONDS_MAX = 60_000

const VICTIMS = ['engine', 'first', 'second'] as const
type Victim = (typeof VICTIMS)[number]

interface Node {
  readonly folder: string
  readonly flags: Flags
  service: ServiceProcess
  readonly verifier: ChainVerifier
}

const folder = temporaryFolder()
const running: { stop(): unknown }[] = []
afterAll(async () => {
  for (const one of running.reverse()) await one.stop()
  folder.remove()
})

async function startNode(name: string, markets: readonly ReturnType<typeof market>[], flags: Flags): Promise<Node> {
  const path = join(folder.path, name)
  mkdirSync(path)
  const all: Flags = {
    markets: JSON.stringify(markets),
    'stream.stale_seconds': 2,
    'stream.heartbeat_seconds': 0.1,
    ...flags,
  }
  const service = await startServiceProcess('serve', path, all)
  const node: Node = { folder: path, flags: all, service, verifier: new ChainVerifier(name, VENUES) }
  running.push({ stop: () => node.service.stop() })
  return node
}

async function watch(node: Node, markets: readonly string[]): Promise<void> {
  node.verifier.start(node.service, await node.service.operator.createClient(), markets)
  running.push({ stop: () => node.verifier.stop() })
}

async function createEngineClient({ operator }: ServiceProcess): Promise<TestClient> {
  const { id: customerId } = await operator.call<{ id: string }>('POST', '/customers', { name: 'The exchange' })
  const client = { name: 'engine', scopes: [PUBLISH_SCOPE], publish_markets: [PUSHED] }
  const path = `/customers/${customerId}/clients`
  const created = await operator.call<{ client_id: string; client_secret: string }>('POST', path, client)
  return { customerId, clientId: created.client_id, clientSecret: created.client_secret }
}

/** The process of the engine: started as often as it is killed. */
class Engine {
  readonly #options: Omit<KilledPublisherOptions, 'run'>
  #run = 0
  #command: RunningCommand | undefined

  constructor(options: Omit<KilledPublisherOptions, 'run'>) {
    this.#options = options
  }

  async start(): Promise<void> {
    const script = join(import.meta.dirname, '../adapters/killed-publisher.ts')
    const options: KilledPublisherOptions = { ...this.#options, run: ++this.#run }
    const command = startProgram(process.execPath, ['--import', import.meta.resolve('tsx'), script], {
      cwd: folder.path,
      env: { ...process.env, KILLED_PUBLISHER: JSON.stringify(options) },
    })
    this.#command = command
    await command.line((line) => line.startsWith('ws://'))
  }

  async kill(): Promise<void> {
    this.#command?.child.kill('SIGKILL')
    await this.#command?.result
  }
}

class Stage {
  readonly random: Random
  readonly record = new PublishedRecord(join(folder.path, 'record'))
  readonly engine: Engine
  readonly first: Node
  readonly second: Node

  private constructor(random: Random, engine: Engine, first: Node, second: Node) {
    this.random = random
    this.engine = engine
    this.first = first
    this.second = second
  }

  static async start(seed: number): Promise<Stage> {
    const random = new Random(seed)
    const ports = { 'http.port': await claimPort(), 'operator.port': await claimPort() }
    const ingestPort = await claimPort()
    const pushed = (source: string) => market('BTC', 2, 100, source)
    const first = await startNode('first', [pushed('ingest')], { ...ports, 'ingest.port': ingestPort })
    const { clientId, clientSecret } = await createEngineClient(first.service)
    const relay = await first.service.operator.createClient()
    const port = await claimPort()
    const { http } = first.service
    const engine = new Engine({
      seed,
      recordPath: join(folder.path, 'record'),
      pushed: PUSHED,
      pulled: PULLED,
      port,
      token: ENGINE_TOKEN,
      ingest: { url: `ws://127.0.0.1:${ingestPort}/`, authUrl: http, clientId, clientSecret },
    })
    running.push({ stop: () => engine.kill() })
    await engine.start()
    const second = await startNode('second', [pushed(`up:${PUSHED}`), market('ETH', 2, 100, `engine:${PULLED}`)], {
      'http.port': await claimPort(),
      'operator.port': await claimPort(),
      feeds: JSON.stringify({
        up: {
          kind: 'tidegate',
          url: `${first.service.ws}/`,
          client_id: relay.clientId,
          client_secret: relay.clientSecret,
          auth_url: http,
        },
        engine: { kind: 'tidegate', url: `ws://127.0.0.1:${port}/`, token: ENGINE_TOKEN },
      }),
    })
    await watch(first, [PUSHED])
    await watch(second, [PUSHED, PULLED])
    return new Stage(random, engine, first, second)
  }

  /** Who reads what, and through which processes it gets there. */
  get readings(): readonly {
    readonly verifier: ChainVerifier
    readonly market: string
    readonly via: readonly Victim[]
  }[] {
    return [
      { verifier: this.first.verifier, market: PUSHED, via: ['engine', 'first'] },
      { verifier: this.second.verifier, market: PUSHED, via: ['engine', 'first', 'second'] },
      { verifier: this.second.verifier, market: PULLED, via: ['engine', 'second'] },
    ]
  }

  /** Kills the processes at the same moment and starts them again. */
  async kill(victims: readonly Victim[]): Promise<void> {
    await Promise.all(
      victims.map(async (victim) => {
        if (victim === 'engine') {
          await this.engine.kill()
          await this.engine.start()
          return
        }
        const node = this[victim]
        node.service.command.child.kill('SIGKILL')
        await node.service.command.result
        node.service = await startServiceProcess('serve', node.folder, node.flags)
      }),
    )
  }

  /** Waits until every reader has a book that was published after this moment, and until more messages were published. */
  async settle(messages: number): Promise<void> {
    this.record.follow()
    const readings = this.readings.map((reading) => ({ ...reading, from: this.record.length(reading.market) }))
    await this.#until('a later book of every reader', () =>
      readings.every(({ verifier, market, from }) => this.record.placeOf(market, verifier.lastOrigin(market)) >= from),
    )
    const end = this.record.length(PUSHED) + messages
    await this.#until('more messages of the engine', () => this.record.length(PUSHED) >= end)
  }

  /** What is wrong with anything that any reader has seen. */
  problems(): readonly string[] {
    this.record.follow()
    const compared = this.readings.flatMap(({ verifier, market }) => this.record.compare(verifier, market).problems)
    const seen = [this.first, this.second].flatMap(({ verifier }) =>
      verifier.problems.map((problem) => `${verifier.name}: ${problem}`),
    )
    return [...seen, ...compared]
  }

  gaps(): readonly number[] {
    return this.readings.map(({ verifier, market }) => {
      return verifier.executionsOf(market).filter((id) => id === null).length
    })
  }

  async #until(what: string, isMet: () => boolean): Promise<void> {
    const end = performance.now() + WAIT_MILLISECONDS
    while (!isMet()) {
      if (performance.now() > end) {
        const logs = [this.first, this.second].map(({ service }) => service.command.stderr().slice(-3_000))
        throw new Error(`waited in vain for ${what}: ${this.problems().join('; ')}\n${logs.join('\n')}`)
      }
      await wait(10)
      this.record.follow()
    }
  }
}

/** Every victim as often as the others, in a random order, sometimes two different ones at the same moment. */
function rounds(random: Random): readonly (readonly Victim[])[] {
  const left = VICTIMS.flatMap((victim) => Array.from({ length: KILLS }, () => victim as Victim))
  for (let index = left.length - 1; index > 0; index--) {
    const other = random.integer(index + 1)
    ;[left[index], left[other]] = [left[other] as Victim, left[index] as Victim]
  }
  const all: Victim[][] = []
  for (const victim of left) {
    const last = all.at(-1)
    if (last?.length === 1 && last[0] !== victim && random.chance(TOGETHER_CHANCE)) last.push(victim)
    else all.push([victim])
  }
  return all
}

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((left, right) => left - right)
  const at = (share: number) => ((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) / 1_000).toFixed(1)
  return `${sorted.length} times, median ${at(0.5)} s, 95 % ${at(0.95)} s, longest ${at(1)} s`
}

it.runIf(IS_LONG)(
  'the service serves no wrong book, and loses no execution unnoticed, when a publisher or receiver is killed',
  async () => {
    ensureBuilt()
    const seed = Number(process.env.TIDEGATE_KILLS_SEED ?? seedOf(20_261_123))
    note(`kills: seed ${seed}`)
    const stage = await Stage.start(seed)
    await stage.settle(CALM_MESSAGES)
    const times = new Map<string, number[]>()
    const all = rounds(stage.random)
    const end = performance.now() + MINUTES_MAX * 60_000
    const killed = { engine: 0, first: 0, second: 0 }
    for (const [index, victims] of all.entries()) {
      if (performance.now() > end) break
      for (const victim of victims) killed[victim]++
      const before = stage.gaps()
      const from = performance.now()
      await stage.kill(victims)
      const started = performance.now()
      await stage.settle(0)
      const recovered = performance.now()
      const name = [...victims].sort().join(' and ')
      times.set(name, [...(times.get(name) ?? []), recovered - from])
      const took = `started after ${Math.round(started - from)} ms, recovered after ${Math.round(recovered - from)} ms`
      note(`round ${index + 1} of ${all.length}: ${name} killed, ${took}, gaps ${stage.gaps().join(' ')}`)
      await stage.settle(stage.random.integer(CALM_MESSAGES))
      expect(stage.problems()).toEqual([])
      // Readers that a killed process does not serve notice nothing.
      const after = stage.gaps()
      for (const [place, { via }] of stage.readings.entries()) {
        if (!via.some((one) => victims.includes(one))) expect(after[place]).toBe(before[place])
      }
    }
    for (const { verifier, market } of stage.readings) {
      const { problems, ...counts } = stage.record.compare(verifier, market)
      expect(problems).toEqual([])
      expect(counts.executions).toBeGreaterThan(killed.engine)
      expect(counts.origins).toBeGreaterThan(killed.engine)
      note(`${verifier.name} ${market}: ${JSON.stringify(counts)}, ${verifier.summary}`)
    }
    note(`killed: ${JSON.stringify(killed)}`)
    for (const [name, list] of times) note(`${name}: ${quantiles(list)}`)
    for (const symbol of [PUSHED, PULLED]) note(`${symbol}: ${stage.record.length(symbol)} messages published`)
  },
  3 * KILLS * ROUND_MILLISECONDS_MAX + 120_000,
)
