/**
 * The reading side of the markets: one replica per configured market, which follows the market's commits on the bus. It
 * uses no source and no sequencer, so it can run in another process than they do.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Instant } from '../../platform/base/clock.ts'
import { type ConfiguredMarket, isSimulated, isTraded } from '../market/configured-market.ts'
import type { Bus } from '../sequencing/bus.ts'
import { Replica } from '../sequencing/replica.ts'

export interface MarketReplicasOptions {
  readonly markets: readonly ConfiguredMarket[]
  readonly bus: Bus
  /** Executions that each replica keeps for lagging subscribers. */
  readonly executionsKept: number
}

interface ReplicatedMarket {
  readonly configured: ConfiguredMarket
  readonly replica: Replica
}

export class MarketReplicas {
  readonly #options: Omit<MarketReplicasOptions, 'markets'>
  #markets: ReadonlyMap<string, ReplicatedMarket>
  /** Of markets that were removed: when one is added again, its times continue for connections that had it. */
  readonly #removedInstants = new Map<string, Instant>()

  /** The replicas subscribe at once, so that no commit of a sequencer that is started later is missed. */
  constructor({ markets, ...options }: MarketReplicasOptions) {
    this.#options = options
    this.#markets = new Map(markets.map((configured) => [configured.definition.symbol, this.#replicate(configured)]))
  }

  /** In the order of the configuration. */
  get all(): readonly Replica[] {
    return [...this.#markets.values()].map(({ replica }) => replica)
  }

  /** The markets that are not live now, with the reason. */
  get lost(): readonly { readonly market: string; readonly reason: string }[] {
    return this.all.filter(({ live }) => !live).map(({ market, reason }) => ({ market: market.symbol, reason }))
  }

  /** Undefined for a market that is not configured. */
  replicaOf(symbol: string): Replica | undefined {
    return this.#markets.get(symbol)?.replica
  }

  /** Whether every price of a market comes from trading, none from the simulator or a recording. */
  isFromVenues(symbol: string): boolean {
    const market = this.#markets.get(symbol)
    return market?.configured.sources.every(isTraded) === true && market.replica.instrument?.simulated !== true
  }

  /** Whether the prices of a market come from a simulator: that of this service, or one that is relayed. */
  isSimulated(symbol: string): boolean {
    const market = this.#markets.get(symbol)
    return market !== undefined && (isSimulated(market.configured) || market.replica.instrument?.simulated === true)
  }

  /**
   * Follows another list of markets. A market keeps its replica unless its definition differs; then it is both removed
   * and added, because its subscribers can see the difference.
   */
  change(markets: readonly ConfiguredMarket[]): { readonly added: readonly Replica[]; readonly removed: string[] } {
    const before = this.#markets
    const added: Replica[] = []
    this.#markets = new Map(
      markets.map((configured) => {
        const { symbol } = configured.definition
        const known = before.get(symbol)
        if (known !== undefined && isDeepStrictEqual(known.configured.definition, configured.definition)) {
          return [symbol, { configured, replica: known.replica }]
        }
        const market = this.#replicate(configured, known?.replica.instant ?? this.#removedInstants.get(symbol))
        this.#removedInstants.delete(symbol)
        added.push(market.replica)
        return [symbol, market]
      }),
    )
    const removed: string[] = []
    for (const [symbol, { replica }] of before) {
      if (this.#markets.get(symbol)?.replica === replica) continue
      replica.stop()
      if (!this.#markets.has(symbol)) this.#removedInstants.set(symbol, replica.instant)
      removed.push(symbol)
    }
    return { added, removed }
  }

  /** Ends the subscriptions to the bus; the replicas keep their last books. */
  stop(): void {
    for (const { replica } of this.#markets.values()) replica.stop()
  }

  #replicate(configured: ConfiguredMarket, lastInstant?: Instant): ReplicatedMarket {
    return { configured, replica: new Replica({ ...this.#options, market: configured.definition, lastInstant }) }
  }
}
