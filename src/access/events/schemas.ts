/** The response schemas for events, and the filters for their list. */
import { Type } from 'typebox'
import { EVENT_OBJECTS, EVENT_TYPES, type EventObject, type EventType } from '../../contract/event-types.ts'
import { choices, text, times } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'

const Time = Type.String({ format: 'date-time' })

const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[]

export const CustomerEventDocument = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The same at every repetition. Also the header `webhook-id`' }),
    sequence: Type.Integer({
      minimum: 1,
      description: 'Per customer, ascending. Sequences the reader may not see are missing',
    }),
    type: textChoice(EVENT_TYPE_NAMES),
    source: Type.Literal('tidegate'),
    time: Type.String({
      format: 'date-time',
      description: 'When the change was committed. Never before an earlier sequence’s',
    }),
    specversion: Type.Literal('1.0', { description: 'CloudEvents’ version' }),
    subject: Type.String({ description: '`object_type/id` of the changed object' }),
    object: Type.Literal('event'),
    is_test: Type.Boolean({ description: 'Whether the event was sent by a test call' }),
    data: Type.Object({
      object_type: textChoice(Object.keys(EVENT_OBJECTS) as EventObject[]),
      id: Type.String({ format: 'uuid' }),
      ref_id: Type.Optional(Type.String()),
      status: Type.Optional(Type.String({ description: 'The object’s status after the change' })),
      changed_at: Time,
    }),
  },
  { title: 'Event' },
)

export const EventPage = pageOf(CustomerEventDocument)

/** The list's query parameters. */
export const EVENT_FILTERS = {
  after: text('Only events with a higher sequence'),
  types: choices(EVENT_TYPE_NAMES, 'Filter by types'),
  created_at: times('Created'),
}
