/** Customers' events. */
import { integer } from '../setting-kinds.ts'

export const EVENTS_SETTINGS = {
  'events.retention_days': integer({
    initial: 90,
    min: 1,
    max: 3_650,
    live: true,
    meaning: 'days for which a customer’s events are kept. Older ones: 410 `events_expired`',
  }),
} as const
