/** A gateway process's usage, which it reports to the main process, because it has no store. */
import type { Meter, UsageRow } from '../../../access/metering/meter.ts'
import type { Clock } from '../../../platform/base/clock.ts'
import type { MarketStream } from '../market-stream.ts'
import { countAligned } from './count-aligned.ts'

/** Between two reports, and what an ended process may have lost: they may be late. */
const REPORT_MILLISECONDS = 5_000
export const USAGE_LOST_MILLISECONDS = 2 * REPORT_MILLISECONDS

const ROWS_PER_MESSAGE = 500

interface Reported {
  readonly clock: Clock
  readonly meter: Meter
  readonly hub: { readonly markets: Iterable<MarketStream> }
  readonly send: (message: { readonly type: 'usage'; readonly rows: readonly UsageRow[] }) => void
}

/** Reports regularly from now on. Returns what reports at once. */
export function startUsageReport({ clock, meter, hub, send }: Reported): () => Promise<void> {
  const report = async () => {
    await countAligned(hub.markets, clock)
    const rows = await meter.take()
    for (let first = 0; first < rows.length; first += ROWS_PER_MESSAGE) {
      send({ type: 'usage', rows: rows.slice(first, first + ROWS_PER_MESSAGE) })
    }
  }
  const reportLater = () => void clock.schedule(REPORT_MILLISECONDS, () => void report().then(reportLater))
  reportLater()
  return report
}
