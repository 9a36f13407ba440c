/**
 * Which markets this process writes, where several may: those in the feed groups that it leads. For every other group
 * it is a standby: it follows the markets on the bus and writes them once it takes the lease. A deposed process
 * publishes nothing more, and follows again. A paused process publishes its pending commits when the lease is
 * confirmed.
 */
import type { ConfiguredMarket } from '../market/configured-market.ts'
import { earliestEpoch, leaseEpochIn } from './epochs.ts'
import type { FeedLease, FeedLeaseState, LossReason } from './feed-lease.ts'
import type { FeedLeases } from './feed-leases.ts'
import type { Lead, MarketWriters } from './market-writers.ts'

/** The markets' direction on the bus between processes. */
export interface LedMarkets {
  /** Sends these markets from now on, and accepts them from no other process. Called before their sequencers start. */
  lead(symbols: readonly string[]): void
  /** Follows these markets again, when their sequencers have ended. */
  follow(symbols: readonly string[]): void
  /**
   * Announces an epoch in which this process will write these markets. Others then ignore messages from earlier epochs.
   */
  announce(symbols: readonly string[], epoch: string): void
  /**
   * Calls `work` when others can receive this process's messages and their earlier messages have arrived, or after a
   * second.
   */
  whenFlushed(work: () => void): void
}

export interface FeedLeadershipOptions {
  readonly leases: FeedLeases
  /** The groups this process may lead. Empty = all. */
  readonly groups: readonly string[]
}

interface Started {
  readonly writers: MarketWriters
  readonly bus: LedMarkets
  /** Called when the process has begun or ended to lead a group. `isLost`: at least one was lost. */
  readonly onChange: (isLost: boolean) => void
}

export class FeedLeadership implements Lead {
  readonly #options: FeedLeadershipOptions
  #markets: readonly ConfiguredMarket[] = []
  /** By symbol. */
  #groups: ReadonlyMap<string, string> = new Map()
  readonly #leases = new Map<string, FeedLease>()
  /** The epochs for the groups this process leads. */
  readonly #led = new Map<string, number>()
  /** Each market's highest known lease epoch, perhaps of a feed group in which it was before. */
  readonly #epochs = new Map<string, number>()
  /** The markets sent by this process: feed groups by symbol. */
  readonly #sent = new Map<string, string>()
  #started: Started | undefined
  #isStopping = false

  constructor(options: FeedLeadershipOptions) {
    this.#options = options
  }

  /** Requests the leases for these markets' groups. Their replicas exist. */
  start(started: Started, markets: readonly ConfiguredMarket[]): void {
    this.#started = started
    this.change(markets)
  }

  /** Applies another market list. Their replicas exist, and removed ones have no sequencer and are not sent. */
  change(markets: readonly ConfiguredMarket[]): void {
    this.#markets = markets
    this.#groups = new Map(markets.map(({ definition, feedGroup }) => [definition.symbol, feedGroup]))
    const groups = new Set(markets.map(({ feedGroup }) => feedGroup).filter((group) => this.#mayLead(group)))
    for (const [group, lease] of this.#leases) {
      if (groups.has(group)) continue
      this.#leases.delete(group)
      // What fails is logged there, and the lease expires.
      void lease.stop()
    }
    for (const group of groups) if (!this.#leases.has(group)) this.#startLease(group)
    // A market's readers ignore epochs before its last one.
    for (const [symbol, epoch] of [...this.#epochs]) this.#leaseOf(symbol)?.heard(epoch)
    this.#apply()
  }

  /**
   * Ends leadership in all groups. The sequencers have stopped. A standby leads at once, and continues where their last
   * messages ended, which the bus has before the leases are free.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    const bus = this.#started?.bus
    if (bus !== undefined) await new Promise<void>((resolve) => bus.whenFlushed(resolve))
    await Promise.all([...this.#leases.values()].map((lease) => lease.stop()))
  }

  get states(): readonly FeedLeaseState[] {
    return [...this.#leases.values()].map(({ state }) => state)
  }

  get leadsAny(): boolean {
    return this.#led.size > 0
  }

  leaseEpochOf(feedGroup: string): number {
    return this.#led.get(feedGroup) ?? 0
  }

  mayPublish(feedGroup: string): boolean {
    return this.#leases.get(feedGroup)?.mayPublish() ?? false
  }

  /** Notes a market's epoch sent by another process, also before the start. */
  heard(symbol: string, epoch: string): void {
    const leaseEpoch = leaseEpochIn(epoch)
    if (leaseEpoch === undefined) return
    this.#noteEpoch(symbol, leaseEpoch)
    this.#leaseOf(symbol)?.heard(leaseEpoch)
  }

  #noteEpoch(symbol: string, leaseEpoch: number): void {
    this.#epochs.set(symbol, Math.max(this.#epochs.get(symbol) ?? 0, leaseEpoch))
  }

  #leaseOf(symbol: string): FeedLease | undefined {
    return this.#leases.get(this.#groups.get(symbol) ?? '')
  }

  #mayLead(group: string): boolean {
    const { groups } = this.#options
    return groups.length === 0 || groups.includes(group)
  }

  #startLease(group: string): void {
    const lease = this.#options.leases.start(group, {
      onTaken: (epoch) => {
        this.#led.set(group, epoch)
        const symbols = this.#markets.filter(({ feedGroup }) => feedGroup === group).map(symbolOf)
        // A leader that is cut off from the store alone publishes until it hears of this one, to followers that would then
        // be ahead of it. Its last messages before that may still be on their way.
        this.#started?.bus.announce(symbols, earliestEpoch(epoch))
        this.#started?.bus.whenFlushed(() => this.#apply())
      },
      onDeposed: (reason) => {
        this.#led.delete(group)
        this.#lose(reason)
      },
      onResumed: () => this.#started?.writers.resume(),
    })
    this.#leases.set(group, lease)
  }

  #lose(reason: LossReason): void {
    if (this.#isStopping) return
    // Nothing more is written for a group without a market, or for a renamed one.
    if (reason !== 'stopped') this.#started?.writers.abandonMissing(this.#wanted())
    this.#apply(true)
  }

  #wanted(): readonly ConfiguredMarket[] {
    return this.#markets.filter(({ feedGroup }) => this.#led.has(feedGroup))
  }

  #apply(isLost = false): void {
    if (this.#started === undefined || this.#isStopping) return
    const { writers, bus, onChange } = this.#started
    const wanted = this.#wanted()
    writers.stopMissing(wanted)
    const groups = new Map(wanted.map((market) => [symbolOf(market), market.feedGroup]))
    const lost = [...this.#sent].flatMap(([symbol, group]) => (groups.get(symbol) === group ? [] : [symbol]))
    for (const symbol of lost) this.#sent.delete(symbol)
    bus.follow(lost)
    const taken = wanted.filter((market) => !writers.writes(market))
    for (const market of taken) {
      this.#sent.set(symbolOf(market), market.feedGroup)
      this.#noteEpoch(symbolOf(market), this.leaseEpochOf(market.feedGroup))
    }
    bus.lead(taken.map(symbolOf))
    writers.change(wanted)
    onChange(isLost)
  }
}

const symbolOf = ({ definition }: ConfiguredMarket) => definition.symbol
