import { describe, expect, test } from 'vitest'
import { Random } from '../support/random.ts'
import { SETTINGS, type SimulatedClient, StreamSimulation, testMarket } from '../support/stream-simulation.ts'

/** Seeds that once showed a defect come first; the rest are a fixed range, or fresh ones in the long run. */
const CORPUS: readonly number[] = []
const long = process.env.TIDEGATE_LONG === '1'
const first = long ? Date.now() % 1_000_000_000 : 1
const seeds = [...CORPUS, ...Array.from({ length: long ? 1_000 : 60 }, (_, index) => first + index)]

const TIMEOUT_MILLISECONDS = long ? 30 * 60_000 : 60_000

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = ['AAAUSD', 'BBBUSD', 'CCCUSD'] as const

/** What a client's reader does: everything, a little now and then, nothing for a while. */
type Mood = 'fast' | 'slow' | 'asleep'

interface Actor {
  client: SimulatedClient
  mood: Mood
}

function run(seed: number, depth: number, steps: number): { merged: number; snapshots: number; updates: number } {
  const simulation = new StreamSimulation({
    seed,
    markets: MARKETS.map((symbol) => testMarket(symbol, depth)),
    noise: { levels: 30, changesMax: 6 },
  })
  const random = new Random(seed + 7)
  simulation.start()
  const connect = (): Actor => {
    const client = simulation.connect(1_024 << random.integer(5))
    simulation.subscribe(client, [...TYPES], [random.pick(MARKETS)])
    return { client, mood: random.pick(['fast', 'slow', 'asleep'] as const) }
  }
  const actors = Array.from({ length: 8 }, connect)
  const gone: Actor[] = []
  for (let step = 0; step < steps; step++) {
    act(simulation, random, actors, gone, connect)
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
    if (random.chance(0.02)) simulation.clock.stepWall(random.integer(4_000) - 2_000)
    if (random.chance(0.5)) simulation.clock.endTurn()
    else simulation.clock.advance(random.next() * 4)
    for (const actor of actors) read(actor, random)
  }
  for (const symbol of MARKETS) simulation.offer(symbol, 'snapshot')
  simulation.quiesce(actors.map(({ client }) => client))
  for (const { client } of actors) judge(simulation, client)
  const total = (count: (actor: Actor) => number) => [...actors, ...gone].reduce((sum, actor) => sum + count(actor), 0)
  return {
    merged: simulation.metrics.totals.messages,
    snapshots: total(({ client }) => client.witness.counts.snapshots),
    updates: total(({ client }) => client.witness.counts.updates),
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
    else if (random.chance(0.5)) simulation.subscribe(actor.client, types, markets)
    else simulation.unsubscribe(actor.client, types, markets)
  }
}

function read({ client, mood }: Actor, random: Random): void {
  client.transport.flush()
  if (mood === 'fast' || (mood === 'slow' && random.chance(0.03))) client.transport.drain()
}

function judge(simulation: StreamSimulation, { transport, witness }: SimulatedClient): void {
  expect(transport.closed).toBeUndefined()
  // The mark, and what one turn or one answer may put on top of it.
  expect(transport.queuedBytesMost).toBeLessThan(SETTINGS.outboxBytesMax + 66_000)
  for (const [market, truth] of simulation.truths) {
    const state = witness.state(market)
    if (state.subscribed.has('market_data')) expect(witness.bookText(market)).toBe(truth.bookNow)
    if (state.subscribed.has('execution_data') && state.nextExecution !== undefined) {
      expect(state.nextExecution).toBe(truth.executionCount)
    }
  }
}

describe('clients that pause, dribble, die and come back', () => {
  test.each([1, 5, 0])(
    'see exact books, whole executions and right tops at depth %i',
    (depth) => {
      let updates = 0
      for (const seed of seeds) {
        try {
          updates += run(seed, depth, 400).updates
        } catch (error) {
          throw new Error(`seed ${seed}, depth ${depth}: ${(error as Error).message}`, { cause: error })
        }
      }
      if (long) console.info(`depth ${depth}: seeds ${first} to ${first + seeds.length - 1}, ${updates} updates judged`)
      expect(updates).toBeGreaterThan(seeds.length * 400)
    },
    TIMEOUT_MILLISECONDS,
  )
})
