/** Customers' webhook endpoints. */
import { integer, toggle } from '../setting-kinds.ts'

export const WEBHOOKS_SETTINGS = {
  'webhooks.allow_private': toggle({
    initial: false,
    live: true,
    meaning: 'whether customers’ webhook endpoints may have non-public addresses, and plain HTTP',
  }),
  'webhooks.endpoints_max': integer({
    initial: 10,
    min: 0,
    max: 1_000,
    live: true,
    meaning: 'webhook endpoints per customer. Further ones get 403 `quota_exceeded`',
  }),
} as const
