/** Limits on what leaves customers' profiles. */
import { limitRows } from '../limits.ts'

export const LIMIT_SETTINGS = {
  'limits.defaults': limitRows({
    live: true,
    meaning:
      'limits on what leaves a customer’s profiles, unless the operator has set others for the customer, such as [{scope: customer, asset: USDC, window: day, amount: 50000}]. scope: customer or destination. window: movement, or day for the last 24 hours',
  }),
} as const
