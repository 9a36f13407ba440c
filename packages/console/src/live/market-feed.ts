/**
 * The live book and executions of one market for the components that draw it. Several components of one page share a feed;
 * it ends when the last one has left. Readers draw at their own pace: a feed reports that something changed, and keeps the
 * present state. All feeds share one connection, which the session authenticates.
 */
import { type Book, type Execution, StreamClient } from '@tidegate/client'
import { pageSecret } from '../base/page-secret.ts'
import type { Level } from './level.ts'

/** `connecting`: no book was received yet. The others: see the statuses of a book of the client. */
export type FeedStatus = 'connecting' | 'live' | 'stale' | 'resyncing'

export interface MarketFeed {
  readonly status: FeedStatus
  /** Why it is not live; undefined where the status says everything. */
  readonly reason: string | undefined
  /** Best first, at most `count`. */
  bids(count: number): readonly Level[]
  asks(count: number): readonly Level[]
  /** Newest first, at most those that a tape shows. */
  readonly executions: readonly Execution[]
  /** @returns a function that ends the subscription */
  subscribe(onChange: () => void): () => void
}

/** The service conflates what changes in between: a person does not see more. */
const INTERVAL_MILLISECONDS = 100
const EXECUTIONS_MAX = 50
/** Time before a feed that the service has ended begins again, such as after a new login. */
const RETRY_MILLISECONDS = 3_000

const STATUSES = { LIVE: 'live', STALE: 'stale', RESYNCING: 'resyncing', CLOSED: 'connecting' } as const

let sharedClient: StreamClient | undefined
let lostReason: string | undefined

/** Opened with the first feed; it closes its connection by itself when there is no subscription. */
function client(): StreamClient {
  sharedClient ??= new StreamClient({
    url: `${window.location.origin.replace(/^http/, 'ws')}/admin/v1/stream`,
    // With the cookie, as with every call.
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
      // A component of the next page may follow the same market: it subscribes before this runs.
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

  /** Begins again after an end by the service, until nothing reads the feed. */
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
    for await (const event of await client().executions(this.#symbol, { signal })) {
      // A gap is of no consequence here: the tape shows what came.
      if ('type' in event && event.type === 'GAP') continue
      this.#executions = [event as Execution, ...this.#executions.slice(0, EXECUTIONS_MAX - 1)]
      this.notify()
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
