/**
 * Deletes old bars and gaps, in bounded statements. Requests never ask for what is deleted here. Minutes are deleted by
 * whole hours, so that the close before a kept minute is in a kept minute or in a whole hour before it. Hours are deleted
 * by whole days: once the setting is raised, requests ask for that day again.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { HourlyUpkeep } from '../../platform/store/upkeep/hourly-upkeep.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, MINUTE_MILLISECONDS, type Step, startOf } from './bar.ts'
import { MINUTE_BARS_DAYS } from './candle-reader.ts'

export interface CandleRetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `candles.retention_days`. */
  retentionDays(): number
}

export function startCandleRetention({ db, clock, log, retentionDays }: CandleRetentionOptions): HourlyUpkeep {
  const before = (days: number, unitMilliseconds: number) =>
    startOf(clock.wallInstant().milliseconds - days * DAY_MILLISECONDS, unitMilliseconds)
  const statements = [
    () => deleteCandles(db, MINUTE_MILLISECONDS, before(MINUTE_BARS_DAYS, HOUR_MILLISECONDS)),
    () => deleteCandles(db, HOUR_MILLISECONDS, before(retentionDays(), DAY_MILLISECONDS)),
    () => deleteCandleGaps(db, before(retentionDays(), DAY_MILLISECONDS)),
  ]
  return new HourlyUpkeep({ clock, log, failure: 'old candles were not deleted', statements })
}

/** Rows per statement. */
const DELETED_MAX = 5_000

/** Deletes some of the bars before a time. Returns how many: 0 when there are none. */
async function deleteCandles(db: Db, step: Step, beforeMilliseconds: number): Promise<number> {
  const old = await sql`
    delete from candles using (
      select candle_markets.market, first.start
      from candle_markets cross join lateral (
        select start from candles
        where candles.market = candle_markets.market and step = ${step} and start < ${beforeMilliseconds}::bigint
        order by start limit ${DELETED_MAX}
      ) as first
      limit ${DELETED_MAX}
    ) as expired
    where candles.market = expired.market and candles.step = ${step} and candles.start = expired.start
  `.execute(db.tables())
  return Number(old.numAffectedRows ?? 0)
}

/** Deletes some of the gaps that ended before a time. Returns how many. */
async function deleteCandleGaps(db: Db, beforeMilliseconds: number): Promise<number> {
  const old = await sql`
    delete from candle_gaps where (market, from_at) in (
      select market, from_at from candle_gaps where until_at < ${beforeMilliseconds}::bigint limit ${DELETED_MAX}
    )
  `.execute(db.tables())
  return Number(old.numAffectedRows ?? 0)
}
