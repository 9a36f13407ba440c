/**
 * Notes the corruption found by a store's statements: a page that does not match its checksum or has no valid header,
 * an index that contradicts itself. It stays noted until the process ends: a later statement's success proves nothing
 * about the page, and an operator must look at the disk in any case. It names the relation, never a value.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Throttle } from '../base/throttle.ts'
import type { Outcomes } from './caller-connection.ts'
import { StoreCorrupt } from './db.ts'

/** The page for the operator, under `docs/`. */
export const CORRUPT_STORE_PAGE = 'docs/how-to/backup.md#a-corrupt-store'

const CORRUPT: ReadonlySet<string> = new Set(['XX001', 'XX002'])
const LOG_MILLISECONDS = 60_000

/** Whether a SQLSTATE means data_corrupted or index_corrupted. */
export function isCorrupt(sqlState: string): boolean {
  return CORRUPT.has(sqlState)
}

export class Corruption {
  readonly #log: Log
  readonly #throttle: Throttle
  #first: string | undefined

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#throttle = new Throttle(clock, LOG_MILLISECONDS)
  }

  /** The server's first report, or undefined while there is none. */
  get first(): string | undefined {
    return this.#first
  }

  /** The statements' outcomes. Notes their failure when it reports corruption. */
  async watch(statements: Promise<Outcomes>): Promise<Outcomes> {
    const outcomes = await statements
    if (outcomes.failure instanceof StoreCorrupt) this.#note(outcomes.failure)
    return outcomes
  }

  #note({ message: reason }: StoreCorrupt): void {
    this.#first ??= reason
    const fields = { reason, page: CORRUPT_STORE_PAGE }
    this.#throttle.run((suppressed) => {
      this.#log.error({ ...fields, ...(suppressed === 0 ? {} : { suppressed }) }, 'store is corrupt')
    })
  }
}
