/** The settings for signed receipts. */
import { toggle } from '../setting-kinds.ts'

export const RECEIPTS_SETTINGS = {
  'receipts.enabled': toggle({
    initial: false,
    meaning: 'whether heartbeats of the extended protocol contain signed receipts of the books',
  }),
} as const
