import { expect, test } from 'vitest'
import { Random } from '../../support/random.ts'
import { type SimulatedClient, StreamSimulation, testMarket } from '../../support/stream-simulation.ts'

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = ['AAAUSD', 'BBBUSD'] as const
const EXECUTIONS_KEPT = 60
const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1)

/** Bursts around the size of the ring, read at any pace: whole executions, or the end of the connection with 4000. */
function run(seed: number): { gaps: number; whole: number } {
  const simulation = new StreamSimulation({
    seed,
    markets: MARKETS.map((symbol) => testMarket(symbol, 5)),
    noise: { levels: 20, changesMax: 5 },
    executionsKept: EXECUTIONS_KEPT,
  })
  const random = new Random(seed + 7)
  simulation.start()
  const clients = Array.from({ length: 8 }, (_, index) => {
    const client = simulation.connect(1_024 << (index % 5))
    simulation.subscribe(client, index % 4 === 3 ? TYPES.slice(0, 2) : TYPES, MARKETS)
    return { client, chance: [1, 0.3, 0.05, 0.01][index % 4] as number, readsExecutions: index % 4 !== 3 }
  })
  simulation.clock.advance(2)
  // Unique beyond what the noise gives, so that an execution is known by its amount.
  let amount = 1_000_000_000
  for (let step = 0; step < 300; step++) {
    const symbol = random.pick(MARKETS)
    simulation.offer(symbol, 'update')
    if (random.chance(0.15)) {
      const count = random.integer(random.chance(0.05) ? EXECUTIONS_KEPT + 10 : EXECUTIONS_KEPT / 2)
      const executions = Array.from({ length: count }, () => ({ price: 100_000, amount: amount++ }))
      simulation.sequencers.get(symbol)?.offer({ type: 'update', changes: [], executions })
    }
    if (random.chance(0.5)) simulation.clock.endTick()
    else simulation.clock.advance(random.next() * 3)
    for (const { client, chance } of clients) {
      client.transport.flush()
      if (random.chance(chance)) client.transport.drain()
    }
  }
  simulation.quiesce(clients.map(({ client }) => client))
  const gaps = clients.filter(({ client }) => client.transport.closed !== undefined)
  for (const { client } of gaps) expect(client.transport.closed?.code).toBe(4000)
  expect(gaps.filter(({ readsExecutions }) => !readsExecutions)).toEqual([])
  const whole = clients.filter(({ client, readsExecutions }) => readsExecutions && client.transport.isOpen)
  for (const { client } of whole) expectWhole(simulation, client)
  return { gaps: gaps.length, whole: whole.length }
}

function expectWhole(simulation: StreamSimulation, { verifier }: SimulatedClient): void {
  for (const [market, history] of simulation.histories) {
    expect(verifier.bookText(market)).toBe(history.bookNow)
    expect(verifier.state(market).nextExecution).toBe(history.executionCount)
  }
}

test('executions come whole and in order, or the connection ends with 4000; books are never concerned', () => {
  const total = { gaps: 0, whole: 0 }
  for (const seed of SEEDS) {
    try {
      const { gaps, whole } = run(seed)
      total.gaps += gaps
      total.whole += whole
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
    }
  }
  // Both ends have to be seen, else this shows nothing.
  expect(total.gaps).toBeGreaterThan(SEEDS.length)
  expect(total.whole).toBeGreaterThan(SEEDS.length)
})
