/**
 * The rules in docs/how-to/feeding-your-own-book.md for one market's messages, however they arrive (pull, ingest, a
 * module): epochs, numbers, snapshots, digests. It returns the market's events and whether a SNAPSHOT is needed.
 *
 * It keeps two numbers in the current epoch. Up to `#seq` every execution was published or reported as missed. The book
 * has applied the messages up to `#bookSeq`, and is trusted while both are equal. So no execution is published twice,
 * and none is skipped silently: between the loss of a book and its SNAPSHOT, executions continue as far as their
 * numbers prove them. A SNAPSHOT may be older than `#seq`; its book is published when it has caught up. Where the
 * publisher can be asked for past messages (`resumes`), they are requested for each gap, also for one before a
 * SNAPSHOT, and again only once a message has followed. Executions are reported as missed only when this fails.
 *
 * Two relays at one address may return to an epoch that was left. It is then treated like a new one, but must continue
 * at or after the number at which it was left. It never throws. Pure.
 */
import type { Execution, Instrument, LevelChange, MarketDefinition, MarketEvent, Proof } from '../../market/event.ts'
import type { FollowedPublication } from '../source.ts'
import { Broken } from './member-checks.ts'
import {
  type HeartbeatBook,
  type InstrumentMessage,
  type LostMessage,
  type PublicationMessage,
  type PublicationProblem,
  problemText,
  type SnapshotMessage,
  type UpdateMessage,
} from './message.ts'
import { gapText, missingText, type PublicationPosition, type PublicationStep } from './publication-step.ts'
import { PublishedBook } from './published-book.ts'
import { checkDecimals, instrumentOf } from './scaled-content.ts'
import { executionsOf } from './update-content.ts'

export interface PublicationReaderOptions {
  readonly market: MarketDefinition
  /** Whether the publisher can be asked for the messages after `position`. */
  readonly resumes?: boolean
}

/** Who sends the SNAPSHOT needed by the book. */
type Awaited = 'none' | 'request' | 'publisher'

/** Whether a gap's messages can be requested. `requested`: all messages are ignored until the publisher answers. */
type Resumption = 'possible' | 'requested' | 'answered'

/** Left epochs to remember. */
const LEFT_EPOCHS_MAX = 16

type CountedMessage = UpdateMessage | InstrumentMessage

export class PublicationReader {
  readonly #options: PublicationReaderOptions
  readonly #book: PublishedBook
  #epoch: string | undefined
  #seq = 0
  /** Undefined while a SNAPSHOT is needed. */
  #bookSeq: number | undefined
  /** Since the connection ended, until a message continues the publication. */
  #isSuspended = false
  #awaited: Awaited = 'none'
  #resumption: Resumption
  /** Until the first SNAPSHOT, where another process has followed the publication before. */
  #isTaken = false
  /** The last `lost` event's reason; undefined while the book is trusted. */
  #lostReason: string | undefined
  #hasExecutions = false
  #instrument: Instrument | undefined
  /** Whether a publisher digest has matched since the connection began. */
  #hasDigest = false
  /** The origin a relay names for its book; undefined where the publisher is not a relay. */
  #relayedOrigin: string | undefined
  /** The last numbers in left epochs, in the order in which they were left. */
  readonly #left = new Map<string, number>()
  #events: MarketEvent[] = []

  constructor(options: PublicationReaderOptions) {
    this.#options = options
    this.#book = new PublishedBook(options.market)
    this.#resumption = options.resumes === true ? 'possible' : 'answered'
  }

  /** The last applied message; undefined before the first SNAPSHOT. */
  get position(): PublicationPosition | undefined {
    return this.#epoch === undefined ? undefined : { epoch: this.#epoch, seq: this.#seq }
  }

  /** The last published instrument; undefined before the first SNAPSHOT. */
  get instrument(): Instrument | undefined {
    return this.#instrument
  }

  /** Message numbers prove the book, and so do digests where the publisher sends them. */
  get proof(): Proof {
    return this.#hasDigest ? 'CHECKSUM' : 'SEQUENCE'
  }

  /** Whether the book is trusted. */
  get isLive(): boolean {
    return this.#bookSeq !== undefined && this.#bookSeq === this.#seq && !this.#isSuspended
  }

  /** Whether the publication can only continue with a SNAPSHOT. */
  get needsSnapshot(): boolean {
    return this.#bookSeq === undefined
  }

  /** Whether the book comes from a SNAPSHOT that waits for earlier messages. */
  get isAhead(): boolean {
    return this.#bookSeq !== undefined && this.#bookSeq > this.#seq
  }

  /** Whether the publication can continue after `position`, although its book may need a SNAPSHOT. */
  get canContinue(): boolean {
    return !this.needsSnapshot || this.#isTaken
  }

  /** Continues a publication followed by another process. Must be called before any message. */
  takeOver({ epoch, seq, levels, origin, instrument }: FollowedPublication): void {
    this.#epoch = epoch
    this.#seq = seq
    this.#instrument = instrument
    this.#hasExecutions = true
    this.#isTaken = true
    this.#isSuspended = true
    this.#lostReason = 'another process published the market'
    if (levels === undefined) return
    this.#bookSeq = seq
    this.#relayedOrigin = origin
    this.#book.begin(levels)
  }

  /** Takes the market's next message. */
  take(message: PublicationMessage): PublicationStep {
    this.#events = []
    if (this.#resumption === 'requested') return this.#step('waiting')
    try {
      if (message.type === 'SNAPSHOT') return this.#takeSnapshot(message)
      if (message.type === 'LOST') return this.#takeLost(message)
      return this.#takeCounted(message)
    } catch (error) {
      // Any other error is a fault in this code, which must not end the connection for other markets.
      const { member, rule } = error instanceof Broken ? error : { member: '', rule: `cannot be applied: ${error}` }
      const { market, type } = message
      const events = this.#events
      const step = this.refuse({ type: 'problem', market, isSnapshot: type === 'SNAPSHOT', member, rule })
      return { ...step, events: [...events, ...step.events] }
    }
  }

  /** Takes a message that breaks a rule: the market is lost, and a SNAPSHOT needed. */
  refuse(problem: PublicationProblem): PublicationStep {
    this.#events = []
    // Its executions could not be read a second time either.
    this.#resumption = 'answered'
    const text = problemText(problem)
    if (problem.isSnapshot && this.#awaited === 'request') this.#awaited = 'none'
    return { ...this.#need('refused', `the publisher breaks a rule: ${text}`), problem: text }
  }

  /** Compares a heartbeat's digest when it is for the current book. */
  compare({ epoch, seq, digest }: HeartbeatBook): PublicationStep {
    this.#events = []
    const isCurrent = epoch === this.#epoch && seq === this.#seq && this.#bookSeq === seq
    if (!isCurrent || this.#resumption === 'requested') return this.#step('waiting')
    if (this.#book.digest() !== digest) {
      const problem = `the digest of the publisher's book after message ${seq} differs`
      return { ...this.#need('refused', problem), problem }
    }
    this.#hasDigest = true
    this.#continue()
    return this.#step('applied')
  }

  /** The connection ended. The book is trusted again when the next connection continues after `position`. */
  disconnect(reason: string): readonly MarketEvent[] {
    this.#events = []
    this.#isSuspended = true
    this.#hasDigest = false
    this.#awaited = 'none'
    this.#lose(reason)
    return this.#events
  }

  /** The publisher continues after `position`, and has proved it. */
  resume(): readonly MarketEvent[] {
    this.#events = []
    this.#resumption = 'answered'
    this.#continue()
    return this.#events
  }

  /** A SNAPSHOT follows instead. `wasAsked`: the publisher does not have the messages after `position`. */
  refuseResume(wasAsked: boolean): void {
    if (wasAsked || this.#resumption === 'requested') this.#resumption = 'answered'
  }

  /** Makes the market lost until the publisher sends a SNAPSHOT by itself. */
  lose(reason: string): readonly MarketEvent[] {
    this.#events = []
    this.#bookSeq = undefined
    this.#awaited = 'publisher'
    this.#lose(reason)
    return this.#events
  }

  /** Makes the market lost until a SNAPSHOT, for a reason not visible in the messages. */
  rebuild(reason: string): PublicationStep {
    this.#events = []
    return this.#need('waiting', reason)
  }

  #takeSnapshot(message: SnapshotMessage): PublicationStep {
    const { epoch, seq, instrument } = message
    const isSameEpoch = epoch === this.#epoch
    if (isSameEpoch && seq < this.#seq && this.isLive) return this.#step('repeated')
    const left = isSameEpoch ? undefined : this.#left.get(epoch)
    if (left !== undefined && seq < left)
      throw new Broken('stream.seq', `is below ${left}, at which this epoch was left`)
    checkDecimals(instrument, this.#options.market, 'payload.instrument')
    this.#awaited = 'none'
    this.#isTaken = false
    const levels = this.#book.load(message)
    if (this.#epoch === undefined) this.#seq = seq
    else if (!isSameEpoch) this.#seq = this.#leaveEpoch(message)
    this.#epoch = epoch
    this.#bookSeq = seq
    this.#relayedOrigin = message.origin
    this.#isSuspended = false
    if (seq > this.#seq && message.prev !== this.#seq) {
      // Instruments from the messages in between, which end with this one, may follow.
      if (this.#resumption === 'possible') this.#instrument = instrumentOf(instrument)
      if (this.#resumption === 'possible') return this.#askToResume(missingText(this.#seq + 1, seq, epoch))
      this.#miss(this.#seq + 1, seq)
    }
    this.#seq = Math.max(this.#seq, seq)
    if (seq === this.#seq) {
      this.#instrument = instrumentOf(instrument)
      this.#publishBook(levels)
    } else {
      this.#instrument ??= instrumentOf(instrument)
      this.#lose(`the SNAPSHOT has the state after message ${seq}, but message ${this.#seq} was applied`)
    }
    return this.#step('applied')
  }

  #takeLost({ epoch, seq, reason }: LostMessage): PublicationStep {
    if (seq <= (this.#left.get(epoch) ?? -1)) return this.#step('repeated')
    // A lower `seq` counts as well: a subscription that begins with LOST has no earlier message, and sends 0.
    if (epoch === this.#epoch && seq > this.#seq) {
      if (this.#canResumeBook) return this.#askToResume(missingText(this.#seq + 1, seq, epoch))
      this.#miss(this.#seq + 1, seq)
      this.#seq = seq
    }
    this.#bookSeq = undefined
    if (this.#awaited === 'none') this.#awaited = 'publisher'
    this.#lose(reason === '' ? 'the publisher lost its book' : `the publisher lost its book: ${reason}`)
    return this.#step(epoch === this.#epoch ? 'applied' : 'waiting')
  }

  #takeCounted(message: CountedMessage): PublicationStep {
    const { epoch, seq, prev } = message
    if (epoch !== this.#epoch) return this.#takeOtherEpoch(epoch, seq)
    if (prev > this.#seq && this.#canResumeBook) return this.#askToResume(missingText(this.#seq + 1, prev, epoch))
    if (this.#isTaken && seq > this.#seq && message.type === 'UPDATE' && (message.orders?.length ?? 0) > 0)
      this.#forgetLevels()
    const isNew = seq > this.#seq
    const { instrument } = message
    if (instrument !== undefined && isNew) {
      checkDecimals(instrument, this.#options.market, message.type === 'UPDATE' ? 'payload.instrument' : 'payload')
    }
    // All checks on the message run before any part takes effect.
    const executions = isNew && message.type === 'UPDATE' ? executionsOf(message, this.#options.market) : []
    const isNext = prev === this.#bookSeq
    const isGap = this.#bookSeq !== undefined && seq > this.#bookSeq && !isNext
    if (!isNew && !isNext && !isGap) {
      if (seq === this.#seq && this.#isSuspended) this.#continue()
      return this.#step('repeated')
    }
    const changes = isNext && message.type === 'UPDATE' ? this.#book.apply(message) : []
    if (isGap) this.#lose(gapText(this.#bookSeq as number, message))
    if (isGap) this.#bookSeq = undefined
    if (isNext) {
      this.#bookSeq = seq
      // Without an origin, a relay's message leaves the book unchanged, or the publisher is a relay no more.
      this.#relayedOrigin = message.origin ?? (changes.length > 0 ? undefined : this.#relayedOrigin)
    }
    if (isNew) this.#count(message, executions, changes)
    if (isNext || this.#bookSeq === this.#seq) this.#continue()
    // Without a book, one SNAPSHOT is requested, unless the publisher announced it by LOST.
    if (this.#bookSeq !== undefined || this.#awaited !== 'none') return this.#step('applied')
    return this.#need('applied', this.#lostReason ?? 'the book needs a SNAPSHOT')
  }

  /** A message in an epoch without a received SNAPSHOT. */
  #takeOtherEpoch(epoch: string, seq: number): PublicationStep {
    const left = this.#left.get(epoch)
    if (left !== undefined && seq <= left) return this.#step('repeated')
    const reason =
      this.#epoch === undefined
        ? 'no SNAPSHOT was received yet'
        : `no SNAPSHOT in the new epoch ${epoch} was received yet`
    return this.#need('waiting', reason)
  }

  /** Publishes a new message's content. */
  #count(message: CountedMessage, executions: readonly Execution[], changes: readonly LevelChange[]): void {
    const { seq, prev, type } = message
    const wasLive = this.#lostReason === undefined
    let provable = executions
    if (prev > this.#seq) {
      this.#miss(this.#seq + 1, prev)
    } else if (prev < this.#seq) {
      // It covers numbers already applied in part, so which of its executions are new is unknown.
      this.#miss(this.#seq + 1, seq)
      provable = []
    } else if (type === 'UPDATE' && message.missed !== undefined) {
      this.#events.push({ type: 'missed', reason: message.missed || 'the publisher missed executions' })
    }
    if (prev === this.#seq && this.#options.resumes === true) this.#resumption = 'possible'
    this.#seq = seq
    if (message.instrument !== undefined) this.#instrument = instrumentOf(message.instrument)
    if (provable.length > 0) this.#hasExecutions = true
    if (type !== 'UPDATE') return
    if (wasLive && this.isLive) {
      this.#events.push({ type: 'update', changes, executions: provable, origin: this.#origin })
    } else if (provable.length > 0) {
      this.#events.push({ type: 'update', changes: [], executions: provable })
    }
  }

  /** Returns the number after which the next epoch's executions are to be published. */
  #leaveEpoch({ epoch: next, seq, continues }: SnapshotMessage): number {
    const epoch = this.#epoch as string
    this.#left.delete(next)
    this.#left.set(epoch, this.#seq)
    const [oldest] = this.#left.keys()
    if (this.#left.size > LEFT_EPOCHS_MAX && oldest !== undefined) this.#left.delete(oldest)
    if (continues === `${epoch}.${this.#seq}`) return 0
    if (!this.#hasExecutions) return seq
    const reason = `the epoch ${epoch} ended: executions after its message ${this.#seq} are unknown`
    this.#events.push({ type: 'missed', reason })
    return seq
  }

  #miss(first: number, last: number): void {
    this.#events.push({ type: 'missed', reason: missingText(first, last, this.#epoch as string) })
  }

  /** Whether the messages after `position` would continue the book as well. */
  get #canResumeBook(): boolean {
    return this.#resumption === 'possible' && this.#bookSeq === this.#seq
  }

  #askToResume(reason: string): PublicationStep {
    this.#resumption = 'requested'
    this.#lose(reason)
    return { outcome: 'waiting', events: this.#events, request: reason }
  }

  /** The engine changes orders, and only their levels are known. */
  #forgetLevels(): void {
    this.#isTaken = false
    this.#bookSeq = undefined
    this.#lose('the book’s orders are not known')
  }

  /** Trusts a suspended or caught-up book again, if nothing is missing. */
  #continue(): void {
    this.#isSuspended = false
    if (this.isLive && this.#lostReason !== undefined) this.#publishBook()
  }

  get #origin(): string {
    return this.#relayedOrigin ?? `${this.#epoch}.${this.#seq}`
  }

  #publishBook(levels: readonly LevelChange[] = this.#book.levels()): void {
    this.#lostReason = undefined
    this.#events.push({ type: 'snapshot', levels, origin: this.#origin })
  }

  /** Makes the book untrusted until a SNAPSHOT, which is requested unless it already was. */
  #need(outcome: PublicationStep['outcome'], reason: string): PublicationStep {
    this.#bookSeq = undefined
    this.#lose(reason)
    if (this.#awaited === 'request') return this.#step(outcome)
    this.#awaited = 'request'
    return { outcome, events: this.#events, request: reason }
  }

  /** A repeated reason is reported once. */
  #lose(reason: string): void {
    if (this.#lostReason === reason) return
    this.#lostReason = reason
    this.#events.push({ type: 'lost', reason })
  }

  #step(outcome: PublicationStep['outcome']): PublicationStep {
    return { outcome, events: this.#events }
  }
}
