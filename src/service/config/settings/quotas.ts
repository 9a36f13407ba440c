/** The limits on what one customer may create, over all its clients and all nodes. */
import { integer } from '../setting-kinds.ts'

/** Counters are four-byte integers in the store. */
const TOTAL_MAX = 1_000_000_000

export const QUOTAS_SETTINGS = {
  'quotas.accounts_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning: 'accounts per customer. Further ones get 403 `quota_exceeded`',
  }),
  'quotas.addresses_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning: 'deposit addresses per customer, including those for rules. Further ones get 403 `quota_exceeded`',
  }),
  'quotas.rules_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning: 'rules per customer in any status, including DELETED. Further ones get 403 `quota_exceeded`',
  }),
  'quotas.creations_per_day': integer({
    initial: 10_000,
    min: 1,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'requests per customer and UTC day (store’s clock) that may create an account, a deposit address or a rule. Further ones get 429 `daily_quota_exceeded`',
  }),
  'quotas.pool_reserve_percent': integer({
    initial: 20,
    min: 0,
    max: 99,
    live: true,
    meaning:
      'share of an address pool’s size after the last import, reserved for customers that have received few addresses since',
  }),
} as const
