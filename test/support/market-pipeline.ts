/**
 * Markets from the sequencer to the encoded messages on a virtual clock, without anything that varies with time, so
 * that two pipelines with the same input can be compared: one is recorded, and others replay the recording.
 */
import { createLog } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import type { LevelChange, MarketDefinition, MarketEvent } from '../../src/streaming/market/event.ts'
import { RecordedState } from '../../src/streaming/recordings/recorded-state.ts'
import { createReplay } from '../../src/streaming/recordings/replay.ts'
import type { MarketMessage } from '../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../src/streaming/sequencing/bus-memory.ts'
import { executionText, textMessage, topOfBookText, updateText } from '../../src/streaming/sequencing/frame.ts'
import { Replica } from '../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../src/streaming/sequencing/sequencer-metrics.ts'
import type { Source, SourceMarket } from '../../src/streaming/sources/source.ts'
import { VirtualClock } from './virtual-clock.ts'

export class MarketPipeline {
  readonly clock = new VirtualClock()
  readonly bus = createMemoryBus()
  readonly markets: readonly MarketDefinition[]
  readonly sequencers: readonly Sequencer[]
  /** By market: the published messages without times, as comparable text. */
  readonly published: readonly string[][]
  /** By market: the messages for a subscriber that never lags, with every commit time set to the epoch. */
  readonly wire: readonly Buffer[][]
  /** By market: all `lost` events' reasons. */
  readonly losses: readonly string[][]
  readonly #books: readonly RecordedState[]
  /** Called when a market's sequencer requests a new snapshot. */
  onRebuild: (market: number) => void = () => undefined

  constructor(markets: readonly MarketDefinition[]) {
    this.markets = markets
    const metrics = createSequencerMetrics(createMetricsRegistry())
    const log = createLog('silent')
    this.published = markets.map(() => [])
    this.wire = markets.map(() => [])
    this.losses = markets.map(() => [])
    this.#books = markets.map(() => new RecordedState(''))
    for (const book of this.#books) book.apply([{ type: 'snapshot', levels: [] }])
    this.sequencers = markets.map((market, index) => {
      this.#read(index, market)
      return new Sequencer({
        market,
        epoch: 'one',
        bus: this.bus,
        clock: this.clock,
        log,
        metrics,
        floorMilliseconds: 0,
        onRebuildNeeded: () => this.onRebuild(index),
      })
    })
  }

  offer(market: number, event: MarketEvent): void {
    this.sequencers[market]!.offer(event)
  }

  /** The book as the market's subscribers have it. */
  bookText(market: number): string {
    return bookText(this.#books[market]!.levels())
  }

  /** Completes pending work by ending the current event-loop tick, and advances time. */
  async passTime(milliseconds: number): Promise<void> {
    this.clock.advance(milliseconds)
    // File reads complete between ticks, and continue in one.
    await new Promise((resolve) => setImmediate(resolve))
  }

  #read(index: number, market: MarketDefinition): void {
    const send = (text: string): void => void this.wire[index]!.push(...textMessage(text))
    this.bus.subscribe(market.symbol, (message) => {
      this.published[index]!.push(publishedText(message))
      if (message.type === 'status' && !message.live) this.losses[index]!.push(message.reason)
      if (message.type !== 'commit') return
      this.#books[index]!.apply([{ type: 'update', changes: message.changes, executions: [] }])
      for (const execution of message.executions) send(executionText(market, execution, 0))
    })
    const replica = new Replica({ market, bus: this.bus, executionsKept: 1_000 })
    replica.listen({
      onCommit({ changes, topChanged, startsOver }) {
        if (startsOver || changes.length > 0) send(updateText(market, 0, changes))
        if (topChanged) send(topOfBookText(market, { milliseconds: 0, nanoseconds: 0 }, replica.top))
      },
      onStatus: () => undefined,
    })
  }
}

/** Feeds all of a pipeline's markets from a recording. */
export function replayInto(
  line: MarketPipeline,
  path: string,
  options: { readonly speed?: number; readonly fromSeconds?: number; readonly loops?: boolean } = {},
): { readonly source: Source; readonly fed: readonly SourceMarket[]; readonly emitted: readonly MarketEvent[][] } {
  const emitted: MarketEvent[][] = line.markets.map(() => [])
  const fed: SourceMarket[] = line.markets.map((market, index) => ({
    market,
    venueSymbol: path,
    listener: (event: MarketEvent) => {
      emitted[index]!.push(event)
      line.offer(index, event)
    },
    onInstrument: () => line.sequencers[index]!.setInstrument(source.instrument(fed[index]!)),
  }))
  const source: Source = createReplay({
    markets: fed,
    speed: 1,
    fromSeconds: 0,
    loops: false,
    ...options,
    clock: line.clock,
    log: createLog('silent'),
  })
  line.onRebuild = (market) => source.rebuild(fed[market]!, '')
  source.start()
  return { source, fed, emitted }
}

/** All levels in a book as text. */
export function bookText(levels: readonly LevelChange[]): string {
  return levels.map(levelText).join()
}

/** A message without its times. The order of changes within a commit means nothing. */
function publishedText(message: MarketMessage): string {
  if (message.type === 'status') return message.live ? 'live' : `lost: ${message.reason}`
  if (message.type !== 'commit') throw new Error('nothing is lost in one process')
  const { version, executions, missedAt, executionNumber, origin, instrument } = message
  const changes = message.changes.toSorted((left, right) => left.side - right.side || left.price - right.price)
  const shown = { version, changes: changes.map(levelText), executions, missedAt, executionNumber, origin, instrument }
  return JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

function levelText({ side, price, amount }: LevelChange): string {
  return `${side} ${price} ${amount}`
}
