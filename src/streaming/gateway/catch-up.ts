/**
 * One session's market subscriptions, and catch-up for the lagging ones. Nothing is queued for a session whose outbox
 * is blocked. When it drains, each subscription is brought from its position to the current one, channel by channel in
 * wire order: missed executions, one conflated UPDATE or a SNAPSHOT, the current top. Catch-up stops as soon as the
 * outbox blocks, and continues later with the next market, so that none starves.
 */
import type { ChannelType } from '../../contract/channels.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Encoding } from '../sequencing/frame.ts'
import type { MarketStream, SentMarket } from './market-stream.ts'
import type { CaughtUp, ChannelParams, ChannelState, MarketSubscription, Subscriber } from './subscription.ts'

/** Subscriptions visited between two clock reads. */
const CLOCK_STRIDE = 16

/** Why the session has to be closed: owed executions cannot be sent any more. */
type Loss = Extract<CaughtUp, 'executionGap' | 'executionsMissed'>

interface Entry {
  readonly market: MarketStream
  readonly subscription: MarketSubscription
}

export class CatchUp {
  readonly #clock: Clock
  readonly #subscriber: Subscriber
  readonly #encoding: Encoding
  /** Also holds subscriptions without channels, for `laterThan`. Created with the first. */
  #byMarket: Map<string, Entry> | undefined
  /** The entries whose subscription has channels. */
  #active: Entry[] = []
  /** Where the next run begins, and how many entries have not been visited since one became lagging. */
  #next = 0
  #unvisited = 0
  /** The outbox's generation at the last run. In a later one every subscription is lagging. */
  #generation: number

  constructor(clock: Clock, subscriber: Subscriber, encoding: Encoding) {
    this.#clock = clock
    this.#subscriber = subscriber
    this.#encoding = encoding
    this.#generation = subscriber.outbox.generation
  }

  /**
   * Subscribes one channel in a market, which is then owed its first message. Returns whether it continues from the
   * cursor in `params.resume`. A subscribed channel is left unchanged.
   */
  subscribe(market: MarketStream, type: ChannelType, params: ChannelParams = {}): boolean {
    this.#byMarket ??= new Map()
    let entry = this.#byMarket.get(market.symbol)
    if (entry === undefined) {
      entry = { market, subscription: market.createSubscription(this.#subscriber, this.#encoding) }
      this.#byMarket.set(market.symbol, entry)
    }
    const { subscription } = entry
    const channel = market.channelOf(type)
    if ((subscription.channels & channel.bit) !== 0) return false
    const wasEmpty = subscription.channels === 0
    const resumes = market.subscribe(subscription, channel, params)
    if (wasEmpty) this.#active.push(entry)
    this.#subscriber.owe(subscription)
    return resumes
  }

  /** Serves a subscribed channel at another depth or interval from now on. */
  changeParams(symbol: string, type: ChannelType, params: ChannelParams): void {
    const entry = this.#byMarket?.get(symbol)
    if (entry === undefined) return
    const { market, subscription } = entry
    market.changeParams(subscription, market.channelOf(type), params)
    this.#subscriber.owe(subscription)
  }

  /** Ends one channel in a market at once, if it is subscribed. */
  unsubscribe(symbol: string, type: ChannelType): void {
    const entry = this.#byMarket?.get(symbol)
    if (entry === undefined) return
    const { market, subscription } = entry
    const channel = market.channelOf(type)
    if ((subscription.channels & channel.bit) === 0) return
    market.unsubscribe(subscription, channel)
    if (subscription.channels === 0) this.#deactivate(entry)
  }

  /** Ends every channel in a market and forgets its positions. */
  forget(symbol: string): void {
    const entry = this.#byMarket?.get(symbol)
    if (entry === undefined) return
    this.#byMarket?.delete(symbol)
    if (entry.subscription.channels === 0) return
    entry.market.end(entry.subscription)
    this.#deactivate(entry)
  }

  /** Forgets the positions in these markets, where it has no channel. */
  forgetDropped(markets: ReadonlySet<MarketStream>): void {
    if (this.#byMarket === undefined) return
    for (const [symbol, { market }] of this.#byMarket) if (markets.has(market)) this.#byMarket.delete(symbol)
  }

  /** The current books' statuses in this extended-protocol heartbeat. */
  bookStatuses(nowMilliseconds: number): string[] {
    return this.#active.flatMap(({ market, subscription }) => market.bookStatus(subscription, nowMilliseconds) ?? [])
  }

  /** How far each market with a subscribed channel has been sent. */
  observe(): SentMarket[] {
    return this.#active.map(({ market, subscription }) => market.observe(subscription))
  }

  /** Marks a subscription as lagging. */
  owe(subscription: MarketSubscription): void {
    subscription.generation = 0
    this.#unvisited = this.#active.length
  }

  /**
   * Sends what lagging subscriptions are owed, until the outbox blocks or the monotonic clock passes
   * `untilMilliseconds`. `more`: call it again in the next tick.
   */
  run(untilMilliseconds: number): 'done' | 'more' | Loss {
    const { outbox } = this.#subscriber
    if (this.#generation !== outbox.generation) this.#unvisited = this.#active.length
    this.#generation = outbox.generation
    for (let visited = 1; this.#unvisited > 0 && !outbox.isBlocked; visited++) {
      const entry = this.#active[this.#next % this.#active.length] as Entry
      const outcome = entry.subscription.generation === outbox.generation ? 'done' : this.#catchUp(entry)
      if (outcome === 'executionGap' || outcome === 'executionsMissed') return outcome
      this.#next = (this.#next + 1) % this.#active.length
      if (outcome === 'blocked') return 'done'
      this.#unvisited -= 1
      if (visited % CLOCK_STRIDE === 0 && this.#clock.monotonicMilliseconds() >= untilMilliseconds) break
    }
    return this.#unvisited > 0 && !outbox.isBlocked ? 'more' : 'done'
  }

  /** Ends all subscriptions. */
  end(): void {
    for (const { market, subscription } of this.#active) market.end(subscription)
    this.#active = []
    this.#unvisited = 0
  }

  /** Sends everything owed to one subscription. It is then current, except in channels that wait for the market. */
  #catchUp({ market, subscription }: Entry): CaughtUp {
    market.settle(subscription)
    const { channels, states, outbox } = subscription
    let delivered = 0
    let waiting: ChannelState | undefined
    for (const channel of market.channels) {
      if ((channels & channel.bit) === 0) continue
      const state = states[channel.place] as ChannelState
      const outcome = channel.catchUp(subscription, state, waiting)
      if (outcome === 'done') delivered |= channel.bit
      else if (outcome === 'waiting') waiting ??= state
      else return outcome
    }
    if (waiting !== undefined) market.wait(subscription)
    subscription.delivered = delivered
    subscription.generation = outbox.generation
    return 'done'
  }

  #deactivate(entry: Entry): void {
    this.#active = this.#active.filter((other) => other !== entry)
    this.#next = 0
    this.#unvisited = this.#active.length
  }
}
