/**
 * The contract between the shared code (`venue-source`, `venue-pair`) and the folder of a venue: requests, messages and
 * books. A protocol may keep the requests and answers of the current connection and one position per pair; the state of
 * a book is in its `VenueBook`. It opens nothing except the requests that it is asked to make. Text of the venue
 * becomes integers at the precision of the venue and is never rounded. Pure.
 */
import type { Scaled } from '../../../platform/base/decimal.ts'
import type { InstrumentState, LevelChange, Proof, Side, TakerSide } from '../../market/event.ts'

/** A price and an amount as the venue sent them, as text. */
export interface VenueLevel {
  readonly price: string
  readonly amount: string
}

/** How a venue lists one of its pairs. */
export interface Listing {
  readonly symbol: string
  /** Fraction digits of the venue's prices and amounts, 0..18. */
  readonly priceDecimals: number
  readonly amountDecimals: number
  /**
   * Where some levels are finer than that (orders placed before the venue made its steps coarser): the finest that they
   * may be. The book then has as many decimals as all its markets can hold, and ends before a level that is finer
   * still.
   */
  readonly finestPriceDecimals?: number
  readonly finestAmountDecimals?: number
  /** The state of the pair as the venue names it: `online`, `post_only`, `BREAK`, `suspend`. */
  readonly status: string
  /**
   * `open` trades as usual; `restricted` has a book that may not change (maintenance, halted, post-only, auction) and
   * causes a notice to the operator; `gone` has no book (delisted, not listed yet).
   */
  readonly state: 'open' | 'restricted' | 'gone'
  /**
   * The instrument state where it differs from the one that follows from `state`: `open` OPEN, `restricted` HALTED,
   * `gone` CLOSED.
   */
  readonly instrument?: InstrumentState
  /** The pair whose book and trades the venue sends for this one; absent = its own. */
  readonly feedSymbol?: string
}

/** One trade, or several that the venue reports as one. */
export interface VenueTrade {
  /**
   * Numbers of the first and the last trade that this one represents, usually equal. Safe integers. 0 where the venue
   * has no consecutive numbers (`hasUnnumberedTrades`).
   */
  readonly firstId: number
  readonly lastId: number
  /** The venue's identifier, unique within the pair; absent where it is `lastId`. */
  readonly id?: string
  /** Side of the taker; absent where the venue does not report it. */
  readonly side?: TakerSide
  readonly price: string
  readonly amount: string
  /** The venue's time of the trade, milliseconds since the epoch. */
  readonly executedAtMilliseconds: number
  /** Page cursor of the REST API for the trades after this one, where that is neither its number nor its time. */
  readonly pageCursor?: string
}

/** The position of a trade among those of its pair: its last number, its time, and its `pageCursor`. */
export interface TradePosition {
  readonly id: number
  readonly milliseconds: number
  readonly pageCursor?: string
}

/** Missing trades: those with numbers above `after.id` and below `before.id`. */
export interface TradeGap {
  readonly after: TradePosition
  readonly before: Pick<TradePosition, 'id' | 'milliseconds'>
}

/**
 * One message in a frame of the venue. `Data` is the type of the venue's book messages.
 * - `listings`: listings of pairs; `isComplete` when all other pairs do not exist.
 * - `book`: a complete message of the book of one pair.
 * - `unreadable-book`: a malformed message of the book of one pair.
 * - `unreadable-trades`: malformed trades of one pair; the number of the next trade proves that they are missing.
 * - `unreadable`: a malformed frame that may have been of any pair: all of them are resynchronised.
 * - `trades`: in the order of the venue. `isRepeat`: the venue repeats trades from before the subscription; they fill
 *   gaps and are otherwise no new executions.
 * - `acknowledged`: the venue subscribed or unsubscribed the book of the pair, at the named depth (levels per side).
 * - `refused`: a request was refused, for one pair or (no symbol) as a whole; of the book unless `channel` is `trades`.
 * - `restart`: the connection cannot be trusted any more, or the venue is about to close it.
 * - `status`: the state of the whole venue; `open` ends the state before.
 */
export type VenueMessage<Data> =
  | { readonly kind: 'listings'; readonly isComplete: boolean; readonly listings: readonly Listing[] }
  | { readonly kind: 'book'; readonly symbol: string; readonly data: Data; readonly eventMilliseconds?: number }
  | { readonly kind: 'unreadable-book' | 'unreadable-trades'; readonly symbol: string; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | {
      readonly kind: 'trades'
      readonly symbol: string
      readonly isRepeat: boolean
      readonly trades: readonly VenueTrade[]
    }
  | { readonly kind: 'acknowledged'; readonly symbol: string; readonly depth?: number }
  | {
      readonly kind: 'refused'
      readonly symbol?: string
      readonly channel?: 'book' | 'trades'
      readonly reason: string
    }
  | { readonly kind: 'restart'; readonly reason: string }
  | { readonly kind: 'status'; readonly isOpen: boolean; readonly status: string }

/**
 * The result of a message of the book, at the precision of the venue.
 * - `snapshot`: the book is complete and correct now; these are all its levels. `changes`: the differences to the book
 *   before, where there was one and the levels are tracked. `differences`: how many of them the snapshot found, where
 *   the others are those of the message that it was compared at.
 * - `update`: these levels changed (amount 0 = removed); empty when none did. `wantsSnapshot`, where snapshots are
 *   fetched: the book is correct but soon needs a new snapshot; reported until a usable one arrives.
 * - `waiting`: the book cannot be trusted yet. An `update` before the first snapshot gives this. `confirmMilliseconds`,
 *   of both: the fetched snapshot is not confirmed yet; unless later messages confirm it, it is fetched again after
 *   this time. `reason`: why the book cannot start, for the operator.
 * - `wrong`: the book is out of sync and must be discarded.
 */
export type BookStep =
  | {
      readonly kind: 'snapshot'
      readonly levels: readonly LevelChange[]
      readonly changes?: readonly LevelChange[]
      readonly differences?: number
    }
  | {
      readonly kind: 'update'
      readonly changes: readonly LevelChange[]
      readonly wantsSnapshot?: true
      readonly confirmMilliseconds?: number
    }
  | { readonly kind: 'waiting'; readonly confirmMilliseconds?: number; readonly reason?: string }
  | { readonly kind: 'wrong'; readonly reason: string; readonly isChecksumMismatch?: true }

/** Best prices at the precision of the venue; undefined where a side is empty. */
export interface BestPrices {
  readonly bid?: Scaled
  readonly ask?: Scaled
}

/** A level that the integers of the markets cannot hold, as the venue sent it. */
export interface UnfitLevel extends VenueLevel {
  readonly side: Side
}

/**
 * The book of one pair from one subscription on, as the venue describes it. A level that its markets cannot hold ends
 * the known book on its side: no level beyond it is reported, and the side is complete again once the level is removed.
 * A side without any known level for that reason makes the book `wrong`.
 */
export interface VenueBook<Data> {
  /** The best level of each side that its markets cannot hold, if any. */
  readonly unfit?: readonly UnfitLevel[]
  /** Best prices; undefined where levels are not tracked. */
  readonly best?: BestPrices
  apply(data: Data): BookStep
}

/** Parameters of a new book. */
export interface VenueBookOptions {
  readonly listing: Listing
  /** Levels per side of the subscription; Infinity = all. */
  readonly depth: number
  /** The largest price, in units of the precision of the venue, that every market of the book can hold. */
  readonly priceMaximum: number
}

/** The result of an HTTP request, or the problem that prevented it. */
export type Fetched<Value> =
  | { readonly value: Value }
  | { readonly problem: string; readonly retryAfterMilliseconds?: number }

/** The part of the protocol that one pair uses. */
export type PairProtocol<Data> = Pick<
  VenueProtocol<Data>,
  'depths' | 'createBook' | 'reconcileMilliseconds' | 'refreshesByFetch' | 'snapshotWaitMilliseconds'
>

export interface VenueProtocol<Data> {
  /** Without any message, ping or pong for this long the connection is closed. */
  readonly silenceMilliseconds: number
  /** Sent after this long without a message, for venues that otherwise send nothing on a quiet connection. */
  readonly keepAlive?: { readonly text: string; readonly milliseconds: number }
  /** Token bucket for requests on the connection; absent = no limit. */
  readonly requestRate?: { readonly burst: number; readonly perSecond: number }
  /**
   * Interval between reconciliations of a book with a new snapshot, for venues whose proofs do not cover the whole
   * book. The book is subscribed again, which must bring a snapshot in sequence with the changes (`refreshesByFetch`:
   * the snapshot is fetched).
   */
  readonly reconcileMilliseconds?: number
  /**
   * Where nothing proves that no message is missing between two subscriptions: a book is refreshed with a fetched
   * snapshot, and stays subscribed.
   */
  readonly refreshesByFetch?: true
  /** Levels per side that can be subscribed, ascending; Infinity = all. */
  readonly depths: readonly number[]
  /** The requests to send when a connection is open, before any subscription. */
  readonly open?: () => readonly object[]
  /** How listings are read: by a request on the connection, or by HTTP. */
  readonly listings:
    | {
        readonly requests: () => readonly object[]
        /** The first listings of a connection are complete even though the venue does not mark them so. */
        readonly isFirstComplete?: true
        /** All pairs by HTTP, for connections that do not send the list. */
        readonly fetchInstead?: (signal: AbortSignal) => Promise<Fetched<readonly Listing[]>>
      }
    | { readonly fetch: (symbols: readonly string[], signal: AbortSignal) => Promise<Fetched<readonly Listing[]>> }
  /**
   * Fetches the snapshot by HTTP once the subscription is acknowledged (book messages before that are ignored); absent
   * = the connection sends it. When the book returns `waiting` for a fetched snapshot, that snapshot is too old and is
   * fetched again.
   */
  readonly fetchSnapshot?: (symbol: string, depth: number, signal: AbortSignal) => Promise<Fetched<Data>>
  /**
   * The connection usually sends the snapshot. It is fetched only when it has not arrived this long after the
   * acknowledgement, and no book message is ignored.
   */
  readonly snapshotWaitMilliseconds?: number
  /**
   * One page of the trades of a pair by HTTP, with those adjacent to either end of the gap; trades outside it are
   * ignored. Called again for the remaining gap.
   */
  readonly fetchTrades: (symbol: string, gap: TradeGap, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /**
   * The trades have identifiers, but no consecutive numbers: nothing on the connection proves that none is missing.
   * After each subscription `fetchTrades` is called once for a pair with earlier trades, and returns the latest trades
   * of the pair without a gap, oldest first. A list without a trade that is already known means that some are missing.
   */
  readonly hasUnnumberedTrades?: true
  /** Token bucket for the HTTP requests of one source. */
  readonly httpRate: { readonly burst: number; readonly perSecond: number }
  /**
   * The first trades of a subscription repeat the last trade before it without marking it: the very first trades of a
   * pair are not new.
   */
  readonly repeatsLastTrade?: true
  /** The requests that subscribe or unsubscribe the books or the trades of pairs. */
  requests(
    action: 'subscribe' | 'unsubscribe',
    channel: 'book' | 'trades',
    symbols: readonly string[],
    depth: number,
  ): readonly object[]
  /** The messages of a frame; empty for a heartbeat. Never throws. */
  read(text: string): readonly VenueMessage<Data>[]
  createBook(options: VenueBookOptions): VenueBook<Data>
}

/** Addresses of one feed: the settings `feeds.NAME.url` and `feeds.NAME.rest_url`, without a `/` at the end. */
export interface VenueAddresses {
  readonly url: string
  readonly restUrl: string
}

/** An exchange that speaks the protocol, with its public addresses. */
export interface VenueExchange extends VenueAddresses {
  /** Its name as the reference page shows it: `Binance.US`. */
  readonly name: string
}

/** Everything that one row of the venue table names; a folder of `sources/venues/` exports one. */
export interface VenueDefinition<Data> {
  /** The form of its symbols, and one symbol that the venue lists permanently. */
  readonly symbolPattern: RegExp
  readonly symbolExample: string
  /** The addresses of the first are the default of `feeds.NAME.url` and `feeds.NAME.rest_url`. */
  readonly exchanges: readonly [VenueExchange, ...VenueExchange[]]
  /** What proves its books; the reasons are in `docs/decisions/`. */
  readonly proof: Proof
  /** Number of books that the venue accepts on one connection; absent = no limit. */
  readonly booksMax?: number
  /** A protocol with its own state, for one source or one lookup. */
  createProtocol(addresses: VenueAddresses): VenueProtocol<Data>
}
