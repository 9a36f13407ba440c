/**
 * Background work of the ledger, one step per second: it registers assets that a reload added, advances the checkpoints and
 * continuously compares all balances with their postings, in small pieces. It owns the metrics of the comparison. Errors of
 * the store delay it only, and its steps never overlap. A comparison that was not complete for an hour is reported as
 * overdue, whatever the reason: without it, a wrong balance is not found.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Gauge, type MetricsRegistry } from '../base/metrics.ts'
import { Throttle } from '../base/throttle.ts'
import type { Db } from '../store/db.ts'
import { ensureLedgerAssets, type LedgerAsset, readDecimals } from './assets.ts'
import { writeCheckpoints } from './checkpoints.ts'
import { LedgerComparison, type LedgerDifference } from './comparison.ts'

export interface LedgerUpkeepOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** The result of the last complete comparison. */
export interface LedgerState {
  /** RFC 3339; absent until the first comparison is complete. */
  readonly compared_at?: string
  /** Whether no comparison was completed within the last hour, or the first hour after the start. */
  readonly overdue: boolean
  /** The number of profile balances. */
  readonly balances: number
  readonly differences: readonly { account: string; asset: string; kept: string; recomputed: string }[]
}

const STEP_MILLISECONDS = 1_000
/** After this time without a complete comparison it is overdue; it is also the time between two log lines about that. */
const OVERDUE_MILLISECONDS = 3_600_000
/** Steps between two checkpoints. */
const CHECKPOINT_STEPS = 10
/** Steps between two passes of the comparison. */
const PAUSE_STEPS = 60
/** Differences of one pass that are logged and shown, at most. */
const DIFFERENCES_SHOWN_MAX = 100

export class LedgerUpkeep {
  readonly #options: LedgerUpkeepOptions
  readonly #comparedAt: Gauge
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #stopped = false
  #steps = 0
  #pause = 0
  #comparison: LedgerComparison | undefined
  #state: Omit<LedgerState, 'overdue'> = { balances: 0, differences: [] }
  /** The end of the last complete comparison; before the first one, the start of the process. */
  #comparedMilliseconds: number
  readonly #overdueLog: Throttle
  #imbalance = 0
  #decimals: ReadonlyMap<string, number> = new Map()
  /** Assets to register with the next step. */
  #unregistered: readonly LedgerAsset[] | undefined

  /** Registers the metrics; nothing runs before `start`. */
  constructor(options: LedgerUpkeepOptions) {
    this.#options = options
    this.#comparedMilliseconds = options.clock.monotonicMilliseconds()
    this.#overdueLog = new Throttle(options.clock, OVERDUE_MILLISECONDS)
    const registers = [options.metrics]
    const imbalance = () => Math.max(this.#imbalance, this.#comparison?.differences.length ?? 0)
    new Gauge({
      name: 'tidegate_ledger_imbalance',
      help: 'Accounts of the ledger whose balance differs from the sum of their postings; must be 0',
      registers,
      collect() {
        this.set(imbalance())
      },
    })
    const isOverdue = () => this.#isOverdue
    new Gauge({
      name: 'tidegate_ledger_comparison_overdue',
      help: '1 while balances were not compared with their postings for an hour',
      registers,
      collect() {
        this.set(isOverdue() ? 1 : 0)
      },
    })
    this.#comparedAt = new Gauge({
      name: 'tidegate_ledger_compared_timestamp_seconds',
      help: 'When all balances of the ledger were last compared with their postings; 0 before the first time',
      registers,
    })
  }

  /** Must be called once, after the migrations of the store; the first step begins at once. */
  start(): void {
    this.#step()
  }

  /** The result of the last complete comparison. */
  get state(): LedgerState {
    return { ...this.#state, overdue: this.#isOverdue }
  }

  get #isOverdue(): boolean {
    return this.#options.clock.monotonicMilliseconds() - this.#comparedMilliseconds > OVERDUE_MILLISECONDS
  }

  /** The decimals of all assets of the ledger at the last registration, by symbol. */
  get decimals(): ReadonlyMap<string, number> {
    return this.#decimals
  }

  /**
   * Registers assets of the configuration.
   * @returns what `ensureLedgerAssets` returns
   */
  async register(assets: readonly LedgerAsset[]): Promise<readonly string[]> {
    return await this.#options.db.transaction(async (transaction) => {
      const faults = await ensureLedgerAssets(transaction, assets)
      this.#decimals = await readDecimals(transaction)
      return faults
    })
  }

  /** Registers assets with the next step; repeated until it succeeds. */
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
    const { compared_at } = this.#state
    this.#overdueLog.run(() => this.#options.log.error({ compared_at }, 'the comparison of the ledger is overdue'))
  }

  async #work(): Promise<void> {
    const { db, log } = this.#options
    if (!db.available) return
    try {
      await this.#registerWaiting()
      if (this.#steps++ % CHECKPOINT_STEPS === 0) await writeCheckpoints(db)
      if (this.#pause > 0) this.#pause--
      else await this.#compare()
    } catch (error) {
      log.warn({ err: error }, 'upkeep of the ledger failed and is tried again')
    }
  }

  async #registerWaiting(): Promise<void> {
    const assets = this.#unregistered
    if (assets === undefined) return
    const faults = await this.register(assets)
    if (this.#unregistered === assets) this.#unregistered = undefined
    if (faults.length > 0) this.#options.log.error({ faults }, 'assets of the configuration cannot be used')
  }

  async #compare(): Promise<void> {
    const { db, clock, log } = this.#options
    this.#comparison ??= new LedgerComparison(db)
    if (await this.#comparison.step()) return
    const { differences, balances } = this.#comparison
    this.#comparison = undefined
    this.#pause = PAUSE_STEPS
    this.#imbalance = differences.length
    const { milliseconds } = clock.wallInstant()
    this.#comparedAt.set(milliseconds / 1_000)
    this.#comparedMilliseconds = clock.monotonicMilliseconds()
    const shown = differences.slice(0, DIFFERENCES_SHOWN_MAX).map(differenceDocument)
    this.#state = { compared_at: new Date(milliseconds).toISOString(), balances, differences: shown }
    if (differences.length > 0) {
      log.error({ differences: shown, count: differences.length }, 'balances differ from the sums of their postings')
    }
  }
}

/** The difference in its JSON form: units as text. */
function differenceDocument({ account, asset, kept, recomputed }: LedgerDifference) {
  return { account, asset, kept: String(kept), recomputed: String(recomputed) }
}
