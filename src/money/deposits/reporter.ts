/**
 * Group commit for reports. Reports that arrive together, or while earlier ones are being committed, share a
 * transaction, because all deposits for one customer lock the same `customer_clocks` row.
 * Conversions that wait for nothing are made in the same transaction. Each report has its own result. When a group
 * fails, its reports are recorded one by one and all conversions are left to the worker, so a report that cannot be
 * stored or converted does not stop the others. The number of waiting reports is limited.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { MetricsRegistry } from '../../platform/base/metrics.ts'
import { Problem } from '../../platform/http/problem.ts'
import { type Db, StoreCorrupt, StoreUnavailable } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import type { Converter } from '../orchestrations/convert.ts'
import { createDepositMetrics, type DepositMetrics } from './metrics.ts'
import { type DepositSettings, type Outcome, recordReports } from './record.ts'
import type { Report } from './report.ts'
import { type DepositDocument, readDeposits } from './store.ts'
import type { DepositTables } from './tables.ts'
import { wavesOf } from './waves.ts'
import { repeatLostRaces } from './writes.ts'

/** One report's result. */
export type ReportResult =
  | { readonly status: 'created' | 'changed' | 'known'; readonly deposit: DepositDocument }
  | { readonly problem: Problem }
  /** It may or may not be stored. The source reports it again. */
  | { readonly error: unknown }

/** How long a group's first report waits for others: while no group is being committed, and at most beside one. */
const WAIT_MILLISECONDS_MAX = { alone: 5, besideOthers: 20 } as const
/**
 * `groupsMax` groups are committed concurrently, so some are prepared while others wait for the disk. A group has up to
 * `reportsMax` reports. Groups with deposits for the same profile lock its balance one after the other, and in larger
 * groups each report waits less for that lock. The embedded store has one connection, and a group of 50 occupies it for
 * up to 100 ms (521 deposits per second, docs/measurements/orchestration.md).
 */
const GROUPS = {
  postgres: { groupsMax: 4, reportsMax: 150 },
  embedded: { groupsMax: 2, reportsMax: 50 },
} as const
/** The most waiting reports. Above it reports are rejected with 503. */
const WAITING_MAX = 5_000

export interface DepositReporterOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** The current settings. */
  readonly settings: () => DepositSettings
  /** Completes orchestrations together with the deposits that start them. Absent: a worker completes all. */
  readonly converter?: Converter
}

interface Waiting {
  readonly report: Report
  readonly resolve: (result: ReportResult) => void
}

export class DepositReporter {
  readonly #options: DepositReporterOptions
  readonly #metrics: DepositMetrics
  #waiting: Waiting[] = []
  #running = 0
  /** Starts the next group. */
  #timer: Timer | undefined

  constructor(options: DepositReporterOptions) {
    this.#options = options
    this.#metrics = createDepositMetrics(options.metrics, options.db)
  }

  /** Records reports, and resolves with their results in the same order. Throws 503 when too many are waiting. */
  async report(reports: readonly Report[]): Promise<readonly ReportResult[]> {
    if (this.#waiting.length + reports.length > WAITING_MAX) {
      throw new Problem('unavailable', 'too many reports wait to be stored', { headers: { 'retry-after': '1' } })
    }
    const results = reports.map(
      (report) => new Promise<ReportResult>((resolve) => void this.#waiting.push({ report, resolve })),
    )
    this.#schedule()
    return await Promise.all(results)
  }

  #schedule(): void {
    const { groupsMax, reportsMax } = GROUPS[this.#options.db.engine]
    if (this.#waiting.length === 0 || this.#running >= groupsMax) return
    if (this.#waiting.length >= reportsMax) {
      this.#start()
      return
    }
    const milliseconds = WAIT_MILLISECONDS_MAX[this.#running === 0 ? 'alone' : 'besideOthers']
    this.#timer ??= this.#options.clock.schedule(milliseconds, () => this.#start())
  }

  #start(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const group = this.#waiting.splice(0, GROUPS[this.#options.db.engine].reportsMax)
    this.#running++
    void this.#record(group).finally(() => {
      this.#running--
      // The waiting reports have waited for this group.
      if (this.#running === 0 && this.#waiting.length > 0) this.#start()
      else this.#schedule()
    })
    this.#schedule()
  }

  async #record(group: readonly Waiting[]): Promise<void> {
    for (const wave of wavesOf(group)) {
      const reports = wave.map(({ report }) => report)
      const results = await this.#recordTogether(reports, this.#options.converter)
      for (const [index, { resolve }] of wave.entries()) resolve(results[index] as ReportResult)
    }
  }

  async #recordTogether(
    reports: readonly Report[],
    converter: Converter | undefined,
  ): Promise<readonly ReportResult[]> {
    try {
      return await this.#recordOnce(reports, converter)
    } catch (error) {
      const { log } = this.#options
      // A corrupt page affects only the reports reading it.
      if (error instanceof StoreUnavailable && !(error instanceof StoreCorrupt)) return reports.map(() => ({ error }))
      const [{ source, externalId: external_id } = {}, other] = reports
      if (other === undefined && converter === undefined) {
        log.error({ source, external_id, err: error }, 'deposit report not stored')
        return [{ error }]
      }
      log.warn({ reports: reports.length, err: error }, 'deposit reports recorded one by one')
    }
    const results: ReportResult[] = []
    for (const report of reports) results.push(...(await this.#recordTogether([report], undefined)))
    return results
  }

  /** Throws when the reports cannot be stored. None of them is stored then. */
  async #recordOnce(reports: readonly Report[], converter: Converter | undefined): Promise<readonly ReportResult[]> {
    const { db, settings } = this.#options
    const outcomes = await repeatLostRaces(() =>
      transactionWithRetries<DepositTables, readonly Outcome[]>(db, (transaction) =>
        recordReports(transaction, reports, settings(), converter?.settings()),
      ),
    )
    const completed = outcomes.filter((outcome) => 'isCompleted' in outcome && outcome.isCompleted).length
    converter?.metrics.steps.inc({ result: 'completed' }, completed)
    return await this.#resultsOf(reports, outcomes)
  }

  async #resultsOf(reports: readonly Report[], outcomes: readonly Outcome[]): Promise<readonly ReportResult[]> {
    const read = outcomes.flatMap((outcome) =>
      outcome.kind === 'conflict' || outcome.kind === 'ambiguous' || outcome.deposit !== undefined
        ? []
        : [outcome.depositId],
    )
    const documents = await readDeposits(this.#options.db.tables<DepositTables>(), read)
    return outcomes.map((outcome, index): ReportResult => {
      const report = reports[index] as Report
      if (outcome.kind === 'conflict') return { problem: this.#conflict(report, outcome) }
      if (outcome.kind === 'ambiguous') return { problem: this.#ambiguous(report, outcome.depositId) }
      if (outcome.resembles !== undefined && outcome.kind !== 'known')
        this.#alarm(report, outcome.depositId, outcome.resembles)
      const deposit = outcome.deposit ?? (documents.get(outcome.depositId) as DepositDocument)
      const { status, disposition } = deposit
      if (outcome.kind !== 'known') this.#metrics.deposits.inc({ status, disposition: disposition?.code ?? 'none' })
      return { status: outcome.kind, deposit }
    })
  }

  #ambiguous({ source, externalId: external_id }: Report, deposit_id: string): Problem {
    this.#metrics.conflicts.inc()
    this.#options.log.error({ deposit_id, source, external_id }, 'deposit report is ambiguous')
    const detail =
      'nothing was credited, because it may be a known deposit’s payment. Report it with its bank_reference. If it is another payment without one, report it under the first report’s source'
    return new Problem('ambiguous_payment', detail, { meta: { deposit_id } })
  }

  #alarm({ source, externalId: external_id }: Report, deposit_id: string, resembles: string): void {
    this.#metrics.conflicts.inc()
    this.#options.log.error(
      { deposit_id, source, external_id, resembles },
      'deposit held: its bank reference resembles another one',
    )
  }

  #conflict(
    { source, externalId: external_id }: Report,
    { depositId: deposit_id, fields }: Extract<Outcome, { kind: 'conflict' }>,
  ): Problem {
    this.#metrics.conflicts.inc()
    this.#options.log.error(
      { deposit_id, source, external_id, fields },
      'deposit report conflicts: correct the deposit if the report is right',
    )
    const detail = `${fields.join(', ')}: differs from the known payment. Nothing was credited. If the report is right, \`correct\` the deposit`
    return new Problem('deposit_conflict', detail, { meta: { fields, deposit_id } })
  }
}
