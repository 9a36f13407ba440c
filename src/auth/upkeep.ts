/**
 * What becomes due with time: a successor for the signing key before its end, the end of keys whose tokens have all
 * expired, the deletion of revocations that no token needs any more. Every node looks once a minute, by the store's
 * clock, because its own may be wrong and what it deletes is gone for all nodes; the first that finds something due does
 * it in one transaction, and the others find it done. A store that is down only delays it: keys that are published take
 * over by the node's clock alone. It never runs twice at once.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Db } from '../store/db.ts'
import { readStoreTime } from '../store/store-clock.ts'
import type { Directory } from './directory.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { deleteOldRevocations, isRevocationOver } from './revoked-tokens.ts'
import { type KeyWork, keepSigningKeys, keyWorkDue } from './signing-keys.ts'
import type { AuthTables } from './tables.ts'

export interface UpkeepOptions {
  readonly db: Db
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
  /** How long a key signs: the setting `auth.signing_key_days`. */
  readonly signingKeyDays: number
  /** Encrypts the keys that are made, where the store is encrypted. */
  readonly encryptionKey?: EncryptionKey | undefined
}

const INTERVAL_MILLISECONDS = 60_000
const DAY_MILLISECONDS = 86_400_000

export class Upkeep {
  readonly #options: UpkeepOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  /** A look that came while one was under way follows it. */
  #isDueAgain = false
  #stopped = false

  /** Looks for the first time at once. */
  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#running
  }

  #look(): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.schedule(INTERVAL_MILLISECONDS, () => this.#look())
    if (this.#running === undefined) this.#run()
    else this.#isDueAgain = true
  }

  #run(): void {
    this.#isDueAgain = false
    this.#running = this.#work().finally(() => {
      this.#running = undefined
      if (this.#isDueAgain && !this.#stopped) this.#run()
    })
  }

  async #work(): Promise<void> {
    const { db, directory, log, signingKeyDays, encryptionKey } = this.#options
    const rotationMilliseconds = signingKeyDays * DAY_MILLISECONDS
    try {
      const now = await readStoreTime(db.tables())
      const { isSuccessorDue, retirable } = keyWorkDue(directory.keys, now, rotationMilliseconds)
      if (isSuccessorDue || retirable.length > 0) {
        const done = await db.transaction<AuthTables, KeyWork>(async (transaction) =>
          keepSigningKeys(transaction, await readStoreTime(transaction), rotationMilliseconds, encryptionKey),
        )
        if (done.isSuccessorDue) log.info({}, 'a signing key was made; it signs when it has been published for a while')
        if (done.retirable.length > 0) log.info({ keys: done.retirable }, 'signing keys retired')
      }
      if ([...directory.revokedTokens].some((token) => isRevocationOver(token, now))) {
        await db.transaction<AuthTables, number>((transaction) => deleteOldRevocations(transaction))
      }
    } catch (error) {
      log.warn({ err: error }, 'the upkeep of keys and revocations failed; it is tried again in a minute')
    }
  }
}
