/**
 * One market's live book and executions, for the components that draw them. Components on a page share a feed, which
 * ends when the last one has left. A feed only reports changes and keeps the current state, so each component draws at
 * its own pace. All feeds share one connection, authenticated by the session.
 */
import { type Book, type Execution, StreamClient } from '@tidegate/client'
import { get, Problem } from '../base/api.ts'
import { pageSecret } from '../base/page-secret.ts'
import type { Level } from './level.ts'

/** `connecting`: no book has been received yet. For the others, see the client's book statuses. */
export type FeedStatus = 'connecting' | 'live' | 'stale' | 'resyncing'

export interface MarketFeed {
  readonly status: FeedStatus
  /** Why it is not live. Undefined where the status already states it. */
  readonly reason: string | undefined
  /** Best first, at most `count`. */
  bids(count: number): readonly Level[]
  asks(count: number): readonly Level[]
  /** Newest first, at most as many as a tape shows. */
  readonly executions: readonly Execution[]
  /** @returns a function to end the subscription */
  subscribe(onChange: () => void): () => void
}

/** The service conflates the changes in between, which a person could not see. */
const INTERVAL_MILLISECONDS = 100
const EXECUTIONS_MAX = 50
/** Wait before following again after the service ended a feed, for example until a new login. */
const RETRY_MILLISECONDS = 3_000

const STATUSES = { LIVE: 'live', STALE: 'stale', RESYNCING: 'resyncing', CLOSED: 'connecting' } as const

let sharedClient: StreamClient | undefined
let lostReason: string | undefined

/** Opened with the first feed. It closes its connection by itself when there is no subscription. */
function client(): StreamClient {
  sharedClient ??= new StreamClient({
    url: `${window.location.origin.replace(/^http/, 'ws')}/admin/v1/stream`,
    // In addition to the cookie, as with every call.
    authenticate: { token: async () => pageSecret() ?? '', discard: () => undefined },
    onEvent: (event) => {
      lostReason = event.type === 'CONNECTED' ? undefined : event.reason
      for (const feed of feeds.values()) feed.notify()
    },
  })
  return sharedClient
}

class Feed implements MarketFeed {
  readonly #symbol: string
  readonly #readers = new Set<() => void>()
  readonly #abort = new AbortController()
  #book: Book | undefined
  #problem: string | undefined
  #executions: readonly Execution[] = []

  constructor(symbol: string) {
    this.#symbol = symbol
    void this.#follow(() => this.#followBook())
    void this.#follow(() => this.#followExecutions())
  }

  get status(): FeedStatus {
    return this.#book === undefined ? 'connecting' : STATUSES[this.#book.status]
  }

  get reason(): string | undefined {
    return this.#problem ?? (this.status === 'live' ? undefined : lostReason)
  }

  get executions(): readonly Execution[] {
    return this.#executions
  }

  bids(count: number): readonly Level[] {
    return this.#book?.bids(count) ?? []
  }

  asks(count: number): readonly Level[] {
    return this.#book?.asks(count) ?? []
  }

  subscribe(onChange: () => void): () => void {
    this.#readers.add(onChange)
    return () => {
      this.#readers.delete(onChange)
      // A component on the next page may follow the same market, and subscribes before this runs.
      setTimeout(() => this.#endUnused())
    }
  }

  notify(): void {
    for (const reader of this.#readers) reader()
  }

  #endUnused(): void {
    if (this.#readers.size > 0 || this.#abort.signal.aborted) return
    this.#abort.abort()
    feeds.delete(this.#symbol)
  }

  /** Starts again after the service ends the feed, until nothing reads it. */
  async #follow(run: () => Promise<void>): Promise<void> {
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        await run()
      } catch (error) {
        if (signal.aborted) return
        this.#problem = error instanceof Error ? error.message : String(error)
        this.notify()
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS))
    }
  }

  async #followBook(): Promise<void> {
    const { signal } = this.#abort
    this.#book = await client().book(this.#symbol, { interval: INTERVAL_MILLISECONDS, signal })
    this.#problem = undefined
    this.notify()
    for await (const _change of this.#book) this.notify()
  }

  async #followExecutions(): Promise<void> {
    const { signal } = this.#abort
    const executions = await client().executions(this.#symbol, { signal })
    // After the subscription, so that none is between them.
    await this.#fill()
    for await (const event of executions) {
      // A gap does not matter here: the tape shows whatever arrived.
      if ('type' in event && event.type === 'GAP') continue
      const execution = event as Execution
      if (this.#executions.some(({ id }) => id !== undefined && id === execution.id)) continue
      this.#executions = [execution, ...this.#executions.slice(0, EXECUTIONS_MAX - 1)]
      this.notify()
    }
  }

  /** Shows the last executions before the subscription. Without them, the tape begins with the next one. */
  async #fill(): Promise<void> {
    try {
      const { items } = await get(`/markets/${this.#symbol}/trades`, { limit: EXECUTIONS_MAX }, this.#abort.signal)
      this.#executions = items.map(({ price, amount, executed_at, id, side }) => {
        const taker = side === 'buy' || side === 'sell' ? ({ side } as const) : {}
        return { type: 'EXECUTION', price, amount, executedAt: executed_at, id, ...taker }
      })
      this.notify()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }
}

const feeds = new Map<string, Feed>()

export function marketFeed(symbol: string): MarketFeed {
  let feed = feeds.get(symbol)
  if (feed === undefined) {
    feed = new Feed(symbol)
    feeds.set(symbol, feed)
  }
  return feed
}
