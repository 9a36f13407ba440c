/** Deletes old bars and gaps, in bounded statements. Requests never ask for what is deleted here. */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { HourlyUpkeep } from '../../platform/store/upkeep/hourly-upkeep.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS, MINUTE_MILLISECONDS } from './bar.ts'
import { MINUTE_BARS_DAYS } from './candle-reader.ts'
import { deleteCandleGaps, deleteCandles } from './candle-table.ts'

export interface CandleRetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The setting `candles.retention_days`. */
  retentionDays(): number
}

export function startCandleRetention({ db, clock, log, retentionDays }: CandleRetentionOptions): HourlyUpkeep {
  const before = (days: number) => clock.wallInstant().milliseconds - days * DAY_MILLISECONDS
  const statements = [
    () => deleteCandles(db, MINUTE_MILLISECONDS, before(MINUTE_BARS_DAYS)),
    () => deleteCandles(db, HOUR_MILLISECONDS, before(retentionDays())),
    () => deleteCandleGaps(db, before(retentionDays())),
  ]
  return new HourlyUpkeep({ clock, log, failure: 'old candles were not deleted', statements })
}
