/** The settings that limit what one customer may create, over all its clients and all nodes. */
import { integer } from '../setting-kinds.ts'

/** Counters are four-byte integers in the store. */
const TOTAL_MAX = 1_000_000_000

export const QUOTAS_SETTINGS = {
  'quotas.accounts_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning: 'accounts that a customer may have; one more is refused with 403 `quota_exceeded`',
  }),
  'quotas.addresses_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'deposit addresses that a customer may have, those of its rules included; one more is refused with 403 `quota_exceeded`',
  }),
  'quotas.rules_max': integer({
    initial: 100_000,
    min: 0,
    max: TOTAL_MAX,
    live: true,
    meaning:
      'rules that a customer may have, in whatever status, DELETED included; one more is refused with 403 `quota_exceeded`',
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
      'share of an address pool, as it was after the last import, that is kept for customers that have received few addresses since; 0 = none',
  }),
} as const
