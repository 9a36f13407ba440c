/** The settings for destinations: where customers' money may leave to, and from when on. */
import { choice, integer, toggle } from '../setting-kinds.ts'

export const DESTINATIONS_SETTINGS = {
  'destinations.required': toggle({
    initial: true,
    live: true,
    isKeptByStore: true,
    meaning: 'whether money leaves only to registered destinations. Deleted and rejected ones are never paid',
  }),
  'destinations.approval': choice({
    initial: 'required',
    values: ['auto', 'required'],
    live: true,
    isKeptByStore: true,
    meaning: 'whether a new destination is ACTIVE at once, or PENDING until the operator approves it',
  }),
  'destinations.cooling_hours': integer({
    initial: 24,
    min: 0,
    max: 8_760,
    live: true,
    isKeptByStore: true,
    meaning: 'hours from a destination’s registration until it is usable',
  }),
} as const
