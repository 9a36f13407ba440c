import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/streaming/gateway/session.ts'
import { expectEqual } from '../../support/expect-equal.ts'
import { cutTo, ExtendedVerifier } from '../../support/extended-verifier.ts'
import type { FakeTransport } from '../../support/fake-transport.ts'
import { ANY_TOKEN } from '../../support/fake-transport.ts'
import { note } from '../../support/note.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { newReceiptIssuer, proofOf, signerOf } from '../../support/receipts.ts'
import { SETTINGS, StreamSimulation, testMarket, WatchedTransport } from '../../support/stream-simulation.ts'

/** Seeds that once showed a defect come first; the rest are a fixed range, or fresh ones in the long run. */
const CORPUS: readonly number[] = [204_734_591, 205_649_966, 437_053_760]
const long = process.env.TIDEGATE_LONG === '1'
const first = seedOf(1)
const seeds = [...CORPUS, ...Array.from({ length: long ? 150 : 7 }, (_, index) => first + index)]

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const MARKETS = ['AAAUSD', 'BBBUSD'] as const
const INTERVALS = [undefined, undefined, 50, 100, 250] as const

/** A client that reads at its mood; a punctual one takes everything at once, so its intervals can be held to the grid. */
class Actor {
  readonly verifier: ExtendedVerifier
  transport!: FakeTransport
  session!: Session
  mood: 'fast' | 'slow' | 'asleep' = 'fast'
  isPunctual: boolean
  readonly #simulation: StreamSimulation
  readonly #random: Random
  /** Intervals of what it has subscribed, by `type market`. */
  readonly #intervals = new Map<string, number | undefined>()
  /** When a paced channel was subscribed, of late: what it is owed from the start may come between ticks. */
  readonly #begins = new Map<string, number>()
  pacedMessages = 0
  /** Every message that it read, over all its connections. */
  readonly lines: string[] = []
  /** Sent on this connection. */
  #requests = 0

  constructor(simulation: StreamSimulation, random: Random, isPunctual: boolean) {
    this.#simulation = simulation
    this.#random = random
    this.isPunctual = isPunctual
    this.verifier = new ExtendedVerifier(simulation.histories)
    this.connect()
  }

  connect(): void {
    this.#requests = 0
    const kernelBytes = this.isPunctual ? 10_000_000 : 1_024 << this.#random.integer(5)
    const onText = (text: string): void => {
      this.lines.push(text)
      this.#checkPace(text)
      this.verifier.onText(text)
    }
    this.transport = new WatchedTransport(kernelBytes, onText, this.#simulation.histories)
    this.transport.subprotocol = 'tidegate.v1'
    this.session = this.#simulation.hub.open(this.transport, ANY_TOKEN)
    this.#send({ type: 'subscribe', channels: [{ type: 'heartbeat' }] })
  }

  subscribe(types: readonly string[], markets: readonly string[]): void {
    const channels = markets.flatMap((market) => types.map((type) => this.#entry(type, market)))
    this.#send({ type: 'subscribe', channels })
  }

  unsubscribe(types: readonly string[], markets: readonly string[]): void {
    const channels = markets.flatMap((market) => types.map((type) => ({ type, params: { market } })))
    this.#send({ type: 'unsubscribe', channels })
  }

  reconnect(): void {
    this.transport.cut()
    this.session.end()
    this.verifier.disconnected()
    this.connect()
    this.#requests = 0
    this.subscribe(TYPES, MARKETS)
    this.#requests = 2
  }

  #send(request: unknown): void {
    this.#requests += 1
    this.session.receive({ data: Buffer.from(JSON.stringify(request)), isBinary: false })
  }

  read(): void {
    this.transport.flush()
    if (this.mood === 'fast' || (this.mood === 'slow' && this.#random.chance(0.03))) this.transport.drain()
  }

  #entry(type: string, market: string): unknown {
    const random = this.#random
    const state = this.verifier.channel(market, type)
    const isSubscribed = state.subscribed
    const depth = type === 'market_data' ? random.pick([undefined, 1, 5, 10] as const) : undefined
    const attribution = type === 'market_data' && random.chance(0.3) ? true : undefined
    const interval = type === 'execution_data' ? undefined : random.pick(INTERVALS)
    // The verifier applies the depth with the acknowledgement: a cursor of another depth leads to a SNAPSHOT.
    // What it holds is what it held when it stopped only while nothing is under way.
    const isSettled = this.verifier.replies === this.#requests
    const resume = state.cursor !== undefined && isSettled && random.chance(0.7) ? state.cursor : undefined
    if (!isSubscribed) {
      this.#intervals.set(`${type} ${market}`, interval)
      this.#begins.set(`${type} ${market}`, this.#simulation.clock.monotonicMilliseconds())
    }
    return { type, params: { market, depth, interval_ms: interval, attribution, resume } }
  }

  /** A punctual client reads in the tick in which it is written to. */
  #checkPace(text: string): void {
    if (!this.isPunctual) return
    const { channel, payload, stream } = JSON.parse(text)
    const name = `${channel} ${payload?.market}`
    const interval = this.#intervals.get(name)
    if (channel === undefined || interval === undefined) return
    // The first message comes when the market is live.
    if (this.#begins.has(name) || stream?.prev === undefined) return
    this.pacedMessages += 1
    const now = this.#simulation.clock.monotonicMilliseconds()
    if (now % interval !== 0) throw new Error(`${name} with ${interval} ms was sent at ${now}`)
  }

  /** What comes of paced channels comes on ticks from now on, unless it waits for a commit that is later, 1 ms at most. */
  settled(): void {
    const now = this.#simulation.clock.monotonicMilliseconds()
    for (const [name, begin] of this.#begins) if (now - begin >= 1) this.#begins.delete(name)
  }
}

interface RunResult {
  readonly updates: number
  readonly conflated: number
  readonly continued: number
  readonly attributed: number
  readonly digests: number
  /** Books that heartbeats reported without a source, and withdrawals. */
  readonly stale: number
  readonly withdrawn: number
  readonly replayed: number
  readonly paced: number
}

const issuer = newReceiptIssuer()

function run(seed: number, depth: number, steps: number, proven?: Record<string, number>): RunResult {
  const simulation = new StreamSimulation({
    seed,
    markets: MARKETS.map((symbol) => testMarket(symbol, depth)),
    noise: [
      { levels: 30, changesMax: 6, venues: 'two' },
      { levels: 30, changesMax: 6, venues: 'one' },
    ],
    settings: { heartbeatSeconds: 0.1, staleSeconds: 0.04 },
    executionsKept: 60,
    ...(proven === undefined ? {} : { receipts: signerOf(issuer) }),
  })
  const random = new Random(seed + 7)
  simulation.start()
  const actors = Array.from({ length: 6 }, (_, index) => new Actor(simulation, random, index < 2))
  for (const actor of actors) actor.subscribe(TYPES, MARKETS)
  for (let step = 0; step < steps; step++) {
    act(random, actors)
    for (let count = random.chance(0.1) ? 20 : random.integer(3); count > 0; count--) {
      simulation.offer(random.pick(MARKETS), 'update')
    }
    if (random.chance(0.05)) simulation.offer(random.pick(MARKETS), 'snapshot')
    if (random.chance(0.01)) simulation.offer(random.pick(MARKETS), 'missed')
    if (random.chance(0.04)) simulation.offer(random.pick(MARKETS), 'lost')
    if (random.chance(0.02)) simulation.clock.stepWall(random.integer(4_000) - 2_000)
    move(simulation, random, actors)
  }
  for (const symbol of MARKETS) simulation.offer(symbol, 'snapshot')
  // Coming to rest goes in steps of its own, in which no client reads on time.
  for (const actor of actors) actor.isPunctual = false
  simulation.quiesce(actors)
  for (const actor of actors) actor.verifier.lastBooks = []
  rest(simulation, actors)
  for (const actor of actors) check(simulation, actor)
  if (proven !== undefined) for (const { lines } of actors) prove(lines, proven)
  const sum = (count: (actor: Actor) => number) => actors.reduce((total, actor) => total + count(actor), 0)
  return {
    updates: sum(({ verifier }) => verifier.counts.updates),
    conflated: sum(({ verifier }) => verifier.counts.conflated),
    continued: sum(({ verifier }) => verifier.counts.continued),
    attributed: sum(({ verifier }) => verifier.counts.attributed),
    digests: sum(({ verifier }) => verifier.counts.digests),
    stale: sum(({ verifier }) => verifier.counts.stale),
    withdrawn: [...simulation.histories.values()].reduce((total, { withdrawals }) => total + withdrawals, 0),
    replayed: sum(({ verifier }) => verifier.counts.replayed),
    paced: sum(({ pacedMessages }) => pacedMessages),
  }
}

function act(random: Random, actors: readonly Actor[]): void {
  const actor = random.pick(actors)
  if (!actor.isPunctual && random.chance(0.1)) actor.mood = random.pick(['fast', 'fast', 'slow', 'asleep'] as const)
  // Closed for an execution gap, here or at the source, and for nothing else: it comes back.
  expectEqual(actor.transport.closed?.code ?? 4000, 4000)
  if (!actor.transport.isOpen || random.chance(0.02)) {
    actor.reconnect()
    return
  }
  if (!random.chance(0.08) || !actor.transport.isReading) return
  const types = TYPES.filter(() => random.chance(0.6))
  const markets = MARKETS.filter(() => random.chance(0.6))
  if (types.length * markets.length === 0) return
  if (random.chance(0.6)) actor.subscribe(types, markets)
  else actor.unsubscribe(types, markets)
}

/** Lets time pass, up to the next tick at most, so that a punctual client reads at the time it was written to. */
function move(simulation: StreamSimulation, random: Random, actors: readonly Actor[]): void {
  const { clock } = simulation
  if (random.chance(0.3)) clock.endTick()
  else clock.settle()
  for (const actor of actors) actor.read()
  for (const actor of actors) actor.settled()
  const now = clock.monotonicMilliseconds()
  const next = (Math.floor(now / 50) + 1) * 50
  clock.advance(Math.min(random.pick([0.5, 2, 10, 40]) * random.next(), next - now))
  for (const actor of actors) actor.read()
}

/** Lets every client receive a heartbeat and every interval end. */
function rest(simulation: StreamSimulation, actors: readonly Actor[]): void {
  for (let slot = 0; slot < 20; slot++) {
    const now = simulation.clock.monotonicMilliseconds()
    simulation.clock.advance((Math.floor(now / 50) + 1) * 50 - now)
    for (const { transport } of actors) {
      transport.flush()
      transport.drain()
      transport.flush()
      transport.drain()
    }
  }
}

function check(simulation: StreamSimulation, { transport, verifier }: Actor): void {
  if (!transport.isOpen) return
  expect(transport.queuedBytesMost).toBeLessThan(SETTINGS.outboxBytesMax + 66_000)
  for (const [market, history] of simulation.histories) {
    const book = verifier.channel(market, 'market_data')
    if (book.subscribed) {
      expect(verifier.bookText(market)).toBe(cutTo(history.bookNow as string, book.depth))
      expect(verifier.lastBooks).toContain(market)
    }
    const executions = verifier.channel(market, 'execution_data')
    if (executions.subscribed && executions.nextExecution !== undefined) {
      expect(executions.nextExecution).toBe(history.executionCount)
    }
  }
}

/** No receipt accuses a client of what it was sent. Adds what is proven. */
function prove(lines: readonly string[], proven: Record<string, number>): void {
  const { findings, books, executionWindows, executions, updates } = proofOf(lines, issuer)
  expect(findings).toEqual([])
  for (const [name, { covered }] of Object.entries({ books, executionWindows, executions, updates })) {
    proven[name] = (proven[name] ?? 0) + covered
  }
}

describe('clients of the extended protocol that pause, read slowly, disconnect and resume', () => {
  test.each([0, 25])(
    'extended clients that pause and resume see gap-free cursors, exact books and right digests, at a depth of %i',
    (depth) => {
      const sum = {
        updates: 0,
        conflated: 0,
        continued: 0,
        attributed: 0,
        digests: 0,
        stale: 0,
        withdrawn: 0,
        replayed: 0,
        paced: 0,
      }
      for (const seed of seeds) {
        try {
          const result = run(seed, depth, 300)
          for (const name of Object.keys(sum) as (keyof RunResult)[]) sum[name] += result[name]
        } catch (error) {
          throw new Error(`seed ${seed}, depth ${depth}: ${(error as Error).message}`, { cause: error })
        }
      }
      note(`depth ${depth}: seeds ${first} to ${first + seeds.length - 1}, ${JSON.stringify(sum)}`)
      // What is not exercised proves nothing.
      for (const [name, count] of Object.entries(sum)) expect(count, name).toBeGreaterThan(seeds.length * 5)
    },
  )

  test('messages of clients that pause, throttle, lag and resume agree with every receipt', () => {
    const proven: Record<string, number> = {}
    for (const seed of seeds.slice(-3)) {
      try {
        run(seed, 25, 2_000, proven)
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
      }
    }
    note(`receipts: ${JSON.stringify(proven)}`)
    for (const [name, count] of Object.entries(proven)) expect(count, name).toBeGreaterThan(20)
  })
})
