/**
 * Keeps the directory equal to the store. It reads everything at the start, and then the records changed since the last
 * version read. It reads changes when one is announced on `tidegate_directory`, when a writer requests it, and on a
 * server twice a second, so a change takes effect within a second even when its notification was lost.
 *
 * It reads everything again when changes may be missing: the listening connection was lost, a notification has no
 * version (an earlier program version sent it), or the versions have a gap. On a store that other programs can write it
 * also does so every 30 seconds, so writes without a version take effect too. The directory finds the differences.
 *
 * Reads never overlap: each begins after the previous one was applied, so an older state never replaces a newer one.
 * Everything is read successfully at most once a second, and known changes are applied meanwhile. A failed read leaves
 * the directory unchanged, is logged, and is retried with backoff.
 */
import { backoff } from '../../platform/base/backoff.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Db } from '../../platform/store/db.ts'
import { DIRECTORY_CHANNEL, readChangesAfter } from './changes.ts'
import type { Directory } from './directory.ts'
import { readContent, readUpdate } from './directory-reader.ts'
import type { EncryptionKey } from './encryption-key.ts'

export interface DirectoryLoaderOptions {
  readonly db: Db
  readonly directory: Directory
  readonly clock: Clock
  readonly log: Log
  /** The address used by customers, which becomes the issuer at a store's first start. Empty: a random name. */
  readonly publicUrl: string
  /** Decrypts the signing keys and the pepper, where the store is encrypted. */
  readonly encryptionKey?: EncryptionKey | undefined
}

/** Backoff after a failed read. */
const RETRY_MILLISECONDS = { first: 100, longest: 5_000 }
/** The time between the starts of two full reads. One takes 28 ms of processor time with 2,500 clients. */
const RELOAD_MILLISECONDS_MIN = 1_000
/** The time between two reads of changes that no notification announced: half the second that a change may take. */
const POLL_MILLISECONDS = 500
/**
 * The same for the embedded store. It announces every change, because it is part of the process. A read only shows that
 * it answers, which counts for 3.5 s (`directory-currency`).
 */
const EMBEDDED_POLL_MILLISECONDS = 2_000
/** The time between two full reads of a store with other writers. */
const FULL_READ_MILLISECONDS = 30_000

export class DirectoryLoader {
  readonly #options: DirectoryLoaderOptions
  readonly #counts = { full: 0, changes: 0 }
  #unlisten: (() => Promise<void>) | undefined
  #running: Promise<void> | undefined
  /** The read after the running one: it serves all callers meanwhile. */
  #next: Promise<void> | undefined
  /** The directory's version. Undefined before the first read. */
  #version: number | undefined
  /** Set when changes since that version may be missing. Cleared when a full read begins. */
  #mustReload = false
  #reloadedMilliseconds = Number.NEGATIVE_INFINITY
  #failures = 0
  #failureCount = 0
  #loaded: { readonly version: number | undefined; readonly milliseconds: number } | undefined
  #timer: Timer | undefined
  #endWait: (() => void) | undefined
  #stopped = false

  constructor(options: DirectoryLoaderOptions) {
    this.#options = options
  }

  /**
   * When the directory was last known to be equal to the store, by the monotonic clock. Undefined before the first
   * read.
   */
  get loadedMilliseconds(): number | undefined {
    return this.#loaded?.milliseconds
  }

  /** The directory's version then. */
  get loadedVersion(): number | undefined {
    return this.#loaded?.version
  }

  /** Failed reads since the start. */
  get failureCount(): number {
    return this.#failureCount
  }

  /** Reads that changed the directory since the start: full ones, and reads of changed records. */
  get counts(): { readonly full: number; readonly changes: number } {
    return this.#counts
  }

  /**
   * Resolves when a read that began after this call has ended, whether it succeeded or failed. Never rejects. A writer
   * waits for this, so its change is effective on this node before its caller gets the answer.
   */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#begin()
    this.#next ??= this.#running.then(() => this.#begin())
    return this.#next
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    this.#endWait?.()
    await (this.#next ?? this.#running)
    await this.#unlisten?.()
  }

  #begin(): Promise<void> {
    this.#next = undefined
    this.#running = this.#read().finally(() => {
      // If another read is waiting, no other may start in between.
      if (this.#next === undefined) this.#running = undefined
    })
    return this.#running
  }

  async #read(): Promise<void> {
    if (this.#stopped) return
    const { db, directory, clock, log } = this.#options
    this.#timer?.cancel()
    if (db.engine !== 'embedded' && this.#reloadAge() >= FULL_READ_MILLISECONDS) this.#mustReload = true
    try {
      this.#unlisten ??= await this.#listen(db)
      if (!(await this.#applyChanges())) await this.#reload()
      else if (this.#mustReload && this.#reloadWait() === 0) await this.#reload()
      if (this.#stopped) return
      this.#failures = 0
      if (!this.#mustReload) this.#loaded = { version: this.#version, milliseconds: clock.monotonicMilliseconds() }
      this.#readAfter(this.#mustReload ? this.#reloadWait() : this.#pollMilliseconds)
    } catch (error) {
      this.#failureCount += 1
      log.warn({ err: error, failures: ++this.#failures, loaded: directory.loaded }, 'directory not loaded')
      this.#readAfter(backoff(RETRY_MILLISECONDS, this.#failures))
    }
  }

  /**
   * Applies the changes since the last read. Returns false when everything has to be read now. While a full read is
   * required but not allowed yet, the known changes are applied.
   */
  async #applyChanges(): Promise<boolean> {
    const { db, directory, encryptionKey } = this.#options
    if (this.#version === undefined || (this.#mustReload && this.#reloadWait() === 0)) return false
    const later = await readChangesAfter(db, this.#version)
    if (later === undefined) return false
    if (later.changes.length > 0) {
      const update = await readUpdate(db, later.changes, encryptionKey)
      if (this.#stopped) return true
      directory.apply(update)
      this.#counts.changes += 1
    }
    this.#version = later.version
    if (!later.isComplete) this.#mustReload = true
    return true
  }

  /** Reads everything, as soon as the minimum interval allows. */
  async #reload(): Promise<void> {
    const { db, directory, clock, log, publicUrl, encryptionKey } = this.#options
    await this.#wait(this.#reloadWait())
    if (this.#stopped) return
    const startedMilliseconds = clock.monotonicMilliseconds()
    this.#mustReload = false
    try {
      const { version, content } = await readContent(db, publicUrl, encryptionKey)
      if (this.#stopped) return
      directory.replace(content)
      this.#version = version
    } catch (error) {
      this.#mustReload = true
      throw error
    }
    this.#reloadedMilliseconds = startedMilliseconds
    this.#counts.full += 1
    log.debug({ version: this.#version }, 'directory loaded')
  }

  get #pollMilliseconds(): number {
    return this.#options.db.engine === 'embedded' ? EMBEDDED_POLL_MILLISECONDS : POLL_MILLISECONDS
  }

  #reloadWait(): number {
    return Math.max(0, RELOAD_MILLISECONDS_MIN - this.#reloadAge())
  }

  /** The time since the last full read began. */
  #reloadAge(): number {
    return this.#options.clock.monotonicMilliseconds() - this.#reloadedMilliseconds
  }

  /** Ends early when the loader is stopped. */
  async #wait(milliseconds: number): Promise<void> {
    if (milliseconds === 0 || this.#stopped) return
    await new Promise<void>((resolve) => {
      this.#endWait = resolve
      this.#timer = this.#options.clock.schedule(milliseconds, resolve)
    })
    this.#endWait = undefined
  }

  #listen(db: Db): Promise<() => Promise<void>> {
    const reload = () => {
      this.#mustReload = true
      void this.refresh()
    }
    return db.listen(DIRECTORY_CHANNEL, {
      onReconnect: reload,
      onNotify: (payload) => {
        if (!/^[0-9]{1,15}$/.test(payload)) reload()
        else if (this.#version === undefined || Number(payload) > this.#version) void this.refresh()
      },
    })
  }

  #readAfter(milliseconds: number): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.schedule(milliseconds, () => {
      // An unreachable store notifies its listeners when it is available again.
      if (this.#unlisten !== undefined && !this.#options.db.available) this.#readAfter(this.#pollMilliseconds)
      else void this.refresh()
    })
  }
}
