/**
 * Books for requests without a subscription, as JSON text: the view that the stream's extended protocol sends at the same
 * depth, with its cursor and digest. Each version of a view is encoded once for all requests. A large one is encoded in
 * slices, and at most one at a time per view. A view is kept for a minute after its last request.
 */
import { type Clock, millisecondText } from '../../platform/base/clock.ts'
import type { MarketStream } from '../gateway/market-stream.ts'
import { LevelSum } from '../market/digest.ts'
import { BID, type LevelChange } from '../market/event.ts'
import { Cursors } from '../sequencing/cursor.ts'
import { levelText } from '../sequencing/frame.ts'
import type { ViewFeed } from '../sequencing/view-feed.ts'

/** Levels encoded and hashed per slice: about a millisecond. */
const SLICE_LEVELS = 2_048
/** Not longer than BookChannel keeps a view without subscribers. */
const KEPT_MILLISECONDS = 60_000

export interface EncodedBook {
  readonly cursor: string
  readonly text: string
}

/** A view with recent requests. */
interface ReadView {
  readonly feed: ViewFeed
  readonly cursors: Cursors
  lastReadMilliseconds: number
  last: EncodedBook | undefined
  encoding: Promise<EncodedBook> | undefined
}

export class OrderBooks {
  readonly #clock: Clock
  /** Markets with recent requests. A removed market's is forgotten with it. */
  readonly #markets = new WeakMap<MarketStream, Map<number, ReadView>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The cursor of the current book. The market is live, and its book is not crossed.
   * @param depth levels per side, 0 = all: one that the stream has
   */
  cursor(market: MarketStream, depth: number): string {
    return this.#cursorOf(market, this.#viewOf(market, depth))
  }

  /** The current book, or a later one. No promise for a version that is encoded already. */
  read(market: MarketStream, depth: number): EncodedBook | Promise<EncodedBook> {
    const view = this.#viewOf(market, depth)
    return view.last?.cursor === this.#cursorOf(market, view) ? view.last : this.#encoded(market, view)
  }

  async #encoded(market: MarketStream, view: ReadView): Promise<EncodedBook> {
    // One that began before this request may have an earlier version.
    await view.encoding
    const cursor = this.#cursorOf(market, view)
    if (view.last?.cursor === cursor) return view.last
    view.encoding ??= this.#encode(market, view, cursor).finally(() => {
      view.encoding = undefined
    })
    return await view.encoding
  }

  #viewOf(market: MarketStream, depth: number): ReadView {
    const feed = market.book.viewFor(depth)
    const views = this.#markets.get(market) ?? this.#follow(market)
    let view = views.get(depth)
    if (view?.feed !== feed) {
      const cursors = new Cursors(market.symbol, 'market_data', depth)
      view = { feed, cursors, lastReadMilliseconds: 0, last: undefined, encoding: undefined }
      views.set(depth, view)
    }
    view.lastReadMilliseconds = this.#clock.monotonicMilliseconds()
    return view
  }

  /** Forgets the market's views a minute after their last requests. */
  #follow(market: MarketStream): Map<number, ReadView> {
    const views = new Map<number, ReadView>()
    const endListening = market.replica.listen({
      onCommit: () => {
        const earliest = this.#clock.monotonicMilliseconds() - KEPT_MILLISECONDS
        for (const [depth, view] of views) if (view.lastReadMilliseconds < earliest) views.delete(depth)
        if (views.size > 0) return
        endListening()
        this.#markets.delete(market)
      },
      onStatus: () => undefined,
    })
    this.#markets.set(market, views)
    return views
  }

  #cursorOf({ replica }: MarketStream, { cursors, feed }: ReadView): string {
    return cursors.token(replica.epoch, feed.view.changeVersion)
  }

  async #encode({ replica }: MarketStream, view: ReadView, cursor: string): Promise<EncodedBook> {
    const { market } = replica
    const { depth } = view.feed.view
    const time = millisecondText(view.feed.changeInstant.milliseconds)
    const levels = view.feed.view.levels()
    const sum = new LevelSum(market)
    const sides: [bids: string[], asks: string[]] = [[], []]
    for (let start = 0; start < levels.length; start += SLICE_LEVELS) {
      if (start > 0) await new Promise<void>((resolve) => this.#clock.schedule(0, resolve))
      for (const level of levels.slice(start, start + SLICE_LEVELS) as LevelChange[]) {
        sum.count(level.side, level.price, level.amount, 1)
        sides[level.side === BID ? 0 : 1].push(levelText(market, level))
      }
    }
    const [bids, asks] = sides
    const head = `"market":"${market.symbol}","cursor":"${cursor}","time":"${time}","depth":${depth},"digest":"${sum}"`
    view.last = { cursor, text: `{${head},"bids":[${bids.join()}],"asks":[${asks.join()}]}` }
    return view.last
  }
}
