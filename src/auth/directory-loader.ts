/**
 * Keeps the directory equal to the store: loads it whole at the start, whenever a write anywhere announces itself on
 * `tidegate_directory`, and when the store's connection is back. Loads never overlap, and what is announced during one
 * starts another. A load that fails leaves the old truth in place, is logged, and is tried again with backoff.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { isScope } from '../contract/scopes.ts'
import type { Db } from '../store/db.ts'
import { readAuthority } from './authority.ts'
import { DIRECTORY_CHANNEL } from './changes.ts'
import type { Directory, DirectoryTruth } from './directory.ts'
import type { EncryptionKey } from './encryption-key.ts'
import { readRevokedTokens } from './revoked-tokens.ts'
import { readSigningKeys } from './signing-keys.ts'
import type { AuthTables } from './tables.ts'

export interface DirectoryLoaderOptions {
  readonly db: Db
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
  /** The address that customers use; becomes the issuer at the first start of a store. Empty: a random name. */
  readonly publicUrl: string
  /** Decrypts the signing keys and the pepper, where the store is encrypted. */
  readonly encryptionKey?: EncryptionKey | undefined
}

/** Waits before loads after a failed one: doubling from the first to the second. */
const RETRY_MILLISECONDS_MIN = 100
const RETRY_MILLISECONDS_MAX = 5_000

export class DirectoryLoader {
  readonly #options: DirectoryLoaderOptions
  #unlisten: (() => Promise<void>) | undefined
  #running: Promise<void> | undefined
  /** The load behind the running one: it serves everyone who asks meanwhile. */
  #next: Promise<void> | undefined
  #failures = 0
  #failureCount = 0
  #loadedMilliseconds: number | undefined
  #retry: Timer | undefined
  #stopped = false

  constructor(options: DirectoryLoaderOptions) {
    this.#options = options
  }

  /** When the directory was last loaded, by the monotonic clock; undefined: never yet. */
  get loadedMilliseconds(): number | undefined {
    return this.#loadedMilliseconds
  }

  /** Loads that failed since the start. */
  get failureCount(): number {
    return this.#failureCount
  }

  /**
   * Resolves when a load that began after this call has ended, well or not; never rejects. A writer waits for this, so
   * that who was answered finds the change in force on this node.
   */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#begin()
    this.#next ??= this.#running.then(() => this.#begin())
    return this.#next
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#retry?.cancel()
    await (this.#next ?? this.#running)
    await this.#unlisten?.()
  }

  #begin(): Promise<void> {
    this.#next = undefined
    this.#running = this.#load().finally(() => {
      // With a load waiting behind it, nobody may slip in between the two.
      if (this.#next === undefined) this.#running = undefined
    })
    return this.#running
  }

  async #load(): Promise<void> {
    if (this.#stopped) return
    const { db, directory, clock, log } = this.#options
    try {
      this.#unlisten ??= await this.#listen(db)
      const truth = await readTruth(this.#options)
      if (this.#stopped) return
      this.#failures = 0
      this.#retry?.cancel()
      directory.replace(truth)
      this.#loadedMilliseconds = clock.monotonicMilliseconds()
      log.debug({ customers: truth.customers.length, clients: truth.clients.length }, 'directory loaded')
    } catch (error) {
      this.#failureCount += 1
      log.warn({ err: error, failures: ++this.#failures, loaded: directory.loaded }, 'directory not loaded')
      this.#retryLater()
    }
  }

  #listen(db: Db): Promise<() => Promise<void>> {
    const refresh = () => void this.refresh()
    return db.listen(DIRECTORY_CHANNEL, { onNotify: refresh, onReconnect: refresh })
  }

  #retryLater(): void {
    this.#retry?.cancel()
    if (this.#stopped) return
    const delay = Math.min(RETRY_MILLISECONDS_MIN * 2 ** (this.#failures - 1), RETRY_MILLISECONDS_MAX)
    this.#retry = this.#options.clock.schedule(delay, () => void this.refresh())
  }
}

/**
 * Reads everything, one statement a table. A change between two statements announces itself, so what it tore apart is
 * read again; until then a client whose customer is not there yet counts as disabled.
 */
async function readTruth({ db, publicUrl, clock, encryptionKey }: DirectoryLoaderOptions): Promise<DirectoryTruth> {
  const authority = await readAuthority(db, publicUrl, clock.wallInstant().milliseconds, encryptionKey)
  const { keys, revokedKeyIds } = await readSigningKeys(db, encryptionKey)
  const tables = db.tables<AuthTables>()
  const secrets = await tables.selectFrom('client_secrets').select(['client_id', 'hash']).execute()
  const clients = await tables.selectFrom('clients').selectAll().execute()
  const customers = await tables.selectFrom('customers').select(['id', 'name', 'enabled', 'streaming']).execute()
  return {
    authority,
    keys,
    revokedKeyIds,
    revokedTokens: await readRevokedTokens(db),
    customers,
    clients: clients.map(({ id, customer_id, name, scopes, enabled, tokens_valid_from }) => ({
      clientId: id,
      customerId: customer_id,
      name,
      // A scope that this version does not know opens nothing here.
      scopes: new Set(scopes.filter(isScope)),
      enabled,
      ...(tokens_valid_from === null ? {} : { tokensValidFromSeconds: Date.parse(tokens_valid_from) / 1000 }),
    })),
    secrets: secrets.flatMap(({ client_id, hash }) => (hash === null ? [] : [{ clientId: client_id, hash }])),
  }
}
