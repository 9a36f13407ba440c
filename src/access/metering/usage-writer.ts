/**
 * Writes this process's usage to the store: at most 50 s apart, and at the end of each UTC hour, only what changed. A
 * row has this process's sums in the hour, so a write whose outcome is unknown is repeated without harm. While the
 * store is unavailable the sums are kept in memory, one row per hour, client, market and channel. Above
 * `ROWS_FINISHED_MAX` finished rows, usage is added to the hour in progress until the store is back. So memory is
 * bounded by the clients' markets and channels, and no usage is dropped.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { reportFailure } from '../../platform/store/due-worker.ts'
import { sql } from '../../platform/store/sql.ts'
import { type Column, inserting } from '../../platform/store/unnested.ts'
import { addSums, type Meter, type UsageRow, type UsageSums } from './meter.ts'
import type { UsageTables } from './tables.ts'

/** So that the usage of at most 60 s is lost with the process, a slow write included. */
const INTERVAL_MILLISECONDS = 50_000
const HOUR_MILLISECONDS = 3_600_000
/** Timers may run a little early: the hour has surely ended then. */
const HOUR_END_MILLISECONDS = 5
const ROWS_FINISHED_MAX = 200_000
const ROWS_PER_STATEMENT = 500

export interface UsageWriterOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly meter: Meter
  /** The same for the process that replaces this one. */
  readonly node: string
  /** Counts what is not in the meter yet. */
  readonly prepare: () => Promise<void>
}

/** One row's sums in its hour. */
interface HourRow extends UsageSums, Pick<UsageRow, 'customerId' | 'clientId' | 'market' | 'channel'> {
  readonly hourMilliseconds: number
  readonly runId: string
  isChanged: boolean
}

interface Gap {
  readonly since: string
  readonly until: string
}

const COLUMNS: readonly Column<HourRow>[] = [
  ['client_id', 'text', ({ clientId }) => clientId],
  ['customer_id', 'uuid', ({ customerId }) => customerId],
  ['hour', 'timestamptz', ({ hourMilliseconds }) => timeText(hourMilliseconds)],
  ['run_id', 'uuid', ({ runId }) => runId],
  ['market', 'text', ({ market }) => market],
  ['channel', 'text', ({ channel }) => channel],
  ['messages', 'bigint', ({ messages }) => String(messages)],
  ['bytes', 'bigint', ({ bytes }) => String(bytes)],
  ['connection_ms', 'bigint', ({ connectionMilliseconds }) => String(connectionMilliseconds)],
  ['rest_requests', 'bigint', ({ restRequests }) => String(restRequests)],
]

export class UsageWriter {
  readonly #options: UsageWriterOptions
  #runId = newId()
  /** Earlier runs of this process. The next write ends them. */
  #endedRuns: string[] = []
  readonly #failures: Counter
  #hourMilliseconds: number
  /** The hour in progress, by market, channel and client. */
  #rows = new Map<string, HourRow>()
  /** Unwritten rows of finished hours. */
  #finished: HourRow[] = []
  #gaps: Gap[] = []
  #hasRun = false
  #timer: Timer | undefined
  #running: Promise<boolean> | undefined
  #isStarted = false
  #isStopped = false

  constructor(options: UsageWriterOptions) {
    this.#options = options
    this.#hourMilliseconds = hourOf(options.clock.wallInstant().milliseconds)
    const registers = [options.metrics]
    const unwritten = () => this.#unwritten.length
    this.#failures = new Counter({
      name: 'tidegate_usage_write_failures_total',
      help: 'Failed writes of metered usage, which is kept and written later',
      registers,
    })
    new Gauge({
      name: 'tidegate_usage_rows_unwritten',
      help: 'Rows of metered usage which are not in the store yet',
      registers,
      collect() {
        this.set(unwritten())
      },
    })
  }

  /** Starts to write, at once. The store has its schema. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.write()
    this.#scheduleNext()
  }

  /** Writes for the last time, after everything was counted. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    if (!this.#isStarted) return
    await this.#running
    this.#isStopped = true
    await this.write()
  }

  /**
   * Another process has ended, and what it had not reported since `sinceMilliseconds` is lost. The wall clock may have
   * stepped back since then.
   */
  noteGap(sinceMilliseconds: number): void {
    const now = this.#options.clock.wallInstant().milliseconds
    const [since, until] = [Math.min(sinceMilliseconds, now), Math.max(sinceMilliseconds, now)]
    this.#gaps.push({ since: timeText(since), until: timeText(until) })
  }

  /** Writes what changed. Returns whether all of it is in the store. Writes never overlap. */
  write(): Promise<boolean> {
    this.#running ??= this.#write().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  get #unwritten(): HourRow[] {
    return [...this.#finished, ...[...this.#rows.values()].filter(({ isChanged }) => isChanged)]
  }

  #scheduleNext(): void {
    const { clock } = this.#options
    const now = clock.wallInstant().milliseconds
    const toHourEnd = hourOf(now) + HOUR_MILLISECONDS + HOUR_END_MILLISECONDS - now
    this.#timer = clock.schedule(Math.min(INTERVAL_MILLISECONDS, toHourEnd), () => {
      void this.write()
      this.#scheduleNext()
    })
  }

  async #write(): Promise<boolean> {
    const { db, clock, log, meter, prepare } = this.#options
    const countedMilliseconds = clock.wallInstant().milliseconds
    try {
      await prepare()
      await meter.take((row) => this.#add(row))
      this.#endHour(countedMilliseconds)
      const unwritten = this.#unwritten
      for (let first = 0; first < unwritten.length; first += ROWS_PER_STATEMENT) {
        await this.#writeRows(unwritten.slice(first, first + ROWS_PER_STATEMENT))
      }
      for (const row of unwritten) row.isChanged = false
      this.#finished = []
      await this.#writeRun(db, timeText(countedMilliseconds))
      return true
    } catch (error) {
      this.#failures.inc()
      const fate = this.#isStopped ? 'It is lost with this process' : 'It is kept for the next write'
      reportFailure(log, error, `metered usage was not written. ${fate}`)
      return false
    }
  }

  #add({ customerId, clientId, market, channel, ...sums }: UsageRow): void {
    const key = `${market} ${channel} ${clientId}`
    let row = this.#rows.get(key)
    if (row === undefined) {
      const none = { messages: 0, bytes: 0, connectionMilliseconds: 0, restRequests: 0 }
      const [hourMilliseconds, runId] = [this.#hourMilliseconds, this.#runId]
      row = { hourMilliseconds, runId, customerId, clientId, market, channel, ...none, isChanged: true }
      this.#rows.set(key, row)
    }
    addSums(row, sums)
    row.isChanged = true
  }

  /** Begins another hour, if the wall clock shows one. What was counted until now belongs to the one in progress. */
  #endHour(nowMilliseconds: number): void {
    const hour = hourOf(nowMilliseconds)
    if (hour === this.#hourMilliseconds || this.#finished.length > ROWS_FINISHED_MAX) return
    if (hour < this.#hourMilliseconds) this.#beginRun()
    this.#finished = this.#unwritten
    this.#rows = new Map()
    this.#hourMilliseconds = hour
  }

  /** The wall clock has stepped back into an hour that may have rows of this run. */
  #beginRun(): void {
    this.#endedRuns.push(this.#runId)
    this.#runId = newId()
    this.#hasRun = false
  }

  async #writeRows(rows: readonly HourRow[]): Promise<void> {
    await sql`
      ${inserting('usage_hours', rows, COLUMNS)}
      on conflict (customer_id, hour, client_id, market, channel, run_id) do update set
        messages = excluded.messages, bytes = excluded.bytes, connection_ms = excluded.connection_ms,
        rest_requests = excluded.rest_requests
    `.execute(this.#options.db.tables<UsageTables>())
  }

  /** Notes that everything up to `flushedAt` is in the store. */
  async #writeRun(db: Db, flushedAt: string): Promise<void> {
    const { node } = this.#options
    const gaps = this.#gaps
    const ended = this.#endedRuns
    const isFirst = !this.#hasRun
    await db.transaction<UsageTables, void>(async (transaction) => {
      await sql`
        insert into usage_runs (id, node, flushed_at, written_at, ended_at)
        values (${this.#runId}, ${node}, ${flushedAt}, clock_timestamp(), ${this.#isStopped ? flushedAt : null})
        on conflict (id) do update
          set flushed_at = excluded.flushed_at, written_at = excluded.written_at,
            ended_at = excluded.ended_at, lost_until = null
      `.execute(transaction)
      if (ended.length > 0) {
        await sql`
          update usage_runs set ended_at = flushed_at, lost_until = null where id = any (${ended}::uuid[])
        `.execute(transaction)
      }
      if (isFirst) {
        await sql`
          update usage_runs set lost_until = greatest(flushed_at, ${flushedAt})
          where node = ${node} and id <> ${this.#runId} and ended_at is null and lost_until is null
        `.execute(transaction)
      }
      for (const { since, until } of gaps) {
        await sql`
          insert into usage_gaps (run_id, since, until) values (${this.#runId}, ${since}, ${until})
          on conflict (run_id, since) do nothing
        `.execute(transaction)
      }
    })
    this.#hasRun = true
    this.#gaps = this.#gaps.slice(gaps.length)
    this.#endedRuns = []
  }
}

function hourOf(milliseconds: number): number {
  return Math.floor(milliseconds / HOUR_MILLISECONDS) * HOUR_MILLISECONDS
}

function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
