/** A market whose executions a test commits, with its candles in the test project's store. */
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { CandleReader } from '../../../src/streaming/candles/candle-reader.ts'
import { candlesText } from '../../../src/streaming/candles/candle-text.ts'
import { CandleWriter } from '../../../src/streaming/candles/candle-writer.ts'
import type { Interval } from '../../../src/streaming/candles/candles.ts'
import type { Execution, MarketEvent } from '../../../src/streaming/market/event.ts'
import { ExecutionProgress } from '../../../src/streaming/markets/execution-progress.ts'
import type { Bus, Continuation } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import type { SourceMarket } from '../../../src/streaming/sources/source.ts'
import { captureLog } from '../../support/captured-log.ts'
import type { SeenTrade } from '../../support/naive-candles.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import type { VirtualClock } from '../../support/virtual-clock.ts'
import { levels } from '../gateway/live-stream.ts'

export class CandleMarket {
  readonly definition = testMarket('AAAUSD', 5)
  readonly bus = createMemoryBus()
  readonly clock: VirtualClock
  readonly replica: Replica
  readonly captured = captureLog()
  readonly source: SourceMarket = { market: this.definition, venueSymbol: 'A/USD', listener: () => undefined }
  sequencer: Sequencer
  /** Of the present sequencer. */
  executions: {
    readonly epoch: string
    readonly continues?: Continuation | undefined
    readonly progress: ExecutionProgress
  }
  /** What a subscriber has seen of it, in this run. */
  readonly seen: SeenTrade[] = []
  #epochs = 0

  constructor(clock: VirtualClock, executionsKept = 10_000) {
    this.clock = clock
    this.replica = new Replica({ market: this.definition, bus: this.bus, executionsKept })
    this.executions = { epoch: '', progress: new ExecutionProgress(clock) }
    this.bus.subscribe('AAAUSD', (message) => {
      if (message.type !== 'commit') return
      const log = this.replica.executions
      for (const [place, execution] of message.executions.entries()) {
        const number = log.lastNumber - message.executions.length + place + 1
        this.seen.push({
          id: execution.id ?? log.idOf(number),
          price: BigInt(execution.price),
          amount: BigInt(execution.amount),
          at: execution.executedAtMilliseconds ?? message.milliseconds,
          committedAt: message.milliseconds,
        })
      }
    })
    this.sequencer = this.newSequencer(this.bus)
    this.snapshot()
  }

  get now(): number {
    return this.clock.wallInstant().milliseconds
  }

  /** A later sequencer, whose source continues the executions or reports that some may be missing. */
  replaceSequencer(continues: boolean): void {
    this.sequencer.stop()
    this.clock.advance(5)
    this.sequencer = this.newSequencer(this.bus, this.replica)
    if (!continues) this.miss()
    this.snapshot()
  }

  snapshot(): void {
    this.clock.advance(2)
    this.offer({ type: 'snapshot', levels: levels([[100, 10]], [[200, 20]]) })
    this.clock.advance(2)
  }

  execute(...executions: readonly Execution[]): void {
    this.offer({ type: 'update', changes: [], executions })
    this.clock.advance(1)
  }

  miss(): void {
    this.offer({ type: 'missed', reason: 'the test says so' })
    this.clock.advance(1)
  }

  offer(event: MarketEvent): void {
    this.executions.progress.follow(this.source, event)
    this.sequencer.offer(event)
  }

  writer(db: Db, leaseEpoch = 0, replica = this.replica): CandleWriter {
    const { clock, captured } = this
    const written = () => [{ replica, leaseEpoch, ...this.executions }]
    return new CandleWriter({ db, clock, log: captured.log, metrics: createMetricsRegistry(), written })
  }

  reader(db: Db, delayMilliseconds = 0): CandleReader {
    return new CandleReader({ db, clock: this.clock, delayMilliseconds, retentionDays: () => 400 })
  }

  /** A later sequencer. @param continued the replica whose executions it continues; absent: none */
  newSequencer(bus: Bus, continued?: Replica): Sequencer {
    const { clock, captured, replica, definition: market } = this
    const epoch = `${Math.max(this.now, replica.instant.milliseconds)}-${this.#epochs++}`
    const metrics = createSequencerMetrics(createMetricsRegistry())
    const floorMilliseconds = replica.instant.milliseconds
    const continues = continued?.followed
    this.executions = { epoch, continues, progress: new ExecutionProgress(clock) }
    const last = continued && this.seen.at(-1)?.at
    if (last === undefined) this.executions.progress.add(this.source)
    else this.executions.progress.resume(this.source, last, floorMilliseconds)
    const common = { market, epoch, bus, clock, log: captured.log, metrics, floorMilliseconds }
    return new Sequencer({ ...common, continues, onRebuildNeeded: () => undefined })
  }
}

/** A market without another process that writes it, and without losses. */
export const WRITTEN_ALONE = {
  leaseEpoch: 0,
  epoch: '',
  progress: {
    completeMilliseconds: 0,
    begunMilliseconds: 0,
    resumedMilliseconds: Number.POSITIVE_INFINITY,
    takeLoss: () => undefined,
  },
}

/** The parsed items. Undefined: they are not known yet. */
export async function candlesOf(
  reader: CandleReader,
  replica: Replica,
  query: { interval: Interval; fromMilliseconds?: number; toMilliseconds?: number; limit?: number },
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many candles
): Promise<any[] | undefined> {
  const answer = await reader.candles(replica, { limit: 1_000, ...query })
  return answer && JSON.parse(candlesText(replica.market, query.interval, answer.candles())).items
}

/** Stores the candles of a replica, so that requests can read them. */
export async function storeCandles(db: Db, clock: VirtualClock, replica: Replica): Promise<void> {
  const { log } = captureLog()
  const written = () => [{ replica, ...WRITTEN_ALONE }]
  const writer = new CandleWriter({ db, clock, log, metrics: createMetricsRegistry(), written })
  await writer.stop()
}

/** Lets the writer's next runs pass. */
export async function written(clock: VirtualClock, ...writers: readonly CandleWriter[]): Promise<void> {
  for (let runs = 0; runs < 2; runs++) {
    clock.advance(1_001)
    for (const writer of writers) await writer.settled()
  }
}
