/**
 * A write of metered usage in which 30,000 rows have changed: 10,000 connected clients, each with two markets. Its
 * duration, the event loop's work, its longest tick, and the whole process's CPU time, with the embedded store's thread.
 */
import { Meter } from '../src/access/metering/meter.ts'
import { UsageWriter } from '../src/access/metering/usage-writer.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { newId } from '../src/platform/base/ids.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { Db } from '../src/platform/store/db.ts'
import { migrate } from '../src/platform/store/migrate.ts'
import type { BenchResult } from './result.ts'
import { measureStores } from './stores.ts'

const CLIENTS = 10_000
const MARKETS = ['BTCUSD', 'ETHUSD']

const clock = createSystemClock()

export function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  return measureStores(async (engine, db) => {
    await migrate(db, createLog('error'))
    const results = new Map<string, BenchResult>()
    await measure(db, quick ? 3 : 8, (name, unit, value) => {
      const full = `${engine}: ${name}`
      if (!results.has(full)) results.set(full, { name: full, unit, runs: [] })
      results.get(full)?.runs.push(value)
    })
    return [...results.values()]
  })
}

async function measure(
  db: Db,
  writes: number,
  report: (name: string, unit: string, value: number) => void,
): Promise<void> {
  const holders = Array.from({ length: CLIENTS }, () => ({ customerId: newId(), clientId: newId() }))
  const meter = new Meter(clock)
  for (const holder of holders) meter.countConnection(holder, 1)
  const writer = new UsageWriter({
    db,
    clock,
    log: createLog('error'),
    metrics: createMetricsRegistry(),
    meter,
    node: newId(),
    prepare: async () => undefined,
  })
  for (let write = 0; write < writes; write++) {
    for (const holder of holders) for (const market of MARKETS) meter.of(holder).of(market, 'market_data').count(1, 300)
    const ticks = watchTicks()
    const [began, cpu, loop] = [performance.now(), process.cpuUsage(), performance.eventLoopUtilization()]
    if (!(await writer.write())) throw new Error('the usage was not written')
    const { user, system } = process.cpuUsage(cpu)
    // The first write inserts the rows, later ones replace them.
    const name = write === 0 ? 'inserts' : 'updates'
    report(`${name}, duration`, 'ms', performance.now() - began)
    report(`${name}, event loop`, 'ms', performance.eventLoopUtilization(loop).active)
    report(`${name}, longest tick`, 'ms', ticks.end())
    report(`${name}, CPU of the process`, 'ms', (user + system) / 1_000)
  }
}

/**
 * Measures event-loop ticks by a timer that is always due: each one's duration or the process's CPU time in it, whichever
 * is less. Other programs on the machine lengthen the former, other threads of this process the latter.
 */
function watchTicks(): { end(): number } {
  let longest = 0
  let last = performance.now()
  let cpu = process.cpuUsage()
  const tick = () => {
    const { user, system } = process.cpuUsage(cpu)
    longest = Math.max(longest, Math.min(performance.now() - last, (user + system) / 1_000))
    last = performance.now()
    cpu = process.cpuUsage()
  }
  const timer = setInterval(tick, 1)
  return {
    end() {
      clearInterval(timer)
      tick()
      return longest
    },
  }
}
