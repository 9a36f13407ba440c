/**
 * Three processes that may lead a market and one that only reads it, on a bus and a store that fail: processes are stopped
 * and killed, connections are cut, messages are lost, and wall clocks differ. Every replica has a book that a leader
 * published, at later and later times; when everything works again, one leads and all follow it. By seed.
 */

import { describe, expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { BusExport } from '../../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics } from '../../../src/streaming/links/bus-import.ts'
import { ASK, BID, type Execution, type LevelChange, type MarketEvent } from '../../../src/streaming/market/event.ts'
import { FeedLeadership } from '../../../src/streaming/markets/feed-leadership.ts'
import type { FeedLease, FeedLeaseEvents } from '../../../src/streaming/markets/feed-lease.ts'
import type { FeedLeases } from '../../../src/streaming/markets/feed-leases.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { type Candidate, LeaseWorld, type Path, STEP_MILLISECONDS, settle } from '../../support/feed-leases.ts'
import { FollowedMarket, Published } from '../../support/followed-market.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const SEEDS = process.env.TIDEGATE_LONG === '1' ? 500 : 12
const FIRST_SEED = seedOf(20_261_123)
/** Here a follower takes an ended epoch's executions without its last book. */
const ENDED_EPOCH_SEED = 408_448_697
const STEPS = 400
const FEEDS = 3
const MARKET = testMarket('AAAUSD', 3)
const CONFIGURED = {
  definition: MARKET,
  sources: [{ feed: 'simulator', symbol: '' }],
  aggregation: { policy: 'recency' },
  feedGroup: 'main',
} as const
const VENUE = 'simulator'
const WITHDRAW_AFTER_MILLISECONDS = 10_000
const WALL_DIFFERENCE_MILLISECONDS_MAX = 3_000
const PATHS: readonly Path[] = ['open', 'open', 'refused', 'answer lost', 'held']

class Run {
  readonly random: Random
  readonly world: LeaseWorld
  readonly published = new Published()
  /** Identifiers of all trades at the venue, in order. */
  readonly trades: string[] = []
  readonly nodes: Node[] = []
  loss = 0

  constructor(seed: number) {
    this.random = new Random(seed)
    this.published.executions.set(VENUE, this.trades)
    this.world = new LeaseWorld(() => this.random.next())
    for (let count = 0; count < FEEDS; count++) this.nodes.push(new Node(this, true))
    this.nodes.push(new Node(this, false))
  }

  /** Sends to every other process on the bus; one that does not run reads later what has arrived. */
  broadcast(from: Node, receive: (node: Node) => void): void {
    for (const node of this.nodes) if (node !== from) this.send(from, node, () => receive(node))
  }

  send(from: Node, to: Node, receive: () => void): void {
    const isLost = !from.isOnBus || !to.isOnBus || this.random.next() < this.loss
    if (!isLost) to.inbox.push(receive)
  }

  async pass(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.world.pass(STEP_MILLISECONDS)
      for (const node of this.nodes) node.read()
      await settle()
    }
  }

  async step(): Promise<void> {
    const node = this.random.pick(this.nodes)
    const { candidate } = node
    const action = this.random.integer(60)
    if (action === 0) this.#kill(node)
    else if (action === 1) candidate.isRunning = false
    else if (action < 4) this.#resume(node)
    else if (action === 4 && node.isFeed) candidate.path = this.random.pick(PATHS)
    else if (action < 7 && node.isFeed) candidate.open()
    else if (action === 7) node.isOnBus = false
    else if (action < 10) node.isOnBus = true
    else if (action === 10) this.loss = this.random.next() / 3
    else if (action < 13) this.loss = 0
    for (let count = this.random.integer(3); count > 0; count--) this.trades.push(`${VENUE}/${this.trades.length}`)
    for (const each of this.nodes) if (each.candidate.isRunning) each.trade(this.random)
    await this.pass(this.random.integer(30) === 0 ? 100 : 1)
  }

  /** Everything works again: one leads, and all have its book. */
  async settle(): Promise<void> {
    this.loss = 0
    for (const node of this.nodes) {
      node.isOnBus = true
      if (node.isFeed) node.candidate.open()
      this.#resume(node)
    }
    await this.pass(12_000 / STEP_MILLISECONDS)
    for (const node of this.nodes) node.snapshot(this.random)
    await this.pass(20_000 / STEP_MILLISECONDS)
    const leaders = this.nodes.filter(({ leadership }) => leadership.mayPublish('main'))
    expect(leaders).toHaveLength(1)
    const [leader] = leaders as [Node]
    for (const node of this.nodes) {
      expect(node.writers.writes(CONFIGURED)).toBe(node === leader)
      expect(node.replica.live).toBe(true)
      expect(node.replica.state('', 0)).toEqual(leader.replica.state('', 0))
    }
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.candidate.open()
    await this.world.stop()
  }

  count(
    totals: Record<'checked' | 'read' | 'startedOver' | 'taken' | 'abandoned' | 'gaps' | 'continued', number>,
  ): void {
    for (const { watch } of this.nodes) {
      totals.checked += watch.checked
      totals.read += watch.read
      totals.startedOver += watch.startedOver
      totals.gaps += watch.gaps
      totals.continued += watch.continued
    }
    for (const { journal } of this.world.candidates) {
      totals.taken += journal.epochs.length
      totals.abandoned += journal.entries.filter((entry) => /^deposed (store|heard)/.test(entry)).length
    }
  }

  #kill(node: Node): void {
    if (!node.isFeed) return
    node.end()
    this.nodes[this.nodes.indexOf(node)] = new Node(this, true)
  }

  #resume({ candidate }: Node): void {
    if (!candidate.isRunning) this.world.resume(candidate)
  }
}

/** One process: what it follows, and the sequencer while it leads. */
class Node {
  readonly candidate: Candidate
  readonly bus = createMemoryBus()
  readonly replica: Replica
  readonly leadership: FeedLeadership
  readonly writers: MarketWriters
  readonly watch: FollowedMarket
  readonly importer: BusImport
  readonly exporter: BusExport
  readonly inbox: (() => void)[] = []
  readonly isFeed: boolean
  readonly #trades: readonly string[]
  /** Trades that the source of this process has passed on. */
  #passed = 0
  isOnBus = true
  #source: ManualSource | undefined
  #sending: (() => void) | undefined

  constructor(run: Run, isFeed: boolean) {
    this.#trades = run.trades
    this.isFeed = isFeed
    this.candidate = run.world.add()
    // A reader takes no lease.
    if (!isFeed) this.candidate.path = 'refused'
    const { clock, lease, journal } = this.candidate
    clock.stepWall(run.random.integer(2 * WALL_DIFFERENCE_MILLISECONDS_MAX) - WALL_DIFFERENCE_MILLISECONDS_MAX)
    const isWriter = () => this.writers.sequencerOf(MARKET.symbol) !== undefined
    this.replica = new Replica({ market: MARKET, bus: this.bus, executionsKept: 30 })
    this.bus.subscribe(MARKET.symbol, (message) => {
      if (isWriter()) run.published.noteBook(this.replica, message)
    })
    this.watch = new FollowedMarket(this.replica, run.published, isWriter)
    const common = { bus: this.bus, clock, log: createLog('silent') }
    this.exporter = new BusExport({
      ...common,
      transport: {
        sendMessages: (_market, bytes) => run.broadcast(this, ({ importer }) => importer.onMessages(bytes)),
        sendHeartbeats: (bytes) => run.broadcast(this, ({ importer }) => importer.onHeartbeats(bytes)),
        sendDigest: (bytes) => run.broadcast(this, ({ importer }) => importer.onDigest(bytes)),
      },
      replicaOf: () => this.replica,
    })
    this.importer = new BusImport({
      ...common,
      random: () => run.random.next(),
      transport: {
        requestState: (request) =>
          run.broadcast(this, (node) =>
            node.exporter.onStateRequest(request, (states) => {
              for (const bytes of states) run.send(node, this, () => this.importer.onState(bytes))
            }),
          ),
        requestCommit: ({ market, laterThanMilliseconds }) =>
          run.broadcast(this, (node) => node.bus.requestCommit(market, laterThanMilliseconds)),
      },
      replicaOf: () => this.replica,
      onLaterEpoch: (market, epoch) => this.leadership.heard(market, epoch),
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      metrics: createImportMetrics(createMetricsRegistry()),
    })
    this.importer.add(MARKET)
    const leases = {
      start: (_group: string, events: NonNullable<typeof journal.next>) => {
        journal.next = events
        return lease
      },
    }
    this.leadership = new FeedLeadership({ leases, groups: isFeed ? [] : ['none'] })
    this.writers = new MarketWriters({
      ...common,
      markets: [],
      lead: this.leadership,
      replicaOf: () => this.replica,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      metrics: createSequencerMetrics(createMetricsRegistry()),
      allowsSimulated: () => true,
      createSource: (_name, markets) => {
        const resume = (executed: readonly Execution[]) => this.#resume(executed)
        // A source that can continue the executions of another process, as the venues can.
        this.#source = Object.assign(new ManualSource(markets), {
          resume: (_market: unknown, executed: readonly Execution[]) => resume(executed),
        })
        this.#passed = this.#trades.length
        return this.#source
      },
    })
    void this.writers.start(new Map())
    const bus = {
      lead: (symbols: readonly string[]) => {
        if (symbols.length === 0) return
        this.importer.lead(MARKET.symbol)
        this.#sending = this.exporter.add(MARKET.symbol, true)
      },
      follow: (symbols: readonly string[]) => {
        if (symbols.length === 0) return
        this.#sending?.()
        this.importer.follow(MARKET.symbol)
      },
      announce: (symbols: readonly string[], epoch: string) => this.exporter.announce(symbols, epoch),
      // The answer comes after what the bus had for this process when it was asked.
      whenFlushed: (work: () => void) => void this.inbox.push(work),
    }
    this.leadership.start({ writers: this.writers, bus, onChange: () => undefined }, [CONFIGURED])
  }

  /** Takes what has arrived. */
  read(): void {
    if (!this.candidate.isRunning) return
    for (const receive of this.inbox.splice(0)) receive()
    this.candidate.clock.settle()
  }

  snapshot(random: Random): void {
    const levels = [BID, ASK].flatMap((side) =>
      Array.from({ length: random.integer(6) }, () => levelOf(side as 0 | 1, random)),
    )
    this.#send({ type: 'snapshot', levels })
  }

  trade(random: Random): void {
    const dice = random.integer(20)
    if (dice === 0) this.snapshot(random)
    else if (dice === 1) this.#send({ type: 'lost', reason: `lost ${random.integer(3)}` })
    else {
      const changes = Array.from({ length: random.integer(3) }, () => levelOf(random.integer(2) as 0 | 1, random))
      const executions = this.#trades.slice(this.#passed).map((id) => ({ price: 100, amount: 1, id }))
      this.#passed = this.#trades.length
      this.#send({ type: 'update', changes, executions })
    }
  }

  /** The process is killed: nothing of it runs any more. */
  end(): void {
    this.candidate.isRunning = false
    this.candidate.path = 'refused'
  }

  #resume(executed: readonly Execution[]): boolean {
    const last = executed.at(-1)?.id
    if (last === undefined) return false
    this.#passed = this.#trades.indexOf(last) + 1
    return true
  }

  /** To the sequencer, if there is one. */
  #send(event: MarketEvent): void {
    if (this.writers.sequencerOf(MARKET.symbol) === undefined) return
    for (const { listener } of this.#source?.markets ?? []) listener(event)
    this.candidate.clock.settle()
  }
}

function levelOf(side: 0 | 1, random: Random): LevelChange {
  return { side, price: (side === BID ? 90 : 100) + random.integer(10), amount: random.integer(4) }
}

describe('the leadership of a market over a bus and a store with faults', () => {
  test(`every process has a leader's book at rising times, and follows one leader in the end (${SEEDS} seeds from ${FIRST_SEED})`, async () => {
    const totals = { checked: 0, read: 0, startedOver: 0, taken: 0, abandoned: 0, gaps: 0, continued: 0 }
    const seeds = Array.from({ length: SEEDS }, (_, place) => FIRST_SEED + place)
    for (const seed of [ENDED_EPOCH_SEED, ...seeds]) {
      try {
        const run = new Run(seed)
        for (let step = 0; step < STEPS; step++) await run.step()
        await run.settle()
        await run.stop()
        run.count(totals)
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
    // The faults happened: otherwise nothing was shown.
    for (const [name, count] of Object.entries(totals)) expect(count, name).toBeGreaterThan(SEEDS / 2)
  })
})

describe('a leader that is cut off from the store alone', () => {
  test.each([0, 1, 2, 3])(
    'a leader cut off from the store alone is followed without a missed execution by a busy process that reads late (%i)',
    async (phase) => {
      const run = new Run(FIRST_SEED)
      await run.settle()
      const leader = run.nodes.find(({ leadership }) => leadership.mayPublish('main')) as Node
      const reader = run.nodes.find(({ isFeed }) => !isFeed) as Node
      const { gaps, read } = reader.watch
      leader.candidate.path = 'refused'
      for (let step = 0; leader.leadership.mayPublish('main'); step++) {
        expect(step).toBeLessThan(1_000)
        run.trades.push(`${VENUE}/${run.trades.length}`)
        leader.trade(run.random)
        await run.world.pass(STEP_MILLISECONDS)
        for (const node of run.nodes) if (node === leader || node === reader || step % 4 === phase) node.read()
        await settle()
      }
      await run.settle()
      expect(reader.watch.read - read).toBeGreaterThan(10)
      expect(reader.watch.gaps).toBe(gaps)
      await run.stop()
    },
  )
})

describe('a leader that was suspended while no process reaches the store', () => {
  test('a book that a suspended leader may not change any more is shown as stale, withdrawn, and led again with the store', async () => {
    const run = new Run(FIRST_SEED)
    await run.settle()
    const leader = run.nodes.find(({ leadership }) => leadership.mayPublish('main')) as Node
    for (const { candidate } of run.nodes) candidate.path = 'refused'
    leader.candidate.isRunning = false
    await run.pass(4_000 / STEP_MILLISECONDS)
    run.world.resume(leader.candidate)
    await run.pass(7_000 / STEP_MILLISECONDS)
    expect(run.nodes.map(({ replica }) => replica.live)).toEqual(run.nodes.map(() => false))
    await run.pass((WITHDRAW_AFTER_MILLISECONDS + 1_000) / STEP_MILLISECONDS)
    expect(run.nodes.map(({ replica }) => replica.isWithdrawn)).toEqual(run.nodes.map(() => true))
    await run.settle()
    await run.stop()
  })
})

describe('a process that may lead several feed groups', () => {
  const markets = ['AAAUSD', 'BBBUSD'].map((symbol, place) => ({
    ...CONFIGURED,
    definition: testMarket(symbol, 3),
    feedGroup: `group-${place + 1}`,
  }))

  function setUp(groups: readonly string[] = []) {
    const events = new Map<string, FeedLeaseEvents>()
    const stopped: string[] = []
    const calls: string[] = []
    const leases: FeedLeases = {
      start(group, given) {
        events.set(group, given)
        return { mayPublish: () => true, stop: async () => void stopped.push(group) } as FeedLease
      },
    }
    const leadership = new FeedLeadership({ leases, groups })
    const writers = new MarketWriters({
      markets: [],
      bus: createMemoryBus(),
      clock: new VirtualClock(),
      log: createLog('silent'),
      lead: leadership,
      metrics: createSequencerMetrics(createMetricsRegistry()),
      allowsSimulated: () => true,
      createSource: (_name, list) => new ManualSource(list),
    })
    void writers.start(new Map())
    const bus = {
      lead: (symbols: readonly string[]) => void calls.push(...symbols.map((symbol) => `lead ${symbol}`)),
      follow: (symbols: readonly string[]) => void calls.push(...symbols.map((symbol) => `follow ${symbol}`)),
      announce: (symbols: readonly string[], epoch: string) => void calls.push(`announce ${symbols.join()} ${epoch}`),
      whenFlushed: (work: () => void) => work(),
    }
    leadership.start({ writers, bus, onChange: (isLost) => void calls.push(isLost ? 'lost' : 'changed') }, markets)
    calls.length = 0
    return { leadership, writers, events, stopped, calls }
  }

  const written = (writers: MarketWriters) => markets.map((market) => writers.writes(market))

  test('a process that may lead several feed groups writes the markets of those that it leads, each on its own', () => {
    const { leadership, writers, events, calls } = setUp()
    events.get('group-2')?.onTaken(7)
    expect([written(writers), leadership.leaseEpochOf('group-1'), leadership.leaseEpochOf('group-2')]).toEqual([
      [false, true],
      0,
      7,
    ])
    events.get('group-1')?.onTaken(3)
    expect(written(writers)).toEqual([true, true])
    events.get('group-2')?.onDeposed('store')
    expect([written(writers), leadership.leadsAny]).toEqual([[true, false], true])
    expect(calls).toEqual([
      ...['announce BBBUSD 00000007-', 'lead BBBUSD', 'changed'],
      ...['announce AAAUSD 00000003-', 'lead AAAUSD', 'changed'],
      ...['follow BBBUSD', 'lost'],
    ])
  })

  test('a process that may lead several feed groups asks for no other group, and gives up one that has no market any more', async () => {
    const { leadership, writers, events, stopped } = setUp(['group-1'])
    expect([...events.keys()]).toEqual(['group-1'])
    events.get('group-1')?.onTaken(1)
    writers.stopMissing([])
    leadership.change(markets.slice(1))
    expect([stopped, written(writers)]).toEqual([['group-1'], [false, false]])
  })
})
