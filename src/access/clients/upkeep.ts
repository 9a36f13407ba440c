/**
 * Scheduled maintenance: a successor for the signing key before its end, retiring keys whose tokens have all expired,
 * deleting unneeded revocations. Every node checks once a minute, by the store's clock, because deletions affect all
 * nodes. The first that finds something due does it in one transaction. An unavailable store only delays it: published
 * keys start to sign by the node's own clock. Runs never overlap.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { readStoreTime } from '../../platform/store/store-clock.ts'
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
  /** How long a key signs. Absent: SIGNING_KEY_DAYS. */
  readonly signingKeyDays?: number
  /** Encrypts new keys when the store is encrypted. */
  readonly encryptionKey?: EncryptionKey | undefined
}

/** How long a key signs tokens before its successor does. */
export const SIGNING_KEY_DAYS = 90
const INTERVAL_MILLISECONDS = 60_000
const DAY_MILLISECONDS = 86_400_000

export class Upkeep {
  readonly #options: UpkeepOptions
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  /** A run requested during another one follows it. */
  #isDueAgain = false
  #stopped = false

  /** Starts the upkeep. The first run is at once. */
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
    const { db, directory, log, signingKeyDays = SIGNING_KEY_DAYS, encryptionKey } = this.#options
    const rotationMilliseconds = signingKeyDays * DAY_MILLISECONDS
    try {
      const now = await readStoreTime(db.tables())
      const { isSuccessorDue, retirable } = keyWorkDue(directory.keys, now, rotationMilliseconds)
      if (isSuccessorDue || retirable.length > 0) {
        const done = await db.transaction<AuthTables, KeyWork>(async (transaction) =>
          keepSigningKeys(transaction, await readStoreTime(transaction), rotationMilliseconds, encryptionKey),
        )
        if (done.isSuccessorDue) log.info({}, 'a signing key was created. It signs after a publication period')
        if (done.retirable.length > 0) log.info({ keys: done.retirable }, 'signing keys retired')
      }
      if ([...directory.revokedTokens].some((token) => isRevocationOver(token, now))) {
        await db.transaction<AuthTables, number>((transaction) => deleteOldRevocations(transaction))
      }
    } catch (error) {
      log.warn({ err: error }, 'the maintenance of keys and revocations failed. The next attempt is in a minute')
    }
  }
}
