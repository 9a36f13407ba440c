/**
 * The ledger's background work, one step per second. It registers assets added by a reload, advances the checkpoints
 * and reads old postings again. It continuously compares all balances with their postings, and all transfers with their
 * records, in small pieces. It owns the comparisons' metrics. Store errors only delay it, and its steps never overlap.
 * A balance comparison that has not completed for an hour is reported as overdue, whatever the reason: without it, a
 * wrong balance stays unnoticed.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { Throttle } from '../../platform/base/throttle.ts'
import type { Db } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { ensureLedgerAssets, type LedgerAsset, readDecimals } from './assets.ts'
import { writeCheckpoints } from './checkpoints.ts'
import { LedgerComparison, type LedgerDifference } from './comparison.ts'
import { TransferComparison } from './transfer-comparison.ts'
import { type Reading, readReading, rereadOldest } from './verified-sums.ts'

export interface LedgerUpkeepOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** The comparisons' results. */
export interface LedgerState {
  /** RFC 3339: when the last complete balance comparison ended. Absent until the first is complete. */
  readonly compared_at?: string
  /** Whether no balance comparison has completed within the last hour. False in the first hour after the start. */
  readonly overdue: boolean
  /** How many profile balances were compared. */
  readonly balances: number
  /** Differences in balances and transfers. */
  readonly differences: readonly LedgerDifference[]
  /** When the last complete transfer comparison ended. Absent until the first is complete. */
  readonly transfers_compared_at?: string
  /** Every posting was read since then. Absent until it is known. */
  readonly postings_read_at?: string
  /** Ranges of postings that were changed, added or removed after they had been read. */
  readonly changed_postings: Reading['changed']
}

const STEP_MILLISECONDS = 1_000
/** The time without a complete comparison after which it is overdue. Also the time between two log lines about that. */
const OVERDUE_MILLISECONDS = 3_600_000
/** Steps between two checkpoints. */
const CHECKPOINT_STEPS = 10
/** Steps between two readings of old postings. */
const REREAD_STEPS = 2
/** Steps after none was due. */
const REREAD_PAUSE_STEPS = 60
/** Steps between two balance passes, and after a failed step in either comparison. */
const PAUSE_STEPS = 60
const TRANSFERS_PAUSE_STEPS = 600
/** The most differences per pass that are logged and shown. */
const DIFFERENCES_SHOWN_MAX = 100

/** A repeated comparison, with a pause after each complete pass. */
class Repeated<Pass extends { readonly differences: readonly LedgerDifference[]; step(): Promise<boolean> }> {
  readonly #begin: () => Pass
  readonly #pauseSteps: number
  #pause = 0
  #running: Pass | undefined
  #last: { readonly pass: Pass; readonly endedMilliseconds: number } | undefined

  constructor(pauseSteps: number, begin: () => Pass) {
    this.#begin = begin
    this.#pauseSteps = pauseSteps
  }

  /** The last complete pass, and its end in milliseconds since 1970. */
  get last() {
    return this.#last
  }

  /** The differences in the last pass or the running one, whichever has more. */
  get differences(): readonly LedgerDifference[] {
    const [last, running] = [this.#last?.pass.differences ?? [], this.#running?.differences ?? []]
    return running.length > last.length ? running : last
  }

  /**
   * Returns the pass completed by this step.
   * @param finish runs before the pass counts as complete
   */
  async step(clock: Clock, finish: () => Promise<void> = async () => undefined): Promise<Pass | undefined> {
    if (this.#pause > 0) {
      this.#pause--
      return undefined
    }
    const pass = this.#running ?? this.#begin()
    this.#running = pass
    // In case the step fails.
    this.#pause = PAUSE_STEPS
    const isComplete = !(await pass.step())
    this.#pause = isComplete ? this.#pauseSteps : 0
    if (!isComplete) return undefined
    this.#running = undefined
    await finish()
    this.#last = { pass, endedMilliseconds: clock.wallInstant().milliseconds }
    return pass
  }
}

export class LedgerUpkeep {
  readonly #options: LedgerUpkeepOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #stopped = false
  #steps = 0
  #nextRereadStep = 0
  readonly #balances: Repeated<LedgerComparison>
  readonly #transfers: Repeated<TransferComparison>
  #reading: Reading = { readAt: undefined, changed: [] }
  /**
   * When the last complete balance comparison ended, by the monotonic clock. Before the first, this object's creation.
   */
  #comparedMilliseconds: number
  readonly #overdueLog: Throttle
  #decimals: ReadonlyMap<string, number> = new Map()
  /** Assets to register with the next step. */
  #unregistered: readonly LedgerAsset[] | undefined

  /** Registers the metrics. Nothing runs before `start`. */
  constructor(options: LedgerUpkeepOptions) {
    this.#options = options
    this.#balances = new Repeated(PAUSE_STEPS, () => new LedgerComparison(options.db))
    this.#transfers = new Repeated(TRANSFERS_PAUSE_STEPS, () => new TransferComparison(options.db))
    this.#comparedMilliseconds = options.clock.monotonicMilliseconds()
    this.#overdueLog = new Throttle(options.clock, OVERDUE_MILLISECONDS)
    const gauge = (name: string, help: string, read: () => number | undefined) =>
      new Gauge({
        name,
        help,
        registers: [options.metrics],
        collect() {
          this.set(read() ?? 0)
        },
      })
    gauge(
      'tidegate_ledger_imbalance',
      'Balances that differ from the sum of their postings, transfers that differ from what they show, and ranges of postings that were changed; must be 0',
      () => this.#differences.length + this.#reading.changed.length,
    )
    gauge(
      'tidegate_ledger_comparison_overdue',
      '1 while balances were not compared with their postings for an hour',
      () => (this.#isOverdue ? 1 : 0),
    )
    gauge(
      'tidegate_ledger_compared_timestamp_seconds',
      'When all ledger balances were last compared with their postings (0: never)',
      () => secondsOf(this.#balances.last?.endedMilliseconds),
    )
    gauge(
      'tidegate_ledger_transfers_compared_timestamp_seconds',
      'When all transfers were last compared with their sources (0: never)',
      () => secondsOf(this.#transfers.last?.endedMilliseconds),
    )
    gauge(
      'tidegate_ledger_postings_read_timestamp_seconds',
      'When the posting with the oldest read was read (0: not known yet)',
      () => secondsOf(this.#postingsReadMilliseconds),
    )
  }

  /** Must be called once, after the store's migrations. The first step begins at once. */
  start(): void {
    this.#step()
  }

  get state(): LedgerState {
    const [balances, transfers] = [this.#balances.last, this.#transfers.last]
    return {
      ...timeOf('compared_at', balances?.endedMilliseconds),
      overdue: this.#isOverdue,
      balances: balances?.pass.balances ?? 0,
      differences: this.#differences.slice(0, DIFFERENCES_SHOWN_MAX),
      ...timeOf('transfers_compared_at', transfers?.endedMilliseconds),
      ...timeOf('postings_read_at', this.#postingsReadMilliseconds),
      changed_postings: this.#reading.changed,
    }
  }

  get #differences(): readonly LedgerDifference[] {
    return [...this.#balances.differences, ...this.#transfers.differences]
  }

  /** Every comparison reads the postings that fill no segment yet. */
  get #postingsReadMilliseconds(): number | undefined {
    const { readAt } = this.#reading
    return readAt === undefined ? this.#balances.last?.endedMilliseconds : Date.parse(readAt)
  }

  get #isOverdue(): boolean {
    return this.#options.clock.monotonicMilliseconds() - this.#comparedMilliseconds > OVERDUE_MILLISECONDS
  }

  /** The decimals of all assets in the ledger at the last registration, by symbol. */
  get decimals(): ReadonlyMap<string, number> {
    return this.#decimals
  }

  /**
   * Registers the configured assets.
   * @returns the faults from `ensureLedgerAssets`
   */
  async register(assets: readonly LedgerAsset[]): Promise<readonly string[]> {
    return await transactionWithRetries(this.#options.db, async (transaction) => {
      const faults = await ensureLedgerAssets(transaction, assets)
      this.#decimals = await readDecimals(transaction)
      return faults
    })
  }

  /** Registers assets with the next step, and repeats this until it succeeds. */
  registerSoon(assets: readonly LedgerAsset[]): void {
    this.#unregistered = assets
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#running
  }

  #step(): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.schedule(STEP_MILLISECONDS, () => this.#step())
    this.#reportOverdue()
    if (this.#running !== undefined) return
    this.#running = this.#work().finally(() => {
      this.#running = undefined
    })
  }

  #reportOverdue(): void {
    if (!this.#isOverdue) return
    const { compared_at } = this.state
    this.#overdueLog.run(() => this.#options.log.error({ compared_at }, 'the ledger’s comparison is overdue'))
  }

  async #work(): Promise<void> {
    const { db, clock, log } = this.#options
    if (!db.available) return
    const step = this.#steps++
    try {
      await this.#registerWaiting()
      if (step % CHECKPOINT_STEPS === 0) await writeCheckpoints(db)
      if (step >= this.#nextRereadStep) await this.#reread(step)
      if ((await this.#balances.step(clock, () => this.#readReading())) !== undefined) this.#noteCompared()
      if ((await this.#transfers.step(clock)) !== undefined) this.#logDifferences(this.#transfers.differences)
    } catch (error) {
      log.warn({ err: error }, 'upkeep of the ledger failed and is tried again')
    }
  }

  async #registerWaiting(): Promise<void> {
    const assets = this.#unregistered
    if (assets === undefined) return
    const faults = await this.register(assets)
    if (this.#unregistered === assets) this.#unregistered = undefined
    if (faults.length > 0) this.#options.log.error({ faults }, 'some configured assets cannot be used')
  }

  async #reread(step: number): Promise<void> {
    const isRead = await rereadOldest(this.#options.db)
    this.#nextRereadStep = step + (isRead ? REREAD_STEPS : REREAD_PAUSE_STEPS)
    if (isRead) await this.#readReading()
  }

  async #readReading(): Promise<void> {
    this.#reading = await readReading(this.#options.db)
  }

  #noteCompared(): void {
    const { clock, log } = this.#options
    this.#comparedMilliseconds = clock.monotonicMilliseconds()
    this.#logDifferences(this.#balances.differences)
    const { changed } = this.#reading
    if (changed.length > 0) log.error({ changed }, 'postings were changed after they had been read')
  }

  #logDifferences(differences: readonly LedgerDifference[]): void {
    if (differences.length === 0) return
    const shown = { differences: differences.slice(0, DIFFERENCES_SHOWN_MAX), count: differences.length }
    this.#options.log.error(shown, 'balances or transfers differ from their postings or records')
  }
}

function secondsOf(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1_000
}

function timeOf<Name extends string>(name: Name, milliseconds: number | undefined) {
  return (milliseconds === undefined ? {} : { [name]: new Date(milliseconds).toISOString() }) as {
    [Key in Name]?: string
  }
}
