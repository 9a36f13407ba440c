/**
 * Stores each market's last commit time, so commit times rise across a restart even when the wall clock was set back
 * meanwhile. It writes the times once a second, and the last ones when the service stops. A start adds a margin for
 * times left unwritten by a crash. While the store is unavailable only this protection is missing.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

const WRITE_MILLISECONDS = 1_000

/** How much later than the last written time a crashed process can have committed: one period and a slow write. */
const UNWRITTEN_MILLISECONDS_MAX = 3_000

interface CommitTimesTables {
  commit_times: { market: string; milliseconds: string }
}

export interface CommitTimesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** This process's markets with their last commit time. 0 before the first. */
  readonly latest: () => Iterable<readonly [market: string, milliseconds: number]>
}

/** Every commit in a market has to be later than this time, in milliseconds since the epoch. */
export async function readCommitFloors(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.tables<CommitTimesTables>().selectFrom('commit_times').selectAll().execute()
  return new Map(rows.map(({ market, milliseconds }) => [market, Number(milliseconds) + UNWRITTEN_MILLISECONDS_MAX]))
}

export class CommitTimes {
  readonly #options: CommitTimesOptions
  readonly #written = new Map<string, number>()
  #timer: Timer | undefined
  #isFailing = false
  #isStopped = false
  #writing: Promise<void> = Promise.resolve()

  constructor(options: CommitTimesOptions) {
    this.#options = options
    this.#scheduleNext()
  }

  /** Writes the last times, which are exact once the sequencers have stopped, and ends. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#writing
    // The next start adds the margin for unwritten times, so it is subtracted from exact ones.
    await this.#write(UNWRITTEN_MILLISECONDS_MAX)
  }

  #scheduleNext(): void {
    if (this.#isStopped) return
    this.#timer = this.#options.clock.schedule(WRITE_MILLISECONDS, () => {
      this.#writing = this.#write(0).then(() => this.#scheduleNext())
    })
  }

  async #write(marginMilliseconds: number): Promise<void> {
    const rows = [...this.#options.latest()]
      .map(([market, milliseconds]) => ({ market, milliseconds: milliseconds - marginMilliseconds }))
      .filter(({ market, milliseconds }) => milliseconds > 0 && this.#written.get(market) !== milliseconds)
    if (rows.length === 0) return
    try {
      await this.#options.db
        .tables<CommitTimesTables>()
        .insertInto('commit_times')
        .values(rows.map(({ market, milliseconds }) => ({ market, milliseconds: String(milliseconds) })))
        .onConflict((conflict) =>
          conflict
            .column('market')
            .doUpdateSet((update) => ({ milliseconds: update.ref('excluded.milliseconds') }))
            // A process that led the market later has later commits. Its time stays.
            .where(sql<boolean>`commit_times.milliseconds <= excluded.milliseconds + ${marginMilliseconds}::bigint`),
        )
        .execute()
      for (const { market, milliseconds } of rows) this.#written.set(market, milliseconds)
      this.#isFailing = false
    } catch (error) {
      // The stream does not depend on the store. The write is retried after a second.
      if (!this.#isFailing) this.#options.log.warn({ err: error }, 'commit times could not be written')
      this.#isFailing = true
    }
  }
}
