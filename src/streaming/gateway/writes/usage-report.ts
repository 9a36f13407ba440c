/** A gateway process's usage, which it reports to the main process, because it has no store. */
import type { Meter, UsageRow } from '../../../access/metering/meter.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { MarketStream } from '../market-stream.ts'
import { countAligned } from './count-aligned.ts'

const REPORT_MILLISECONDS = 5_000
const ROWS_PER_MESSAGE = 500

/** A report has any number of `usage` messages and ends with `usage-reported`: everything until then was in them. */
export type UsageMessage =
  | { readonly type: 'usage'; readonly rows: readonly UsageRow[] }
  | { readonly type: 'usage-reported'; readonly untilMilliseconds: number }

interface Reported {
  readonly clock: Clock
  readonly meter: Meter
  readonly hub: { readonly markets: Iterable<MarketStream> }
  readonly send: (message: UsageMessage) => void
}

/** Reports regularly from now on. Returns what reports at once, after a report under way. */
export function startUsageReport({ clock, meter, hub, send }: Reported): () => Promise<void> {
  let last = Promise.resolve()
  const run = async () => {
    const untilMilliseconds = clock.wallInstant().milliseconds
    await countAligned(hub.markets, clock)
    let rows: UsageRow[] = []
    await meter.take((row) => {
      rows.push(row)
      if (rows.length < ROWS_PER_MESSAGE) return
      send({ type: 'usage', rows })
      rows = []
    })
    if (rows.length > 0) send({ type: 'usage', rows })
    send({ type: 'usage-reported', untilMilliseconds })
  }
  const report = () => {
    last = last.then(run)
    return last
  }
  const reportLater = () => void clock.schedule(REPORT_MILLISECONDS, () => void report().then(reportLater))
  reportLater()
  return report
}
