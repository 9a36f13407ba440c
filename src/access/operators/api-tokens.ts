/** The operators' API tokens, as the guard checks them. Tokens are created and revoked in `store`. */
import { commonRole } from '../../contract/operator-calls.ts'
import { type Clock, millisecondText } from '../../platform/base/clock.ts'
import type { Db } from '../../platform/store/db.ts'
import type { CallingOperator } from '../clients/operator-calls.ts'
import { hashRandomSecret } from './random-secrets.ts'
import type { OperatorTables } from './tables.ts'

export const API_TOKEN_PREFIX = 'tgo_'

/** The last-use time is written at most this often, for each token. */
const USE_NOTED_MILLISECONDS = 60_000

type Found = CallingOperator | undefined

/** A token's lookup under way. */
interface Lookup {
  readonly found: Promise<Found>
  /** The one that starts when it has ended. Later callers share it. */
  next?: Promise<Found>
}

/**
 * Looks tokens up in the store. Calls with one token share a lookup that has not started yet, so each caller's lookup
 * starts after its call: a token revoked before the call is never accepted.
 */
export class ApiTokens {
  readonly #db: Db
  readonly #clock: Clock
  readonly #lookups = new Map<string, Lookup>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** The operator holding this token, with the highest role included in both. Undefined when it is not valid. */
  operatorOf(token: string): Promise<Found> {
    const running = this.#lookups.get(token)
    if (running === undefined) return this.#start(token)
    // When the store fails, it fails for those who wait too.
    running.next ??= running.found.then(() => this.#start(token))
    return running.next
  }

  #start(token: string): Promise<Found> {
    const lookup: Lookup = {
      found: this.#find(token).then(
        (found) => {
          if (lookup.next === undefined) this.#lookups.delete(token)
          return found
        },
        (error: unknown) => {
          this.#lookups.delete(token)
          throw error
        },
      ),
    }
    this.#lookups.set(token, lookup)
    return lookup.found
  }

  async #find(token: string): Promise<Found> {
    const tables = this.#db.tables<OperatorTables>()
    const row = await tables
      .selectFrom('operator_tokens')
      .innerJoin('operators', 'operators.id', 'operator_tokens.operator_id')
      .select(['operator_tokens.id', 'operator_tokens.role', 'operator_tokens.last_used_at'])
      .select(['operator_tokens.name as token_name', 'operator_tokens.sources', 'operator_tokens.assets'])
      .select(['operators.name', 'operators.role as operator_role', 'operators.enabled'])
      .select(['operators.issuers', 'operator_tokens.issuers as token_issuers'])
      .where('operator_tokens.hash', '=', hashRandomSecret(token))
      .executeTakeFirst()
    if (row === undefined || !row.enabled) return undefined
    // A token issued for reviews never moves money, although its operator became a treasurer.
    const role = commonRole(row.operator_role, row.role)
    if (role === undefined) return undefined
    const now = this.#clock.wallInstant().milliseconds
    if (row.last_used_at === null || Date.parse(row.last_used_at) + USE_NOTED_MILLISECONDS <= now) {
      const change = tables.updateTable('operator_tokens').set({ last_used_at: millisecondText(now) })
      await change.where('id', '=', row.id).execute()
    }
    const { name, sources, assets } = row
    const issuers = [...row.token_issuers, ...row.issuers]
    return { name, role, via: 'api_token', issuers, token: { id: row.id, name: row.token_name, sources, assets } }
  }
}
