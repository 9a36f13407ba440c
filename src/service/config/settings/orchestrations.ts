/** The settings for orchestrations: a conversion's time limit, the fee, and the minimum amounts. */
import { assetAmounts } from '../asset-amounts.ts'
import { integer, seconds } from '../setting-kinds.ts'

export const ORCHESTRATION_SETTINGS = {
  'orchestrations.convert_seconds_max': seconds({
    initial: 86_400,
    min: 1,
    max: 31_536_000,
    live: true,
    meaning:
      'longest wait for a conversion’s price, without time on hold or paused. Then it is FAILED and the profile keeps the source asset',
  }),
  'orchestrations.fee_bps': integer({
    initial: 0,
    min: 0,
    max: 5_000,
    live: true,
    meaning: 'fee per orchestration, in basis points of the source amount, rounded down',
  }),
  'orchestrations.minimums': assetAmounts({
    live: true,
    meaning:
      'smallest orchestrated amount by source asset, such as {USDC: 10, BTC: "0.0001"}. Smaller deposits are only credited. Empty = no minimum',
  }),
} as const
