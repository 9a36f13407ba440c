/**
 * The subscriptions of one connection, and the answers to its requests: what a request changes, and the text of the
 * reply. It tells the reader what to follow, which sends nothing yet; writing the reply is left to the session. An entry
 * that fails changes nothing and leaves the others of its request alone.
 */
import type { ChannelType } from '../contract/channels.ts'
import { STREAM_ERRORS } from '../contract/stream-codes.ts'
import type { InboundMessage } from './inbox.ts'
import type { MarketChannel } from './market-channel.ts'
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
import type { Reader } from './reader.ts'
import type { SessionLimits } from './session-limits.ts'
import { CHANNEL_BITS, EXECUTIONS } from './subscription.ts'

/** What subscriptions need of the hub. */
export interface SubscriptionsHost {
  readonly limits: SessionLimits
  /** Which markets there are, in words of bounded length. */
  readonly marketList: string
  channel(market: string): MarketChannel | undefined
  countSubscription(type: ChannelType, difference: 1 | -1): void
}

export interface SubscriptionsOptions {
  readonly host: SubscriptionsHost
  readonly reader: Reader
  /** Only on the extended protocol. */
  readonly extended: ExtendedRules | undefined
  readonly owner: SubscriptionsOwner
}

/** The connection: one method, which all connections share. */
export interface SubscriptionsOwner {
  /** Called with a bug that one entry of a request has met. */
  noteInternalError(error: unknown): void
}

export interface Answer {
  readonly text: string
  /** Entries that were read, or listed: what the request has cost beyond one message. */
  readonly entryCount: number
  /** What is to happen to the heartbeat once the reply is written. */
  readonly heartbeat?: 'start' | 'stop'
}

export class Subscriptions {
  readonly #host: SubscriptionsHost
  readonly #reader: Reader
  readonly #extended: ExtendedRules | undefined
  readonly #owner: SubscriptionsOwner
  readonly #keys = new Map<string, ChannelKey>()

  constructor({ host, reader, extended, owner }: SubscriptionsOptions) {
    this.#host = host
    this.#reader = reader
    this.#extended = extended
    this.#owner = owner
  }

  get count(): number {
    return this.#keys.size
  }

  /** Does what a message asks for, as far as it can be done. */
  answer({ data, isBinary }: InboundMessage): Answer {
    const host = this.#host
    const request = parseRequest(data, isBinary, {
      isMarket: (symbol) => host.channel(symbol) !== undefined,
      marketList: host.marketList,
      entriesMax: host.limits.subscriptionsMax,
      extended: this.#extended,
    })
    switch (request.type) {
      case 'error':
        return { text: errorReply(request.error, request.message), entryCount: request.entryCount }
      case 'subscription_list':
        return { text: listReply([...this.#keys.values()]), entryCount: this.#keys.size }
      case 'subscribe':
        return this.#answerSubscribe(request.entries)
      case 'unsubscribe':
        return this.#answerUnsubscribe(request.entries)
    }
  }

  /** Ends those of a market that was removed or changed; the notice that the client has to be sent, if any. */
  endMarket(market: string, end: MarketEnd): string | undefined {
    this.#reader.forget(market)
    const ended = [...this.#keys.values()].filter((key) => key.market === market)
    for (const key of ended) this.#drop(key)
    return ended.length === 0 ? undefined : endedNotice(ended, end)
  }

  /** Forgets all of them; the reader is ended by its owner. */
  clear(): void {
    for (const key of this.#keys.values()) this.#host.countSubscription(key.type, -1)
    this.#keys.clear()
  }

  #answerSubscribe(entries: readonly RequestEntry[]): Answer {
    let beats = false
    const outcomes = entries.map(({ echo, meaning }) => {
      const outcome = isProblem(meaning) ? { problem: meaning } : this.#subscribe(meaning)
      if (outcome.problem === undefined && (meaning as ChannelKey).type === 'heartbeat') beats = true
      return { echo, ...outcome }
    })
    const text = entriesReply('subscribe', outcomes)
    return { text, entryCount: entries.length, ...(beats ? { heartbeat: 'start' } : {}) }
  }

  /** Lets the reader follow the channel and remembers the subscription; or returns why not. */
  #subscribe(key: ChannelKey): Omit<EntryOutcome, 'echo'> {
    const name = keyName(key)
    const { subscriptionsMax } = this.#host.limits
    if (this.#keys.has(name)) return noEffect('the channel is subscribed already')
    if (this.#keys.size >= subscriptionsMax) {
      return noEffect(`the limit of ${subscriptionsMax} subscriptions a connection is reached`)
    }
    let resumed: boolean | undefined
    if (key.type !== 'heartbeat') {
      try {
        const bit = CHANNEL_BITS[key.type]
        const continues = this.#reader.subscribe(this.#host.channel(key.market) as MarketChannel, bit, key)
        // A book or a top that cannot continue comes whole, which shows it. Executions would be lost silently.
        if (bit === EXECUTIONS && key.resume !== undefined) resumed = continues
      } catch (error) {
        this.#owner.noteInternalError(error)
        return { problem: { error: 'INTERNAL_SERVER_ERROR', message: STREAM_ERRORS.INTERNAL_SERVER_ERROR } }
      }
    }
    this.#keys.set(name, key)
    this.#host.countSubscription(key.type, 1)
    return { problem: undefined, resumed }
  }

  #answerUnsubscribe(entries: readonly RequestEntry[]): Answer {
    let stops = false
    const outcomes = entries.map(({ echo, meaning }) => {
      if (isProblem(meaning)) return { echo, problem: meaning }
      if (!this.#keys.has(keyName(meaning))) return { echo, ...noEffect('the channel is not subscribed') }
      this.#drop(meaning)
      if (meaning.type === 'heartbeat') stops = true
      else this.#reader.unsubscribe(meaning.market, CHANNEL_BITS[meaning.type])
      return { echo, problem: undefined }
    })
    const text = entriesReply('unsubscribe', outcomes)
    return { text, entryCount: entries.length, ...(stops ? { heartbeat: 'stop' } : {}) }
  }

  #drop(key: ChannelKey): void {
    this.#keys.delete(keyName(key))
    this.#host.countSubscription(key.type, -1)
  }
}
