/** The settings for signed receipts. */
import { toggle } from '../setting-kinds.ts'

export const RECEIPTS_SETTINGS = {
  'receipts.enabled': toggle({
    initial: false,
    meaning: 'adds signed receipts to the extended protocol’s heartbeats',
  }),
} as const
