/** The amounts above which a person decides. */
import { assetAmounts } from '../asset-amounts.ts'

export const REVIEW_SETTINGS = {
  'review_above.deposits': assetAmounts({
    live: true,
    meaning: 'deposits above this amount are held, and run no rule, until the operator releases them, by asset',
  }),
  'review_above.payments': assetAmounts({
    live: true,
    meaning: 'payments above this amount are not handed out until the operator releases them, by asset',
  }),
} as const
