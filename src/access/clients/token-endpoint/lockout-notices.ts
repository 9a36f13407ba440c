/**
 * Notices about clients whose authentication failed so often that failures are delayed: at most one per client and day
 * in the store, because an attacker decides how often it happens. A token request never waits for the store. While the
 * store is unavailable, the next delayed failure tries again.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import { type Db, StoreUnavailable, type Transaction } from '../../../platform/store/db.ts'
import { sql } from '../../../platform/store/sql.ts'
import { queueNotice } from '../../notices/queue.ts'
import type { ClientRecord } from '../directory-records.ts'

interface LockoutNoticesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}

const PERIOD_HOURS = 24
/** While its notice is in the store, a client's further failures do not ask the store again for so long. */
const ASKED_AGAIN_MILLISECONDS = 3_600_000

export class LockoutNotices {
  readonly #options: LockoutNoticesOptions
  /** When each client's notice was last queued or found, by this node's clock. At most one entry per client. */
  readonly #askedAt = new Map<string, number>()
  #writing: Promise<void> = Promise.resolve()

  constructor(options: LockoutNoticesOptions) {
    this.#options = options
  }

  /** @param address the source address of the failure */
  note(client: ClientRecord, address: string): void {
    const { clientId } = client
    const now = this.#options.clock.monotonicMilliseconds()
    if (now - (this.#askedAt.get(clientId) ?? Number.NEGATIVE_INFINITY) < ASKED_AGAIN_MILLISECONDS) return
    this.#askedAt.set(clientId, now)
    this.#writing = this.#writing.then(() => this.#write(client, address))
  }

  /** Resolves when nothing is being written. */
  async stop(): Promise<void> {
    await this.#writing
  }

  /** Never rejects. */
  async #write({ clientId, customerId, name }: ClientRecord, address: string): Promise<void> {
    const { db, log } = this.#options
    try {
      await db.transaction(async (transaction: Transaction<object>) => {
        const { rows } = await sql`
          select from notices where subject = ${clientId} and type = 'sign_in.locked'
            and created_at > clock_timestamp() - ${PERIOD_HOURS} * interval '1 hour'
        `.execute(transaction)
        if (rows.length > 0) return
        const facts = { client: name, client_id: clientId, address }
        await queueNotice(transaction, { customerId, type: 'sign_in.locked', subject: clientId, facts })
      })
    } catch (error) {
      this.#askedAt.delete(clientId)
      const level = error instanceof StoreUnavailable ? 'warn' : 'error'
      log[level]({ err: error, client: clientId }, 'the notice about a client’s failed sign-ins could not be queued')
    }
  }
}
