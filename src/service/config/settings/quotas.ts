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
    meaning: 'largest number of accounts of a customer; more are refused with 403 `quota_exceeded`',
  }),
  'quotas.addresses_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'largest number of deposit addresses of a customer, including those of its rules; more are refused with 403 `quota_exceeded`',
  }),
  'quotas.rules_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'largest number of rules of a customer in any status, including DELETED; more are refused with 403 `quota_exceeded`',
  }),
  'quotas.creations_per_day': integer({
    initial: 10_000,
    min: 1,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'requests of a customer that may create an account, a deposit address or a rule in one UTC day of the store’s clock; more are refused with 429 `daily_quota_exceeded` until the day ends',
  }),
  'quotas.pool_reserve_percent': integer({
    initial: 20,
    min: 0,
    max: 99,
    live: true,
    meaning:
      'share of an address pool, of its size after the last import, that is reserved for customers that have received few addresses since; 0 = none',
  }),
} as const
