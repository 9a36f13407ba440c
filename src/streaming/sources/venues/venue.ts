/**
 * The contract between the shared code (`venue-source`, `venue-pair`) and a venue's folder: requests, messages and
 * books. A protocol may keep the current connection's requests and answers, and one position per pair. A book's state
 * is in its `VenueBook`. It opens nothing except the requests asked for. Venue text becomes integers at the venue's
 * precision and is never rounded. Pure.
 */
import type { Scaled } from '../../../platform/base/decimal.ts'
import type { InstrumentState, LevelChange, Proof, Side, TakerSide } from '../../market/event.ts'

/** A price and an amount as the venue sent them, as text. */
export interface VenueLevel {
  readonly price: string
  readonly amount: string
}

/** How a venue lists one pair. */
export interface Listing {
  readonly symbol: string
  /** Fraction digits in the venue's prices and amounts, 0..18. */
  readonly priceDecimals: number
  readonly amountDecimals: number
  /**
   * The finest decimals where some levels are finer than the listing (orders placed before the venue made its steps
   * coarser). The book then has as many decimals as all its markets can hold, and ends before a finer level.
   */
  readonly finestPriceDecimals?: number
  readonly finestAmountDecimals?: number
  /** The pair's state as the venue names it: `online`, `post_only`, `BREAK`, `suspend`. */
  readonly status: string
  /**
   * `open` trades as usual. `restricted` has a book that may not change (maintenance, halted, post-only, auction) and
   * causes an operator notice. `gone` has no book (delisted, not listed yet).
   */
  readonly state: 'open' | 'restricted' | 'gone'
  /**
   * The instrument state where it differs from the default for `state`: `open` OPEN, `restricted` HALTED, `gone`
   * CLOSED.
   */
  readonly instrument?: InstrumentState
  /** The pair whose book and trades the venue sends for this one; absent = its own. */
  readonly feedSymbol?: string
}

/** One trade, or several reported as one. */
export interface VenueTrade {
  /**
   * Numbers of the first and the last trade represented here, usually equal. Safe integers. 0 where the venue has no
   * consecutive numbers (`hasUnnumberedTrades`).
   */
  readonly firstId: number
  readonly lastId: number
  /** The venue's identifier, unique within the pair; absent where it is `lastId`. */
  readonly id?: string
  /** The taker's side; absent where the venue does not report it. */
  readonly side?: TakerSide
  readonly price: string
  readonly amount: string
  /** The venue's trade time, milliseconds since the epoch. */
  readonly executedAtMilliseconds: number
  /** The REST API's page cursor for the trades after this one, where it is neither the number nor the time. */
  readonly pageCursor?: string
}

/** A trade's position among its pair's trades: its last number, its time, and its `pageCursor`. */
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
 * One message in a venue's frame. `Data` is the venue's type for book messages.
 * - `listings`: pair listings; `isComplete` when all other pairs do not exist.
 * - `book`: a complete message for one pair's book.
 * - `unreadable-book`: a malformed message for one pair's book.
 * - `unreadable-trades`: one pair's malformed trades. The next trade's number reveals the gap.
 * - `unreadable`: a malformed frame for any pair. All pairs are resynchronised.
 * - `trades`: in the venue's order. `isRepeat`: the venue repeats trades from before the subscription. They fill gaps
 *   and are otherwise not new executions.
 * - `acknowledged`: the venue subscribed or unsubscribed the pair's book, at the named depth (levels per side).
 * - `refused`: a request was refused, for one pair or (no symbol) as a whole. It was for the book unless `channel` is
 *   `trades`.
 * - `restart`: the connection cannot be trusted any more, or the venue is about to close it.
 * - `status`: the whole venue's state. `open` ends the state before.
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
      /** The request named other pairs too, of which any may be meant: this one is requested alone soon. */
      readonly isOfGroup?: boolean
    }
  | { readonly kind: 'restart'; readonly reason: string }
  | { readonly kind: 'status'; readonly isOpen: boolean; readonly status: string }

/**
 * The result of a book message, at the venue's precision.
 * - `snapshot`: the book is complete and correct now, with all its levels. `changes`: the differences to the book
 *   before, where there was one and levels are tracked. `differences`: how many the snapshot found; the others come
 *   from the message at which it was compared.
 * - `update`: these levels changed (amount 0 = removed); empty when none did. `wantsSnapshot`, where snapshots are
 *   fetched: the book is correct but soon needs a new snapshot. It is reported until a usable one arrives.
 * - `waiting`: the book cannot be trusted yet. An `update` before the first snapshot gives this. `confirmMilliseconds`,
 *   in both: the fetched snapshot is not confirmed yet. Unless later messages confirm it, it is fetched again after
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

/** Best prices at the venue's precision; undefined where a side is empty. */
export interface BestPrices {
  readonly bid?: Scaled
  readonly ask?: Scaled
}

/** A level that the markets' integers cannot hold, as the venue sent it. */
export interface UnfitLevel extends VenueLevel {
  readonly side: Side
}

/**
 * One pair's book for one subscription, as the venue describes it. A level that its markets cannot hold ends the known
 * book on its side: no level beyond it is reported, and the side is complete again once the level is removed. A side
 * left without any known level makes the book `wrong`.
 */
export interface VenueBook<Data> {
  /** Each side's best level that its markets cannot hold, if any. */
  readonly unfit?: readonly UnfitLevel[]
  /** Best prices; undefined where levels are not tracked. */
  readonly best?: BestPrices
  apply(data: Data): BookStep
}

/** Parameters for a new book. */
export interface VenueBookOptions {
  readonly listing: Listing
  /** The subscription's levels per side; Infinity = all. */
  readonly depth: number
  /** The largest price that every market on the book can hold, in units at the venue's precision. */
  readonly priceMaximum: number
}

/** An HTTP request's result, or the problem that prevented it. */
export type Fetched<Value> =
  | { readonly value: Value }
  | { readonly problem: string; readonly retryAfterMilliseconds?: number }

/** The protocol members used by one pair. */
export type PairProtocol<Data> = Pick<
  VenueProtocol<Data>,
  'depths' | 'createBook' | 'reconcileMilliseconds' | 'refreshesByFetch' | 'snapshotWaitMilliseconds'
>

export interface VenueProtocol<Data> {
  /** Without any message, ping or pong for this long the connection is closed. */
  readonly silenceMilliseconds: number
  /** Sent after this long without a message, for venues with quiet connections. */
  readonly keepAlive?: { readonly text: string; readonly milliseconds: number }
  /** Token bucket for requests on the connection; absent = no limit. */
  readonly requestRate?: { readonly burst: number; readonly perSecond: number }
  /**
   * Interval for reconciling a book with a new snapshot, for venues whose proofs do not cover the whole book. The book
   * is subscribed again, which must bring a snapshot in sequence with the changes (`refreshesByFetch`: the snapshot is
   * fetched).
   */
  readonly reconcileMilliseconds?: number
  /**
   * For venues where nothing proves the sequence between two subscriptions: a book is refreshed with a fetched
   * snapshot, and stays subscribed.
   */
  readonly refreshesByFetch?: true
  /** Depths that can be subscribed, in levels per side, ascending; Infinity = all. */
  readonly depths: readonly number[]
  /** The requests to send when a connection is open, before any subscription. */
  readonly open?: () => readonly object[]
  /** How listings are read: by a request on the connection, or by HTTP. */
  readonly listings:
    | {
        readonly requests: () => readonly object[]
        /** A connection's first listings are complete even though the venue does not mark them so. */
        readonly isFirstComplete?: true
        /** All pairs by HTTP, for connections that do not send the list. */
        readonly fetchInstead?: (signal: AbortSignal) => Promise<Fetched<readonly Listing[]>>
      }
    | { readonly fetch: (symbols: readonly string[], signal: AbortSignal) => Promise<Fetched<readonly Listing[]>> }
  /**
   * Fetches the snapshot by HTTP once the subscription is acknowledged (earlier book messages are ignored); absent =
   * the connection sends it. When the book returns `waiting` for a fetched snapshot, the snapshot is too old and is
   * fetched again.
   */
  readonly fetchSnapshot?: (symbol: string, depth: number, signal: AbortSignal) => Promise<Fetched<Data>>
  /**
   * The connection usually sends the snapshot. It is fetched only when it has not arrived this long after the
   * acknowledgement, and no book message is ignored.
   */
  readonly snapshotWaitMilliseconds?: number
  /**
   * One page from a pair's trades by HTTP, with those adjacent to either end of the gap. Trades outside it are ignored.
   * Called again for the remaining gap.
   */
  readonly fetchTrades: (symbol: string, gap: TradeGap, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /**
   * The trades have identifiers, but no consecutive numbers: nothing on the connection proves them complete. After each
   * subscription `fetchTrades` is called once for a pair with earlier trades. It returns the pair's latest trades
   * without a gap, oldest first. A list without a known trade means that some are missing.
   */
  readonly hasUnnumberedTrades?: true
  /** Token bucket for one source's HTTP requests. */
  readonly httpRate: { readonly burst: number; readonly perSecond: number }
  /**
   * A subscription's first trades repeat the last trade before it without marking it, so a pair's very first trades are
   * not new.
   */
  readonly repeatsLastTrade?: true
  /** The requests that subscribe or unsubscribe the pairs' books or trades. */
  requests(
    action: 'subscribe' | 'unsubscribe',
    channel: 'book' | 'trades',
    symbols: readonly string[],
    depth: number,
  ): readonly object[]
  /** A frame's messages; empty for a heartbeat. Never throws. */
  read(text: string): readonly VenueMessage<Data>[]
  createBook(options: VenueBookOptions): VenueBook<Data>
}

/** One feed's addresses: the settings `feeds.NAME.url` and `feeds.NAME.rest_url`, without a `/` at the end. */
export interface VenueAddresses {
  readonly url: string
  readonly restUrl: string
}

/** An exchange with this protocol, with its public addresses. */
export interface VenueExchange extends VenueAddresses {
  /** Its name as the reference page shows it: `Binance.US`. */
  readonly name: string
}

/** One row in the venue table. Each folder in `sources/venues/` exports one. */
export interface VenueDefinition<Data> {
  /** Its symbols' form, and one symbol that is always listed. */
  readonly symbolPattern: RegExp
  readonly symbolExample: string
  /** The first exchange's addresses are the default for `feeds.NAME.url` and `feeds.NAME.rest_url`. */
  readonly exchanges: readonly [VenueExchange, ...VenueExchange[]]
  /** Its books' proof. The reasons are in `docs/decisions/`. */
  readonly proof: Proof
  /** Books that the venue accepts on one connection; absent = no limit. */
  readonly booksMax?: number
  /** A protocol with its own state, for one source or one lookup. */
  createProtocol(addresses: VenueAddresses): VenueProtocol<Data>
}
