/**
 * One session's subscription to its customer's events. One batch at a time is read from the store and sent, and the
 * next one when the outbox has drained, so a slow client costs one batch and misses nothing. While the store is
 * unavailable the subscription waits. The client's scopes are read for each batch. The session may end the subscription
 * and begin another one: a batch for the ended one is dropped.
 */
import type { AffectedTokens } from '../../access/clients/affected-tokens.ts'
import type { Directory } from '../../access/clients/directory.ts'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { EventFeed, EventFollower } from '../../access/events/event-feed.ts'
import { type EventBatch, EventsExpired } from '../../access/events/read.ts'
import { EVENT_SCOPE, eventScopes } from '../../access/events/stream-access.ts'
import type { UsageCell } from '../../access/metering/meter.ts'
import { readableObjects } from '../../contract/event-types.ts'
import { StoreUnavailable } from '../../platform/store/db.ts'
import { textFrame } from '../sequencing/frame.ts'
import { Chunk, type Outbox } from './outbox.ts'
import { type EntryOutcome, type EntryProblem, noEffect } from './protocol.ts'

/** Subscriptions per process. */
const SUBSCRIPTIONS_MAX = 10_000

/** Where events come from: the store (`EventFeed`), or the main process. */
export type EventSource = Pick<EventFeed, 'start' | 'read' | 'follow'>

/** What the subscriptions in one process share. */
export class EventStreams {
  readonly source: EventSource
  readonly directory: Directory
  subscriptionCount = 0

  constructor(source: EventSource, directory: Directory) {
    this.source = source
    this.directory = directory
  }
}

export interface EventSubscriptionOptions {
  readonly streams: EventStreams
  readonly token: AccessToken
  readonly outbox: Pick<Outbox, 'isBlocked' | 'sendChunk'>
  /** Where its messages are counted. */
  readonly usage: UsageCell
  /** The service has ended the subscription. */
  readonly onEnd: (reason: EntryProblem) => void
  readonly onInternalError: (error: unknown) => void
}

/** The sequence to begin after, or why there is none. */
type Start = { readonly position: bigint } | { readonly problem: EntryProblem } | { readonly error: unknown }

const MISSING_SCOPE: EntryProblem = {
  error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
  message: `the channel events needs the scope ${EVENT_SCOPE}, in the token and for its client`,
}

/** One subscription, from `begin` to `end`. */
interface Progress {
  /** Of the last sent event, or a later one that the client may not see. */
  position: bigint
  isReading: boolean
  /** There may be events that no read has found yet. */
  isBehind: boolean
}

export class EventSubscription implements EventFollower {
  readonly #options: EventSubscriptionOptions
  #start: Start | undefined
  /** Undefined while there is no subscription. */
  #progress: Progress | undefined
  #release: () => void = () => undefined

  constructor(options: EventSubscriptionOptions) {
    this.#options = options
  }

  /**
   * Finds the sequence to begin after, for `begin`. Undefined: `begin` can be called now. The promise never rejects.
   * @param after undefined: the customer's last sequence
   */
  prepare(after: bigint | undefined): Promise<void> | undefined {
    if (this.#progress !== undefined || this.#start !== undefined || this.#scopes === undefined) return undefined
    const { streams, token } = this.#options
    return streams.source.start(token.customerId, after).then(
      (position) => {
        this.#start = { position }
      },
      (error: unknown) => {
        this.#start = startAfter(error, after)
      },
    )
  }

  /** The request is answered. */
  forgetStart(): void {
    this.#start = undefined
  }

  /** Begins the subscription, or returns why it cannot. `after`: as in the request. */
  begin(after: bigint | undefined): Pick<EntryOutcome, 'problem' | 'lastSequence'> {
    const start = this.#start
    this.#start = undefined
    if (this.#scopes === undefined) return { problem: MISSING_SCOPE }
    if (start === undefined) return noEffect('a request can have one entry for events')
    if ('error' in start) throw start.error
    if ('problem' in start) return start
    const { streams, token } = this.#options
    if (streams.subscriptionCount >= SUBSCRIPTIONS_MAX) {
      return noEffect(`the limit of ${SUBSCRIPTIONS_MAX} subscriptions to events per process is reached`)
    }
    streams.subscriptionCount += 1
    const unfollow = streams.source.follow(token.customerId, this)
    const endWatch = streams.directory.onChange((affected) => this.#accessChanged(affected))
    this.#release = () => {
      streams.subscriptionCount -= 1
      unfollow()
      endWatch()
    }
    this.#progress = { position: start.position, isReading: false, isBehind: false }
    this.wake()
    return { problem: undefined, lastSequence: after === undefined ? start.position : undefined }
  }

  wake(last?: bigint): void {
    const progress = this.#progress
    if (progress === undefined || (last !== undefined && last <= progress.position)) return
    progress.isBehind = true
    this.resume()
  }

  /** The outbox takes data again. */
  resume(): void {
    const progress = this.#progress
    if (progress === undefined || !progress.isBehind || progress.isReading) return
    progress.isReading = true
    this.#readAll(progress)
      .catch((error: unknown) => {
        if (progress === this.#progress) this.#options.onInternalError(error)
      })
      .finally(() => {
        progress.isReading = false
      })
  }

  end(): void {
    this.#progress = undefined
    this.#start = undefined
    this.#release()
    this.#release = () => undefined
  }

  get #scopes(): ReadonlySet<string> | undefined {
    const { streams, token } = this.#options
    return eventScopes(streams.directory, token)
  }

  #accessChanged({ all, clientIds }: AffectedTokens): void {
    const isAffected = all || clientIds.has(this.#options.token.clientId)
    // The same change may have closed the session before.
    if (this.#progress !== undefined && isAffected && this.#scopes === undefined) this.#endFor(MISSING_SCOPE)
  }

  #endFor(reason: EntryProblem): void {
    this.end()
    this.#options.onEnd(reason)
  }

  async #readAll(progress: Progress): Promise<void> {
    const { streams, token, outbox } = this.#options
    while (progress.isBehind && !outbox.isBlocked) {
      progress.isBehind = false
      try {
        const batch = await streams.source.read(token.customerId, progress.position)
        if (progress !== this.#progress) return
        // It is read again when the outbox has drained.
        if (outbox.isBlocked || !this.#send(progress, batch)) progress.isBehind = true
      } catch (error) {
        if (progress !== this.#progress) return
        if (error instanceof EventsExpired) return this.#endFor(expired(error))
        // The next poll wakes it.
        if (error instanceof StoreUnavailable) return
        throw error
      }
    }
  }

  /** Returns whether there are no later events for now. */
  #send(progress: Progress, { events, examinedTo, isEnd }: EventBatch): boolean {
    const scopes = this.#scopes
    if (scopes === undefined) {
      this.#endFor(MISSING_SCOPE)
      return true
    }
    const objects = new Set<string>(readableObjects(scopes))
    const visible = events.filter(({ objectType }) => objects.has(objectType))
    progress.position = examinedTo
    if (visible.length > 0) {
      const frames = visible.map(({ text }) => textFrame(`{"channel":"events","payload":${text}}`))
      const { outbox, usage } = this.#options
      outbox.sendChunk(new Chunk(Buffer.concat(frames), frames.length), usage)
    }
    return isEnd
  }
}

/** How to begin although the start could not be read. */
function startAfter(error: unknown, after: bigint | undefined): Start {
  if (error instanceof EventsExpired) return { problem: expired(error) }
  if (!(error instanceof StoreUnavailable)) return { error }
  if (after !== undefined) return { position: after }
  return { problem: { error: 'unavailable', message: 'the store cannot be reached: subscribe again later' } }
}

function expired({ message, oldestSequence }: EventsExpired): EntryProblem {
  return { error: 'events_expired', message, oldestSequence }
}
