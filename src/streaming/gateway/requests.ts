/**
 * Executes one session's requests: changes its subscriptions and returns the reply text, which the session writes.
 * Catch-up sends data later. A failed entry changes nothing and does not affect the other entries in its request.
 */
import { CHANNELS, type ChannelType } from '../../contract/channels.ts'
import { STREAM_ERRORS } from '../../contract/stream-codes.ts'
import type { CatchUp } from './catch-up.ts'
import type { InboundMessage } from './inbox.ts'
import type { MarketStream } from './market-stream.ts'
import {
  type ChannelKey,
  type EntryOutcome,
  type ExtendedRules,
  endedNotice,
  entriesReply,
  errorReply,
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
  market(symbol: string): MarketStream | undefined
  countSubscription(type: ChannelType, difference: 1 | -1): void
}

export interface RequestsOptions {
  readonly host: RequestsHost
  readonly catchUp: CatchUp
  /** Only with the extended protocol. */
  readonly extended: ExtendedRules | undefined
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

export class Requests {
  readonly #host: RequestsHost
  readonly #catchUp: CatchUp
  readonly #extended: ExtendedRules | undefined
  /** The subscriptions by `keyName`. */
  readonly #keys = new Map<string, ChannelKey>()

  constructor({ host, catchUp, extended }: RequestsOptions) {
    this.#host = host
    this.#catchUp = catchUp
    this.#extended = extended
  }

  /** Subscribed channels. */
  get subscriptionCount(): number {
    return this.#keys.size
  }

  get channels(): Iterable<ChannelKey> {
    return this.#keys.values()
  }

  /** Carries out one message and returns its answer. */
  answer({ data, isBinary }: InboundMessage): Answer {
    const host = this.#host
    const request = parseRequest(data, isBinary, {
      isMarket: (symbol) => host.market(symbol) !== undefined,
      marketList: host.marketList,
      entriesMax: host.limits.subscriptionsMax,
      extended: this.#extended,
    })
    switch (request.type) {
      case 'error':
        return { text: errorReply(request.error, request.message), entryCount: request.entryCount, errors: [] }
      case 'subscription_list':
        return { text: listReply([...this.#keys.values()]), entryCount: this.#keys.size, errors: [] }
      case 'subscribe':
        return this.#answerSubscribe(request.entries)
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

  /** Forgets all subscriptions. The session ends its catch-up. */
  clear(): void {
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
    let resumed: boolean | undefined
    if (key.type !== 'heartbeat') {
      try {
        const resumes = this.#catchUp.subscribe(this.#host.market(key.market) as MarketStream, key.type, key)
        if (CHANNELS[key.type].acknowledgesResume && key.resume !== undefined) resumed = resumes
      } catch (error) {
        errors.push(error)
        return { problem: { error: 'INTERNAL_SERVER_ERROR', message: STREAM_ERRORS.INTERNAL_SERVER_ERROR } }
      }
    }
    this.#keys.set(name, key)
    this.#host.countSubscription(key.type, 1)
    return { problem: undefined, resumed }
  }

  #answerUnsubscribe(entries: readonly RequestEntry[]): Answer {
    let stopsHeartbeat = false
    const outcomes = entries.map(({ echo, meaning }) => {
      if (isProblem(meaning)) return { echo, problem: meaning }
      if (!this.#keys.has(keyName(meaning))) return { echo, ...noEffect('the channel is not subscribed') }
      this.#drop(meaning)
      if (meaning.type === 'heartbeat') stopsHeartbeat = true
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
