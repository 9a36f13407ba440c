/**
 * The feed lease rows in the store: one per feed group, with its holder, its epoch and its expiry by the database
 * clock. Taking a lease increases the epoch, so no two holders ever have the same one. Every operation is one statement
 * outside a transaction, so a process that is cut off holds no lock. Decisions are in `feed-lease`.
 *
 * The embedded store has one process, proved by its data folder, so the lease is taken there regardless of the row.
 */
import type { Db, NotificationListener } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

/** Notification channel for released leases. The payload is the feed group. */
const FEED_LEASE_CHANNEL = 'tidegate_feed_lease'

/** The largest epoch: it is written as 8 hexadecimal digits. */
export const EPOCH_MAX = 0xffff_ffff

/** A group's lease as stored. */
export interface LeaseRecord {
  readonly epoch: number
  /** The holding process's name. Undefined: it is released. */
  readonly holderName: string | undefined
  /** Until it expires; 0 or less: it has expired, or is released. */
  readonly leftMilliseconds: number
}

/** Lease operations. `feed-lease` needs no more from a store. */
export interface LeaseRecords {
  /** No other process can hold it: it is not renewed, and does not expire. */
  readonly isExclusive: boolean
  /** The current lease. Undefined: the group never had one. */
  read(): Promise<LeaseRecord | undefined>
  /**
   * Takes the lease if it is free or has expired. Its epoch is larger than every group's before, because a market may
   * come from another group, and than `heardEpoch`, so epochs grow even when the store has lost its last commits.
   * Undefined: another process holds it.
   */
  take(heardEpoch: number): Promise<number | undefined>
  /** Extends the lease. False: this process does not hold it with this epoch any more. */
  renew(epoch: number): Promise<boolean>
  /** Frees the lease if this process holds it with this epoch, and notifies the standbys. */
  release(epoch: number): Promise<void>
  /** Calls `listener` when the lease was released, or when a release may have been missed. */
  listen(listener: () => void): Promise<() => Promise<void>>
}

export interface LeaseTableOptions {
  readonly db: Db
  readonly feedGroup: string
  /** A UUID unique to this process. */
  readonly holder: string
  /** How the operator recognises the process. */
  readonly holderName: string
  readonly leaseMilliseconds: number
  /** Whether no other process can use the store; the engine's own answer by default. */
  readonly isExclusive?: boolean
}

interface FeedLeasesTable {
  feed_leases: {
    feed_group: string
    epoch: string
    holder: string | null
    holder_name: string
    expires_at: string
    taken_at: string
  }
}

export function createLeaseRecords(options: LeaseTableOptions): LeaseRecords {
  const { db, feedGroup, holder, holderName, leaseMilliseconds } = options
  const isExclusive = options.isExclusive ?? db.engine === 'embedded'
  const tables = () => db.tables<FeedLeasesTable>()
  const expiry = sql`clock_timestamp() + ${leaseMilliseconds} * interval '1 millisecond'`
  return {
    isExclusive,
    async read() {
      const { rows } = await sql<{ epoch: string; holder_name: string | null; left_milliseconds: string }>`
        select epoch, case when holder is not null then holder_name end as holder_name,
          case when holder is null then 0
            else ceil(extract(epoch from expires_at - clock_timestamp()) * 1000)::bigint
          end as left_milliseconds
        from feed_leases where feed_group = ${feedGroup}
      `.execute(tables())
      const [row] = rows
      if (row === undefined) return undefined
      return {
        epoch: Number(row.epoch),
        holderName: row.holder_name ?? undefined,
        leftMilliseconds: Number(row.left_milliseconds),
      }
    },
    async take(heardEpoch) {
      // The condition is evaluated after the row is locked, so only one concurrent attempt succeeds.
      const { rows } = await sql<{ epoch: string }>`
        insert into feed_leases (feed_group, epoch, holder, holder_name, expires_at, taken_at)
        select ${feedGroup}, greatest(max(epoch), ${heardEpoch}::bigint) + 1, ${holder}::uuid, ${holderName}, ${expiry},
          clock_timestamp()
        from feed_leases
        on conflict (feed_group) do update set
          epoch = greatest(feed_leases.epoch + 1, excluded.epoch),
          holder = excluded.holder,
          holder_name = excluded.holder_name,
          expires_at = ${expiry},
          taken_at = clock_timestamp()
        where feed_leases.holder is null or feed_leases.expires_at <= clock_timestamp() or ${isExclusive}
        returning epoch
      `.execute(tables())
      return rows[0] === undefined ? undefined : Number(rows[0].epoch)
    },
    async renew(epoch) {
      const { rows } = await sql`
        update feed_leases set expires_at = ${expiry}
        where feed_group = ${feedGroup} and holder = ${holder} and epoch = ${epoch}
        returning epoch
      `.execute(tables())
      return rows.length === 1
    },
    async release(epoch) {
      await sql`
        with released as (
          update feed_leases set holder = null, expires_at = clock_timestamp()
          where feed_group = ${feedGroup} and holder = ${holder} and epoch = ${epoch}
          returning feed_group
        )
        select pg_notify(${FEED_LEASE_CHANNEL}, feed_group) from released
      `.execute(tables())
    },
    listen(listener) {
      const listening: NotificationListener = {
        onNotify: (payload) => {
          if (payload === feedGroup) listener()
        },
        onReconnect: listener,
      }
      return db.listen(FEED_LEASE_CHANNEL, listening)
    },
  }
}
