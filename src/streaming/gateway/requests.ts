/**
 * Executes one session's requests: changes its subscriptions and returns the reply text, which the session writes.
 * Catch-up sends data later. A failed entry changes nothing and does not affect the other entries in its request.
 */

import { type HeldPlans, NO_PLANS, planRefusal, servedParams } from '../../access/clients/plans/plan.ts'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { ClientUsage } from '../../access/metering/meter.ts'
import { CHANNELS, type ChannelType } from '../../contract/channels.ts'
import { STREAM_ERRORS } from '../../contract/stream-codes.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { CatchUp } from './catch-up.ts'
import { type EventStreams, EventSubscription } from './event-subscription.ts'
import type { InboundMessage } from './inbox.ts'
import type { MarketStream } from './market-stream.ts'
import type { Outbox } from './outbox.ts'
import {
  type ChannelKey,
  type EndedChannel,
  type EntryOutcome,
  type EntryProblem,
  type ExtendedRules,
  endedNotice,
  entriesReply,
  errorReply,
  eventsEndedNotice,
  isProblem,
  keyName,
  listReply,
  type MarketEnd,
  marketEndMessage,
  noEffect,
  parseRequest,
  type RequestEntry,
} from './protocol.ts'
import type { HolderUse } from './session-index.ts'

/** One session's limits; the settings `stream.*` with the same names. */
export interface SessionLimits {
  readonly outboxBytesMax: number
  readonly writeIntervalMilliseconds: number
  readonly inboundPerSecond: number
  readonly inboundBurst: number
  readonly subscriptionsMax: number
  /** Whether an expired token closes its session (`stream.token_expiry` = close). */
  readonly closesExpired: boolean
}

/** Stream settings; each is the setting `stream.*` with the same name. */
export interface HubSettings extends SessionLimits {
  readonly heartbeatSeconds: number
  readonly pingSeconds: number
  readonly silenceSeconds: number
  readonly staleSeconds: number
  /** `stream.stale_action` is `close`. */
  readonly closesStale: boolean
}

/** The hub's methods for requests. */
export interface RequestsHost {
  readonly clock: Clock
  readonly limits: SessionLimits
  /** Absent: no connection can follow events. */
  readonly events: EventStreams | undefined
  market(symbol: string): MarketStream | undefined
  /** The result of `marketListText`. */
  marketList(plans: HeldPlans): string
  /** The plans that bound what a token may use. */
  plansOf(token: AccessToken): HeldPlans
  /** What a customer or client uses. */
  useOf(holderId: string): HolderUse
  /** @param holders absent: only the metric counts it */
  countSubscription(type: ChannelType, difference: 1 | -1, holders: AccessToken | undefined): void
}

export interface RequestsOptions {
  readonly host: RequestsHost
  readonly catchUp: CatchUp
  /** Only with the extended protocol. */
  readonly extended: ExtendedRules | undefined
  readonly token: AccessToken
  /** False for a session that no plan bounds. */
  readonly isClient: boolean
  readonly outbox: Outbox
  readonly usage: ClientUsage
  /** Sends a notice after the pending data. */
  readonly notify: (notice: string) => void
  readonly onInternalError: (error: unknown) => void
}

export interface Answer {
  readonly text: string
  /** Entries read or listed: the request's cost beyond one message. */
  readonly entryCount: number
  /** The heartbeat change to make once the reply is written. */
  readonly heartbeat?: 'start' | 'stop'
  /** Errors in entries answered with INTERNAL_SERVER_ERROR: server bugs. */
  readonly errors: readonly unknown[]
}

const UNSERVED: EntryProblem = { error: 'UNKNOWN_CHANNEL', message: 'this process serves no events' }

export class Requests {
  readonly #options: RequestsOptions
  readonly #host: RequestsHost
  readonly #catchUp: CatchUp
  /** The subscriptions by `keyName`. */
  readonly #keys = new Map<string, ChannelKey>()
  /** Created with the first request for events. */
  #events: EventSubscription | undefined
  #plans: HeldPlans
  /**
   * When a book or top with a plan's interval was last unsubscribed, monotonic milliseconds, by `keyName`. Created with
   * the first.
   */
  #endedMilliseconds: Map<string, number> | undefined
  /** The subscriptions that begin with the next interval. Created with the first. */
  #delayed: Map<string, Timer> | undefined

  constructor(options: RequestsOptions) {
    const { host, catchUp, token, isClient } = options
    this.#options = options
    this.#host = host
    this.#catchUp = catchUp
    this.#plans = isClient ? host.plansOf(token) : NO_PLANS
  }

  /** Subscribed channels. */
  get subscriptionCount(): number {
    return this.#keys.size
  }

  get channels(): Iterable<ChannelKey> {
    return this.#keys.values()
  }

  /** Carries out one message and returns its answer. A promise: answer it again when the promise has resolved. */
  answer({ data, isBinary }: InboundMessage): Answer | Promise<void> {
    const host = this.#host
    const request = parseRequest(data, isBinary, {
      isMarket: (symbol) => host.market(symbol) !== undefined,
      marketList: () => host.marketList(this.#plans),
      entriesMax: host.limits.subscriptionsMax,
      extended: this.#options.extended,
    })
    switch (request.type) {
      case 'error':
        return { text: errorReply(request.error, request.message), entryCount: request.entryCount, errors: [] }
      case 'subscription_list':
        return { text: listReply([...this.#keys.values()]), entryCount: this.#keys.size, errors: [] }
      case 'subscribe':
        return this.#prepareEvents(request.entries) ?? this.#answerSubscribe(request.entries)
      case 'unsubscribe':
        return this.#answerUnsubscribe(request.entries)
    }
  }

  /** Ends the subscriptions to a removed or changed market. Returns the notice for the client, if it had any. */
  endMarket(market: string, end: MarketEnd): string | undefined {
    this.#catchUp.forget(market)
    const ended = [...this.#keys.values()].filter((key) => key.market === market)
    for (const key of ended) this.#drop(key)
    return ended.length === 0 ? undefined : endedNotice(ended.map((key) => ({ key, message: marketEndMessage(end) })))
  }

  /** Ends the subscriptions that these plans do not include, and serves the others within their bounds. */
  applyPlans(plans: HeldPlans): void {
    const before = this.#plans
    this.#plans = plans
    const ended: EndedChannel[] = []
    for (const key of [...this.#keys.values()]) {
      const message = planRefusal(plans, key.type, key.market)
      if (message !== undefined) {
        this.#drop(key)
        this.#end(key)
        ended.push({ key, message })
      } else {
        const params = this.#servedBy(plans, key)
        const isChanged = !isSame(params, this.#servedBy(before, key))
        if (isChanged && this.#delayed?.has(keyName(key)) !== true)
          this.#catchUp.changeParams(key.market, key.type, params)
      }
    }
    if (ended.length > 0) this.#options.notify(endedNotice(ended))
  }

  /** The outbox takes data again. */
  resume(): void {
    this.#events?.wake()
  }

  /** Forgets all subscriptions. The session ends its catch-up. */
  clear(): void {
    this.#events?.end()
    for (const { type } of this.#keys.values()) this.#count(type, -1)
    this.#keys.clear()
    for (const timer of this.#delayed?.values() ?? []) timer.cancel()
    this.#delayed = undefined
  }

  #answerSubscribe(entries: readonly RequestEntry[]): Answer {
    let startsHeartbeat = false
    const errors: unknown[] = []
    const outcomes = entries.map(({ echo, meaning }) => {
      const outcome = isProblem(meaning) ? { problem: meaning } : this.#subscribe(meaning, errors)
      if (outcome.problem === undefined && (meaning as ChannelKey).type === 'heartbeat') startsHeartbeat = true
      return { echo, ...outcome }
    })
    this.#events?.forgetStart()
    const text = entriesReply('subscribe', outcomes)
    return { text, entryCount: entries.length, errors, ...(startsHeartbeat ? { heartbeat: 'start' } : {}) }
  }

  /** Subscribes a channel, or returns why not. */
  #subscribe(key: ChannelKey, errors: unknown[]): Omit<EntryOutcome, 'echo'> {
    const name = keyName(key)
    const { subscriptionsMax } = this.#host.limits
    if (this.#keys.has(name)) return noEffect('the channel is already subscribed')
    if (this.#keys.size >= subscriptionsMax) {
      return noEffect(`the limit of ${subscriptionsMax} subscriptions per connection is reached`)
    }
    const problem = this.#refuseByPlans(key)
    if (problem !== undefined) return { problem }
    try {
      const outcome = this.#open(key)
      if (outcome.problem !== undefined) return outcome
      this.#keys.set(name, key)
      this.#count(key.type, 1)
      return outcome
    } catch (error) {
      errors.push(error)
      return { problem: { error: 'INTERNAL_SERVER_ERROR', message: STREAM_ERRORS.INTERNAL_SERVER_ERROR } }
    }
  }

  /** Begins what the channel sends. */
  #open(key: ChannelKey): Omit<EntryOutcome, 'echo'> {
    const { type, market, resume } = key
    if (type === 'heartbeat') return { problem: undefined }
    if (type === 'events') return this.#events === undefined ? { problem: UNSERVED } : this.#events.begin(key.after)
    const stream = this.#host.market(market) as MarketStream
    const params = this.#servedBy(this.#plans, key)
    const delay = this.#delayOf(key)
    if (delay > 0) this.#openLater(key, delay)
    const resumes = delay === 0 && this.#catchUp.subscribe(stream, type, params)
    const isResumeAnswered = CHANNELS[type].acknowledgesResume && resume !== undefined
    const isAsRequested = this.#options.extended === undefined || isSame(params, this.#servedBy(NO_PLANS, key))
    const served = isAsRequested ? undefined : params
    return { problem: undefined, resumed: isResumeAnswered ? resumes : undefined, served }
  }

  /**
   * Milliseconds until a book or top may begin. One that was unsubscribed in the present interval of a plan waits for its
   * end: to subscribe again and again must not bring more messages than the plan.
   */
  #delayOf(key: ChannelKey): number {
    const interval = this.#planInterval(key)
    const ended = this.#endedMilliseconds?.get(keyName(key))
    if (interval === 0 || ended === undefined) return 0
    return Math.max(0, (Math.floor(ended / interval) + 1) * interval - this.#host.clock.monotonicMilliseconds())
  }

  #openLater(key: ChannelKey, delayMilliseconds: number): void {
    const open = () => {
      this.#delayed?.delete(keyName(key))
      try {
        const stream = this.#host.market(key.market) as MarketStream
        this.#catchUp.subscribe(stream, key.type, this.#servedBy(this.#plans, key))
      } catch (error) {
        this.#options.onInternalError(error)
      }
    }
    this.#delayed ??= new Map()
    this.#delayed.set(keyName(key), this.#host.clock.schedule(delayMilliseconds, open))
  }

  /** The interval by which the plans bound a channel; 0 = none. */
  #planInterval({ type }: ChannelKey): number {
    if (type !== 'market_data' && type !== 'market_data.top_of_book') return 0
    return servedParams(this.#plans, { depth: 0 }).intervalMilliseconds ?? 0
  }

  #refuseByPlans({ type, market }: ChannelKey): EntryProblem | undefined {
    const message = planRefusal(this.#plans, type, market)
    if (message !== undefined) return { error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION', message }
    if (type === 'heartbeat') return undefined
    for (const { plan, holder, holderId } of this.#plans) {
      const { name, subscriptionsMax = Number.POSITIVE_INFINITY } = plan
      if (this.#host.useOf(holderId).subscriptions < subscriptionsMax) continue
      return noEffect(`the limit of ${subscriptionsMax} subscriptions of a ${holder} in the plan ${name} is reached`)
        .problem
    }
    return undefined
  }

  /** The params within the plans' bounds: an order book's depth and interval, and a top's interval. */
  #servedBy(plans: HeldPlans, key: ChannelKey): ChannelKey {
    const { type, market, intervalMilliseconds } = key
    const isBook = type === 'market_data'
    if (!isBook && type !== 'market_data.top_of_book') return key
    const depth = key.depth ?? this.#host.market(market)?.replica.market.depth ?? 0
    const served = servedParams(plans, { depth, intervalMilliseconds })
    return { ...key, ...served, depth: isBook ? served.depth : undefined }
  }

  /** Reads where the first entry with events begins, unless this is known. */
  #prepareEvents(entries: readonly RequestEntry[]): Promise<void> | undefined {
    const key = entries.map(({ meaning }) => meaning).find((each) => !isProblem(each) && each.type === 'events')
    const streams = this.#host.events
    if (key === undefined || streams === undefined || this.#keys.has(keyName(key as ChannelKey))) return undefined
    const { token, outbox, usage, notify, onInternalError } = this.#options
    this.#events ??= new EventSubscription({
      streams,
      token,
      outbox,
      usage: usage.of('', 'events'),
      onInternalError,
      onEnd: (reason) => {
        this.#drop(key as ChannelKey)
        notify(eventsEndedNotice(reason))
      },
    })
    return this.#events.prepare((key as ChannelKey).after)
  }

  #answerUnsubscribe(entries: readonly RequestEntry[]): Answer {
    let stopsHeartbeat = false
    const outcomes = entries.map(({ echo, meaning }) => {
      if (isProblem(meaning)) return { echo, problem: meaning }
      if (!this.#keys.has(keyName(meaning))) return { echo, ...noEffect('the channel is not subscribed') }
      this.#drop(meaning)
      if (meaning.type === 'heartbeat') stopsHeartbeat = true
      else this.#end(meaning)
      return { echo, problem: undefined }
    })
    const text = entriesReply('unsubscribe', outcomes)
    return { text, entryCount: entries.length, errors: [], ...(stopsHeartbeat ? { heartbeat: 'stop' } : {}) }
  }

  /** Ends what a channel sends. */
  #end({ type, market }: ChannelKey): void {
    if (type === 'events') this.#events?.end()
    else this.#catchUp.unsubscribe(market, type)
  }

  #drop(key: ChannelKey): void {
    const name = keyName(key)
    this.#keys.delete(name)
    this.#delayed?.get(name)?.cancel()
    this.#delayed?.delete(name)
    if (this.#planInterval(key) > 0) {
      this.#endedMilliseconds ??= new Map()
      this.#endedMilliseconds.set(name, this.#host.clock.monotonicMilliseconds())
    }
    this.#count(key.type, -1)
  }

  #count(type: ChannelType, difference: 1 | -1): void {
    const { token, isClient } = this.#options
    this.#host.countSubscription(type, difference, isClient ? token : undefined)
  }
}

function isSame(one: ChannelKey, other: ChannelKey): boolean {
  return one.depth === other.depth && one.intervalMilliseconds === other.intervalMilliseconds
}
