/**
 * Wakes the stream's subscribers when their customer has new events, and reads the events. Subscribers of one customer
 * share the reads that begin at the same sequence. Commits are announced while `event_counters.watched_until` is in the
 * future, which is refreshed for every customer with a subscriber. Polling finds events whose announcement was lost.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Turns } from '../../platform/base/turns.ts'
import type { Db } from '../../platform/store/db.ts'
import { reportFailure } from '../../platform/store/due-worker.ts'
import { sql } from '../../platform/store/sql.ts'
import { type EventBatch, readEvents, requireKept } from './read.ts'
import { EVENTS_CHANNEL, type EventTables } from './tables.ts'

const WATCH_SECONDS = 60
const REFRESH_MILLISECONDS = 30_000
const POLL_MILLISECONDS = 5_000
/** Customers in one statement. */
const CUSTOMERS_MAX = 1_000
/** Subscribers' statements at a time. */
const READS_MAX = 4
/** Events in one batch: about 45 KB, at most 200 KB. */
const BATCH_MAX = 100

export interface EventFollower {
  /** The customer may have events up to this sequence. Undefined: any number. */
  wake(last?: bigint): void
}

/** One customer with its subscribers. */
interface Followed {
  readonly followers: Set<EventFollower>
  /** The reads since the last announcement, by the sequence before their first event. */
  readonly reads: Map<bigint, Promise<EventBatch>>
}

export interface EventFeedOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}

export class EventFeed {
  readonly #options: EventFeedOptions
  readonly #followed = new Map<string, Followed>()
  #listening: Promise<() => Promise<void>> | undefined
  #timer: Timer | undefined
  #polling: Promise<void> | undefined
  #refreshedMilliseconds = Number.NEGATIVE_INFINITY
  readonly #turns = new Turns(READS_MAX)
  #stopped = false

  constructor(options: EventFeedOptions) {
    this.#options = options
  }

  /**
   * The sequence to follow a customer from: `after`, or else its last one. Throws `EventsExpired` as `requireKept` does.
   * Each later event wakes the customer's followers.
   */
  start(customerId: string, after: bigint | undefined): Promise<bigint> {
    return this.#turns.run(async () => {
      await this.#listen()
      const last = (await this.#watch([customerId])).get(customerId) ?? 0n
      if (after === undefined) return last
      await requireKept(this.#options.db, customerId, after)
      return after
    })
  }

  /** Wakes the follower until the returned function is called. */
  follow(customerId: string, follower: EventFollower): () => void {
    let followed = this.#followed.get(customerId)
    if (followed === undefined) {
      followed = { followers: new Set(), reads: new Map() }
      this.#followed.set(customerId, followed)
    }
    const { followers } = followed
    followers.add(follower)
    this.#timer ??= this.#schedulePoll()
    return () => {
      followers.delete(follower)
      if (followers.size === 0 && this.#followed.get(customerId)?.followers === followers)
        this.#followed.delete(customerId)
    }
  }

  /** Reads a followed customer's next events, for every scope. */
  read(customerId: string, after: bigint): Promise<EventBatch> {
    const { db } = this.#options
    const begin = () =>
      this.#turns.run(() => readEvents(db, { customerId, scopes: undefined }, after, { limit: BATCH_MAX }))
    const reads = this.#followed.get(customerId)?.reads
    if (reads === undefined) return begin()
    let read = reads.get(after)
    if (read === undefined) {
      read = begin().finally(() => {
        if (reads.get(after) === read) reads.delete(after)
      })
      reads.set(after, read)
    }
    return read
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#polling
    const unlisten = await this.#listening?.catch(() => undefined)
    await unlisten?.()
  }

  /** Resolves when no poll is under way. */
  async settled(): Promise<void> {
    await this.#polling
  }

  #listen(): Promise<unknown> {
    this.#listening ??= this.#options.db
      .listen(EVENTS_CHANNEL, {
        onNotify: (customerId) => this.#wake(customerId),
        onReconnect: () => {
          for (const customerId of this.#followed.keys()) this.#wake(customerId)
        },
      })
      .catch((error: unknown) => {
        this.#listening = undefined
        throw error
      })
    return this.#listening
  }

  #wake(customerId: string, last?: bigint): void {
    const followed = this.#followed.get(customerId)
    if (followed === undefined) return
    // They may have begun before the event was committed.
    followed.reads.clear()
    for (const follower of [...followed.followers]) follower.wake(last)
  }

  #schedulePoll(): Timer {
    return this.#options.clock.schedule(POLL_MILLISECONDS, () => {
      this.#timer = this.#followed.size === 0 || this.#stopped ? undefined : this.#schedulePoll()
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = undefined
      })
    })
  }

  async #poll(): Promise<void> {
    const { clock, log } = this.#options
    const isRefreshDue = clock.monotonicMilliseconds() - this.#refreshedMilliseconds >= REFRESH_MILLISECONDS
    const customerIds = [...this.#followed.keys()]
    try {
      await this.#listen()
      for (let from = 0; from < customerIds.length; from += CUSTOMERS_MAX) {
        const some = customerIds.slice(from, from + CUSTOMERS_MAX)
        const lasts = await (isRefreshDue ? this.#watch(some) : this.#readLast(some))
        for (const [customerId, last] of lasts) this.#wake(customerId, last)
      }
      if (isRefreshDue) this.#refreshedMilliseconds = clock.monotonicMilliseconds()
    } catch (error) {
      reportFailure(log, error, 'new events were not looked for. The next attempt is in 5 s')
    }
  }

  /** Has the customers' commits announced for a while. Returns their last sequences. */
  #watch(customerIds: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    // In the order in which commits lock them.
    return this.#lastSequences(sql`
      insert into event_counters (customer_id, last_sequence, last_created_at, watched_until)
      select id, 0, '-infinity', clock_timestamp() + make_interval(secs => ${WATCH_SECONDS})
      from unnest(${customerIds}::uuid[]) as wanted (id) order by id
      on conflict (customer_id) do update set watched_until = greatest(event_counters.watched_until, excluded.watched_until)
      returning customer_id, last_sequence
    `)
  }

  #readLast(customerIds: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    return this.#lastSequences(sql`
      select customer_id, last_sequence from event_counters where customer_id = any(${customerIds}::uuid[])
    `)
  }

  async #lastSequences(query: ReturnType<typeof sql>): Promise<ReadonlyMap<string, bigint>> {
    const { rows } = await query.execute(this.#options.db.tables<EventTables>())
    return new Map(
      (rows as { readonly customer_id: string; readonly last_sequence: string }[]).map(
        ({ customer_id, last_sequence }) => [customer_id, BigInt(last_sequence)],
      ),
    )
  }
}
