/**
 * The markets that a hub serves: those followed by this process, with their subscriptions, and the cold ones, which are
 * followed as soon as a session or a request names them.
 */
import type { HeldPlans } from '../../access/clients/plans/plan.ts'
import type { Replica } from '../sequencing/replica.ts'
import type { MarketState, MarketStream } from './market-stream.ts'
import { marketListText } from './protocol.ts'

/** Which markets this process follows. */
export interface MarketFollowing {
  has(symbol: string): boolean
  /** Follows a market from now on. */
  want(symbol: string): void
  /** What a market's feed reports about it. Undefined where the market is followed. */
  reportOf(symbol: string): MarketReport | undefined
}

interface MarketReport {
  readonly live: boolean
  /** Why it is not live. */
  readonly reason: string
  readonly hasBeenLive: boolean
  /** When `live` changed last: wall clock, milliseconds. */
  readonly sinceMilliseconds: number
}

/** A market in lists: a followed one as it is here, a cold one as its feed reports it. */
export interface ListedMarket extends Pick<MarketReport, 'live' | 'reason'> {
  readonly replica: Replica
  readonly state: MarketState
  /** Wall clock, milliseconds. */
  readonly stateSinceMilliseconds: number
  /** Client connections with a subscription to any channel. */
  readonly clientCount: number
}

export class ServedMarkets {
  readonly #create: (replica: Replica) => MarketStream
  readonly #following: MarketFollowing | undefined
  readonly #streams = new Map<string, MarketStream>()
  /** The followed markets by symbol. */
  readonly streams: ReadonlyMap<string, MarketStream> = this.#streams
  readonly #cold = new Map<string, Replica>()
  /** All of them in alphabetical order. Created when it is first needed. */
  #symbols: readonly string[] | undefined

  /** @param following absent where every market is followed */
  constructor(create: (replica: Replica) => MarketStream, following: MarketFollowing | undefined) {
    this.#create = create
    this.#following = following
  }

  get listed(): ListedMarket[] {
    const followed = [...this.#streams.values()].map(({ replica, state, stateSinceMilliseconds, clientCount }) => {
      const { live, reason } = replica
      return { replica, live, reason, state, stateSinceMilliseconds, clientCount }
    })
    return [...followed, ...[...this.#cold.values()].map((replica) => this.#listCold(replica))]
  }

  listText(plans: HeldPlans): string {
    this.#symbols ??= [...this.#streams.keys(), ...this.#cold.keys()].sort()
    return marketListText(this.#symbols, plans)
  }

  /** A market, which counts as wanted. */
  get(symbol: string): MarketStream | undefined {
    const cold = this.#cold.get(symbol)
    if (cold !== undefined) {
      this.#cold.delete(symbol)
      this.#streams.set(symbol, this.#create(cold))
    }
    const stream = this.#streams.get(symbol)
    if (stream !== undefined) this.#following?.want(symbol)
    return stream
  }

  #listCold(replica: Replica): ListedMarket {
    // Without a report it is followed for a conversion: nothing has named it here.
    const { live, reason, hasBeenLive, sinceMilliseconds } =
      this.#following?.reportOf(replica.market.symbol) ?? reportOfFollowed(replica)
    const state = live ? 'LIVE' : hasBeenLive ? 'STALE' : 'STARTING'
    return { replica, live, reason, state, stateSinceMilliseconds: sinceMilliseconds, clientCount: 0 }
  }

  isSubscribed(symbol: string): boolean {
    return (this.#streams.get(symbol)?.subscriptions.length ?? 0) > 0
  }

  add(replica: Replica): void {
    const { symbol } = replica.market
    this.#symbols = undefined
    if (this.#following?.has(symbol) === false) this.#cold.set(symbol, replica)
    else this.#streams.set(symbol, this.#create(replica))
  }

  /** Returns the market, if it was followed. */
  remove(symbol: string): MarketStream | undefined {
    const stream = this.#streams.get(symbol)
    this.#symbols = undefined
    this.#cold.delete(symbol)
    this.#streams.delete(symbol)
    stream?.stop()
    return stream
  }

  /** Takes the new replicas of markets that are no longer followed. Returns the streams that they had. */
  drop(replicas: readonly Replica[]): ReadonlySet<MarketStream> {
    const dropped = new Set<MarketStream>()
    for (const replica of replicas) {
      const { symbol } = replica.market
      const stream = this.remove(symbol)
      if (stream !== undefined) dropped.add(stream)
      this.#cold.set(symbol, replica)
    }
    return dropped
  }
}

function reportOfFollowed({ live, reason, hasBook: hasBeenLive, instant }: Replica): MarketReport {
  return { live, reason, hasBeenLive, sinceMilliseconds: instant.milliseconds }
}
