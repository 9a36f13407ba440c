/**
 * All markets on one feed over one connection. It reads the listings for their pairs, subscribes the listed pairs'
 * books and trades, and passes each message to its pair (`venue-pair`). A fault in one pair does not affect others.
 * Only a malformed frame without its pair's name ends the connection, because it may belong to any pair. Everything
 * specific to a venue is in its `VenueProtocol`.
 *
 * Markets are added and removed on the same connection. When a pair's markets change, a new pair replaces it. A pair
 * ends with its last market. The remaining markets on a replaced pair have no book until the next snapshot, about a
 * second. Their trades continue, and other pairs are not affected.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Execution, Instrument, InstrumentState, Proof } from '../../market/event.ts'
import type { Source, SourceMarket } from '../source.ts'
import type { Listing, VenueMessage, VenueProtocol } from './venue.ts'
import { VenueConnection } from './venue-connection.ts'
import { VenueRequests } from './venue-http.ts'
import { VenueListings } from './venue-listings.ts'
import { forgetPair, pairMetrics, type VenueMetrics, venueMetrics } from './venue-metrics.ts'
import { VenuePair } from './venue-pair.ts'
import { VenueTradeBridge } from './venue-trade-bridge.ts'
import { VenueTradeFill, type VenueTradeFillOptions } from './venue-trade-fill.ts'
import { VenueTrades } from './venue-trades.ts'

export interface VenueSourceOptions<Data> {
  /** Feed name, as in the settings: `kraken`. */
  readonly venue: string
  readonly protocol: VenueProtocol<Data>
  /** Its WebSocket address. */
  readonly url: string
  /** What proves its books. */
  readonly proof: Proof
  /**
   * The first markets. Several markets may use the same pair. It is subscribed once, at the depth that covers them all.
   */
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Log
  readonly metrics: MetricsRegistry
}

export class VenueSource<Data> implements Source {
  readonly #options: VenueSourceOptions<Data>
  readonly #log: Log
  readonly #metrics: VenueMetrics
  readonly #markets = new Set<SourceMarket>()
  /** By the venue's symbol. */
  readonly #pairs = new Map<string, VenuePair<Data>>()
  /** Instrument states by symbol, as listed on the current connection. */
  readonly #instruments = new Map<string, Instrument>()
  /** Trade numbers by symbol. They are kept while any market uses the pair, across connections and pairs. */
  readonly #trades = new Map<string, VenueTrades>()
  readonly #connection: VenueConnection
  readonly #listings: VenueListings
  readonly #requests: VenueRequests
  readonly #tradeFill: VenueTradeFill | VenueTradeBridge
  /** The venue's status while it is not open. */
  #status: string | undefined

  constructor(options: VenueSourceOptions<Data>) {
    const { venue, protocol, url, markets, clock, random, metrics } = options
    this.#options = options
    this.#log = options.log.child({ venue })
    this.#metrics = venueMetrics(metrics)
    for (const resynchronised of ['pair', 'all']) this.#metrics.unreadable.inc({ venue, resynchronised }, 0)
    this.#requests = new VenueRequests(clock, protocol.httpRate)
    const { silenceMilliseconds, keepAlive, requestRate } = protocol
    this.#connection = new VenueConnection({
      venue,
      url,
      silenceMilliseconds,
      ...(keepAlive === undefined ? {} : { keepAlive }),
      ...(requestRate === undefined ? {} : { requestRate }),
      clock,
      random,
      log: options.log,
      metrics,
      onOpen: () => {
        for (const request of protocol.open?.() ?? []) this.#connection.send(request)
        this.#listings.open()
      },
      onMessage: (text) => {
        for (const message of protocol.read(text)) this.#handle(message)
      },
      onDown: (reason) => this.#disconnect(reason),
    })
    this.#listings = new VenueListings({
      listings: protocol.listings,
      clock: this.#connection.running,
      random,
      log: this.#log,
      requests: this.#requests,
      symbols: () => [...this.#pairs.keys()],
      send: (request) => this.#connection.send(request),
      onListings: (listings, missing) => this.#admit(listings, missing),
      onProblem: (symbols, reason) => {
        // Subscribed pairs continue with their current listing.
        for (const symbol of symbols) this.#pairs.get(symbol)?.postpone(`${venue} gave ${reason}`)
      },
      onSilence: (reason) => this.#connection.restart(reason),
    })
    this.#tradeFill = this.#createTradeFill()
    for (const source of markets) this.#markets.add(source)
    for (const { venueSymbol } of markets) if (!this.#pairs.has(venueSymbol)) this.#createPair(venueSymbol, false)
  }

  start(): void {
    this.#connection.start()
  }

  add(source: SourceMarket): void {
    this.#markets.add(source)
    this.#renewPair(source.venueSymbol)
  }

  resume(source: SourceMarket, executed: readonly Execution[]): boolean {
    const { venueSymbol: symbol } = source
    const isShared = [...this.#markets].some((other) => other !== source && other.venueSymbol === symbol)
    const trades = this.#trades.get(symbol)
    const last = executed.at(-1)
    if (isShared || trades === undefined || last?.id === undefined) return false
    const milliseconds = last.executedAtMilliseconds ?? 0
    const ids = executed.map(({ id = '' }) => id)
    const bridge = this.#tradeFill instanceof VenueTradeBridge ? this.#tradeFill : undefined
    const id = bridge?.resume(symbol, ids, milliseconds) ?? Number(last.id)
    return Number.isSafeInteger(id) && trades.resume({ id, milliseconds })
  }

  remove(source: SourceMarket): void {
    if (this.#markets.delete(source)) this.#renewPair(source.venueSymbol)
  }

  async stop(): Promise<void> {
    this.#listings.close()
    for (const pair of this.#pairs.values()) pair.stop()
    this.#tradeFill.clear()
    await this.#connection.stop()
  }

  instrument({ venueSymbol }: SourceMarket): Instrument | undefined {
    return this.#instrumentOf(venueSymbol)
  }

  proof(): Proof {
    return this.#options.proof
  }

  notices(source: SourceMarket): readonly string[] {
    const { venue } = this.#options
    const own = this.#status === undefined ? [] : [`${venue} reports the status ${this.#status}`]
    return [...own, ...(this.#pairs.get(source.venueSymbol)?.notices(source) ?? [])]
  }

  rebuild(source: SourceMarket, reason: string): void {
    this.#pairs.get(source.venueSymbol)?.rebuild(source, reason)
  }

  /** While the venue as a whole is not open, its open pairs count as halted. */
  #instrumentOf(symbol: string): Instrument | undefined {
    const instrument = this.#instruments.get(symbol)
    if (instrument?.state !== 'OPEN' || this.#status === undefined) return instrument
    return { state: 'HALTED', reason: this.#status }
  }

  #disconnect(reason: string): void {
    this.#listings.close()
    this.#tradeFill.clear()
    this.#status = undefined
    this.#instruments.clear()
    for (const pair of this.#pairs.values()) pair.disconnect(reason)
    this.#announceInstruments()
  }

  #request(
    action: 'subscribe' | 'unsubscribe',
    channel: 'book' | 'trades',
    symbols: readonly string[],
    depth: number,
  ): void {
    if (action === 'subscribe' && channel === 'trades') for (const symbol of symbols) this.#interruptTrades(symbol)
    const requests = this.#options.protocol.requests(action, channel, symbols, depth)
    for (const request of requests) this.#connection.send(request)
  }

  #handle(message: VenueMessage<Data>): void {
    switch (message.kind) {
      case 'book':
        this.#noteLag(message.eventMilliseconds)
        this.#pairs.get(message.symbol)?.apply(message.data)
        break
      case 'unreadable-book':
      case 'unreadable-trades':
      case 'unreadable':
        this.#handleUnreadable(message)
        break
      case 'trades':
        this.#tradeFill.take(message.symbol, message.trades, message.isRepeat)
        break
      case 'listings':
        this.#listings.take(message.listings, message.isComplete)
        break
      case 'acknowledged':
        this.#pairs.get(message.symbol)?.acknowledge(message.depth)
        break
      case 'refused': {
        const { symbol, channel = 'book', reason, isOfGroup = false } = message
        this.#log.warn({ symbol, channel, reason }, 'venue refused a request')
        if (symbol !== undefined) this.#pairs.get(symbol)?.refuse(channel, reason, isOfGroup)
        break
      }
      case 'status':
        this.#noteStatus(message.isOpen ? undefined : message.status)
        break
      case 'restart':
        this.#connection.restart(message.reason)
        break
    }
  }

  /** A symbol that no market uses may itself be damaged. The message may then belong to any pair. */
  #handleUnreadable(message: Extract<VenueMessage<Data>, { readonly kind: `unreadable${string}` }>): void {
    const { venue } = this.#options
    const pair = message.kind === 'unreadable' ? undefined : this.#pairs.get(message.symbol)
    const resynchronised = pair === undefined ? 'all' : 'pair'
    this.#metrics.unreadable.inc({ venue, resynchronised })
    this.#log.warn({ symbol: pair?.symbol, reason: message.reason }, 'venue message unreadable')
    if (pair === undefined) this.#connection.restart(message.reason)
    else if (message.kind === 'unreadable-book') pair.fail(message.reason)
    else {
      this.#trades.get(pair.symbol)?.interrupt()
      this.#interruptTrades(pair.symbol)
    }
  }

  /** Trades without numbers may be missing before the next one. */
  #interruptTrades(symbol: string): void {
    if (this.#tradeFill instanceof VenueTradeBridge) this.#tradeFill.interrupt(symbol)
  }

  /** A venue clock ahead of the local one counts as no lag. */
  #noteLag(eventMilliseconds: number | undefined): void {
    if (eventMilliseconds === undefined) return
    const { venue, clock } = this.#options
    const lagMilliseconds = Math.max(0, clock.wallInstant().milliseconds - eventMilliseconds)
    this.#metrics.lagSeconds.observe({ venue }, lagMilliseconds / 1000)
  }

  #noteStatus(status: string | undefined): void {
    if (status === this.#status) return
    this.#status = status
    if (status === undefined) this.#log.info('venue is open again')
    else this.#log.warn({ status }, 'venue is not open')
    this.#announceInstruments()
  }

  #announceInstruments(): void {
    for (const market of this.#markets) market.onInstrument?.()
  }

  #createTradeFill(): VenueTradeFill | VenueTradeBridge {
    const { protocol, clock, random } = this.#options
    const options: VenueTradeFillOptions = {
      clock,
      random,
      log: this.#log,
      fetchPage: (symbol, gap, signal) =>
        this.#requests.run((limited) => protocol.fetchTrades(symbol, gap, limited), signal),
      position: (symbol) =>
        // Trades for a pair that is not subscribed are ignored.
        this.#pairs.get(symbol)?.subscribedListing === undefined ? undefined : this.#trades.get(symbol)?.position,
      pass: (symbol, trades, isRepeat) => this.#pairs.get(symbol)?.trade(trades, isRepeat),
    }
    return protocol.hasUnnumberedTrades === true ? new VenueTradeBridge(options) : new VenueTradeFill(options)
  }

  /** Passes the listings to the pairs, and subscribes those that can be subscribed now. */
  #admit(listings: readonly Listing[], missing: readonly string[]): void {
    for (const symbol of missing) {
      if (this.#pairs.has(symbol)) this.#instruments.set(symbol, { state: 'CLOSED', reason: 'not listed' })
      this.#pairs.get(symbol)?.unlist(`${this.#options.venue} does not list ${symbol}`)
    }
    const admitted: VenuePair<Data>[] = []
    for (const listing of listings) {
      const pair = this.#pairs.get(listing.symbol)
      if (pair !== undefined) this.#instruments.set(listing.symbol, instrumentOf(listing))
      if (pair?.list(listing) === true) admitted.push(pair)
    }
    this.#announceInstruments()
    if (admitted.length === 0) return
    const symbolsByDepth = new Map<number, string[]>()
    for (const { symbol, depthAsked } of admitted) {
      symbolsByDepth.set(depthAsked, [...(symbolsByDepth.get(depthAsked) ?? []), symbol])
    }
    // Trades first: a market counts its executions as complete from its first book.
    const withoutTrades = admitted.filter((pair) => !pair.hasTrades).map((pair) => pair.symbol)
    if (withoutTrades.length > 0) this.#request('subscribe', 'trades', withoutTrades, 0)
    for (const [depth, symbols] of symbolsByDepth) this.#request('subscribe', 'book', symbols, depth)
    for (const pair of admitted) pair.subscribed()
  }

  /** Replaces the pair after its markets changed, or ends it when no market uses it. */
  #renewPair(symbol: string): void {
    const left = this.#pairs.get(symbol)
    const isUsed = [...this.#markets].some(({ venueSymbol }) => venueSymbol === symbol)
    const hasTrades = left?.hasTrades === true
    const listing = left?.subscribedListing
    left?.leave(isUsed)
    this.#pairs.delete(symbol)
    if (!isUsed) {
      this.#trades.delete(symbol)
      this.#tradeFill.forget(symbol)
      this.#instruments.delete(symbol)
      forgetPair(this.#metrics, this.#options.venue, symbol)
      return
    }
    const pair = this.#createPair(symbol, hasTrades)
    if (left !== undefined) pair.postpone(`${symbol} is subscribed again because its markets changed`)
    // Its trades keep arriving, so the new pair must be subscribed in the same tick.
    if (listing === undefined) this.#listings.ask(symbol)
    else this.#admit([listing], [])
  }

  /** One pair for all its markets. */
  #createPair(symbol: string, hasTrades: boolean): VenuePair<Data> {
    const { venue, protocol, random } = this.#options
    const { fetchSnapshot } = protocol
    const trades =
      this.#trades.get(symbol) ?? new VenueTrades(symbol, protocol.repeatsLastTrade, protocol.hasUnnumberedTrades)
    this.#trades.set(symbol, trades)
    const pair = new VenuePair<Data>({
      venue,
      symbol,
      markets: [...this.#markets].filter(({ venueSymbol }) => venueSymbol === symbol),
      protocol,
      trades,
      hasTrades,
      isTrading: () => (this.#instrumentOf(symbol)?.state ?? 'OPEN') === 'OPEN',
      clock: this.#connection.running,
      random,
      log: this.#log,
      metrics: pairMetrics(this.#metrics, venue, symbol),
      request: (action, channel, depth) => this.#request(action, channel, [symbol], depth),
      ...(fetchSnapshot === undefined
        ? {}
        : {
            fetchSnapshot: (depth, signal) =>
              this.#requests.run((limited) => fetchSnapshot(symbol, depth, limited), signal),
          }),
    })
    this.#pairs.set(symbol, pair)
    return pair
  }
}

const INSTRUMENT_STATES: Readonly<Record<Listing['state'], InstrumentState>> = {
  open: 'OPEN',
  restricted: 'HALTED',
  gone: 'CLOSED',
}

function instrumentOf({ state, status, instrument }: Listing): Instrument {
  return { state: instrument ?? INSTRUMENT_STATES[state], reason: state === 'open' ? '' : status }
}
