/**
 * One market that engines publish to this node: its lines' arbitration, the merged stream's reader, and the SNAPSHOT
 * requests. It passes events to the market's listener, requests a SNAPSHOT from each line at most once until the line
 * sends one, and never calls the listener after `stop`. It is independent of parsing and sockets.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { LogLimit } from '../../platform/base/log-limit.ts'
import type { Instrument, MarketEvent, Proof } from '../market/event.ts'
import { followedBy } from '../sources/publication/fed-publication.ts'
import {
  type HeartbeatBook,
  type PublicationMessage,
  type PublicationProblem,
  problemText,
} from '../sources/publication/message.ts'
import { PublicationReader } from '../sources/publication/publication-reader.ts'
import type { PublicationPosition, PublicationStep } from '../sources/publication/publication-step.ts'
import type { FollowedPosition, FollowedPublication, SourceMarket } from '../sources/source.ts'
import { type Arrival, type LineStep, Lines } from './lines.ts'
import { type IngestMetrics, MESSAGE_OUTCOMES, type MessageOutcome } from './metrics.ts'
import type { Publisher } from './publisher.ts'

export interface IngestMarketOptions {
  readonly clock: Clock
  readonly log: Log
  readonly logLimit: LogLimit
  readonly metrics: IngestMetrics
  /** The setting `ingest.line_wait_ms`. */
  readonly lineWaitMilliseconds: () => number
}

/** How long a market without a publisher counts as starting: engines need a moment to reconnect to a new process. */
const FIRST_PUBLISHER_MILLISECONDS = 2_000

const OF_ARRIVAL: Readonly<Partial<Record<Arrival, MessageOutcome>>> = {
  duplicate: 'duplicate',
  outdated: 'ignored',
  'other-epoch': 'ignored',
  untrusted: 'ignored',
}

const OF_STEP: Readonly<Record<PublicationStep['outcome'], MessageOutcome>> = {
  applied: 'applied',
  repeated: 'ignored',
  waiting: 'ignored',
  refused: 'refused',
}

/** Time between a wrong SNAPSHOT and the next request for one. */
const ASK_AGAIN_MILLISECONDS = 1_000

/** A message after `head` that broke a rule, and the lines that sent it so. */
interface Refusal {
  readonly head: PublicationPosition | undefined
  readonly problem: PublicationProblem
  readonly lines: Set<Publisher>
}

export class IngestMarket {
  readonly #sourceMarket: SourceMarket
  readonly #options: IngestMarketOptions
  readonly #lines: Lines<Publisher>
  readonly #reader: PublicationReader
  /** The last message accepted by another process. */
  #takenHead: PublicationPosition | undefined
  /** Publishers with an unanswered SNAPSHOT request. */
  readonly #asked = new Set<Publisher>()
  readonly #holding = new Set<Publisher>()
  #refusal: Refusal | undefined
  /** Waits for the first publisher, or for the line holding a message. */
  #timer: Timer | undefined
  /** Why the market was found to be wrong while its listener ran. */
  #rebuildReason: string | undefined
  #isBusy = false
  #isStopped = false
  readonly #counters: Readonly<Record<MessageOutcome, { inc(): void }>>
  /** What was reported last: gaps, lines, and the instrument. */
  #gapsCounted = 0
  #linesShown = 0
  #instrumentShown: Instrument | undefined

  constructor(sourceMarket: SourceMarket, options: IngestMarketOptions) {
    const { lineWaitMilliseconds, clock, metrics } = options
    this.#sourceMarket = sourceMarket
    this.#options = options
    this.#lines = new Lines(lineWaitMilliseconds)
    this.#reader = new PublicationReader({ market: sourceMarket.market })
    metrics.startMarket(this.symbol)
    const counters = MESSAGE_OUTCOMES.map((outcome) => {
      return [outcome, metrics.messages.labels({ market: this.symbol, outcome })] as const
    })
    this.#counters = Object.fromEntries(counters) as Record<MessageOutcome, { inc(): void }>
    this.#timer = clock.schedule(FIRST_PUBLISHER_MILLISECONDS, () => {
      this.#timer = undefined
      const wasSilent = this.#lines.size === 0 && this.#lines.head === this.#takenHead
      if (wasSilent) this.#emit([{ type: 'lost', reason: 'no publisher is connected' }])
      this.#notice()
    })
  }

  get symbol(): string {
    return this.#sourceMarket.market.symbol
  }

  get instrument(): Instrument | undefined {
    return this.#reader.instrument
  }

  get proof(): Proof {
    return this.#reader.proof
  }

  /** For the operator: each line with its publisher. */
  get notices(): readonly string[] {
    return this.#lines.lines.map(({ token, description }) => `published by ${token.clientId} (${description})`)
  }

  /** The last accepted message, also from another process before. Undefined when a SNAPSHOT is needed first. */
  get accepted(): PublicationPosition | undefined {
    return this.#reader.canContinue ? this.#reader.position : undefined
  }

  get followed(): FollowedPosition | undefined {
    return followedBy(this.#reader)
  }

  /** Continues after another process's position. Must be called before publishers are accepted. */
  takeOver(followed: FollowedPublication): void {
    this.#reader.takeOver(followed)
    this.#lines.takeOver(followed)
    this.#takenHead = this.#lines.head
    this.#instrumentShown = this.instrument
  }

  /** Whether the publisher is a line in the market, or may become one. */
  accepts(publisher: Publisher): boolean {
    return this.#lines.accepts(publisher)
  }

  /** Takes a message. False: the publisher must not be read until it is `released`. */
  take(publisher: Publisher, message: PublicationMessage): boolean {
    const now = this.#options.clock.monotonicMilliseconds()
    const isFirst = !this.#lines.has(publisher)
    const { arrival, steps } = this.#lines.arrive(publisher, message, now, this.#reader.needsSnapshot)
    if (message.type === 'SNAPSHOT') this.#asked.delete(publisher)
    if (arrival === 'held') this.#holding.add(publisher)
    const outcome = OF_ARRIVAL[arrival]
    if (outcome !== undefined) this.#count(outcome)
    this.#play(steps)
    if (this.#reader.needsSnapshot && message.type !== 'SNAPSHOT') {
      if (this.#asked.has(publisher)) publisher.waits(this.symbol)
      else if (isFirst) this.#ask(publisher, 'a SNAPSHOT is needed first')
    }
    this.#notice()
    return !this.#holding.has(publisher)
  }

  /**
   * Takes a market message that breaks a rule. While the other line is trusted it may bring the message intact, so the
   * market is not lost: this line has a gap there.
   */
  refuse(publisher: Publisher, problem: PublicationProblem): void {
    this.#count('refused')
    this.#logRefusal(publisher, problemText(problem))
    publisher.reject(this.symbol, problemText(problem))
    if (problem.isSnapshot) this.#askAgainLater(publisher, problemText(problem))
    const { head, trusted } = this.#lines
    if (trusted.length === 0) this.#apply(this.#reader.refuse(problem))
    else {
      if (this.#refusal === undefined || !isSamePosition(this.#refusal.head, head)) {
        this.#refusal = { head, problem, lines: new Set() }
      }
      this.#refusal.lines.add(publisher)
    }
    this.#notice()
  }

  /** A publisher that always answers with a wrong SNAPSHOT is not asked without a pause. */
  #askAgainLater(publisher: Publisher, reason: string): void {
    this.#options.clock.schedule(ASK_AGAIN_MILLISECONDS, () => {
      if (!this.#isStopped && this.#asked.has(publisher)) this.#ask(publisher, reason)
    })
  }

  countRejected(): void {
    this.#count('rejected')
  }

  /** Takes a heartbeat entry. */
  compare(publisher: Publisher, book: HeartbeatBook): void {
    const { head } = this.#lines
    if (head?.epoch !== book.epoch || head.seq !== book.seq || !this.accepts(publisher)) return
    const steps = this.#lines.confirm(publisher, book.epoch, book.seq)
    const step = this.#reader.compare(book)
    if (step.problem === undefined) this.#play(steps)
    else this.#logRefusal(publisher, step.problem)
    this.#apply(step)
    this.#notice()
  }

  /** The publisher is gone, or may not publish the market any more. */
  leave(publisher: Publisher, reason: string): void {
    this.#asked.delete(publisher)
    this.#holding.delete(publisher)
    this.#play(this.#lines.leave(publisher, reason, this.#options.clock.monotonicMilliseconds()))
    this.#notice()
  }

  /** Makes the market lost until a SNAPSHOT: its book was found to be wrong. May be called by the listener. */
  rebuild(reason: string): void {
    if (this.#isBusy) this.#rebuildReason = reason
    else this.#apply(this.#reader.rebuild(reason))
  }

  /** Stops calling the listener, and releases waiting publishers. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    const holding = [...this.#holding]
    this.#holding.clear()
    for (const publisher of holding) publisher.released()
    this.#options.metrics.stopMarket(this.symbol)
  }

  #play(steps: readonly LineStep<Publisher>[]): void {
    for (const step of steps) {
      if (step.kind === 'message') {
        const result = this.#reader.take(step.message)
        this.#count(OF_STEP[result.outcome])
        if (result.problem !== undefined) this.#logRefusal(step.line, result.problem)
        this.#apply(result)
      } else if (step.kind === 'resumed') {
        this.#emit(this.#reader.resume())
      } else if (step.kind === 'down') {
        this.#emit(this.#reader.disconnect(`no publisher is connected: ${step.reason}`))
        // A line with another epoch is left, so its book is needed now.
        this.#askAll('the previous epoch’s lines are gone')
      } else this.#differ(step.epoch, step.seq)
    }
    const { gaps } = this.#lines.counts
    if (gaps > this.#gapsCounted) this.#options.metrics.gaps.inc({ market: this.symbol }, gaps - this.#gapsCounted)
    this.#gapsCounted = gaps
  }

  #differ(epoch: string, seq: number): void {
    const { log, logLimit, metrics } = this.#options
    metrics.conflicts.inc({ market: this.symbol })
    const passed = logLimit.admit('conflict')
    const fields = { market: this.symbol, epoch, seq, ...passed }
    if (passed !== undefined) log.error(fields, 'the two lines of a market differ: neither is trusted')
    const reason = `the two lines differ at message ${seq} in epoch ${epoch}`
    this.#apply(this.#reader.rebuild(reason))
    this.#askAll(reason)
  }

  #apply({ events, request }: PublicationStep): void {
    this.#emit(events)
    if (request !== undefined) this.#askAll(request)
  }

  #emit(events: readonly MarketEvent[]): void {
    this.#isBusy = true
    for (const event of events) if (!this.#isStopped) this.#sourceMarket.listener(event)
    const { instrument } = this
    if (instrument !== this.#instrumentShown) {
      const isChanged = !isDeepStrictEqual(instrument, this.#instrumentShown)
      this.#instrumentShown = instrument
      if (isChanged && !this.#isStopped) this.#sourceMarket.onInstrument?.()
    }
    this.#isBusy = false
    const reason = this.#rebuildReason
    this.#rebuildReason = undefined
    if (reason !== undefined) this.rebuild(reason)
  }

  #askAll(reason: string): void {
    for (const line of this.#lines.lines) if (!this.#asked.has(line)) this.#ask(line, reason)
  }

  #ask(line: Publisher, reason: string): void {
    this.#asked.add(line)
    this.#options.metrics.snapshotRequests.inc({ market: this.symbol })
    line.requestSnapshot(this.symbol, reason)
  }

  #count(outcome: MessageOutcome): void {
    this.#counters[outcome].inc()
  }

  #logRefusal({ id, token }: Publisher, reason: string): void {
    const passed = this.#options.logLimit.admit('broken message')
    if (passed === undefined) return
    const fields = { market: this.symbol, connection: id, client_id: token.clientId, reason, ...passed }
    this.#options.log.warn(fields, 'a publisher’s message was refused')
  }

  /**
   * Loses the market once no trusted line is left that may bring a refused message. Otherwise it would stay live without
   * the message until a later one shows the gap.
   */
  #settleRefusal(): void {
    const refusal = this.#refusal
    if (refusal === undefined) return
    const { head, trusted } = this.#lines
    const isPassed = !isSamePosition(head, refusal.head) || trusted.length === 0
    if (!isPassed && !trusted.every((line) => refusal.lines.has(line))) return
    this.#refusal = undefined
    if (!isPassed) this.#apply(this.#reader.refuse(refusal.problem))
  }

  /**
   * After every change: settles a refusal, releases the lines that hold no message any more, and sets the other lines'
   * timer.
   */
  #notice(): void {
    if (this.#isStopped) return
    this.#settleRefusal()
    const { clock, metrics } = this.#options
    if (this.#lines.size !== this.#linesShown) {
      this.#linesShown = this.#lines.size
      metrics.lines.set({ market: this.symbol }, this.#linesShown)
    }
    for (const publisher of this.#holding) {
      if (this.#lines.isHolding(publisher)) continue
      this.#holding.delete(publisher)
      publisher.released()
    }
    const due = this.#lines.dueMilliseconds
    if (due === undefined) return
    this.#timer?.cancel()
    this.#timer = clock.schedule(Math.max(0, due - clock.monotonicMilliseconds()), () => {
      this.#timer = undefined
      this.#play(this.#lines.expire(clock.monotonicMilliseconds()))
      this.#notice()
    })
  }
}

/** A SNAPSHOT may state the same position again. */
function isSamePosition(left: PublicationPosition | undefined, right: PublicationPosition | undefined): boolean {
  return left?.epoch === right?.epoch && left?.seq === right?.seq
}
