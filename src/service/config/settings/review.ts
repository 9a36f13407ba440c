/** The amounts above which a person decides. */
import { assetAmounts } from '../asset-amounts.ts'

export const REVIEW_SETTINGS = {
  'review_above.deposits': assetAmounts({
    live: true,
    meaning: 'by asset: larger deposits are held, and run no rule, until the operator releases them',
  }),
  'review_above.payments': assetAmounts({
    live: true,
    meaning: 'by asset: larger payments are not handed out until the operator releases them',
  }),
} as const
