/** The events for an endpoint, as the sender reads them from its customer's. */
import { readableObjects } from '../../contract/event-types.ts'
import type { Db } from '../../platform/store/db.ts'
import { objectText } from '../../platform/store/page-text.ts'
import { sql } from '../../platform/store/sql.ts'
import { EVENT_ID, EVENT_ITEM } from '../events/document.ts'
import { EventsExpired, readEvents } from '../events/read.ts'
import type { Claim } from './claims.ts'
import type { NewEvents, SentEvent } from './round.ts'

/** Which of a customer's events an endpoint receives. */
export interface Wanted {
  readonly customerId: string
  /** Its client's. */
  readonly scopes: ReadonlySet<string>
  /** Undefined: all types. */
  readonly types: ReadonlySet<string> | undefined
}

/** The events with these sequences that the endpoint still receives. */
export async function readWaiting(
  db: Db,
  { customerId, scopes, types }: Wanted,
  sequences: readonly number[],
): Promise<readonly SentEvent[]> {
  const { rows } = await sql<Omit<SentEvent, 'sequence'> & { readonly sequence: string }>`
    select ${EVENT_ID} as id, sequence, object_type as "objectType", object_id as "objectId",
      ${objectText(EVENT_ITEM.members)} as text
    from events as record where customer_id = ${customerId} and sequence = any(${[...sequences]}::bigint[])
      and object_type = any(${[...readableObjects(scopes)]}::text[])
      and (${types === undefined} or type = any(${[...(types ?? [])]}::text[]))
  `.execute(db.tables())
  return rows.map(({ sequence, ...event }) => ({ ...event, sequence: Number(sequence) }))
}

/**
 * The next events after a sequence, and the last sequence that was examined for them. Events that were deleted in the
 * meantime are left out.
 * @param onExpired called with the oldest sequence that is left
 */
export async function readNew(
  db: Db,
  wanted: Wanted,
  after: number,
  limit: number,
  onExpired: (oldest: number) => void,
): Promise<NewEvents> {
  try {
    const { events, examinedTo, isEnd } = await readEvents(db, wanted, BigInt(after), { types: wanted.types, limit })
    const sent = events.map(({ sequence, ...event }) => ({ ...event, sequence: Number(sequence) }))
    return { events: sent, passedSequence: Number(examinedTo), isEnd }
  } catch (error) {
    if (!(error instanceof EventsExpired)) throw error
    const oldest = Number(error.oldestSequence)
    onExpired(oldest)
    return await readNew(db, wanted, oldest - 1, limit, onExpired)
  }
}

/** A test, in the form of an event. Its sequence is 0, which no event has. */
export function testEvent(
  { id }: Pick<Claim, 'id'>,
  testId: string,
  time: string,
): Pick<SentEvent, 'id' | 'sequence' | 'text'> {
  const document = {
    id: testId,
    sequence: 0,
    type: 'webhook.endpoint.test',
    source: 'tidegate',
    time,
    specversion: '1.0',
    subject: `webhook_endpoint/${id}`,
    object: 'event',
    is_test: true,
    data: { object_type: 'webhook_endpoint', id, changed_at: time },
  }
  return { id: testId, sequence: 0, text: JSON.stringify(document) }
}
