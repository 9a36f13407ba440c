/**
 * Reads a customer's events: pages for the REST API, and consecutive ones after a sequence for senders. A reader sees
 * the events about objects that its scopes read. Others are missing for it.
 */
import { type EventType, readableObjects } from '../../contract/event-types.ts'
import type { AllApplied, ListQuery } from '../../platform/http/list-query.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { readFilteredPage } from '../../platform/store/filtered-list.ts'
import { isMadeWithin } from '../../platform/store/page.ts'
import { objectText, readItemText, type TextPage } from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
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

/** The events after the requested sequence are no longer kept. */
export class EventsExpired extends Error {
  override name = 'EventsExpired'
  readonly oldestSequence: bigint

  constructor(oldestSequence: bigint) {
    super(`the oldest event kept has the sequence ${oldestSequence}`)
    this.oldestSequence = oldestSequence
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
 * Reads up to `limit` sequences after `after`, in order. Throws `EventsExpired` when an event after it was deleted.
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

/** Throws `EventsExpired` unless every event after the sequence is kept. */
export async function requireKept(db: Db, customerId: string, after: bigint): Promise<void> {
  const { rows } = await sql<{ readonly oldest: string }>`
    select coalesce(
      (select min(sequence) from events where customer_id = ${customerId}),
      (select last_sequence + 1 from event_counters where customer_id = ${customerId}),
      1
    ) as oldest
  `.execute(db.tables())
  const oldest = BigInt(rows[0]?.oldest ?? 1)
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
  if (created_at !== undefined) query = query.where(isMadeWithin(created_at))
  if (after !== undefined) {
    await requireKept(db, customerId, after)
    query = query.where('sequence', '>', after.toString())
    // The list's order begins with the time, and no event after this one is earlier.
    query = query.where(
      sql<boolean>`created_at >= coalesce((
        select created_at from events where customer_id = ${customerId} and sequence = ${after.toString()}), '-infinity')`,
    )
  }
  const objects = scopes === undefined ? undefined : readableObjects(scopes)
  return await readFilteredPage(tables, {
    query,
    filters: [
      { column: 'type', type: 'text', values: types },
      { column: 'object_type', type: 'text', values: objects },
    ],
    item: EVENT_ITEM,
    request: { ...paging, operation: 'listEvents', owner: customerId, filters: binding, idType: 'bigint' },
  })
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
