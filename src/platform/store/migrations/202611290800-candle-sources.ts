/** Candles: up to when each source of a market is stored. */
import type { Migration } from './migration.ts'

export const candleSources: Migration = {
  name: '202611290800-candle-sources',
  text: `
    -- Every source's executions before this time are in the market's bars, or it is in a gap. Null before this release's
    -- first write.
    alter table candle_markets add column complete_at bigint;
  `,
}
