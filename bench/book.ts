/**
 * The book engine: level changes per second through the book alone, through book, view and journal at several depths,
 * and through the whole path from sequencer to replica with commits, in messages with two levels. The naive book (a Map
 * per side, sorted on every read) runs in the same rounds. Two slopes are reported: the cost must not grow with the
 * view's depth, and little with the book's size. Then the cost of conflated updates for a thousand subscribers at
 * different versions. Last, the cost of attribution: the same messages, from two sources alternately, through the
 * aggregate, and its events through the sequencer to the replica with and without their venues.
 */
import { pathToFileURL } from 'node:url'
import type { Clock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { Aggregate } from '../src/streaming/market/aggregate.ts'
import { Book } from '../src/streaming/market/book.ts'
import { ASK, BID, type LevelChange, type MarketEvent, type Side } from '../src/streaming/market/event.ts'
import { View } from '../src/streaming/market/view.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import { NaiveBook } from '../test/support/naive-book.ts'
import { type BenchResult, resultTable } from './result.ts'

const SEED = 7
const LEVELS_A_MESSAGE = 2
const MID = 10_000_000
/** The price tick size. */
const GRID = 10
/**
 * A change's mean distance from the best price in ticks: two thirds are in the best ten levels, as in recorded books.
 */
const MEAN_DISTANCE = 9
const DELETE_SHARE = 0.3
const DEPTHS = [10, 1000, 0]
const SLOPE_DEPTHS = [1, 100]
const BOOK_SIZES = [2_000, 46_000]
const SUBSCRIBERS = 1_000
/** The benchmark keeps their events. */
const AGGREGATED_MESSAGES = 20_000
const ATTRIBUTED_DEPTH = 100
const SOURCES = ['one', 'two'].map((venue) => ({ name: venue, venue }))

interface Workload {
  readonly start: readonly LevelChange[]
  readonly messages: readonly (readonly LevelChange[])[]
}

interface Measurement {
  readonly name: string
  readonly unit: string
  readonly reference?: string
  /** One run; returns its value. */
  readonly run: () => number
}

export async function run(options: { quick: boolean }): Promise<BenchResult[]> {
  const rounds = options.quick ? 3 : 7
  const messageCount = options.quick ? 20_000 : 150_000
  const measurements = BOOK_SIZES.flatMap((size) => measurementsOf(size, messageCount))
  const results: BenchResult[] = measurements.map(({ run: _, ...about }) => ({ ...about, runs: [] }))
  for (const { run: runOnce } of measurements) runOnce()
  for (let round = 0; round < rounds; round++) {
    for (const [index, { run: runOnce }] of measurements.entries()) results[index]!.runs.push(runOnce())
  }
  return results
}

function measurementsOf(bookSize: number, messageCount: number): Measurement[] {
  const workload = createWorkload(bookSize, messageCount)
  const label = `${bookSize.toLocaleString('en')} levels`
  const reference = `${label}: naive`
  const unit = 'level changes/s'
  const views = [...SLOPE_DEPTHS, ...DEPTHS].sort((left, right) => (left || Infinity) - (right || Infinity))
  return [
    { name: reference, unit, run: () => runNaive(workload) },
    { name: `${label}: book`, unit, reference, run: () => runBook(workload) },
    ...views.map((depth) => ({
      name: `${label}: book, view, journal, depth ${depth === 0 ? 'all' : depth}`,
      unit,
      reference,
      run: () => runView(workload, depth),
    })),
    {
      name: `${label}: sequencer, commit, replica, depth 1000`,
      unit,
      reference,
      run: () => runCommits(workload, 1000),
    },
    { name: `${label}: first snapshot into book and view`, unit: 'ms', run: () => runSnapshot(workload) },
    { name: `${label}: catch up ${SUBSCRIBERS} subscribers`, unit: 'ms', run: () => runCatchUp(workload) },
    ...(bookSize === BOOK_SIZES[0] ? aggregateMeasurements(workload, label) : []),
  ]
}

function aggregateMeasurements({ start, messages }: Workload, label: string): Measurement[] {
  const workload = { start, messages: messages.slice(0, AGGREGATED_MESSAGES) }
  const attributed = aggregatedEvents(workload)
  const plain = attributed.map((event): MarketEvent => {
    if (event.type !== 'snapshot' && event.type !== 'update') return event
    const { attribution: _, ...rest } = event
    return rest
  })
  const unit = 'messages/s'
  const reference = `${label} of two sources: sequencer, commit, replica without venues`
  return [
    { name: `${label} of two sources: aggregate`, unit, run: () => runAggregate(workload) },
    { name: reference, unit, run: () => runEvents(plain, false) },
    { name: `${label} of two sources: the same with venues`, unit, reference, run: () => runEvents(attributed, false) },
    {
      name: `${label} of two sources: the same with venues and a view of them, depth ${ATTRIBUTED_DEPTH}`,
      unit,
      reference,
      run: () => runEvents(attributed, true),
    },
  ]
}

/** Level changes per second: passes `count` messages to `step`. */
function rate(count: number, step: (index: number) => void): number {
  const started = process.hrtime.bigint()
  for (let index = 0; index < count; index++) step(index)
  const seconds = Number(process.hrtime.bigint() - started) / 1e9
  return (count * LEVELS_A_MESSAGE) / seconds
}

/** The naive way to maintain a ten-level view: sort after every message. */
function runNaive({ start, messages }: Workload): number {
  const book = new NaiveBook(start)
  const count = Math.max(20, Math.floor(400_000 / start.length))
  return rate(count, (index) => {
    book.apply(messages[index]!)
    book.levels(10)
  })
}

function runBook({ start, messages }: Workload): number {
  const book = new Book()
  book.replace(start)
  return rate(messages.length, (index) => book.apply(messages[index]!))
}

function runView({ start, messages }: Workload, depth: number): number {
  const book = new Book()
  const view = new View(book, depth)
  view.advance(1, book.replace(start))
  return rate(messages.length, (index) => view.advance(index + 2, book.apply(messages[index]!)))
}

function runCommits({ start, messages }: Workload, depth: number): number {
  const { clock, sequencer, replica } = createPath(depth)
  sequencer.offer({ type: 'snapshot', levels: start })
  clock.step()
  const result = rate(messages.length, (index) => {
    sequencer.offer({ type: 'update', changes: messages[index]!, executions: [] })
    clock.step()
  })
  if (replica.version !== messages.length + 1)
    throw new Error(`${replica.version} commits arrived, one a message was due`)
  return result
}

/** A sequencer, and the replica that follows it. */
function createPath(depth: number) {
  const market = {
    symbol: 'BTCUSD',
    baseAsset: 'BTC',
    quoteAsset: 'USD',
    priceDecimals: 2,
    amountDecimals: 8,
    depth,
  }
  const clock = new StepClock()
  const bus = createMemoryBus()
  const replica = new Replica({ market, bus, executionsKept: 1000 })
  const sequencer = new Sequencer({
    market,
    epoch: 'bench',
    bus,
    clock,
    log: createLog('silent'),
    metrics: createSequencerMetrics(createMetricsRegistry()),
    floorMilliseconds: 0,
    onRebuildNeeded: (reason) => {
      throw new Error(reason)
    },
  })
  return { clock, sequencer, replica }
}

/** An aggregate of two sources that both have the workload's book. */
function createAggregate({ start }: Workload): {
  readonly aggregate: Aggregate
  readonly first: readonly MarketEvent[]
} {
  const aggregate = new Aggregate(SOURCES, 'recency')
  const first = SOURCES.flatMap((_, place) => aggregate.offer(place, { type: 'snapshot', levels: start }, place).events)
  return { aggregate, first }
}

/**
 * The workload's messages, sent by both sources alternately. Each source has its own book, and removes only its own
 * levels.
 */
function offerAll({ messages }: Workload, aggregate: Aggregate, take: (events: readonly MarketEvent[]) => void): void {
  for (const [index, changes] of messages.entries()) {
    for (const place of SOURCES.keys()) {
      const { events, violation } = aggregate.offer(place, { type: 'update', changes, executions: [] }, index)
      if (violation !== undefined) throw new Error(violation)
      take(events)
    }
  }
}

function aggregatedEvents(workload: Workload): MarketEvent[] {
  const { aggregate, first } = createAggregate(workload)
  const all = [...first]
  offerAll(workload, aggregate, (events) => all.push(...events))
  return all
}

/** Messages per second. */
function runAggregate(workload: Workload): number {
  const { aggregate } = createAggregate(workload)
  const started = process.hrtime.bigint()
  offerAll(workload, aggregate, () => undefined)
  const seconds = Number(process.hrtime.bigint() - started) / 1e9
  return (workload.messages.length * SOURCES.length) / seconds
}

/** Messages per second, where each one is a commit. */
function runEvents(events: readonly MarketEvent[], hasView: boolean): number {
  const { clock, sequencer, replica } = createPath(1000)
  const [first, ...others] = events
  if (first !== undefined) sequencer.offer(first)
  clock.step()
  if (hasView) replica.attributed.open(ATTRIBUTED_DEPTH, replica.version)
  const started = process.hrtime.bigint()
  for (const event of others) {
    sequencer.offer(event)
    clock.step()
  }
  return others.length / (Number(process.hrtime.bigint() - started) / 1e9)
}

function runSnapshot({ start }: Workload): number {
  const book = new Book()
  const view = new View(book, 0)
  const started = process.hrtime.bigint()
  view.advance(1, book.replace(start))
  return Number(process.hrtime.bigint() - started) / 1e6
}

/** At once, a thousand subscribers to a 1,000-level view, each lagging one commit more than the one before. */
function runCatchUp({ start, messages }: Workload): number {
  const book = new Book()
  const view = new View(book, 1000)
  view.advance(1, book.replace(start))
  for (let index = 0; index < SUBSCRIBERS; index++) view.advance(index + 2, book.apply(messages[index]!))
  const started = process.hrtime.bigint()
  for (let lag = 1; lag <= SUBSCRIBERS; lag++) {
    if (view.changesSince(view.version - lag) === 'too-old') throw new Error('the journal is too short')
  }
  return Number(process.hrtime.bigint() - started) / 1e6
}

/**
 * Does not advance until `step`, which runs due work and advances by one millisecond, the minimum time between two
 * commits.
 */
class StepClock implements Clock {
  #milliseconds = Date.UTC(2026, 0, 1)
  #waiting: (() => void)[] = []

  wallInstant() {
    return { milliseconds: this.#milliseconds, nanoseconds: 0 }
  }

  monotonicMilliseconds() {
    return this.#milliseconds
  }

  schedule(_delayMilliseconds: number, callback: () => void) {
    this.#waiting.push(callback)
    return { cancel: () => undefined }
  }

  endOfTick(callback: () => void) {
    this.#waiting.push(callback)
  }

  step() {
    this.#milliseconds += 1
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) callback()
  }
}

/** A book with a constant size, and messages that change it near its best prices. The seed reproduces it. */
function createWorkload(bookSize: number, messageCount: number): Workload {
  const random = createRandom(SEED)
  const slots = bookSize / 2
  const price = (side: Side, slot: number) => (side === BID ? MID - (slot + 1) * GRID : MID + (slot + 1) * GRID)
  const amount = () => 100_000_000 + Math.floor(random() * 10_000_000_000)
  const start = ([BID, ASK] as const).flatMap((side) =>
    Array.from({ length: slots }, (_, slot) => ({ side, price: price(side, slot), amount: amount() })),
  )
  const present = [new Uint8Array(slots).fill(1), new Uint8Array(slots).fill(1)] as const
  const message = (): LevelChange[] => {
    const touched = new Map<number, LevelChange>()
    while (touched.size < LEVELS_A_MESSAGE) {
      const side = random() < 0.5 ? BID : ASK
      const slot = Math.min(slots - 1, Math.floor(-Math.log(1 - random()) * MEAN_DISTANCE))
      if (touched.has(price(side, slot))) continue
      const removed = present[side][slot] === 1 && random() < DELETE_SHARE
      present[side][slot] = removed ? 0 : 1
      touched.set(price(side, slot), { side, price: price(side, slot), amount: removed ? 0 : amount() })
    }
    return [...touched.values()]
  }
  const messages = Array.from({ length: messageCount }, message)
  return { start, messages }
}

/** Mulberry32: small, seeded, sufficient to distribute changes. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(resultTable(await run({ quick: process.argv.includes('--quick') })))
}
