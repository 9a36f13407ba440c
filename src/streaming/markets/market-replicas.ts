/**
 * The markets' reading side: one replica per configured market, which follows the market's commits on the bus. It uses
 * no source and no sequencer, so it can run in another process.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Instant } from '../../platform/base/clock.ts'
import { type ConfiguredMarket, isSimulated, isTraded } from '../market/configured-market.ts'
import type { Bus } from '../sequencing/bus.ts'
import { Replica } from '../sequencing/replica.ts'

export interface MarketReplicasOptions {
  readonly markets: readonly ConfiguredMarket[]
  readonly bus: Bus
  /** Executions kept by each replica for lagging subscribers. */
  readonly executionsKept: number
}

interface ReplicatedMarket {
  readonly configured: ConfiguredMarket
  replica: Replica
}

export class MarketReplicas {
  readonly #options: Omit<MarketReplicasOptions, 'markets'>
  #markets: ReadonlyMap<string, ReplicatedMarket>
  /** For removed markets: when one is added again, its times continue for connections that had it. */
  readonly #removedInstants = new Map<string, Instant>()

  /** The replicas subscribe at once, so no commit from a later sequencer is missed. */
  constructor({ markets, ...options }: MarketReplicasOptions) {
    this.#options = options
    this.#markets = new Map(markets.map((configured) => [configured.definition.symbol, this.#replicate(configured)]))
  }

  /** In configuration order. */
  get all(): readonly Replica[] {
    return [...this.#markets.values()].map(({ replica }) => replica)
  }

  /** The markets that are not live now, with the reason. */
  get lost(): readonly { readonly market: string; readonly reason: string }[] {
    return this.all.filter(({ live }) => !live).map(({ market, reason }) => ({ market: market.symbol, reason }))
  }

  /** Undefined when the market is not configured. */
  replicaOf(symbol: string): Replica | undefined {
    return this.#markets.get(symbol)?.replica
  }

  /** Whether a market's every price comes from trading, none from the simulator or a recording. */
  isFromVenues(symbol: string): boolean {
    const market = this.#markets.get(symbol)
    return market?.configured.sources.every(isTraded) === true && market.replica.instrument?.simulated !== true
  }

  /** Whether a market's prices come from a simulator: this service's, or a relayed one. */
  isSimulated(symbol: string): boolean {
    const market = this.#markets.get(symbol)
    return market !== undefined && (isSimulated(market.configured) || market.replica.instrument?.simulated === true)
  }

  /**
   * Follows another market list. A market keeps its replica unless its definition differs. It is then both removed and
   * added, because its subscribers can see the difference.
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

  /** Drops a market's book and history. The new replica's times continue. */
  renew(symbol: string): Replica | undefined {
    const market = this.#markets.get(symbol)
    if (market === undefined) return undefined
    market.replica.stop()
    market.replica = this.#replicate(market.configured, market.replica.instant).replica
    return market.replica
  }

  /** Ends the bus subscriptions. The replicas keep their last books. */
  stop(): void {
    for (const { replica } of this.#markets.values()) replica.stop()
  }

  #replicate(configured: ConfiguredMarket, lastInstant?: Instant): ReplicatedMarket {
    return { configured, replica: new Replica({ ...this.#options, market: configured.definition, lastInstant }) }
  }
}
