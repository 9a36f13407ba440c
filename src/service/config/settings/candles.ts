/** Candles. */
import { integer } from '../setting-kinds.ts'

export const CANDLES_SETTINGS = {
  'candles.retention_days': integer({
    initial: 400,
    min: 30,
    max: 3_650,
    live: true,
    meaning: 'days for which hourly candles are kept. Those of a minute are kept for 30 days',
  }),
} as const
