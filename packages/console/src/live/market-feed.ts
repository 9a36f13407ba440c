/**
 * The live book and executions of one market for the components that draw it. Several components of one page share a feed;
 * it ends when the last one has left. Readers draw at their own pace: a feed reports that something changed, and keeps the
 * present state.
 */
import { get, Problem } from '../base/api.ts'
import type { Level } from './level.ts'

export interface Execution extends Level {
  readonly id: string
  readonly side?: 'buy' | 'sell' | undefined
  readonly venue?: string | undefined
  readonly executedAt: string
}

export type FeedStatus = 'connecting' | 'live' | 'stale' | 'resyncing'

export interface MarketFeed {
  readonly status: FeedStatus
  /** Why it is not live. */
  readonly reason: string | undefined
  /** Best first, at most `count`. */
  bids(count: number): readonly Level[]
  asks(count: number): readonly Level[]
  /** Newest first, at most those that a tape shows. */
  readonly executions: readonly Execution[]
  /** Changes of the book since the feed began. */
  readonly changes: number
  /** @returns a function that ends the subscription */
  subscribe(onChange: () => void): () => void
}

interface BookDocument {
  readonly live: boolean
  readonly reason?: string
  readonly version: number
  readonly bids: readonly Level[]
  readonly asks: readonly Level[]
}

const POLL_MILLISECONDS = 1_000

class PolledFeed implements MarketFeed {
  status: FeedStatus = 'connecting'
  reason: string | undefined
  changes = 0
  readonly executions: readonly Execution[] = []
  readonly #symbol: string
  readonly #readers = new Set<() => void>()
  #book: BookDocument | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(symbol: string) {
    this.#symbol = symbol
  }

  bids(count: number): readonly Level[] {
    return this.#book?.bids.slice(0, count) ?? []
  }

  asks(count: number): readonly Level[] {
    return this.#book?.asks.slice(0, count) ?? []
  }

  subscribe(onChange: () => void): () => void {
    this.#readers.add(onChange)
    if (this.#readers.size === 1) void this.#poll()
    return () => {
      this.#readers.delete(onChange)
      if (this.#readers.size > 0) return
      clearTimeout(this.#timer)
      feeds.delete(this.#symbol)
    }
  }

  async #poll(): Promise<void> {
    try {
      const book = await get<BookDocument>(`/markets/${this.#symbol}/book`, { depth: 200 })
      if (book.version !== this.#book?.version) this.changes++
      this.#book = book
      this.status = book.live ? 'live' : 'stale'
      this.reason = book.reason
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      this.status = 'connecting'
      this.reason = error.message
    }
    for (const reader of this.#readers) reader()
    if (this.#readers.size > 0) this.#timer = setTimeout(() => void this.#poll(), POLL_MILLISECONDS)
  }
}

const feeds = new Map<string, MarketFeed>()

export function marketFeed(symbol: string): MarketFeed {
  let feed = feeds.get(symbol)
  if (feed === undefined) {
    feed = new PolledFeed(symbol)
    feeds.set(symbol, feed)
  }
  return feed
}
