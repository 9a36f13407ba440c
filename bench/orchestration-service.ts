/**
 * The deposits service and one process's worker on a given store. Deposits are reported as through the operator API.
 */
import { randomBytes } from 'node:crypto'
import { isReport, type Report, readReport } from '../src/money/deposits/report.ts'
import { DepositReporter } from '../src/money/deposits/reporter.ts'
import { createStepMetrics } from '../src/money/orchestrations/metrics.ts'
import { OrchestrationRunner } from '../src/money/orchestrations/runner.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { newId } from '../src/platform/base/ids.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import type { Db } from '../src/platform/store/db.ts'
import { sql } from '../src/platform/store/sql.ts'
import { OPEN_GATES } from '../test/support/gates.ts'
import { convertSettings } from '../test/support/orchestrations.ts'
import { configOf } from '../test/support/rest.ts'

export interface OrchestrationService {
  /**
   * Reports a deposit at each of these addresses. Resolves when all are stored, and throws when one is not. With
   * `forWorker` nothing is converted as it is credited.
   */
  report(addresses: readonly string[], how?: 'forWorker'): Promise<void>
  /**
   * Milliseconds from a deposit's report until its orchestration was COMPLETED and the report was answered, on the
   * clock shared by store and reporter, for all deposits since the last call.
   */
  delays(): Promise<readonly number[]>
  /** Resolves when no orchestration has due work. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const config = configOf({})

/** Starts the reporter and the worker. */
export function startOrchestrationService(db: Db): OrchestrationService {
  const [clock, log, metrics] = [createSystemClock(), createLog('error'), createMetricsRegistry()]
  const depositSettings = {
    conversions: { assets: config.assets, parAssets: config['conversion.par_assets'], markets: [] },
    minimumOf: () => undefined,
    gates: OPEN_GATES,
    isSandbox: false,
    start: { convertSecondsMax: 86_400 },
  }
  const settings = convertSettings()
  const converter = { settings: () => settings, metrics: createStepMetrics(metrics) }
  const common = { db, clock, log, settings: () => depositSettings }
  const atOnce = new DepositReporter({ ...common, metrics, converter })
  const withWorker = new DepositReporter({ ...common, metrics: createMetricsRegistry() })
  const runner = new OrchestrationRunner({ db, clock, log, ...converter })
  runner.start()
  let since = '00000000-0000-0000-0000-000000000000'
  /** Milliseconds until the answer, by deposit. */
  const answers = new Map<string, number>()
  return {
    async delays() {
      const { rows } = await sql<{ id: string; delay: number; last: string }>`
        select (extract(epoch from orchestrations.updated_at - deposits.occurred_at) * 1000)::float8 as delay,
          deposits.id, max(deposits.id::text) over () as last
        from deposits join orchestrations on deposit_id = deposits.id
        where deposits.id > ${since} and orchestrations.status = 'COMPLETED'
      `.execute(db.tables())
      since = rows[0]?.last ?? since
      const delays = rows.map(({ id, delay }) => Math.max(delay, answers.get(id) ?? Number.POSITIVE_INFINITY))
      answers.clear()
      return delays
    },
    async report(addresses, how) {
      const start = performance.now()
      const reporter = how === 'forWorker' ? withWorker : atOnce
      const results = await reporter.report(addresses.map(newReport))
      const milliseconds = performance.now() - start
      for (const result of results) {
        if (!('deposit' in result)) throw 'problem' in result ? result.problem : result.error
        answers.set(result.deposit.id, milliseconds)
      }
    },
    async settled() {
      const isBusy = async () =>
        (await sql`select from orchestration_queue limit 1`.execute(db.tables())).rows.length > 0
      while (await isBusy()) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    stop: () => runner.stop(),
  }
}

/** The work in `report` before it calls the service. Measured alone, it is the cost of generating the load. */
export function newReport(address: string): Report {
  const report = readReport(
    {
      source: 'bench',
      external_id: newId(),
      asset: 'USDC',
      amount: '12.345678',
      crypto: { network: 'ETHEREUM', address, tx_hash: `0x${randomBytes(32).toString('hex')}`, tx_index: 0 },
      occurred_at: new Date().toISOString(),
    },
    config.assets,
    'operator',
  )
  if (!isReport(report)) throw new Error(JSON.stringify(report))
  return report
}
