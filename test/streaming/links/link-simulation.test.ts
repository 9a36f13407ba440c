/**
 * A market followed over links that lose, delay and repeat messages, with feeds that are replaced by others of a later
 * epoch, also while the earlier one still sends, and cuts that are long enough to withdraw the book. Over two links, the
 * process between them follows the market itself, and the last one is sometimes started again. By seed; a failing seed is
 * in the message of the failure.
 */

import { describe, expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { BusExport } from '../../../src/streaming/links/bus-export.ts'
import { BusImport, createImportMetrics, type ImportTransport } from '../../../src/streaming/links/bus-import.ts'
import { compareLevels } from '../../../src/streaming/market/book.ts'
import {
  ASK,
  type Attribution,
  BID,
  type Execution,
  type LevelChange,
  type LevelVenues,
  type VenueShare,
} from '../../../src/streaming/market/event.ts'
import type { MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { FollowedMarket, Published } from '../../support/followed-market.ts'
import { LossyLink } from '../../support/lossy-link.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const SEEDS = process.env.TIDEGATE_LONG === '1' ? 1_000 : 40
const FIRST_SEED = seedOf(20_261_123)
const STEPS = 250
const MARKET = testMarket('AAAUSD', 3)
const WITHDRAW_AFTER_MILLISECONDS = 10_000
/**
 * The longest after which a book is withdrawn: noticing the silence takes 4.5 s, that of a process in between as long
 * again.
 */
const SILENCE_MILLISECONDS = WITHDRAW_AFTER_MILLISECONDS + 2 * 4_500 + 1_000

/** One process with the sequencer of the market. */
class Feed {
  readonly bus = createMemoryBus()
  readonly replica = new Replica({ market: MARKET, bus: this.bus, executionsKept: 30 })
  readonly sequencer: Sequencer
  readonly exporter: BusExport
  readonly #random: Random
  #trade = 0
  readonly #epoch: string
  readonly #venues: 'none' | 'one' | 'two'

  constructor(
    epoch: string,
    clock: VirtualClock,
    random: Random,
    link: LossyLink,
    importer: () => BusImport,
    published: Published,
  ) {
    this.#random = random
    this.#epoch = epoch
    this.#venues = random.pick(['none', 'one', 'two', 'two'] as const)
    const executions: (string | undefined)[] = []
    published.executions.set(epoch, executions)
    this.bus.subscribe(MARKET.symbol, (message) => {
      published.noteBook(this.replica, message)
      if (message.type !== 'commit') return
      for (const [place, { id }] of message.executions.entries()) {
        if (place === message.missedAt) executions.push(undefined)
        executions.push(id)
      }
      if (message.missedAt === message.executions.length) executions.push(undefined)
    })
    this.exporter = new BusExport({
      bus: this.bus,
      clock,
      transport: link.exportTransport(importer),
      replicaOf: () => this.replica,
    })
    this.exporter.add(MARKET.symbol)
    this.sequencer = new Sequencer({
      market: MARKET,
      epoch,
      bus: this.bus,
      clock,
      log: createLog('silent'),
      metrics: createSequencerMetrics(createMetricsRegistry()),
      floorMilliseconds: 0,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      onRebuildNeeded: () => this.snapshot(),
    })
  }

  snapshot(): void {
    const levels = [BID, ASK].flatMap((side) =>
      Array.from({ length: this.#random.integer(6) }, () => this.#level(side as 0 | 1)),
    )
    this.sequencer.offer({ type: 'snapshot', levels, ...this.#attribute(levels, 'all') })
  }

  step(): void {
    const dice = this.#random.integer(20)
    if (dice === 0) this.snapshot()
    else if (dice === 1) this.sequencer.offer({ type: 'lost', reason: `lost ${this.#random.integer(3)}` })
    else if (dice === 2) this.sequencer.offer({ type: 'missed', reason: 'a gap at the source' })
    else {
      const changes = Array.from({ length: this.#random.integer(3) }, () =>
        this.#level(this.#random.integer(2) as 0 | 1),
      )
      const executions: Execution[] = Array.from({ length: this.#random.integer(3) }, () => ({
        price: 100,
        amount: 1,
        id: `${this.#epoch}/${++this.#trade}`,
      }))
      this.sequencer.offer({ type: 'update', changes, executions, ...this.#attribute(changes, 'some') })
    }
  }

  /** What an event says of venues: nothing, one of all levels, or which of two has how much of each. */
  #attribute(levels: readonly LevelChange[], type: 'all' | 'some'): { readonly attribution?: Attribution } {
    if (this.#venues === 'none' || (this.#venues === 'one' && type === 'some')) return {}
    if (this.#venues === 'one') return { attribution: { type: 'only', venue: this.#epoch } }
    // Of a price that changed twice in one event, the last counts.
    const byPrice = new Map(levels.map((level) => [`${level.side} ${level.price}`, level]))
    const attributed = [...byPrice.values()].map(({ side, price, amount }): LevelVenues => {
      const first = this.#random.integer(Number(amount) + 1)
      const venues: VenueShare[] = [
        ['one', first],
        ['two', Number(amount) - first],
      ]
      return { side, price, venues: venues.filter(([, part]) => part !== 0) }
    })
    return { attribution: { type, levels: attributed } }
  }

  stop(): void {
    this.sequencer.stop()
    this.exporter.stop()
  }

  #level(side: 0 | 1): LevelChange {
    return { side, price: (side === BID ? 90 : 100) + this.#random.integer(10), amount: this.#random.integer(4) }
  }
}

/** A state with its attribution in book order: its levels have none. */
function inBookOrder(state: MarketState | undefined): MarketState | undefined {
  if (state?.attribution === undefined || state.attribution.type === 'only') return state
  const { type, levels } = state.attribution
  return { ...state, attribution: { type, levels: levels.toSorted(compareLevels) } }
}

/** One process that follows the market over a link. */
class Follower {
  readonly bus = createMemoryBus()
  readonly replica = new Replica({ market: MARKET, bus: this.bus, executionsKept: 30 })
  readonly watch: FollowedMarket
  readonly importer: BusImport
  readonly #metrics = createImportMetrics(createMetricsRegistry())
  /** Sends what it follows to another process, as the main process of gateway processes does. */
  exporter: BusExport | undefined

  constructor(
    clock: VirtualClock,
    random: Random,
    published: Published,
    totals: Totals,
    transport: (importer: () => BusImport) => ImportTransport,
  ) {
    this.watch = new FollowedMarket(this.replica, published)
    this.bus.subscribe(MARKET.symbol, (message) => {
      if (message.type === 'withdrawal') totals.withdrawals += 1
      if (message.type === 'state') totals.repairs += 1
    })
    this.importer = new BusImport({
      bus: this.bus,
      clock,
      log: createLog('silent'),
      random: () => random.next(),
      transport: transport(() => this.importer),
      replicaOf: () => this.replica,
      withdrawAfterMilliseconds: WITHDRAW_AFTER_MILLISECONDS,
      metrics: this.#metrics,
    })
    this.importer.add(MARKET)
  }

  exportTo(clock: VirtualClock, link: LossyLink, importer: () => BusImport): BusExport {
    this.exporter = new BusExport({
      bus: this.bus,
      clock,
      transport: link.exportTransport(importer),
      replicaOf: () => this.replica,
      isHeard: (market) => this.importer.isHeard(market),
    })
    this.exporter.add(MARKET.symbol)
    return this.exporter
  }

  /** Checks that it has what the feed has, after a time without faults. */
  expectAt(feed: Feed): void {
    const expected = feed.replica.state('', 0)
    if (expected === undefined) {
      // The last feed has committed nothing yet.
      expect([this.replica.live, this.replica.view.levels()]).toEqual([false, []])
      return
    }
    expect(inBookOrder(this.replica.state('', 0))).toEqual(inBookOrder(expected))
    expect(this.replica.top).toEqual(feed.replica.top)
    expect(this.importer.notCurrent).toEqual([])
  }

  async stop(totals: Totals): Promise<void> {
    this.importer.stop()
    const [audits, mismatches] = [await this.#metrics.audits.get(), await this.#metrics.mismatches.get()]
    totals.audits += audits.values[0]?.value ?? 0
    expect(mismatches.values).toMatchObject([{ value: 0 }])
    totals.checked += this.watch.checked
    totals.read += this.watch.read
    totals.gaps += this.watch.gaps
    totals.startedOver += this.watch.startedOver
  }
}

interface Totals {
  checked: number
  read: number
  gaps: number
  withdrawals: number
  startedOver: number
  lost: number
  repairs: number
  /** Cuts that lasted until the book was withdrawn. */
  silences: number
  /** Books that were compared with the digest of their feed. */
  audits: number
}

/** Faults of a link, by chance. */
function disturb(link: LossyLink, random: Random): void {
  const dice = random.integer(60)
  if (dice === 0) Object.assign(link.faults, { loss: 1 })
  else if (dice < 6) Object.assign(link.faults, { loss: random.next() / 2, repetition: 0.1, delayMillisecondsMax: 40 })
  else if (dice < 12) Object.assign(link.faults, { loss: 0, repetition: 0, delayMillisecondsMax: 0 })
}

/** @param hops links between the feed and the last process that follows the market: 1 or 2 */
async function simulate(seed: number, hops: number, totals: Totals): Promise<void> {
  const random = new Random(seed)
  const clock = new VirtualClock()
  const links = Array.from({ length: hops }, () => new LossyLink(clock, () => random.next()))
  const [link, local] = links as [LossyLink, LossyLink?]
  const published = new Published()
  const feeds: Feed[] = []
  const first = new Follower(clock, random, published, totals, (importer) =>
    link.importTransport(
      () => feeds.map(({ exporter }) => exporter),
      importer,
      ({ market, laterThanMilliseconds }) => {
        for (const feed of feeds) feed.bus.requestCommit(market, laterThanMilliseconds)
      },
    ),
  )
  let last = first
  const startLast = (to: LossyLink): Follower =>
    new Follower(clock, random, published, totals, (importer) =>
      to.importTransport(
        () => (first.exporter === undefined ? [] : [first.exporter]),
        importer,
        ({ market, laterThanMilliseconds }) => first.bus.requestCommit(market, laterThanMilliseconds),
      ),
    )
  if (local !== undefined) {
    first.exportTo(clock, local, () => last.importer)
    last = startLast(local)
  }
  const start = () => {
    const epoch = `epoch-${String(published.executions.size).padStart(4, '0')}`
    feeds.push(new Feed(epoch, clock, random, link, () => first.importer, published))
  }
  start()
  for (let step = 0; step < STEPS; step++) {
    for (const each of links) disturb(each, random)
    const dice = random.integer(60)
    if (dice === 0) {
      // The earlier feed goes, or sends on for a while without knowing of its successor.
      if (random.integer(2) === 0) for (const feed of feeds.splice(0)) feed.stop()
      clock.stepWall(random.integer(4_000) - 3_000)
      start()
    } else if (dice === 1 && feeds.length > 1) (feeds.shift() as Feed).stop()
    else if (dice === 2) last.bus.requestCommit(MARKET.symbol)
    else if (dice === 3 && local !== undefined) {
      // The last process ended, and was started again.
      await last.stop(totals)
      last = startLast(local)
    }
    for (const feed of feeds) feed.step()
    const wait = random.integer(30)
    clock.advance(wait === 0 ? SILENCE_MILLISECONDS : wait < 3 ? 1_500 : random.integer(20))
    if (wait === 0 && links.some(({ faults }) => faults.loss === 1)) {
      // A process behind a link that was cut all the time shows no book.
      const behind = link.faults.loss === 1 ? [first, last] : [last]
      expect(behind.flatMap(({ replica }) => replica.view.levels())).toEqual([])
      totals.silences += 1
    }
  }
  for (const each of links) Object.assign(each.faults, { loss: 0, repetition: 0, delayMillisecondsMax: 5 })
  for (const feed of feeds.splice(0, feeds.length - 1)) feed.stop()
  clock.advance(30_000)
  for (const follower of new Set([first, last])) {
    follower.expectAt(feeds[0] as Feed)
    await follower.stop(totals)
  }
  for (const { lost } of links) totals.lost += lost
}

describe('a market followed over links with faults', () => {
  test.each([
    ['one link', 1],
    ['two links, through a process that follows it itself', 2],
  ])(
    `a market over faulty links has the exact book and every execution once, over %s (${SEEDS} seeds from ${FIRST_SEED})`,
    async (_title, hops) => {
      const totals: Totals = {
        checked: 0,
        read: 0,
        gaps: 0,
        withdrawals: 0,
        startedOver: 0,
        lost: 0,
        repairs: 0,
        silences: 0,
        audits: 0,
      }
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        try {
          await simulate(seed, hops, totals)
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error })
        }
      }
      // The faults happened: otherwise nothing was shown.
      for (const [name, count] of Object.entries(totals)) expect(count, name).toBeGreaterThan(SEEDS / 4)
    },
  )
})
