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
      'longest time that a conversion waits for its price before it is FAILED and the profile keeps the source asset; time on hold or paused does not count',
  }),
  'orchestrations.fee_bps': integer({
    initial: 0,
    min: 0,
    max: 5_000,
    live: true,
    meaning: 'fee of every orchestration in hundredths of a percent of the source amount, rounded down',
  }),
  'orchestrations.minimums': assetAmounts({
    live: true,
    meaning:
      'by source asset, the smallest amount that is orchestrated, such as {USDC: 10, BTC: "0.0001"}; smaller deposits are credited only; none = no minimum',
  }),
} as const
