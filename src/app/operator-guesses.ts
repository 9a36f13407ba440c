/**
 * Records wrong operator tokens, or failed logins of operators, bounded per period of a minute from the first one: a
 * warning for it, a warning with their number when the period ends, and one row in the audit trail. Counts that cannot
 * be written because the store is unavailable are carried into the next period.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { writeAudit } from '../store/audit.ts'
import { type Db, StoreUnavailable } from '../store/db.ts'

export interface OperatorGuessesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly kind: keyof typeof KINDS
}

const KINDS = {
  token: { name: 'wrong operator token', action: 'operator_token.reject' },
  login: { name: 'failed operator login', action: 'operator_login.reject' },
} as const

const PERIOD_MILLISECONDS = 60_000
/** Addresses that a row names; attempts from other addresses are only counted. */
const ADDRESSES_MAX = 20

export class OperatorGuesses {
  readonly #options: OperatorGuessesOptions
  #count = 0
  #byAddress = new Map<string, number>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: OperatorGuessesOptions) {
    this.#options = options
  }

  /** Counts a failed attempt. */
  record(clientAddress: string): void {
    this.#count++
    this.#countAddress(clientAddress, 1)
    if (this.#timer !== undefined) return
    this.#options.log.warn({ client_address: clientAddress }, KINDS[this.#options.kind].name)
    this.#waitForEnd()
  }

  /** Ends the current period, and writes its counts. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#endPeriod()
  }

  async #endPeriod(): Promise<void> {
    this.#timer = undefined
    if (this.#count === 0) return
    const { log, db, kind } = this.#options
    const { name, action } = KINDS[kind]
    const detail = { count: this.#count, addresses: Object.fromEntries(this.#byAddress) }
    this.#count = 0
    this.#byAddress = new Map()
    log.warn(detail, `${name}s in the last period`)
    try {
      await db.transaction((transaction) =>
        writeAudit(transaction, { actor: 'unknown', action, subject: 'operator', detail }),
      )
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      log.warn({ err: error }, `${name}s are not in the audit trail yet`)
      this.#count += detail.count
      for (const [address, count] of Object.entries(detail.addresses)) this.#countAddress(address, count)
      this.#waitForEnd()
    }
  }

  #countAddress(address: string, count: number): void {
    const known = this.#byAddress.get(address)
    if (known === undefined && this.#byAddress.size >= ADDRESSES_MAX) return
    this.#byAddress.set(address, (known ?? 0) + count)
  }

  #waitForEnd(): void {
    if (this.#isStopped) return
    this.#timer ??= this.#options.clock.schedule(PERIOD_MILLISECONDS, () => void this.#endPeriod())
  }
}
