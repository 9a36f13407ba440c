/**
 * Whether this node's directory is current, so that it knows every revocation. There are three cases: the node reaches
 * the store, or it has the version reported on the bus by nodes that do, or it is connected to the bus and no node
 * reports a version, because nothing can be revoked then. It is stale when it has not been current for
 * `auth.directory_stale_seconds`.
 *
 * The presence or absence of bus reports counts only after listening for as long as a report counts: at first reports
 * are missing, and reports that arrive after this process was suspended are old.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'

const CHECK_MILLISECONDS = 1_000
/** A store read, or a report, counts until three more are missing. */
const CONTACT_MILLISECONDS_MAX = 3_500
/** This process was suspended, or blocked, when a check comes later than this after the one before. */
const LATE_MILLISECONDS = 2_000

export interface DirectoryCurrencyOptions {
  readonly clock: Clock
  readonly log: Log
  /** The setting `auth.directory_stale_seconds`. 0: never. */
  readonly staleSeconds: number
  /** The loaded version, and when the directory was last known to be equal to the store, by the monotonic clock. */
  readonly loader: { readonly loadedVersion: number | undefined; readonly loadedMilliseconds: number | undefined }
  /** Absent without a bus. */
  readonly bus?: DirectoryReports | undefined
}

export interface DirectoryReports {
  readonly isConnected: () => boolean
  /** The versions reported by other nodes in the last seconds, each while it reached the store. */
  readonly versions: () => readonly number[]
}

export class DirectoryCurrency {
  readonly #options: DirectoryCurrencyOptions
  #currentMilliseconds: number
  #checkedMilliseconds: number
  /** Since when the bus has been listened to without an interruption. Undefined while there is no connection. */
  #listeningMilliseconds: number | undefined
  #wasStale = false
  #timer: Timer

  constructor(options: DirectoryCurrencyOptions) {
    this.#options = options
    const now = options.clock.monotonicMilliseconds()
    this.#currentMilliseconds = now
    this.#checkedMilliseconds = now
    this.#timer = this.#schedule()
  }

  /** Whether new connections have to be refused. */
  get isStale(): boolean {
    const { clock, staleSeconds } = this.#options
    this.#check()
    return staleSeconds > 0 && clock.monotonicMilliseconds() - this.#currentMilliseconds >= staleSeconds * 1_000
  }

  /** The version reported by this node on the bus. Undefined while it does not reach the store. */
  get reportedVersion(): number | undefined {
    return this.#reachesStore() ? this.#options.loader.loadedVersion : undefined
  }

  stop(): void {
    this.#timer.cancel()
  }

  #schedule(): Timer {
    return this.#options.clock.schedule(CHECK_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      this.#logChange(this.isStale)
    })
  }

  #check(): void {
    const { clock, bus } = this.#options
    const now = clock.monotonicMilliseconds()
    const isLate = now - this.#checkedMilliseconds > LATE_MILLISECONDS
    this.#checkedMilliseconds = now
    if (bus?.isConnected() !== true) this.#listeningMilliseconds = undefined
    else if (isLate) this.#listeningMilliseconds = now
    else this.#listeningMilliseconds ??= now
    if (this.#reachesStore() || this.#isConfirmed(now)) this.#currentMilliseconds = now
  }

  #reachesStore(): boolean {
    const { clock, loader } = this.#options
    const { loadedMilliseconds = Number.NEGATIVE_INFINITY } = loader
    return clock.monotonicMilliseconds() - loadedMilliseconds <= CONTACT_MILLISECONDS_MAX
  }

  /** By what the bus brings. */
  #isConfirmed(now: number): boolean {
    const { bus, loader } = this.#options
    const listenedMilliseconds = now - (this.#listeningMilliseconds ?? now)
    if (bus === undefined || listenedMilliseconds <= CONTACT_MILLISECONDS_MAX) return false
    const versions = bus.versions()
    return versions.length === 0 || loader.loadedVersion === Math.max(...versions)
  }

  #logChange(isStale: boolean): void {
    if (isStale === this.#wasStale) return
    this.#wasStale = isStale
    const { log, staleSeconds } = this.#options
    if (isStale)
      log.error(
        { 'auth.directory_stale_seconds': staleSeconds },
        'this node reaches neither the store nor NATS, or another node reports newer customers and clients: it refuses new connections meanwhile',
      )
    else log.info({}, 'customers and clients are current again: new connections are accepted')
  }
}
