/**
 * One source's listings: how the venue lists the pairs used by the markets. They are read on the connection, or by HTTP
 * (also where the connection does not answer), with retries, and refreshed periodically. Each requested symbol is
 * reported as listed or not listed, or its problem is reported while the read is retried. Active from `open` to
 * `close`.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { Listing, VenueProtocol } from './venue.ts'
import { retryMilliseconds } from './venue-connection.ts'
import type { VenueRequests } from './venue-http.ts'

export interface VenueListingsOptions {
  readonly listings: VenueProtocol<unknown>['listings']
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly requests: VenueRequests
  /** The symbols used by the markets now. */
  readonly symbols: () => readonly string[]
  readonly send: (request: object) => void
  /** Listings, and the used symbols that the venue does not list. */
  readonly onListings: (listings: readonly Listing[], missing: readonly string[]) => void
  /** The listings for these symbols could not be read yet. */
  readonly onProblem: (symbols: readonly string[], reason: string) => void
  /** The connection did not send the requested list. */
  readonly onSilence: (reason: string) => void
}

/** On a connection, a list with all pairs takes about a second. */
const LIST_MILLISECONDS_MAX = 10_000
/** How long the connection is given before the list is fetched by HTTP instead. */
export const INSTEAD_MILLISECONDS = 5_000
/** How often a fetched list is refreshed, to notice listed, halted or delisted pairs. */
const REFRESH_MILLISECONDS = 300_000

export class VenueListings {
  readonly #options: VenueListingsOptions
  /** This connection's listings by symbol; undefined before the first complete list. */
  #known: Map<string, Listing> | undefined
  /** The next request's symbols. */
  readonly #wanted = new Set<string>()
  #fetching: AbortController | undefined
  #timer: Timer | undefined
  #failures = 0
  #isOpen = false

  constructor(options: VenueListingsOptions) {
    this.#options = options
  }

  /** The connection is open: requests listings for all used symbols. */
  open(): void {
    const { listings, clock, symbols, send, onSilence } = this.#options
    this.#isOpen = true
    this.#failures = 0
    if ('fetch' in listings) {
      this.#refresh(symbols())
      return
    }
    for (const request of listings.requests()) send(request)
    this.#timer =
      listings.fetchInstead === undefined
        ? clock.schedule(LIST_MILLISECONDS_MAX, () =>
            onSilence(`no pair list within ${LIST_MILLISECONDS_MAX / 1000} s`),
          )
        : clock.schedule(INSTEAD_MILLISECONDS, () => this.#fetchInstead())
  }

  /** The connection has ended: its listings are dropped. */
  close(): void {
    this.#isOpen = false
    this.#timer?.cancel()
    this.#timer = undefined
    this.#known = undefined
    this.#wanted.clear()
    this.#fetching?.abort()
    this.#fetching = undefined
  }

  /** Requests the listing for a newly used symbol. */
  ask(symbol: string): void {
    if (!this.#isOpen) return
    if ('fetch' in this.#options.listings) {
      // The retry after a failed request includes this symbol.
      if (this.#failures > 0) this.#wanted.add(symbol)
      else this.#refresh([symbol])
    } else if (this.#known !== undefined) {
      const listing = this.#known.get(symbol)
      if (listing === undefined) this.#options.onListings([], [symbol])
      else this.#options.onListings([listing], [])
    }
  }

  /**
   * Takes listings from the connection. Changes before the first complete list are ignored, because the list contains
   * them.
   */
  take(listings: readonly Listing[], isComplete: boolean): void {
    const how = this.#options.listings
    const isWhole = isComplete || (this.#known === undefined && 'requests' in how && how.isFirstComplete === true)
    if (isWhole) {
      this.#timer?.cancel()
      this.#timer = undefined
      this.#fetching?.abort()
      this.#fetching = undefined
      this.#known = new Map()
    }
    const known = this.#known
    if (known === undefined) return
    for (const listing of listings) known.set(listing.symbol, listing)
    const missing = isWhole ? this.#options.symbols().filter((symbol) => !known.has(symbol)) : []
    this.#options.onListings(listings, missing)
  }

  /** The connection did not send the list: fetches the whole list, now and periodically. */
  #fetchInstead(): void {
    const { listings, clock, log, requests, onSilence } = this.#options
    if ('fetch' in listings || listings.fetchInstead === undefined) return
    const { fetchInstead } = listings
    const fetching = new AbortController()
    this.#fetching = fetching
    void requests.run(fetchInstead, fetching.signal).then((fetched) => {
      if (this.#fetching !== fetching) return
      this.#fetching = undefined
      if ('value' in fetched) this.take(fetched.value, true)
      else if (this.#known === undefined) {
        onSilence(`no pair list, neither on the connection nor by HTTP: ${fetched.problem}`)
        return
      } else log.warn({ problem: fetched.problem }, 'the venue’s pair list was not fetched')
      if (this.#isOpen) this.#timer = clock.schedule(REFRESH_MILLISECONDS, () => this.#fetchInstead())
    })
  }

  #refresh(symbols: readonly string[]): void {
    for (const symbol of symbols) this.#wanted.add(symbol)
    if (this.#fetching === undefined) this.#fetch()
  }

  #fetch(): void {
    const { listings, requests, symbols } = this.#options
    this.#timer?.cancel()
    const read = new Set(symbols())
    const asked = [...this.#wanted].filter((symbol) => read.has(symbol))
    this.#wanted.clear()
    if (!('fetch' in listings)) return
    if (asked.length === 0) {
      this.#plan(REFRESH_MILLISECONDS)
      return
    }
    const fetching = new AbortController()
    this.#fetching = fetching
    void requests
      .run((signal) => listings.fetch(asked, signal), fetching.signal)
      .then((fetched) => {
        if (this.#fetching !== fetching) return
        this.#fetching = undefined
        if ('problem' in fetched) this.#fail(asked, fetched.problem, fetched.retryAfterMilliseconds ?? 0)
        else this.#succeed(asked, fetched.value)
      })
  }

  #succeed(asked: readonly string[], listings: readonly Listing[]): void {
    this.#failures = 0
    if (this.#wanted.size > 0) this.#fetch()
    else this.#plan(REFRESH_MILLISECONDS)
    const listed = new Set(listings.map(({ symbol }) => symbol))
    this.#options.onListings(
      listings,
      asked.filter((symbol) => !listed.has(symbol)),
    )
  }

  #fail(asked: readonly string[], problem: string, retryAfterMilliseconds: number): void {
    const { random, log, onProblem } = this.#options
    for (const symbol of asked) this.#wanted.add(symbol)
    this.#failures += 1
    const delayMilliseconds = Math.max(retryAfterMilliseconds, retryMilliseconds(this.#failures, random))
    log.warn({ problem, retryMilliseconds: delayMilliseconds }, 'the venue’s pair list was not fetched')
    this.#plan(delayMilliseconds)
    onProblem(asked, `no pair list: ${problem}`)
  }

  /** Schedules the next request: for the wanted symbols, or for all when there are none. */
  #plan(delayMilliseconds: number): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.schedule(delayMilliseconds, () => {
      this.#refresh(this.#wanted.size > 0 ? [] : this.#options.symbols())
    })
  }
}
