/** Metered usage. */
import { integer } from '../setting-kinds.ts'

export const METERING_SETTINGS = {
  'metering.retention_days': integer({
    initial: 400,
    min: 1,
    max: 3_650,
    live: true,
    meaning: 'days for which usage is kept: by hour for 14 days, then by day',
  }),
} as const
