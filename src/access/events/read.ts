/**
 * Reads a customer's events: pages for the REST API, and consecutive ones after a sequence for senders. A reader sees
 * the events about objects that its scopes read. Others are missing for it.
 */
import { type EventType, readableObjects } from '../../contract/event-types.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import type { Range } from '../../platform/store/page.ts'
import { objectText, readItemText, type TextPage } from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { EVENT_ID, EVENT_ITEM, sequenceIn } from './document.ts'
import type { EVENT_FILTERS } from './schemas.ts'
import type { EventTables } from './tables.ts'

/** The most events that `readEvents` returns, and the most that it examines. */
const EVENTS_MAX = 1_000

/** Whose events, and what the reader may see of them. */
export interface EventReader {
  readonly customerId: string
  /** Undefined: every event, for the operator. */
  readonly scopes: ReadonlySet<string> | undefined
}

/**
 * The events after the requested sequence are no longer kept, or it is later than the last one: after the store was
 * restored to an earlier time, other events get the sequences that its reader knows.
 */
export class EventsExpired extends Error {
  override name = 'EventsExpired'
  readonly oldestSequence: bigint
  readonly last: bigint | undefined

  /** @param last the last sequence, where the requested one is later */
  constructor(oldestSequence: bigint, last?: bigint) {
    const isEarlier = last === undefined ? '' : `, and the last one ${last}`
    super(`the oldest event kept has the sequence ${oldestSequence}${isEarlier}`)
    this.oldestSequence = oldestSequence
    this.last = last
  }
}

export interface CustomerEvent {
  readonly id: string
  readonly sequence: bigint
  readonly type: EventType
  readonly objectType: string
  readonly objectId: string
  /** The JSON text. */
  readonly text: string
}

/** Consecutive events. `examinedTo` is the last sequence examined: later ones may follow. */
export interface EventBatch {
  readonly events: readonly CustomerEvent[]
  readonly examinedTo: bigint
  /** Whether every event until now was examined. */
  readonly isEnd: boolean
}

/**
 * Reads up to `limit` sequences after `after`, in order. Throws `EventsExpired` as `requireKept` does.
 *
 * @param types the wanted types; undefined: all
 */
export async function readEvents(
  db: Db,
  reader: EventReader,
  after: bigint,
  { types, limit = EVENTS_MAX }: { readonly types?: ReadonlySet<string> | undefined; readonly limit?: number } = {},
): Promise<EventBatch> {
  const tables = db.tables<EventTables>()
  const { rows } = await sql<{
    readonly id: string
    readonly sequence: string
    readonly type: EventType
    readonly object_type: string
    readonly object_id: string
    readonly text: string
  }>`
    select ${EVENT_ID} as id, sequence, type, object_type, object_id, ${objectText(EVENT_ITEM.members)} as text
    from events as record where customer_id = ${reader.customerId} and sequence > ${after.toString()}
    order by sequence limit ${limit}
  `.execute(tables)
  const first = rows[0]
  if (first === undefined) await requireKept(db, reader.customerId, after)
  else if (BigInt(first.sequence) > after + 1n) throw new EventsExpired(BigInt(first.sequence))
  const objects = reader.scopes === undefined ? undefined : new Set<string>(readableObjects(reader.scopes))
  const visible = rows.filter(
    ({ type, object_type }) =>
      (types === undefined || types.has(type)) && (objects === undefined || objects.has(object_type)),
  )
  return {
    events: visible.map(({ id, sequence, type, object_type, object_id, text }) => ({
      id,
      sequence: BigInt(sequence),
      type,
      objectType: object_type,
      objectId: object_id,
      text,
    })),
    examinedTo: BigInt(rows.at(-1)?.sequence ?? after),
    isEnd: rows.length < limit,
  }
}

/** Throws `EventsExpired` unless every event after the sequence is kept, and it is not later than the last one. */
export async function requireKept(db: Db, customerId: string, after: bigint): Promise<void> {
  const { rows } = await sql<{ readonly oldest: string | null; readonly last: string | null }>`select
    (select min(sequence) from events where customer_id = ${customerId}) as oldest,
    (select last_sequence from event_counters where customer_id = ${customerId}) as last
  `.execute(db.tables())
  const last = BigInt(rows[0]?.last ?? 0)
  const oldest = BigInt(rows[0]?.oldest ?? last + 1n)
  if (after > last) throw new EventsExpired(oldest, last)
  if (after + 1n < oldest) throw new EventsExpired(oldest)
}

/** An event's JSON text. Undefined: there is none with this id that the reader may see. */
export async function getEvent(db: Db, reader: EventReader, id: string): Promise<string | undefined> {
  const tables = db.tables<EventTables>()
  const query = visibleTo(tables, reader)
    .where('sequence', '=', sequenceIn(id))
    .where(sql<boolean>`(select ${EVENT_ID} from (select events.*) as record) = ${id}`)
  return await readItemText(tables, query, EVENT_ITEM)
}

/** One page. Throws `EventsExpired` like `readEvents` when `after` is given. */
export async function listEvents(
  db: Db,
  reader: EventReader,
  { filters, binding, ...paging }: ListQuery<typeof EVENT_FILTERS>,
  after: bigint | undefined,
): Promise<TextPage> {
  const tables = db.tables<EventTables>()
  const { types, created_at, after: _, ...left } = filters
  left satisfies AllApplied
  const { customerId, scopes } = reader
  let query = visibleTo(tables, { customerId, scopes: undefined })
  if (created_at !== undefined) query = query.where(isMadeWithin(customerId, created_at))
  if (after !== undefined) {
    await requireKept(db, customerId, after)
    query = query.where('sequence', '>', after.toString())
  }
  const objects = scopes === undefined ? undefined : readableObjects(scopes)
  return await readFilteredPage(tables, {
    query,
    filters: [
      { column: 'type', type: 'text', values: types },
      { column: 'object_type', type: 'text', values: objects },
    ],
    item: EVENT_ITEM,
    request: {
      ...paging,
      operation: 'listEvents',
      owner: customerId,
      filters: binding,
      idType: 'bigint',
      indexes: 'id',
    },
  })
}

/** The condition for an event made within a range, by its sequence: no index has the times. */
function isMadeWithin(customerId: string, { from, until, isEmpty }: Range): RawBuilder<boolean> {
  if (isEmpty) return sql<boolean>`false`
  return sql<boolean>`
    ${from === undefined ? sql`true` : sql`sequence >= ${firstSequence(customerId, sql`created_at < ${from}`)}`}
    and ${until === undefined ? sql`true` : sql`sequence < ${firstSequence(customerId, sql`created_at <= ${until}`)}`}`
}

/**
 * The first sequence that is not before a time, or the one after the last. Times never descend and sequences have no gap,
 * so halving finds it: 20 rows of a million are read. Null: there are no events.
 */
function firstSequence(customerId: string, isBefore: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    with recursive part (low, high) as (
      select min(sequence), max(sequence) + 1 from events where customer_id = ${customerId}
      union all
      select case when is_before then middle + 1 else low end, case when is_before then high else middle end
      from part cross join lateral (
        select sequence as middle, ${isBefore} as is_before from events
        where customer_id = ${customerId} and sequence >= (low + high) / 2 order by sequence limit 1
      ) as tested
      where low < high
    )
    select low from part where low = high
  )`
}

/** The events with their sequence as the list's id. */
function visibleTo(tables: Kysely<EventTables>, { customerId, scopes }: EventReader) {
  const all = tables
    .selectFrom((from) =>
      from.selectFrom('events').selectAll().select('sequence as id').where('customer_id', '=', customerId).as('events'),
    )
    .selectAll()
  return scopes === undefined ? all : all.where('object_type', 'in', readableObjects(scopes))
}
