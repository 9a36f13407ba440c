/**
 * Executes one session's requests: changes its subscriptions and returns the reply text, which the session writes.
 * Catch-up sends data later. A failed entry changes nothing and does not affect the other entries in its request.
 */

import type { AccessToken } from '../../access/clients/token-verifier.ts'
import { CHANNELS, type ChannelType } from '../../contract/channels.ts'
import { STREAM_ERRORS } from '../../contract/stream-codes.ts'
import type { CatchUp } from './catch-up.ts'
import { type EventStreams, EventSubscription } from './event-subscription.ts'
import type { InboundMessage } from './inbox.ts'
import type { MarketStream } from './market-stream.ts'
import type { Outbox } from './outbox.ts'
import {
  type ChannelKey,
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
  noEffect,
  parseRequest,
  type RequestEntry,
} from './protocol.ts'

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

/** The hub's methods for requests. */
export interface RequestsHost {
  readonly limits: SessionLimits
  /** The result of `marketListText`. */
  readonly marketList: string
  /** Absent: no connection can follow events. */
  readonly events: EventStreams | undefined
  market(symbol: string): MarketStream | undefined
  countSubscription(type: ChannelType, difference: 1 | -1): void
}

export interface RequestsOptions {
  readonly host: RequestsHost
  readonly catchUp: CatchUp
  /** Only with the extended protocol. */
  readonly extended: ExtendedRules | undefined
  readonly token: AccessToken
  readonly outbox: Outbox
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

  constructor(options: RequestsOptions) {
    this.#options = options
    this.#host = options.host
    this.#catchUp = options.catchUp
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
      marketList: host.marketList,
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
    return ended.length === 0 ? undefined : endedNotice(ended, end)
  }

  /** The outbox takes data again. */
  resume(): void {
    this.#events?.wake()
  }

  /** Forgets all subscriptions. The session ends its catch-up. */
  clear(): void {
    this.#events?.end()
    for (const key of this.#keys.values()) this.#host.countSubscription(key.type, -1)
    this.#keys.clear()
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
    try {
      const outcome = this.#open(key)
      if (outcome.problem !== undefined) return outcome
      this.#keys.set(name, key)
      this.#host.countSubscription(key.type, 1)
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
    const resumes = this.#catchUp.subscribe(this.#host.market(market) as MarketStream, type, key)
    const isResumeAnswered = CHANNELS[type].acknowledgesResume && resume !== undefined
    return { problem: undefined, resumed: isResumeAnswered ? resumes : undefined }
  }

  /** Reads where the first entry with events begins, unless this is known. */
  #prepareEvents(entries: readonly RequestEntry[]): Promise<void> | undefined {
    const key = entries.map(({ meaning }) => meaning).find((each) => !isProblem(each) && each.type === 'events')
    const streams = this.#host.events
    if (key === undefined || streams === undefined || this.#keys.has(keyName(key as ChannelKey))) return undefined
    const { token, outbox, notify, onInternalError } = this.#options
    this.#events ??= new EventSubscription({
      streams,
      token,
      outbox,
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
      else if (meaning.type === 'events') this.#events?.end()
      else this.#catchUp.unsubscribe(meaning.market, meaning.type)
      return { echo, problem: undefined }
    })
    const text = entriesReply('unsubscribe', outcomes)
    return { text, entryCount: entries.length, errors: [], ...(stopsHeartbeat ? { heartbeat: 'stop' } : {}) }
  }

  #drop(key: ChannelKey): void {
    this.#keys.delete(keyName(key))
    this.#host.countSubscription(key.type, -1)
  }
}
