/**
 * Two processes that write a market which an engine publishes, one after the other: the second one continues the
 * publication where the first one ended, so that subscribers of executions notice nothing.
 */
import { describe, expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { decodePositions, SourcePositionLog } from '../../../src/streaming/links/source-positions.ts'
import { MarketWriters } from '../../../src/streaming/markets/market-writers.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { FedPublication } from '../../../src/streaming/sources/publication/fed-publication.ts'
import { type PublicationMessage, readPublication } from '../../../src/streaming/sources/publication/message.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import { ManualSource } from '../../support/manual-source.ts'
import { PublishingEngine, type WireMessage } from '../../support/publishing-engine.ts'
import { Random } from '../../support/random.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const SYMBOL = 'BTCUSD'
const DEFINITION = {
  symbol: SYMBOL,
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 8,
  depth: 0,
}
const CONFIGURED = {
  definition: DEFINITION,
  sources: [{ feed: 'engine', symbol: SYMBOL }],
  aggregation: { policy: 'recency' },
  feedGroup: 'main',
} as const

/** One process. What it publishes as a leader goes to `other`, unless the link is cut. */
class Process {
  readonly clock = new VirtualClock()
  readonly bus = createMemoryBus()
  readonly positions = new SourcePositionLog(this.clock)
  readonly replica = new Replica({ market: DEFINITION, bus: this.bus, executionsKept: 10_000 })
  readonly writers: MarketWriters
  fed: FedPublication | undefined
  requests = 0

  constructor(leaseEpoch: number) {
    this.writers = new MarketWriters({
      markets: [],
      bus: this.bus,
      clock: this.clock,
      log: createLog('silent'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      lead: { leaseEpochOf: () => leaseEpoch, mayPublish: () => true },
      replicaOf: () => this.replica,
      positions: this.positions,
      allowsSimulated: () => false,
      createSource: (_name, [source]) => this.#source(source as SourceMarket),
    })
    void this.writers.start(new Map())
  }

  /** Leads from now on, and is followed by `other`. */
  lead(other: Process): () => void {
    this.positions.connect((_market, bytes) => other.positions.note(decodePositions(bytes)))
    const end = this.bus.subscribe(SYMBOL, (message) => other.bus.publish(message))
    this.writers.change([CONFIGURED])
    return () => {
      this.positions.connect(() => undefined)
      end()
    }
  }

  /** Each message is a commit of its own. */
  take(messages: readonly WireMessage[]): void {
    for (const message of messages) {
      this.fed?.take(readPublication(message) as PublicationMessage)
      this.clock.advance(2)
    }
  }

  #source(source: SourceMarket): ManualSource {
    const fed = new FedPublication({ source, onRequest: () => this.requests++, onProblem: () => undefined })
    this.fed = fed
    return Object.assign(new ManualSource([source]), {
      resume: (
        ...[, , followed]: Parameters<NonNullable<import('../../../src/streaming/sources/source.ts').Source['resume']>>
      ) => fed.takeOver(followed),
      followed: () => fed.followed,
      rebuild: (_market: SourceMarket, reason: string) => fed.rebuild(reason),
      instrument: () => fed.instrument,
    })
  }
}

function levelsOf(replica: Replica): Map<string, number> {
  const levels = replica.state('', 0)?.levels ?? []
  return new Map(levels.map(({ side, price, amount }) => [`${side} ${price}`, Number(amount)]))
}

function setUp(more: Partial<ConstructorParameters<typeof PublishingEngine>[0]> = {}) {
  const engine = new PublishingEngine({
    symbol: SYMBOL,
    random: new Random(7),
    publishesOrders: false,
    keptMax: 10_000,
    ...more,
  })
  const [first, second] = [new Process(1), new Process(2)]
  const cut = first.lead(second)
  const publish = (count: number) => first.take(Array.from({ length: count }, () => engine.step()))
  first.take([engine.snapshot()])
  publish(50)
  /** The second process leads, and the engine continues at its position. */
  const takeOver = () => {
    cut()
    second.lead(new Process(3))
    const position = second.fed?.reader.canContinue ? second.fed.reader.position : undefined
    const messages = position && engine.after(`${position.epoch}.${position.seq}`)
    if (messages !== undefined) {
      second.fed?.resume()
      second.take(messages)
    }
    second.clock.advance(2)
    return position
  }
  return { engine, first, second, publish, cut, takeOver }
}

describe('a market that an engine publishes', () => {
  test("an engine's market is continued by the next leader without a missed execution, while the engine keeps its messages", () => {
    const { engine, first, second, cut, takeOver } = setUp()
    expect(engine.trades).toBeGreaterThan(0)
    expect(second.replica.live).toBe(true)
    cut()
    // The first leader is killed with what it did not send.
    first.take([engine.step(), engine.step()])
    for (let count = 0; count < 20; count++) engine.step()
    expect(takeOver()).toEqual({ epoch: engine.epoch, seq: 50 })
    expect([second.requests, second.replica.live]).toEqual([0, true])
    expect([second.replica.executions.missNumber, second.replica.executions.lastNumber]).toEqual([0, engine.trades])
    first.take(engine.after(`${engine.epoch}.52`) ?? [])
    expect(levelsOf(second.replica)).toEqual(levelsOf(first.replica))
    expect(second.replica.instrument).toEqual({ state: 'OPEN', reason: '' })
  })

  test("an engine's market needs a SNAPSHOT but misses no execution after orders, or after a wrong book", () => {
    for (const publishesOrders of [false, true]) {
      const { engine, first, second, takeOver } = setUp({ publishesOrders })
      if (!publishesOrders) {
        const digest = '0000000000000000'
        first.fed?.compare({ market: SYMBOL, epoch: engine.epoch, seq: 50, digest })
        expect(first.requests).toBe(1)
      }
      for (let count = 0; count < 20; count++) engine.step()
      expect(takeOver()).toEqual({ epoch: engine.epoch, seq: 50 })
      expect([second.requests, second.replica.live]).toEqual([1, false])
      second.take([engine.snapshot(), engine.step()])
      expect(second.replica.live).toBe(true)
      expect([second.replica.executions.missNumber, second.replica.executions.lastNumber]).toEqual([0, engine.trades])
    }
  })

  test("an engine's market has missed executions where the previous leader's position is not that of its last executions", () => {
    const { engine, first, second, takeOver } = setUp()
    const { trades } = engine
    first.positions.connect(() => undefined)
    while (engine.trades === trades) first.take([engine.step()])
    expect(takeOver()).toBeUndefined()
    expect(second.replica.executions.missNumber).toBeGreaterThan(0)
  })

  test("an engine's market continues in a new epoch that names the last message of the one before, and in no other", () => {
    for (const [back, misses] of [
      [0, false],
      [1, true],
    ] as const) {
      const { engine, first } = setUp()
      const continues = `${engine.epoch}.${engine.seq - back}`
      engine.restart()
      const snapshot = engine.snapshot()
      first.take([{ ...snapshot, stream: { ...snapshot.stream, continues } }, engine.step()])
      expect(first.replica.executions.missNumber > 0).toBe(misses)
      expect(first.replica.live).toBe(true)
    }
  })
})

describe('the positions of a market', () => {
  test('the positions of a market are sent at once to a new follower, while this process writes the market', () => {
    const log = new SourcePositionLog(new VirtualClock())
    const sent: string[] = []
    log.connect((market, bytes) => sent.push(`${market} ${decodePositions(bytes).version}`))
    const positions = { epoch: 'a', executionNumber: 1, hasBook: true, positions: [['ingest', 'run.2']] as const }
    log.repeat(SYMBOL)
    log.send({ market: SYMBOL, version: 2, ...positions })
    log.repeat(SYMBOL)
    log.end(SYMBOL)
    log.repeat(SYMBOL)
    expect(sent).toEqual([`${SYMBOL} 2`, `${SYMBOL} 2`])
  })

  test('the positions of a market are those of a version with the same executions, and never of an earlier epoch', () => {
    const log = new SourcePositionLog(new VirtualClock())
    const at = (version: number, executionNumber: number, epoch = 'b') => ({
      market: SYMBOL,
      epoch,
      version,
      executionNumber,
      hasBook: true,
      positions: [['ingest', `run.${version}`]] as const,
    })
    log.note(at(1, 1))
    log.note(at(2, 1))
    log.note(at(3, 4))
    log.note(at(9, 4, 'a'))
    expect(log.at(at(1, 1))?.positions).toEqual([['ingest', 'run.1']])
    expect(log.at(at(5, 4))?.positions).toEqual([['ingest', 'run.3']])
    expect([log.at(at(3, 3)), log.at(at(3, 4, 'a'))]).toEqual([undefined, undefined])
    for (let version = 4; version < 100; version++) log.note(at(version, version))
    expect([log.at(at(3, 4)), log.at(at(84, 84))?.version]).toEqual([undefined, 84])
  })
})
