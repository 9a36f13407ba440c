import { describe, expect, test } from 'vitest'
import { note } from '../../support/note.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { SETTINGS, type SimulatedClient, StreamSimulation, testMarket } from '../../support/stream-simulation.ts'

/** Seeds that once showed a defect come first; the rest are a fixed range, or fresh ones in the long run. */
const CORPUS: readonly number[] = [204_734_770]
const long = process.env.TIDEGATE_LONG === '1'
const first = seedOf(1)
const seeds = [...CORPUS, ...Array.from({ length: long ? 150 : 12 }, (_, index) => first + index)]
/** For runs that vary what others cover already. */
const fewer = long ? seeds : seeds.slice(0, 10)

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD'] as const

/** What a client's reader does: everything, a little now and then, nothing for a while. */
type Mood = 'fast' | 'slow' | 'asleep'

interface Actor {
  client: SimulatedClient
  mood: Mood
  /** Markets whose executions it ever asked for, with the number of their gaps when it connected. */
  readonly asked: Map<string, number>
  /** Requests to unsubscribe it had sent when executions were missed that it was subscribed to; undefined before. */
  missedAfter: number | undefined
}

interface RunOptions {
  readonly depth: number
  readonly steps: number
  /** Whether markets come and go. */
  readonly changing?: boolean
  /** Whether markets lose their sources for so long, now and then, that their books are withdrawn. */
  readonly losing?: boolean
}

interface RunResult {
  readonly snapshots: number
  readonly updates: number
  /** Times that a market was taken from a client that was subscribed to it. */
  readonly ended: number
  /** Connections closed because executions were missed. */
  readonly missed: number
  /** Times that a book was withdrawn. */
  readonly withdrawn: number
}

/** After which a book is withdrawn where `losing`; the steps of a run are some milliseconds long. */
const STALE_SECONDS = 0.03

function run(seed: number, { depth, steps, changing = false, losing = false }: RunOptions): RunResult {
  const simulation = new StreamSimulation({
    seed,
    markets: MARKETS.map((symbol) => testMarket(symbol, depth)),
    noise: { levels: 30, changesMax: 6 },
    settings: losing ? { staleSeconds: STALE_SECONDS } : {},
  })
  const random = new Random(seed + 7)
  simulation.start()
  const connect = (): Actor => {
    const client = simulation.connect(1_024 << random.integer(5))
    const actor: Actor = {
      client,
      mood: random.pick(['fast', 'slow', 'asleep'] as const),
      asked: new Map(),
      missedAfter: undefined,
    }
    subscribe(simulation, actor, [...TYPES], [random.pick(MARKETS)])
    return actor
  }
  const actors = Array.from({ length: 8 }, connect)
  const gone: Actor[] = []
  for (let step = 0; step < steps; step++) {
    act(simulation, random, actors, gone, connect)
    if (random.chance(0.005)) miss(simulation, random.pick(MARKETS), actors)
    for (let count = random.chance(0.1) ? 20 : random.integer(3); count > 0; count--) {
      simulation.offer(random.pick(MARKETS), 'update')
    }
    if (random.chance(0.01)) simulation.offer(random.pick(MARKETS), 'snapshot')
    if (random.chance(0.005)) {
      const market = random.pick(MARKETS)
      simulation.offer(market, 'lost')
      if (random.chance(0.5)) simulation.clock.advance(3)
      simulation.offer(market, 'snapshot')
    }
    if (losing && random.chance(0.04)) simulation.offer(random.pick(MARKETS), random.chance(0.7) ? 'lost' : 'snapshot')
    if (changing && random.chance(0.02)) changeMarkets(simulation, random)
    if (random.chance(0.02)) simulation.clock.stepWall(random.integer(4_000) - 2_000)
    if (random.chance(0.5)) simulation.clock.endTick()
    else simulation.clock.advance(random.next() * 4)
    for (const actor of actors) read(actor, random)
    for (const [index, actor] of actors.entries()) {
      if (actor.client.transport.closed === undefined) continue
      gone.push(actor)
      actors[index] = connect()
    }
  }
  if (losing) restWithdrawn(simulation, actors)
  for (const symbol of MARKETS) simulation.offer(symbol, 'snapshot')
  simulation.quiesce(actors.map(({ client }) => client))
  for (const actor of actors) if (actor.client.transport.closed === undefined) check(simulation, actor, changing)
  const closed = [...actors, ...gone].filter(({ client }) => client.transport.closed !== undefined)
  for (const actor of closed) checkClosed(simulation, actor)
  const total = (count: (actor: Actor) => number) => [...actors, ...gone].reduce((sum, actor) => sum + count(actor), 0)
  return {
    missed: closed.length,
    withdrawn: [...simulation.histories.values()].reduce((sum, { withdrawals }) => sum + withdrawals, 0),
    ended: actors.reduce((sum, { client }) => sum + client.verifier.counts.unsubscribes - client.unsubscribesAsked, 0),
    snapshots: total(({ client }) => client.verifier.counts.snapshots),
    updates: total(({ client }) => client.verifier.counts.updates),
  }
}

function act(simulation: StreamSimulation, random: Random, actors: Actor[], gone: Actor[], connect: () => Actor): void {
  const index = random.integer(actors.length)
  const actor = actors[index] as Actor
  if (random.chance(0.05)) actor.mood = random.pick(['fast', 'fast', 'slow', 'asleep'] as const)
  if (random.chance(0.004)) {
    actor.client.transport.cut()
    actor.client.session.end()
    gone.push(actor)
    actors[index] = connect()
  } else if (random.chance(0.06) && actor.client.transport.isReading) {
    const types = TYPES.filter(() => random.chance(0.6))
    const markets = MARKETS.filter(() => random.chance(0.5))
    if (types.length * markets.length === 0) simulation.send(actor.client, { type: 'subscription_list' })
    else if (random.chance(0.5)) subscribe(simulation, actor, types, markets)
    else simulation.unsubscribe(actor.client, types, markets)
  }
}

function subscribe(
  simulation: StreamSimulation,
  { client, asked }: Actor,
  types: readonly string[],
  markets: readonly string[],
): void {
  for (const market of types.includes('execution_data') ? markets : []) {
    if (!asked.has(market)) asked.set(market, simulation.histories.get(market)?.gapCount ?? 0)
  }
  simulation.subscribe(client, types, markets)
}

/** The source misses executions: a subscriber without a pending request must be notified. */
function miss(simulation: StreamSimulation, symbol: string, actors: readonly Actor[]): void {
  simulation.offer(symbol, 'missed')
  for (const actor of actors) {
    const { verifier, unsubscribesAsked } = actor.client
    const isSubscribed = verifier.state(symbol).subscribed.has('execution_data')
    if (isSubscribed && verifier.counts.unsubscribes === unsubscribesAsked) actor.missedAfter = unsubscribesAsked
  }
}

/** One market goes, comes back, or changes, which is both at once. */
function changeMarkets(simulation: StreamSimulation, random: Random): void {
  const symbol = random.pick(MARKETS)
  const isThere = simulation.replicas.has(symbol)
  if (isThere) simulation.removeMarket(symbol)
  if (isThere && random.chance(0.5)) return
  simulation.addMarket(testMarket(symbol, random.pick([1, 5, 0])))
  if (random.chance(0.8)) simulation.offer(symbol, 'snapshot')
}

function read({ client, mood }: Actor, random: Random): void {
  client.transport.flush()
  if (mood === 'fast' || (mood === 'slow' && random.chance(0.03))) client.transport.drain()
}

/** With all sources lost and every book withdrawn no client holds a level, however slow or late. */
function restWithdrawn(simulation: StreamSimulation, actors: readonly Actor[]): void {
  for (const symbol of MARKETS) simulation.offer(symbol, 'lost')
  simulation.clock.advance(STALE_SECONDS * 1000 + 1)
  simulation.quiesce(actors.map(({ client }) => client))
  for (const { client } of actors) {
    if (client.transport.closed !== undefined) continue
    for (const market of MARKETS) expect(['[[],[]]', undefined]).toContain(client.verifier.bookText(market))
  }
}

/** Only who asked for the executions of a market that missed some is closed. */
function checkClosed(simulation: StreamSimulation, { client, asked }: Actor): void {
  expect(client.transport.closed).toEqual({ code: 4000, reason: 'execution stream has a gap at its source' })
  const hasMissed = [...asked].some(([market, gaps]) => (simulation.histories.get(market)?.gapCount ?? 0) > gaps)
  expect(hasMissed).toBe(true)
}

function check(simulation: StreamSimulation, { client, missedAfter }: Actor, changing: boolean): void {
  const { transport, verifier, unsubscribesAsked } = client
  // Who has not unsubscribed since, and whose markets do not go either, cannot still be there.
  if (!changing) expect(missedAfter).not.toBe(unsubscribesAsked)
  // The high-water mark, and the bytes that one tick or one answer may add above it.
  expect(transport.queuedBytesMost).toBeLessThan(SETTINGS.outboxBytesMax + 66_000)
  for (const [market, history] of simulation.histories) {
    const state = verifier.state(market)
    if (!simulation.replicas.has(market)) expect([...state.subscribed]).toEqual([])
    if (state.subscribed.has('market_data')) expect(verifier.bookText(market)).toBe(history.bookNow)
    if (state.subscribed.has('execution_data') && state.nextExecution !== undefined) {
      expect(state.nextExecution).toBe(history.executionCount)
    }
  }
}

/** Runs every seed and adds up what happened. */
function runSeeds(options: RunOptions, of = seeds): RunResult {
  const sum = { updates: 0, snapshots: 0, ended: 0, missed: 0, withdrawn: 0 }
  for (const seed of of) {
    try {
      const result = run(seed, options)
      for (const name of Object.keys(sum) as (keyof RunResult)[]) sum[name] += result[name]
    } catch (error) {
      const how = JSON.stringify(options)
      throw new Error(`seed ${seed}, ${how}: ${(error as Error).message}`, { cause: error })
    }
  }
  const last = first + seeds.length - 1
  note(`${JSON.stringify(options)}: seeds ${first} to ${last}, ${JSON.stringify(sum)}`)
  return sum
}

describe('clients that pause, dribble, die and come back', () => {
  test.each([1, 5, 0])(
    'clients that pause, dribble, die and return see exact books, whole executions and right tops at depth %i',
    (depth) => {
      const { updates, missed } = runSeeds({ depth, steps: 400 })
      expect(updates).toBeGreaterThan(seeds.length * 400)
      expect(missed).toBeGreaterThan(seeds.length * 2)
    },
  )

  test('clients that pause, dribble, die and return see the same while markets change, and get a notice for each of theirs', () => {
    const { updates, ended } = runSeeds({ depth: 5, steps: 400, changing: true })
    expect(updates).toBeGreaterThan(seeds.length * 100)
    expect(ended).toBeGreaterThan(seeds.length * 5)
  })

  test.each([0, 5])(
    'clients that pause, dribble, die and return see no untrusted book while sources are lost and return, at depth %i',
    (depth) => {
      const { updates, withdrawn } = runSeeds({ depth, steps: 300, losing: true }, fewer)
      expect(updates).toBeGreaterThan(fewer.length * 50)
      expect(withdrawn).toBeGreaterThan(fewer.length * 3)
    },
  )

  test('clients that pause, dribble, die and return see the same while markets come and go besides', () => {
    const { ended, withdrawn } = runSeeds({ depth: 5, steps: 300, changing: true, losing: true }, fewer)
    expect(ended).toBeGreaterThan(fewer.length * 5)
    expect(withdrawn).toBeGreaterThan(fewer.length * 3)
  })
})
