/**
 * A source that connects to a publisher: a matching engine, or another Tidegate (docs/how-to/feeding-your-own-book.md,
 * "Pull"). One connection carries all the feed's markets. A publisher that sends nothing for 15 seconds counts as dead.
 * A message that cannot be assigned to a market ends the connection. A fault in one market does not affect the others.
 * The message rules are in `publication/`, each market's subscription in `pulled-market`.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { parseJson } from '../../../platform/base/json-value.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Execution, Instrument, Proof } from '../../market/event.ts'
import { parseLargeMessage, readLargeValue } from '../publication/large-message.ts'
import { type PublishedMessage, parsePublication, problemText, readPublication } from '../publication/message.ts'
import type { FollowedPosition, FollowedPublication, Source, SourceMarket } from '../source.ts'
import { VenueConnection } from '../venues/venue-connection.ts'
import { forgetPair, pairMetrics, type VenueMetrics, venueMetrics } from '../venues/venue-metrics.ts'
import { type Acknowledgement, HEARTBEAT_ENTRY, isControl, readControl, requests } from './control.ts'
import { type LargeReading, PublisherInbox } from './publisher-inbox.ts'
import { PulledMarket } from './pulled-market.ts'
import { prepareUpstreamHandshake, type UpstreamCredentials } from './upstream-token.ts'

/** Where a publisher is, and how to be accepted by it. */
export interface Upstream {
  readonly url: string
  readonly credentials: UpstreamCredentials
}

export interface TidegateSourceOptions extends Upstream {
  /** Feed name, as in the settings. */
  readonly name: string
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** A publisher sends a heartbeat every 5 seconds. */
const SILENCE_MILLISECONDS = 15_000
/** Below another Tidegate's limits. */
const REQUEST_RATE = { burst: 200, perSecond: 20 } as const

export class TidegateSource implements Source {
  readonly #options: TidegateSourceOptions
  readonly #log: Log
  readonly #metrics: VenueMetrics
  /** By the publisher's symbol. */
  readonly #pulled = new Map<string, PulledMarket>()
  readonly #connection: VenueConnection
  readonly #inbox: PublisherInbox
  #isOpen = false

  constructor(options: TidegateSourceOptions) {
    const { name, url, credentials, clock, random, log, metrics, markets } = options
    this.#options = options
    this.#log = log.child({ venue: name })
    this.#metrics = venueMetrics(metrics)
    for (const resynchronised of ['pair', 'all']) this.#metrics.unreadable.inc({ venue: name, resynchronised }, 0)
    this.#connection = new VenueConnection({
      venue: name,
      url,
      prepareHandshake: (signal) => prepareUpstreamHandshake(credentials, clock, signal),
      silenceMilliseconds: SILENCE_MILLISECONDS,
      requestRate: REQUEST_RATE,
      clock,
      random,
      log,
      metrics,
      onOpen: () => this.#open(),
      onMessage: (text) => this.#inbox.receive(text),
      onDown: (reason) => this.#disconnect(reason),
    })
    this.#inbox = new PublisherInbox({
      clock,
      connection: this.#connection,
      onMessage: (text) => this.#handle(text),
      readInParts: (text) => this.#readInParts(text),
    })
    for (const market of markets) this.#pulledOf(market.venueSymbol).add(market)
  }

  start(): void {
    this.#connection.start()
  }

  add(market: SourceMarket): void {
    const pulled = this.#pulledOf(market.venueSymbol)
    const isNew = !pulled.isUsed
    pulled.add(market)
    // At the end of the tick: until then, `resume` may name a position.
    if (isNew && this.#isOpen) this.#options.clock.endOfTick(() => this.#openLater(market.venueSymbol, pulled))
  }

  resume(market: SourceMarket, _executed: readonly Execution[], followed: FollowedPublication | undefined): boolean {
    return this.#pulled.get(market.venueSymbol)?.fedBy(market)?.takeOver(followed) ?? false
  }

  followed(market: SourceMarket): FollowedPosition | undefined {
    return this.#pulled.get(market.venueSymbol)?.fedBy(market)?.followed
  }

  remove(market: SourceMarket): void {
    const { venueSymbol } = market
    const pulled = this.#pulled.get(venueSymbol)
    pulled?.remove(market)
    if (pulled === undefined || pulled.isUsed) return
    this.#pulled.delete(venueSymbol)
    forgetPair(this.#metrics, this.#options.name, venueSymbol)
  }

  async stop(): Promise<void> {
    this.#inbox.clear()
    for (const pulled of this.#pulled.values()) pulled.end()
    await this.#connection.stop()
  }

  rebuild(market: SourceMarket, reason: string): void {
    this.#pulled.get(market.venueSymbol)?.fedBy(market)?.rebuild(reason)
  }

  instrument(market: SourceMarket): Instrument | undefined {
    return this.#pulled.get(market.venueSymbol)?.fedBy(market)?.instrument
  }

  proof(market: SourceMarket): Proof {
    return this.#pulled.get(market.venueSymbol)?.fedBy(market)?.reader.proof ?? 'NONE'
  }

  notices(market: SourceMarket): readonly string[] {
    const instrument = this.instrument(market)
    if (instrument === undefined || instrument.state === 'OPEN') return []
    const { state, reason } = instrument
    const why = reason === '' ? '' : `: ${reason}`
    return [`${this.#options.name} reports ${market.venueSymbol} as ${state}${why}`]
  }

  #pulledOf(symbol: string): PulledMarket {
    const known = this.#pulled.get(symbol)
    if (known !== undefined) return known
    const { name, random } = this.#options
    const pulled = new PulledMarket({
      feed: name,
      symbol,
      clock: this.#connection.running,
      random,
      log: this.#log,
      metrics: pairMetrics(this.#metrics, name, symbol),
      send: (action, entry) => this.#send(action, [entry]),
      onSilence: (reason) => this.#connection.restart(reason),
    })
    this.#pulled.set(symbol, pulled)
    return pulled
  }

  /** The market may have been removed meanwhile, and the connection have ended. */
  #openLater(symbol: string, pulled: PulledMarket): void {
    const isWaiting = this.#isOpen && pulled.isIdle && this.#pulled.get(symbol) === pulled
    if (isWaiting) this.#send('subscribe', [pulled.open()])
  }

  #open(): void {
    this.#isOpen = true
    this.#send('subscribe', [HEARTBEAT_ENTRY, ...[...this.#pulled.values()].map((pulled) => pulled.open())])
  }

  #disconnect(reason: string): void {
    this.#isOpen = false
    this.#inbox.clear()
    for (const pulled of this.#pulled.values()) pulled.disconnect(`${this.#options.name}: ${reason}`)
  }

  #send(action: 'subscribe' | 'unsubscribe', entries: readonly object[]): void {
    for (const request of requests(action, entries)) this.#connection.send(request)
  }

  #handle(text: string): void {
    const value = parseJson(text)
    if (isControl(value)) this.#takeControl(value)
    else this.#take(value === undefined ? parsePublication(text) : readPublication(value))
  }

  *#readInParts(text: string): LargeReading {
    const parsed = yield* parseLargeMessage(Buffer.from(text))
    if (!('value' in parsed)) return () => this.#take(parsed)
    const { value } = parsed
    if (isControl(value)) return () => this.#takeControl(value)
    const message = yield* readLargeValue(value, (symbol) => this.#pulled.get(symbol)?.definitions ?? [])
    return () => this.#take(message)
  }

  #takeControl(value: Parameters<typeof readControl>[0]): void {
    const answer = readControl(value)
    if ('problem' in answer) this.#connection.restart(answer.problem)
    else for (const acknowledgement of answer) this.#acknowledge(acknowledgement)
  }

  #take(message: PublishedMessage): void {
    if (message.type === 'heartbeat') {
      for (const book of message.books) this.#pulled.get(book.market)?.compare(book)
      return
    }
    const pulled = this.#pulled.get(message.market ?? '')
    if (message.type !== 'problem') {
      // A recently removed market may still be published.
      pulled?.take(message)
      return
    }
    const { name: venue } = this.#options
    this.#metrics.unreadable.inc({ venue, resynchronised: pulled === undefined ? 'all' : 'pair' })
    if (pulled !== undefined) pulled.refuse(message)
    else this.#connection.restart(`a message for an unknown market breaks a rule: ${problemText(message)}`)
  }

  #acknowledge(answer: Acknowledgement): void {
    if (answer.channel === 'publication') this.#pulled.get(answer.market)?.acknowledge(answer)
    else if (!answer.isSuccess) this.#log.warn({ reason: answer.message }, 'publisher rejects the heartbeat channel')
  }
}
