/**
 * A cluster's feed processes with one market on a virtual clock: each follows the market, one leads, and any of them is
 * killed at any moment. The leader's source takes a venue's trades with their numbers, as after a connection to it: the
 * venue then repeats its last trades, and a gap in the numbers proves missed ones.
 */
import type { Clock } from '../../../src/platform/base/clock.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { CandleWriter } from '../../../src/streaming/candles/candle-writer.ts'
import type { Gap } from '../../../src/streaming/candles/candles.ts'
import type { MarketEvent } from '../../../src/streaming/market/event.ts'
import { ExecutionProgress } from '../../../src/streaming/markets/execution-progress.ts'
import type { MarketMessage } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import type { VenueTrade } from '../../../src/streaming/sources/venues/venue.ts'
import { VenueTrades } from '../../../src/streaming/sources/venues/venue-trades.ts'
import { captureLog } from '../../support/captured-log.ts'
import type { SeenTrade } from '../../support/naive-candles.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import type { VirtualClock } from '../../support/virtual-clock.ts'
import { levels } from '../gateway/live-stream.ts'

/** Trades that the venue repeats to a new connection. */
export const REPEATED = 30
/** Executions that each process keeps. */
const KEPT = 200

/** Price and amount are the market's integers as text. */
export interface ArrivingTrade extends VenueTrade {
  readonly arrivesAt: number
}

export class FeedCluster {
  readonly definition = { ...testMarket('BTCUSD', 5), priceDecimals: 8, amountDecimals: 8 }
  readonly bus = createMemoryBus()
  readonly clock: VirtualClock
  readonly db: Db
  /** A process that only reads, and is never killed. */
  readonly gateway: Replica
  /** The published executions, as a subscriber recorded them. */
  readonly tape: SeenTrade[] = []
  /** When executions may have been missed, as a subscriber can tell. */
  readonly gaps: Gap[] = []
  readonly log = captureLog()
  #epoch = ''
  #isOpen = false

  constructor(clock: VirtualClock, db: Db) {
    this.clock = clock
    this.db = db
    this.gateway = new Replica({ market: this.definition, bus: this.bus, executionsKept: KEPT })
    this.bus.subscribe('BTCUSD', (message) => this.#record(message))
  }

  get now(): number {
    return this.clock.wallInstant().milliseconds
  }

  #record(message: MarketMessage): void {
    const until = this.gateway.instant.milliseconds
    if (message.type === 'status' && message.live && this.#isOpen) {
      this.gaps.push({ fromMilliseconds: this.gaps.at(-1)?.fromMilliseconds ?? 0, untilMilliseconds: until })
      this.#isOpen = false
    }
    if (message.type !== 'commit') return
    if (message.epoch !== this.#epoch && message.continues?.epoch !== this.#epoch) this.#miss(until, true)
    this.#epoch = message.epoch
    for (const [place, execution] of message.executions.entries()) {
      if (place === message.missedAt) this.#miss(until)
      this.tape.push({
        id: execution.id as string,
        price: BigInt(execution.price),
        amount: BigInt(execution.amount),
        at: execution.executedAtMilliseconds as number,
        committedAt: message.milliseconds,
      })
    }
    if (message.missedAt === message.executions.length) this.#miss(until)
  }

  #miss(untilMilliseconds: number, isOpen = false): void {
    this.#isOpen ||= isOpen
    this.gaps.push({ fromMilliseconds: this.tape.at(-1)?.at ?? 0, untilMilliseconds })
  }
}

export class FeedProcess {
  readonly cluster: FeedCluster
  readonly #replica: Replica
  readonly #venue = new VenueTrades('BTC-USD')
  readonly #unsubscribe: () => void
  readonly #source: SourceMarket
  readonly #progress: ExecutionProgress
  #sequencer: Sequencer | undefined
  writer: CandleWriter | undefined
  #isKilled = false

  /** Follows the market: from its present state on, or where no other process has one, from its next leader on. */
  constructor(cluster: FeedCluster, hasState = true) {
    this.cluster = cluster
    this.#progress = new ExecutionProgress(cluster.clock)
    this.#source = { market: cluster.definition, venueSymbol: 'BTC-USD', listener: () => undefined }
    const bus = createMemoryBus()
    this.#replica = new Replica({ market: cluster.definition, bus, executionsKept: KEPT })
    const state = cluster.gateway.state('', 0)
    if (hasState && state !== undefined) bus.publish({ ...state, isIncomplete: true })
    this.#unsubscribe = cluster.bus.subscribe('BTCUSD', (message) => bus.publish(message))
  }

  /** Leads, and continues with the trades that the venue repeats. A fresh process knows none before them. */
  lead(leaseEpoch: number, repeated: readonly ArrivingTrade[]): void {
    const { bus, clock, definition: market, gateway, log } = this.cluster
    const last = this.#replica.executions.lastOf('venue', 1)[0]
    this.#progress.add(this.#source)
    const continues = last && this.#replica.followed
    if (last !== undefined) {
      const milliseconds = last.executedAtMilliseconds as number
      this.#venue.resume({ id: Number(last.id), milliseconds })
      this.#progress.resume(this.#source, milliseconds, this.#replica.instant.milliseconds)
    }
    const epoch = `${1e15 + this.cluster.now} ${leaseEpoch}`
    this.#sequencer = new Sequencer({
      market,
      epoch,
      bus,
      clock: this.#mortal(clock),
      log: log.log,
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: gateway.instant.milliseconds,
      continues,
      onRebuildNeeded: () => undefined,
    })
    this.#sequencer.announce()
    const written = () => [{ replica: this.#replica, leaseEpoch, epoch, continues, progress: this.#progress }]
    const writerParts = { db: this.#mortalStore(), clock: this.#mortal(clock), log: log.log, written }
    this.writer = new CandleWriter({ ...writerParts, metrics: createMetricsRegistry() })
    this.take(repeated, true)
    this.#offer({ type: 'snapshot', levels: levels([[100, 10]], [[200, 20]]) })
  }

  /** Nothing while it does not lead. */
  take(trades: readonly VenueTrade[], isRepeat = false): void {
    if (this.#sequencer === undefined) return
    for (const step of this.#venue.take(trades, isRepeat)) {
      if (step.kind === 'missed') this.#offer({ type: 'missed', reason: step.reason })
      else {
        const executions = step.trades.map(({ lastId, price, amount, executedAtMilliseconds }) => ({
          id: String(lastId),
          venue: 'venue',
          price: Number(price),
          amount: Number(amount),
          executedAtMilliseconds,
        }))
        this.#offer({ type: 'update', changes: [], executions })
      }
    }
  }

  #offer(event: MarketEvent): void {
    this.#progress.follow(this.#source, event)
    this.#sequencer?.offer(event)
  }

  /** Publishes nothing more, as after its lease was lost. It may still write. */
  depose(): void {
    this.#sequencer?.abandon()
  }

  /** What it has not published or written is lost. A transaction under way ends in the store. */
  kill(): void {
    this.#isKilled = true
    this.depose()
    this.#unsubscribe()
    this.#replica.stop()
  }

  #mortal(clock: Clock): Clock {
    const unlessKilled = (callback: () => void) => () => {
      if (!this.#isKilled) callback()
    }
    return {
      wallInstant: () => clock.wallInstant(),
      monotonicMilliseconds: () => clock.monotonicMilliseconds(),
      schedule: (delay, callback) => clock.schedule(delay, unlessKilled(callback)),
      endOfTick: (callback) => clock.endOfTick(unlessKilled(callback)),
    }
  }

  #mortalStore(): Db {
    const { db } = this.cluster
    const transaction: Db['transaction'] = async (work, options) => {
      if (this.#isKilled) throw new Error('killed')
      return await db.transaction(work, options)
    }
    return new Proxy(db, {
      get: (target, name, receiver) => (name === 'transaction' ? transaction : Reflect.get(target, name, receiver)),
    })
  }
}
