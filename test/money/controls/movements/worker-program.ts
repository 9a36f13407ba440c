/**
 * A worker process: the product's runner of orchestrations on the given PostgreSQL database, with the random movements'
 * gates. It ends with the process that started it, or kills itself with SIGKILL after some number of statements.
 */
import { createStepMetrics } from '../../../../src/money/orchestrations/metrics.ts'
import { OrchestrationRunner } from '../../../../src/money/orchestrations/runner.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { openPostgres } from '../../../../src/platform/store/postgres.ts'
import { convertSettings } from '../../../support/orchestrations.ts'
import { createSlowClock } from '../../../support/slow-clock.ts'
import { movementSettings } from './settings.ts'

export interface WorkerOptions {
  /** The database's address. */
  readonly url: string
  readonly isLong: boolean
  /** Statements until it kills itself. */
  readonly diesAfter: number
}

const { url, isLong, diesAfter } = JSON.parse(process.argv[2] as string) as WorkerOptions
const log = createLog('error')
const db = openPostgres({ url, connectionsMax: 2, random: Math.random, log, clock: createSlowClock() })
let statements = 0
db.observeStatements(() => {
  if (++statements === diesAfter) process.kill(process.pid, 'SIGKILL')
})
process.on('disconnect', () => process.exit())
const settings = convertSettings({ gates: movementSettings(isLong).settings })
const metrics = createStepMetrics(createMetricsRegistry())
new OrchestrationRunner({ db, clock: createSystemClock(), log, metrics, settings: () => settings }).start()
