/**
 * An event's JSON text, the same in lists, in requests to webhook endpoints and on the stream: a CloudEvent (CloudEvents
 * 1.0) whose data names the changed object. Receivers read the object itself, with their own scopes.
 */
import { type ItemText, objectText, plainText, quotedText, timeText } from '../../platform/store/page-text.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'

/**
 * The id is not stored: an UUID of version 8 (RFC 9562) with the sequence in its first 48 bits, and a digest of the row
 * behind it, so that an event written after a restore has another id than the lost one with its sequence.
 */
const digest = sql`
  md5(concat_ws(' ', record.customer_id, record.sequence, record.type, record.object_id, extract(epoch from record.created_at)))`

export const EVENT_ID: RawBuilder<string> = sql`(
  lpad(to_hex(record.sequence), 12, '0') || '8' || substr(${digest}, 1, 3) || 'a' || substr(${digest}, 4, 15)
)::uuid`

/** The sequence in an event's id. */
export function sequenceIn(id: string): string {
  return BigInt(`0x${id.replaceAll('-', '').slice(0, 12)}`).toString()
}

/** The columns are those of the table `events`, as `record`. */
export const EVENT_ITEM: ItemText = {
  members: [
    ['id', sql`'"' || ${EVENT_ID} || '"'`],
    ['sequence', sql`record.sequence::text`],
    ['type', plainText('type')],
    ['source', sql`'"tidegate"'`],
    ['time', timeText('created_at')],
    ['specversion', sql`'"1.0"'`],
    ['subject', sql`'"' || record.object_type || '/' || record.object_id || '"'`],
    ['object', sql`'"event"'`],
    ['is_test', sql`'false'`],
    [
      'data',
      objectText([
        ['object_type', plainText('object_type')],
        ['id', plainText('object_id')],
        ['ref_id', quotedText('ref_id')],
        ['status', plainText('status')],
        ['changed_at', timeText('changed_at')],
      ]),
    ],
  ],
  large: { text: ['ref_id'], jsonb: [] },
}
