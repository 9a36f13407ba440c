/**
 * What differs from venue to venue, as the shared machinery (`venue-source`, `venue-pair`) asks for it: how a venue is
 * spoken to, what its messages say, and how its book is followed. A protocol remembers at most what was asked on the
 * present connection, what answered it, and one position per pair, and opens nothing but the requests it is asked for;
 * the state of one book is a `VenueBook`. Text of the venue becomes integers at the venue's own precision here, and is never rounded.
 */
import type { Scaled } from '../base/decimal.ts'
import type { InstrumentState, LevelChange, Side } from '../market/event.ts'

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
   * Where some levels (orders from before the venue made its steps coarser) are finer than that: how fine they may be.
   * A book is then made with decimals as fine as all its readers can hold, and cannot vouch for what is finer still.
   */
  readonly finestPriceDecimals?: number
  readonly finestAmountDecimals?: number
  /** The venue's own word for the state of the pair: `online`, `post_only`, `BREAK`, `suspend`. */
  readonly status: string
  /**
   * `open` trades as usual; `restricted` has a book that may stand still (maintenance, halted, post-only, auction), and
   * is named to the operator; `gone` has no book (delisted, not yet there).
   */
  readonly state: 'open' | 'restricted' | 'gone'
  /** Whether the pair trades, where that is not what `state` means: `open` OPEN, `restricted` HALTED, `gone` CLOSED. */
  readonly instrument?: InstrumentState
  /** The pair whose book and trades the venue sends for this one; absent = its own. */
  readonly feedSymbol?: string
}

/** One trade, or several that the venue reports as one. */
export interface VenueTrade {
  /** The venue's numbers of the first and the last trade that this stands for; usually the same. Safe integers. */
  readonly firstId: number
  readonly lastId: number
  readonly price: string
  readonly amount: string
  /** The venue's time of the trade, milliseconds since the epoch. */
  readonly executedAtMilliseconds: number
  /** By what the venue's pages of trades go on behind this one, where that is neither its number nor its time. */
  readonly pageCursor?: string
}

/** Where a trade stands among those of its pair: its last number, its time, and its `pageCursor`. */
export interface TradePosition {
  readonly id: number
  readonly milliseconds: number
  readonly pageCursor?: string
}

/** Trades that are missing: with numbers above `after.id` and below `before.id`. */
export interface TradeGap {
  readonly after: TradePosition
  readonly before: Pick<TradePosition, 'id' | 'milliseconds'>
}

/**
 * What one frame of the venue says, piece by piece. `Data` is whatever the venue's book needs of a book message.
 * - `listings`: how pairs are listed; `isComplete` when pairs that are not named do not exist.
 * - `book`: a whole message of one pair's book.
 * - `unreadable-book`: a message of one pair's book that cannot be read.
 * - `unreadable-trades`: trades of one pair that cannot be read: the number of the next one proves that they are missing.
 * - `unreadable`: a frame that cannot be read and may have been of any pair: all of them begin again.
 * - `trades`: in the venue's order. `isRepeat`: the venue repeats what was traded before the subscription; these fill
 *   gaps, and are otherwise no new executions.
 * - `acknowledged`: the venue subscribed or unsubscribed the pair's book, at the depth it names (levels a side).
 * - `refused`: a request was refused, for one pair or (no symbol) as a whole; for the pair's book unless it says trades.
 * - `restart`: this connection cannot be trusted any more, or the venue is about to end it.
 * - `status`: the state of the whole venue; `open` clears what was said before.
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
 * What a book says after a whole message, at the venue's precision.
 * - `snapshot`: it is complete and right as of now; these are all its levels. `changes`: what differs from the book
 *   before, where there was one and levels are followed.
 * - `update`: these levels differ (amount 0 = gone); none when nothing does.
 *   `wantsSnapshot`, for venues where it is fetched: the book is right, but a new snapshot is needed for it to stay so;
 *   reported until there is one that it can use.
 * - `waiting`: it cannot be trusted yet: an `update` of a book that never had its snapshot is one of these.
 *   `confirmMilliseconds`, of both: the snapshot that was fetched is not proved yet; unless the messages that follow
 *   prove it, it is to be fetched again after so long. `reason`: why it cannot begin, for the operator.
 * - `wrong`: it cannot be followed any further and has to be thrown away.
 */
export type BookStep =
  | {
      readonly kind: 'snapshot'
      readonly levels: readonly LevelChange[]
      readonly changes?: readonly LevelChange[]
    }
  | {
      readonly kind: 'update'
      readonly changes: readonly LevelChange[]
      readonly wantsSnapshot?: true
      readonly confirmMilliseconds?: number
    }
  | { readonly kind: 'waiting'; readonly confirmMilliseconds?: number; readonly reason?: string }
  | { readonly kind: 'wrong'; readonly reason: string; readonly isChecksumMismatch?: true }

/** Best prices at the venue's precision; absent where a side is empty. */
export interface BestPrices {
  readonly bid?: Scaled
  readonly ask?: Scaled
}

/** A level of the venue that the integers of the book's readers cannot hold, as it was sent. */
export interface UnfitLevel extends VenueLevel {
  readonly side: Side
}

/**
 * One pair's book from one subscription on, as the venue describes it. A level that its readers cannot hold is the end
 * of the known book on its side: nothing behind it is reported, and the side is complete again once the level is gone.
 * A side of which nothing is known for that reason makes the book `wrong`.
 */
export interface VenueBook<Data> {
  /** Of each side the best level that its readers cannot hold, if there is one. */
  readonly unfit?: readonly UnfitLevel[]
  /** What the book shows as best; absent where levels are not followed. */
  readonly best?: BestPrices
  apply(data: Data): BookStep
}

/** What a book is made with. */
export interface VenueBookOptions {
  readonly listing: Listing
  /** Levels a side that the subscription serves; Infinity = all. */
  readonly depth: number
  /** The largest price, in units of the venue's precision, that every reader of the book can still hold. */
  readonly priceMaximum: number
}

/** The answer to an HTTP request, or why there is none. */
export type Fetched<Value> =
  | { readonly value: Value }
  | { readonly problem: string; readonly retryAfterMilliseconds?: number }

/** What one pair asks of the protocol. */
export type PairProtocol<Data> = Pick<
  VenueProtocol<Data>,
  'depths' | 'createBook' | 'reconcileMilliseconds' | 'snapshotWaitMilliseconds'
>

export interface VenueProtocol<Data> {
  /** Nothing for so long, not even a sign of life, and the connection is dead. */
  readonly silenceMilliseconds: number
  /** Sent when nothing was received for so long, for venues that only answer when asked whether they live. */
  readonly keepAlive?: { readonly text: string; readonly milliseconds: number }
  /** As many requests at once, and a second from then on, as the venue takes; absent = any number. */
  readonly requestRate?: { readonly burst: number; readonly perSecond: number }
  /**
   * How often a book is reconciled with a fresh snapshot, for venues whose proofs do not cover the whole book: it is
   * subscribed again, which has to bring a snapshot in sequence with the changes.
   */
  readonly reconcileMilliseconds?: number
  /** Levels a side that can be subscribed, ascending; Infinity = all. */
  readonly depths: readonly number[]
  /** A connection is open: what to send before anything is subscribed on it. */
  readonly open?: () => readonly object[]
  /** How to learn how pairs are listed: by asking on the connection, or by HTTP. */
  readonly listings:
    | {
        readonly requests: () => readonly object[]
        /** The first listings of a connection are always complete, whatever they say; for venues that do not say it. */
        readonly isFirstComplete?: true
        /** All pairs by HTTP, where the connection does not say how they are listed. */
        readonly fetchInstead?: (signal: AbortSignal) => Promise<Fetched<readonly Listing[]>>
      }
    | { readonly fetch: (symbols: readonly string[], signal: AbortSignal) => Promise<Fetched<readonly Listing[]>> }
  /**
   * Where a book's beginning comes from: by HTTP once its subscription is acknowledged (until then its messages are
   * dropped); absent = on the connection. A book that still says `waiting` to what was fetched finds it too old for its
   * messages: it is fetched again a little later.
   */
  readonly fetchSnapshot?: (symbol: string, depth: number, signal: AbortSignal) => Promise<Fetched<Data>>
  /**
   * The connection usually sends the beginning of a book: it is fetched only when it has not come so long after the
   * acknowledgement, and no message is dropped before.
   */
  readonly snapshotWaitMilliseconds?: number
  /**
   * One page of a pair's trades by HTTP, with those that stand next to either end of the gap; what lies outside it does
   * no harm. Asked again for what is still missing then.
   */
  readonly fetchTrades: (symbol: string, gap: TradeGap, signal: AbortSignal) => Promise<Fetched<readonly VenueTrade[]>>
  /** As many HTTP requests at once, and a second from then on, as one connection's share of what the venue takes. */
  readonly httpRate: { readonly burst: number; readonly perSecond: number }
  /**
   * The first trades of a subscription repeat the last trade before it without saying so: a pair's first trades ever
   * only tell where its numbers stand.
   */
  readonly repeatsLastTrade?: true
  /** What to send to subscribe or unsubscribe the books or the trades of pairs. */
  requests(
    action: 'subscribe' | 'unsubscribe',
    channel: 'book' | 'trades',
    symbols: readonly string[],
    depth: number,
  ): readonly object[]
  /** What a frame says; nothing for a mere sign of life. Never throws. */
  read(text: string): readonly VenueMessage<Data>[]
  createBook(options: VenueBookOptions): VenueBook<Data>
}

/** Addresses of one venue: `feeds.NAME.url` and `feeds.NAME.rest_url`, without a `/` at the end. */
export interface VenueAddresses {
  readonly url: string
  readonly restUrl: string
}

/** An exchange that speaks the protocol, with its public addresses. */
export interface VenueExchange extends VenueAddresses {
  /** Its name as the reference page shows it: `Binance.US`. */
  readonly name: string
}

/** Everything that one row of the venue table names; a folder of `feed/` exports one. */
export interface VenueDefinition<Data> {
  /** The form of its symbols, and one symbol that the venue lists permanently. */
  readonly symbolPattern: RegExp
  readonly symbolExample: string
  /** The addresses of the first are the default of `feeds.NAME.url` and `feeds.NAME.rest_url`. */
  readonly exchanges: readonly [VenueExchange, ...VenueExchange[]]
  /** Number of books that the venue accepts on one connection; absent = no limit. */
  readonly booksMax?: number
  /** A protocol with its own state, for one source or one lookup. */
  createProtocol(addresses: VenueAddresses): VenueProtocol<Data>
}
