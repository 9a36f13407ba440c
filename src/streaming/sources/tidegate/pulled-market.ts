/**
 * The subscription to one market at a publisher, shared by all markets that name it. It subscribes where the
 * publication ended. After a gap it subscribes again there, and without a position where a SNAPSHOT is needed. A
 * refused or unanswered request is repeated with backoff.
 *
 * States: `idle` (no connection), `refused` (until the next attempt), `subscribing`, `subscribed`, `unsubscribing`. The
 * last three end when the publisher acknowledges. They also end when the time for this runs out, and the connection
 * with it. When a market is added while others are subscribed, all get the same SNAPSHOT, and the others miss the
 * trades meanwhile.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MarketDefinition, MarketEvent } from '../../market/event.ts'
import { FedPublication } from '../publication/fed-publication.ts'
import type { HeartbeatBook, PublicationMessage, PublicationProblem } from '../publication/message.ts'
import type { PublicationPosition } from '../publication/publication-step.ts'
import type { SourceMarket } from '../source.ts'
import { retryMilliseconds } from '../venues/venue-connection.ts'
import type { PairMetrics } from '../venues/venue-metrics.ts'
import { type Acknowledgement, publicationEntry } from './control.ts'

export interface PulledMarketOptions {
  /** Feed name, for reasons and logs. */
  readonly feed: string
  /** The publisher's symbol. */
  readonly symbol: string
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: PairMetrics
  readonly send: (action: 'subscribe' | 'unsubscribe', entry: object) => void
  /** Ends the connection, on which nothing can be trusted any more. */
  readonly onSilence: (reason: string) => void
}

type State = 'idle' | 'refused' | 'subscribing' | 'subscribed' | 'unsubscribing'

/** Time for an acknowledgement, and then for a SNAPSHOT unless the publisher reports that it has none. */
const ANSWER_MILLISECONDS_MAX = 15_000
/** A SNAPSHOT was good if no new one was needed for this long. */
const GOOD_MILLISECONDS = 60_000

export class PulledMarket {
  readonly #options: PulledMarketOptions
  readonly #fed = new Map<SourceMarket, FedPublication>()
  #state: State = 'idle'
  /** The last subscription's position; undefined where a SNAPSHOT was requested. */
  #resume: PublicationPosition | undefined
  /** Limits the wait for an answer, or ends the wait before the next attempt. */
  #timer: Timer | undefined
  /** Refusals and requests for a SNAPSHOT in a row. */
  #attempts = 0
  #attemptMilliseconds = Number.NEGATIVE_INFINITY

  constructor(options: PulledMarketOptions) {
    this.#options = options
  }

  get isUsed(): boolean {
    return this.#fed.size > 0
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** The definitions of the markets fed from here. */
  get definitions(): readonly MarketDefinition[] {
    return [...this.#fed.keys()].map(({ market }) => market)
  }

  fedBy(source: SourceMarket): FedPublication | undefined {
    return this.#fed.get(source)
  }

  add(source: SourceMarket): void {
    const { log, symbol } = this.#options
    const fed: FedPublication = new FedPublication({
      source,
      resumes: true,
      onRequest: (reason) => this.#subscribeAgain(reason),
      onProblem: (problem) => log.warn({ symbol, market: source.market.symbol, problem }, 'publication refused'),
      onEvent: (event) => this.#count(event),
    })
    this.#fed.set(source, fed)
    if (this.#state !== 'idle') this.#subscribeAgain(`the market ${source.market.symbol} was added`)
  }

  /** Ends the subscription with its last market. */
  remove(source: SourceMarket): void {
    this.#fed.get(source)?.end()
    if (!this.#fed.delete(source) || this.#fed.size > 0) return
    this.#timer?.cancel()
    const { send, symbol } = this.#options
    if (this.#state === 'subscribing' || this.#state === 'subscribed') send('unsubscribe', publicationEntry(symbol))
    this.#state = 'idle'
  }

  end(): void {
    this.#timer?.cancel()
    for (const fed of this.#fed.values()) fed.end()
  }

  /** The entry to subscribe the market on a new connection. */
  open(): object {
    this.#state = 'subscribing'
    this.#resume = this.#position()
    this.#expectAnswer('no acknowledgement')
    return publicationEntry(this.#options.symbol, this.#resume)
  }

  disconnect(reason: string): void {
    this.#timer?.cancel()
    this.#state = 'idle'
    this.#each((fed) => fed.disconnect(reason))
  }

  acknowledge(answer: Acknowledgement): void {
    if (answer.action === 'subscribe' && this.#state === 'subscribing') this.#subscribed(answer)
    else if (answer.action === 'unsubscribe' && this.#state === 'unsubscribing') this.#subscribe()
    else if (answer.action === 'unsubscribe' && this.#state === 'subscribed') this.#ended(answer)
  }

  take(message: PublicationMessage): void {
    // The publisher reports that it has no book. It sends the SNAPSHOT when it has one.
    const isAnswer = message.type === 'SNAPSHOT' || message.type === 'LOST'
    if (isAnswer && this.#state === 'subscribed') this.#timer?.cancel()
    this.#each((fed) => fed.take(message))
  }

  refuse(problem: PublicationProblem): void {
    this.#each((fed) => fed.refuse(problem))
  }

  compare(book: HeartbeatBook): void {
    this.#each((fed) => fed.compare(book))
  }

  #each(call: (fed: FedPublication) => void): void {
    for (const fed of [...this.#fed.values()]) call(fed)
  }

  /** Where all markets can continue. */
  #position(): PublicationPosition | undefined {
    const [first, ...others] = [...this.#fed.values()].map(({ reader }) =>
      reader.needsSnapshot ? undefined : reader.position,
    )
    const isCommon = others.every((other) => other?.epoch === first?.epoch && other?.seq === first?.seq)
    return isCommon ? first : undefined
  }

  #subscribe(): void {
    this.#options.send('subscribe', this.open())
  }

  #subscribed({ isSuccess, isResumed, message }: Acknowledgement): void {
    const { feed, symbol } = this.#options
    this.#timer?.cancel()
    if (!isSuccess) {
      this.#state = 'refused'
      this.#loseAll(`${feed} rejects the subscription to ${symbol}: ${message}`)
      this.#timer = this.#options.clock.schedule(this.#nextDelay(), () => this.#subscribe())
      return
    }
    this.#state = 'subscribed'
    const resume = this.#resume
    if (isResumed && resume !== undefined) {
      this.#each((fed) => fed.resume())
      // A market lost its book while the acknowledgement was pending.
      if (this.#position() === undefined) this.#subscribeAgain('the book was lost before the publication continued')
      // A reader whose SNAPSHOT is later needs the messages in between.
      else if ([...this.#fed.values()].some(({ reader }) => reader.isAhead)) this.#expectMessages()
      return
    }
    this.#each(({ reader }) => reader.refuseResume(resume !== undefined))
    this.#timer = this.#options.clock.schedule(ANSWER_MILLISECONDS_MAX, () =>
      this.#subscribeAgain(`no SNAPSHOT arrived within ${ANSWER_MILLISECONDS_MAX / 1000} s after the subscription`),
    )
  }

  #expectMessages(): void {
    const reason = `the messages before the SNAPSHOT did not arrive within ${ANSWER_MILLISECONDS_MAX / 1000} s`
    this.#timer = this.#options.clock.schedule(ANSWER_MILLISECONDS_MAX, () =>
      this.#each((fed) => {
        if (!fed.reader.isLive) fed.rebuild(reason)
      }),
    )
  }

  /** The publisher ended the subscription: its market was changed, or removed. */
  #ended({ message }: Acknowledgement): void {
    const { feed, symbol, clock } = this.#options
    this.#timer?.cancel()
    this.#state = 'refused'
    this.#loseAll(`${feed} ended the subscription to ${symbol}: ${message}`)
    this.#timer = clock.schedule(this.#nextDelay(), () => this.#subscribe())
  }

  #loseAll(reason: string): void {
    this.#options.log.warn({ symbol: this.#options.symbol, reason }, 'publication ended')
    this.#each((fed) => fed.disconnect(reason))
  }

  /**
   * Subscribes at the position where all markets can continue, or else without one. While a request is under way, its
   * answer is awaited.
   */
  #subscribeAgain(reason: string): void {
    const { symbol, log, metrics, clock } = this.#options
    metrics.countGap()
    log.warn({ symbol, reason }, 'publication is subscribed again')
    // No SNAPSHOT follows a subscription that resumes: the acknowledgement leads here again.
    if (this.#state !== 'subscribed') return
    this.#timer?.cancel()
    // The messages before a SNAPSHOT belong to the same attempt.
    const delay = [...this.#fed.values()].some(({ reader }) => reader.isAhead) ? 0 : this.#nextDelay()
    if (delay === 0) this.#unsubscribe()
    else this.#timer = clock.schedule(delay, () => this.#unsubscribe())
  }

  #unsubscribe(): void {
    this.#state = 'unsubscribing'
    this.#expectAnswer('no acknowledgement')
    this.#options.send('unsubscribe', publicationEntry(this.#options.symbol))
  }

  #expectAnswer(what: string): void {
    const { clock, symbol, onSilence } = this.#options
    this.#timer?.cancel()
    this.#timer = clock.schedule(ANSWER_MILLISECONDS_MAX, () =>
      onSilence(`${what} for ${symbol} within ${ANSWER_MILLISECONDS_MAX / 1000} s`),
    )
  }

  /** 0 for the first attempt after a time without one. */
  #nextDelay(): number {
    const { clock, random } = this.#options
    const now = clock.monotonicMilliseconds()
    if (now - this.#attemptMilliseconds > GOOD_MILLISECONDS) this.#attempts = 0
    this.#attemptMilliseconds = now
    this.#attempts++
    return this.#attempts === 1 && this.#state === 'subscribed' ? 0 : retryMilliseconds(this.#attempts, random)
  }

  #count(event: MarketEvent): void {
    const { metrics } = this.#options
    if (event.type === 'update') metrics.countTrades(event.executions.length)
    else if (event.type === 'missed') metrics.countMissedTrades(1)
    else metrics.noteLive(event.type === 'snapshot')
  }
}
