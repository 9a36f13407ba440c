/**
 * Records wrong operator tokens, or operators' failed logins, in periods that last a minute from the first one. It logs
 * a warning for each operator's first failure, and another with their number when the period ends. The audit trail gets
 * one row for each operator whose name was used and one for the rest. Counts that cannot be written to an unavailable
 * store are carried into the next period. Unknown names are not recorded, because a person may have typed the password
 * there.
 */
import { FAILED_LOGIN_ACTION } from '../../../access/operators/sessions.ts'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import { writeAudits } from '../../../platform/store/audit.ts'
import { type Db, StoreUnavailable } from '../../../platform/store/db.ts'

export interface OperatorGuessesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly kind: keyof typeof KINDS
}

const KINDS = {
  token: { name: 'wrong operator token', action: 'operator_token.reject', rest: 'operator' },
  // Not a possible name.
  login: { name: 'failed operator login', action: FAILED_LOGIN_ACTION, rest: 'unknown operator' },
} as const

const PERIOD_MILLISECONDS = 60_000
/** Addresses named in a row. Attempts from other addresses are only counted. */
const ADDRESSES_MAX = 20
/** Operators with their own row in a period. Attempts with further names are in the row of the rest. */
const OPERATORS_MAX = 100
/** Stands for the name of the rest. */
const NO_OPERATOR = ''

interface Guesses {
  count: number
  readonly byAddress: Map<string, number>
}

export class OperatorGuesses {
  readonly #options: OperatorGuessesOptions
  /** By the operator's name. */
  #guesses = new Map<string, Guesses>()
  #timer: Timer | undefined
  /** The write in progress, or the last one. */
  #writing = Promise.resolve()
  #isStopped = false

  constructor(options: OperatorGuessesOptions) {
    this.#options = options
  }

  /**
   * Counts a failed attempt.
   * @param operator whose name was sent, if any
   */
  record(clientAddress: string, operator = NO_OPERATOR): void {
    const isFirst = this.#timer === undefined || (operator !== NO_OPERATOR && !this.#guesses.has(operator))
    this.#add(operator, { count: 1, byAddress: new Map([[clientAddress, 1]]) })
    if (!isFirst) return
    const { log, kind } = this.#options
    log.warn({ client_address: clientAddress, ...named(operator) }, KINDS[kind].name)
    this.#waitForEnd()
  }

  /** Writes the current period's counts, and ends it. Resolves when those of earlier periods are written too. */
  write(): Promise<void> {
    // The caller of a failed one has its error.
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    const guesses = [...this.#guesses]
    if (guesses.length === 0) return
    this.#guesses = new Map()
    const { log, db, kind } = this.#options
    const { name, action, rest } = KINDS[kind]
    const rows = guesses.map(([operator, { count, byAddress }]) => {
      const detail = { count, addresses: Object.fromEntries(byAddress) }
      log.warn({ ...detail, ...named(operator) }, `${name}s in the last period`)
      return { actor: 'unknown', action, subject: operator || rest, detail }
    })
    try {
      await db.transaction((transaction) => writeAudits(transaction, rows))
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      log.warn({ err: error }, `${name}s are not in the audit trail yet`)
      for (const [operator, added] of guesses) this.#add(operator, added)
      this.#waitForEnd()
    }
  }

  /** Ends the current period, and writes its counts. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.write()
  }

  #add(wanted: string, { count, byAddress }: Guesses): void {
    const hasPlace = this.#guesses.has(wanted) || this.#guesses.size < OPERATORS_MAX
    const operator = hasPlace ? wanted : NO_OPERATOR
    const known = this.#guesses.get(operator) ?? { count: 0, byAddress: new Map<string, number>() }
    this.#guesses.set(operator, known)
    known.count += count
    for (const [address, number] of byAddress) {
      const before = known.byAddress.get(address)
      if (before !== undefined || known.byAddress.size < ADDRESSES_MAX)
        known.byAddress.set(address, (before ?? 0) + number)
    }
  }

  #waitForEnd(): void {
    if (this.#isStopped) return
    this.#timer ??= this.#options.clock.schedule(PERIOD_MILLISECONDS, () => void this.write())
  }
}

function named(operator: string): { readonly operator?: string } {
  return operator === NO_OPERATOR ? {} : { operator }
}
