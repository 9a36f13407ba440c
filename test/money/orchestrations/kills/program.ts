/**
 * A process of the service as far as money is concerned: it records reports, takes orchestrations on and sends
 * deliveries, on the store that it is given. What it is asked to do comes from the process that started it, with which it
 * ends. It may be started to end like a killed process after some number of statements.
 */

import type { Asset } from '../../../../src/contract/assets.ts'
import { createRequestCounter } from '../../../../src/money/deliveries/metrics.ts'
import { createWebhookSender } from '../../../../src/money/deliveries/webhook-sender.ts'
import { isReport, readReport } from '../../../../src/money/deposits/report.ts'
import { DepositReporter, type ReportResult } from '../../../../src/money/deposits/reporter.ts'
import type { DepositReportBody } from '../../../../src/money/deposits/schemas.ts'
import { createStepMetrics } from '../../../../src/money/orchestrations/metrics.ts'
import { OrchestrationRunner } from '../../../../src/money/orchestrations/runner.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { createLog } from '../../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { openEmbedded } from '../../../../src/platform/store/embedded.ts'
import { openPostgres } from '../../../../src/platform/store/postgres.ts'
import { DELIVERY_OWNERS } from '../../../support/delivery-owners.ts'
import { OPEN_GATES } from '../../../support/gates.ts'
import { convertSettings } from '../../../support/orchestrations.ts'
import { createSlowClock } from '../../../support/slow-clock.ts'
import { passTime, remaining } from './time.ts'

export interface ProgramOptions {
  readonly engine: 'embedded' | 'postgres'
  /** The address of the server, or the folder of the store. */
  readonly store: string
  readonly webhookUrl: string
  /** Statements until it kills itself; absent: it does not. */
  readonly diesAfter?: number
}

export type Question =
  | { readonly id: number; readonly kind: 'report'; readonly reports: readonly DepositReportBody[] }
  /** All claims and waits end now; `seconds` later than they would. */
  | { readonly id: number; readonly kind: 'pass-time'; readonly seconds: number }
  /** How much is due now or later. */
  | { readonly id: number; readonly kind: 'remaining' }
  | { readonly id: number; readonly kind: 'stop' }

/** Of a report: the status of its deposit, or why there is none. */
export type ReportAnswer = { readonly status: string } | { readonly fault: string }

export interface Answer {
  readonly id: number
  readonly result: unknown
}

const CONNECTIONS_MAX = 3
const ASSETS: readonly Asset[] = ['USDC', 'USDG'].map((symbol) => ({ symbol, decimals: 6, networks: ['ETHEREUM'] }))
const PAR_ASSETS = ['USDC', 'USDG']
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

const CONVERT_SETTINGS = convertSettings({ feeBps: 10 })

const { engine, store, webhookUrl, diesAfter } = JSON.parse(process.argv[2] as string) as ProgramOptions
const [clock, log, metrics] = [createSystemClock(), createLog('error'), createMetricsRegistry()]
// A machine with other things to do must not look like a store that is out of order.
const storeTools = { log, clock: createSlowClock() }
const db =
  engine === 'embedded'
    ? await openEmbedded({ folder: store, ...storeTools })
    : openPostgres({ url: store, connectionsMax: CONNECTIONS_MAX, random: Math.random, ...storeTools })
let statements = 0
db.observeStatements(() => {
  if (++statements === diesAfter) process.kill(process.pid, 'SIGKILL')
})

// As the service has it: what need not wait is converted in the transaction that credits the deposit.
const converter = { settings: () => CONVERT_SETTINGS, metrics: createStepMetrics(metrics) }
const reporter = new DepositReporter({
  db,
  clock,
  log,
  metrics,
  converter,
  settings: () => ({
    conversions: { assets: ASSETS, parAssets: PAR_ASSETS, markets: [] },
    minimumOf: () => undefined,
    gates: OPEN_GATES,
    isSandbox: false,
    start: { convertSecondsMax: 86_400 },
  }),
})
const runner = new OrchestrationRunner({ db, clock, log, ...converter })
const sender = createWebhookSender({
  db,
  clock,
  log,
  owners: DELIVERY_OWNERS,
  random: Math.random,
  requests: createRequestCounter(metrics),
  settings: () => ({ url: webhookUrl, secrets: [SECRET], allowPrivate: false }),
})
process.on('disconnect', () => process.exit())
process.on('message', (question: Question) => void answer(question))
runner.start()
await sender.start()
process.send?.('ready')

async function answer(question: Question): Promise<void> {
  const result = await resultOf(question)
  process.send?.({ id: question.id, result } satisfies Answer)
  if (question.kind === 'stop') process.disconnect()
}

async function resultOf(question: Question): Promise<unknown> {
  switch (question.kind) {
    case 'report':
      return await record(question.reports)
    case 'pass-time':
      return await passTime(db, question.seconds)
    case 'remaining':
      return await remaining(db)
    case 'stop':
      await Promise.all([runner.stop(), sender.stop()])
      await db.close()
      return undefined
  }
}

async function record(bodies: readonly DepositReportBody[]): Promise<readonly ReportAnswer[]> {
  const reports = bodies.map((body) => {
    const read = readReport(body, ASSETS, 'operator')
    if (!isReport(read)) throw new Error(JSON.stringify(read))
    return read
  })
  return (await reporter.report(reports)).map(answerOf)
}

function answerOf(result: ReportResult): ReportAnswer {
  if ('deposit' in result) return { status: result.deposit.status }
  return { fault: String('problem' in result ? result.problem.message : result.error) }
}
