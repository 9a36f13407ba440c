/** The descriptions and examples of the operations on events and webhook endpoints. Pure. */
import { WEBHOOK_EXAMPLES } from './webhook-examples.ts'

const EVENT = {
  id: '00000000-002a-8c1d-a7e2-4b6f0d913c58',
  sequence: 42,
  type: 'orchestration.orchestration.completed',
  source: 'tidegate',
  time: '2026-11-20T12:06:00.004Z',
  specversion: '1.0',
  subject: 'orchestration/01932b61-91c7-7d10-8a52-3c4b5d6e7f80',
  object: 'event',
  is_test: false,
  data: {
    object_type: 'orchestration',
    id: '01932b61-91c7-7d10-8a52-3c4b5d6e7f80',
    ref_id: 'payout-17',
    status: 'COMPLETED',
    changed_at: '2026-11-20T12:06:00.000Z',
  },
}

export const EVENT_EXAMPLES = {
  listEvents: {
    description:
      'One event for each change of an object’s visible state, oldest first. Several changes in one transaction are one ' +
      'event with the last state. Follow them with `after`: the last `sequence` that was read. A client sees the events ' +
      'about objects that its scopes read. Events are kept for a time set by the operator (90 days by default): an older ' +
      '`after` is 410 `events_expired`.',
    answered: 'One page of events',
    answer: { items: [EVENT] },
  },
  getEvent: { description: '', answered: 'The event', answer: EVENT },
  ...WEBHOOK_EXAMPLES,
}
