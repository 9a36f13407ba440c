/**
 * When client secrets were last used. A use is kept in memory and stored in one statement with the others in the same
 * minute, so a token request never writes. Uses in the last minute before a crash are lost. While the store is
 * unavailable they are kept: at most one time for each valid secret.
 */
import { type Clock, millisecondText, type Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'

export interface SecretUsesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}

interface Use {
  readonly clientId: string
  /** The secret's hash, in hexadecimal digits. */
  readonly hash: string
  readonly milliseconds: number
}

/** Longest time from a use until it is stored. */
const STORED_AFTER_MILLISECONDS = 60_000

export class SecretUses {
  readonly #options: SecretUsesOptions
  /** By hash. */
  #uses = new Map<string, Use>()
  #timer: Timer | undefined
  #storing: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: SecretUsesOptions) {
    this.#options = options
  }

  /** @param hash the hash of a valid client secret */
  note(clientId: string, hash: Buffer): void {
    const { clock } = this.#options
    const use = { clientId, hash: hash.toString('hex'), milliseconds: clock.wallInstant().milliseconds }
    this.#uses.set(use.hash, use)
    this.#schedule()
  }

  /** Stores the noted uses while the store is still open. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#store()
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer ??= this.#options.clock.schedule(STORED_AFTER_MILLISECONDS, () => {
      this.#timer = undefined
      void this.#store()
    })
  }

  /** Never rejects, and never runs twice at once. */
  #store(): Promise<void> {
    this.#storing = this.#storing.then(() => this.#write())
    return this.#storing
  }

  async #write(): Promise<void> {
    const { db, log } = this.#options
    const uses = [...this.#uses.values()]
    if (uses.length === 0) return
    this.#uses = new Map()
    try {
      await sql`
        update client_secrets set last_used_at = wanted.at
        from ${unnested(uses, [
          ['client_id', 'uuid', ({ clientId }) => clientId],
          ['hash', 'text', ({ hash }) => hash],
          ['at', 'timestamptz', ({ milliseconds }) => millisecondText(milliseconds)],
        ])}
        where client_secrets.client_id = wanted.client_id and client_secrets.hash = decode(wanted.hash, 'hex')
          and coalesce(last_used_at, '-infinity') < wanted.at
      `.execute(db.tables())
    } catch (error) {
      log.warn({ err: error }, 'the client secrets’ last uses could not be stored. The next attempt is in a minute')
      // Later uses of the same secrets may have been noted meanwhile.
      for (const use of uses) if (!this.#uses.has(use.hash)) this.#uses.set(use.hash, use)
      this.#schedule()
    }
  }
}
