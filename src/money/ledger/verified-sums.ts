/**
 * Sums of the postings read earlier, by account, so a comparison reads only later postings. They advance over segments
 * of final postings. Each segment keeps its rows' digest and is read again a day later. This finds a posting changed,
 * added or removed since. All sums are then recomputed from the current postings. One process at a time writes here,
 * under the position's lock. Only the comparison relies on these sums.
 */
import type { Db, Transaction } from '../../platform/store/db.ts'
import { unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/** Either the store, or the inside of one transaction. */
export type LedgerStore = Pick<Db, 'tables' | 'transaction'>

/** Stands for a profile id in the service's accounts. */
export const SERVICE = '00000000-0000-0000-0000-000000000000'

/** The tables written here. */
export const SUMS_TABLES = ['ledger_position', 'ledger_sums', 'ledger_segments'] as const

/** Segments of 2,000 postings in one call: 50 million postings are read in 20 minutes. */
const SEGMENTS_MAX = 20
/**
 * A segment is read again after this time, one per 2 seconds: less than 1 % of a core, and 2 billion postings in 30
 * days.
 */
const REREAD_AFTER = sql.lit('1 day')
/** A segment that differs is read again after this time, because an operator may have restored it. */
const REREAD_CHANGED_AFTER = sql.lit('1 minute')
/** The shortest time between two recomputations caused by a balance that differs from the sums. */
const AGAIN_AFTER = sql.lit('6 hours')
/** The most segments shown. */
const CHANGED_MAX = 100

/**
 * The digest of the rows in `segment`. Their text depends on no session setting and no server version: it contains only
 * whole numbers, names, ids, and times in milliseconds.
 */
const DIGEST = sql`
  select sha256(convert_to(coalesce(string_agg(
    id || '/' || group_id || '/' || asset || '/' || amount
      || '/' || debit_bucket || '/' || coalesce(debit_profile_id::text, '')
      || '/' || credit_bucket || '/' || coalesce(credit_profile_id::text, '')
      || '/' || (extract(epoch from effective_at) * 1000)::bigint || '/' || (extract(epoch from created_at) * 1000)::bigint,
    chr(10) order by id
  ), ''), 'UTF8')) as digest from segment
`

/** No request waits for a segment, and even a cold segment on a slow disk must be read to its end. */
const PATIENT = { statementMillisecondsMax: 10_000 }

/** The first postings come next again. */
const FROM_THE_BEGINNING = sql`posting_id = 0, generation = generation + 1, began_at = clock_timestamp()`

interface Segment {
  readonly after_id: string
  readonly last_id: string
}

/** The last posting in the sums, and their generation. */
export interface SumsPosition {
  readonly posting_id: string
  readonly generation: string
}

/** The state of the postings in the sums. */
export interface Reading {
  /** Every posting was read since then. Undefined while no segment is full. */
  readonly readAt: string | undefined
  /** Ranges of ids whose postings were changed. */
  readonly changed: readonly { readonly first_id: string; readonly last_id: string }[]
}

/** Advances the sums over final postings. False while more are left, or another process is advancing them. */
export async function advanceSums(db: LedgerStore, segmentIds: number): Promise<boolean> {
  for (let segment = 0; segment < SEGMENTS_MAX; segment++) {
    if ((await nextSegment(db.tables<unknown>(), segmentIds)) === undefined) return true
    await db.transaction<unknown, void>(async (transaction) => {
      if (!(await lockPosition(transaction))) return
      const next = await nextSegment(transaction, segmentIds)
      if (next !== undefined) await addSegment(transaction, next)
    }, PATIENT)
  }
  return false
}

/**
 * Reads one due segment again: one that differs first, otherwise the one read longest ago. False when none was read.
 */
export async function rereadOldest(db: LedgerStore): Promise<boolean> {
  if ((await dueSegment(db.tables<unknown>())) === undefined) return false
  return await db.transaction<unknown, boolean>(async (transaction) => {
    if (!(await lockPosition(transaction))) return false
    const due = await dueSegment(transaction)
    if (due === undefined) return false
    await sql`
      with segment as materialized (${postingsOf(due)}), read as (
        update ledger_segments set read_at = clock_timestamp(), differs = ledger_segments.digest <> now.digest
        from (${DIGEST}) as now where after_id = ${due.after_id} returning differs
      )
      update ledger_position set ${FROM_THE_BEGINNING} from read where read.differs <> ${due.differs}::boolean
    `.execute(transaction)
    return true
  }, PATIENT)
}

/** Recomputes the sums, unless this was done recently: a sum may be wrong, not the balance that differs from it. */
export async function beginAgain(db: LedgerStore): Promise<void> {
  await sql`
    update ledger_position set ${FROM_THE_BEGINNING}
    where began_at < clock_timestamp() - interval ${AGAIN_AFTER}
  `.execute(db.tables<unknown>())
}

export async function readReading(db: LedgerStore): Promise<Reading> {
  const { rows } = await sql<{ readonly read_at: string | null; readonly first: string | null; readonly last: string }>`
    select oldest.read_at, after_id + 1 as first, last_id as last
    from (select min(read_at) as read_at from ledger_segments) as oldest
    left join (
      select after_id, last_id from ledger_segments where differs order by after_id limit ${CHANGED_MAX}
    ) as changed on true
    order by after_id
  `.execute(db.tables<unknown>())
  return {
    readAt: rows[0]?.read_at ?? undefined,
    changed: rows.flatMap(({ first, last }) => (first === null ? [] : [{ first_id: first, last_id: last }])),
  }
}

export async function readPosition(db: LedgerStore): Promise<SumsPosition> {
  const { rows } = await sql<SumsPosition>`select posting_id, generation from ledger_position`.execute(
    db.tables<unknown>(),
  )
  return rows[0] as SumsPosition
}

/** Both sides of these postings: each side's contribution to its account's balance. */
export function sidesOf(postings: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select id, group_id, coalesce(debit_profile_id, ${SERVICE}::uuid) as profile_id, asset, debit_bucket as bucket,
      -amount as amount
    from ${postings}
    union all
    select id, group_id, coalesce(credit_profile_id, ${SERVICE}::uuid), asset, credit_bucket, amount from ${postings}
  `
}

type Executor = Parameters<RawBuilder<unknown>['execute']>[0]

/** The segment at the position. Undefined while some of its postings are not final. */
async function nextSegment(executor: Executor, segmentIds: number): Promise<Segment | undefined> {
  const { rows } = await sql<Segment>`
    select after_id, last_id from (
      select posting_id as after_id, coalesce(
        -- Sums that were begun again go over the same segments.
        (select last_id from ledger_segments where after_id = posting_id),
        posting_id + ${segmentIds}::bigint
      ) as last_id
      from ledger_position
    ) as next where last_id <= (select max(last_posting_id) from ledger_checkpoints)
  `.execute(executor)
  return rows[0]
}

/** False while another process has it. */
async function lockPosition(transaction: Transaction<unknown>): Promise<boolean> {
  const { rows } = await sql`select id from ledger_position ${unlessLocked}`.execute(transaction)
  return rows.length > 0
}

async function addSegment(transaction: Transaction<unknown>, segment: Segment): Promise<void> {
  const { after_id, last_id } = segment
  await sql`
    with segment as materialized (${postingsOf(segment)}), moved as (
      update ledger_position set posting_id = ${last_id} returning generation
    ), added as (
      insert into ledger_sums as kept (profile_id, asset, bucket, generation, amount)
      select profile_id, asset, bucket, generation, sum(amount) from moved, (${sidesOf(sql`segment`)}) as sides
      group by profile_id, asset, bucket, generation
      on conflict (profile_id, asset, bucket) do update set generation = excluded.generation,
        amount = excluded.amount + case when kept.generation = excluded.generation then kept.amount else 0 end
    )
    insert into ledger_segments as kept (after_id, last_id, digest, read_at)
    select ${after_id}::bigint, ${last_id}::bigint, digest, clock_timestamp() from (${DIGEST}) as now
    on conflict (after_id) do update set read_at = excluded.read_at, differs = kept.digest <> excluded.digest
  `.execute(transaction)
}

async function dueSegment(executor: Executor): Promise<(Segment & { readonly differs: boolean }) | undefined> {
  const { rows } = await sql<Segment & { readonly differs: boolean }>`
    select after_id, last_id, differs from ledger_segments where after_id = coalesce(
      (select after_id from ledger_segments
        where differs and read_at < clock_timestamp() - interval ${REREAD_CHANGED_AFTER} order by read_at limit 1),
      (select after_id from ledger_segments
        where read_at < clock_timestamp() - interval ${REREAD_AFTER} order by read_at limit 1)
    )
  `.execute(executor)
  return rows[0]
}

function postingsOf({ after_id, last_id }: Segment): RawBuilder<unknown> {
  return sql`
    select id, group_id, asset, amount, debit_bucket, debit_profile_id, credit_bucket, credit_profile_id, effective_at,
      created_at
    from postings where id > ${after_id} and id <= ${last_id}
  `
}
