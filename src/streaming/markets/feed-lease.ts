/**
 * Whether this process leads a feed group. One process holds a group's lease in the store and publishes its markets
 * with the lease's epoch. The others are standbys, which take the lease when it is released or has expired. Decision
 * 0029 has the reasons and the timing.
 *
 * States, per lease object:
 * - `standby`: asks for the lease every half second, when it expires, and when its release is announced. After a store
 *   outage it leaves an expired lease to its holder for one lease duration, so that an outage changes no leader. A
 *   process that has just started leaves one to the other standbys for as long: they have followed the markets, so they
 *   continue where the last leader ended.
 * - `leader`: renews once a second. A store that does not answer changes nothing: the leader continues to publish. A
 *   renewal that finds another holder or epoch, or a higher epoch heard on the bus, deposes it at once.
 * - `paused`: still leader, but it may not publish. The process did not run for longer than a lease lasts, so another
 *   one may lead, and its messages may wait unread. A renewal that began afterwards ends this state. With the store
 *   unreachable the leader can exclude no other one. It is deposed after another lease duration: its books no longer
 *   change, and would be shown as live.
 * - `stopped`: the lease was released.
 *
 * Guarantees: every `onTaken` has an epoch that no other holder had, and is followed by exactly one `onDeposed`. No
 * event is called during the constructor or `mayPublish`. It never publishes, and never trusts the wall clock for a
 * lease's expiry.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { EPOCH_MAX, type LeaseRecord, type LeaseRecords } from './feed-lease-table.ts'

export interface LeaseTiming {
  /** How long a lease lasts without renewal. Also the longest time a leader may be suspended without having to ask. */
  readonly leaseMilliseconds: number
  /** Time between two renewals' starts. */
  readonly renewMilliseconds: number
  /** Time between a standby's two questions, before jitter. */
  readonly pollMilliseconds: number
}

export const LEASE_TIMING: LeaseTiming = { leaseMilliseconds: 3_000, renewMilliseconds: 1_000, pollMilliseconds: 500 }

/** A standby asks after 0.8 to 1.2 times the interval. */
const POLL_JITTER = 0.4
/** The longest wait of a standby after the expiry it has read, so several do not ask at once. */
const EXPIRY_JITTER_MILLISECONDS = 50
/** Fractions of the renewal interval after which a leader notes that it runs. */
const TICKS_PER_RENEWAL = 4

/**
 * `store`: the store has another holder or epoch. `heard`: the bus carried a higher epoch. `unconfirmed`: it was paused,
 * and the store did not answer. `stopped`: it was stopped.
 */
export type LossReason = 'store' | 'heard' | 'unconfirmed' | 'stopped'

export interface FeedLeaseEvents {
  /** This process leads from now on, with this epoch. */
  onTaken(epoch: number): void
  /** It leads no more and must publish nothing further with its epoch. */
  onDeposed(reason: LossReason): void
  /** It is still leader and may publish again: what `mayPublish` refused meanwhile can be published now. */
  onResumed(): void
}

export interface FeedLeaseOptions {
  readonly feedGroup: string
  readonly records: LeaseRecords
  readonly events: FeedLeaseEvents
  readonly clock: Clock
  readonly log: Log
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly timing?: LeaseTiming
}

export interface FeedLeaseState {
  readonly feedGroup: string
  readonly role: 'leader' | 'paused' | 'standby' | 'stopped'
  /** A leader's own epoch; otherwise the highest known, 0 for none. */
  readonly epoch: number
  /** The holder as last read by a standby. Undefined: free, unknown, or this process. */
  readonly holderName: string | undefined
  /** Since the last successful renewal started. Undefined for a standby. */
  readonly renewedMillisecondsAgo: number | undefined
  /** Consecutive failed questions to the store. */
  readonly failures: number
}

export class FeedLease {
  readonly #options: FeedLeaseOptions
  readonly #timing: LeaseTiming
  /** The own epoch. Undefined: not the leader. */
  #epoch: number | undefined
  /** The highest epoch ever heard, read or held here. A later one must be larger, whatever the store has. */
  #knownEpoch = 0
  /** When this process was last known to run, by both clocks: a suspended machine may stop the monotonic one. */
  #ranMilliseconds: number
  #ranWallMilliseconds: number
  /** When the process was found to have been stopped. A renewal must begin later. Undefined: it is not paused. */
  #pausedMilliseconds: number | undefined
  #renewedMilliseconds = 0
  /** The lease as a standby has last read it. */
  #seen: LeaseRecord | undefined
  #asking: Promise<void> | undefined
  #dueMilliseconds: number
  #timer: Timer | undefined
  #unlisten: (() => Promise<void>) | undefined
  #failures = 0
  /** Until when a standby leaves an expired lease to others: after a store outage its holder has to return. */
  #graceMilliseconds: number
  #isStopped = false

  /** Asks for the lease at once. */
  constructor(options: FeedLeaseOptions) {
    this.#options = options
    this.#timing = options.timing ?? LEASE_TIMING
    const { clock } = options
    this.#ranMilliseconds = clock.monotonicMilliseconds()
    this.#ranWallMilliseconds = clock.wallInstant().milliseconds
    this.#dueMilliseconds = this.#ranMilliseconds
    this.#graceMilliseconds = this.#ranMilliseconds + this.#timing.leaseMilliseconds
    this.#tick()
  }

  /**
   * Whether this process may publish as leader now. Must be called before each message or batch: after the process was
   * stopped, other timers may run before this object's.
   */
  mayPublish(): boolean {
    if (this.#epoch === undefined) return false
    this.#noteRunning()
    return this.#pausedMilliseconds === undefined
  }

  /** Notes an epoch heard on the bus. One higher than its own deposes a leader. */
  heard(epoch: number): void {
    assert(Number.isInteger(epoch) && epoch >= 0 && epoch <= EPOCH_MAX, 'an epoch has 8 hexadecimal digits')
    if (epoch <= this.#knownEpoch) return
    this.#knownEpoch = epoch
    if (this.#epoch !== undefined && epoch > this.#epoch) this.#depose('heard')
  }

  get state(): FeedLeaseState {
    const isLeader = this.#epoch !== undefined
    return {
      feedGroup: this.#options.feedGroup,
      role: this.#role(),
      epoch: this.#epoch ?? this.#knownEpoch,
      holderName: isLeader ? undefined : this.#seen?.holderName,
      renewedMillisecondsAgo: isLeader ? this.#now() - this.#renewedMilliseconds : undefined,
      failures: this.#failures,
    }
  }

  /**
   * Ends the leadership, then frees the lease, so a standby takes it at once. If the store cannot be reached, the lease
   * expires instead. The caller has published its last message, or publishes it in `onDeposed`.
   */
  async stop(): Promise<void> {
    const { records, log, feedGroup } = this.#options
    this.#isStopped = true
    this.#timer?.cancel()
    const epoch = this.#epoch
    if (epoch !== undefined) this.#depose('stopped')
    await this.#asking
    try {
      if (epoch !== undefined) await records.release(epoch)
    } catch (error) {
      log.warn({ err: error, feed_group: feedGroup }, 'the feed lease was not released. It expires')
    }
    await this.#unlisten?.()
  }

  #role(): FeedLeaseState['role'] {
    if (this.#isStopped) return 'stopped'
    if (this.#epoch === undefined) return 'standby'
    return this.#pausedMilliseconds === undefined ? 'leader' : 'paused'
  }

  #now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }

  /** Pauses a leader whose process did not run for longer than a lease lasts. */
  #noteRunning(): void {
    const { clock, records, log, feedGroup } = this.#options
    const now = clock.monotonicMilliseconds()
    const wall = clock.wallInstant().milliseconds
    const stoodMilliseconds = Math.max(now - this.#ranMilliseconds, wall - this.#ranWallMilliseconds)
    this.#ranMilliseconds = now
    this.#ranWallMilliseconds = wall
    if (stoodMilliseconds <= this.#timing.leaseMilliseconds) return
    if (this.#epoch === undefined || records.isExclusive) return
    this.#pausedMilliseconds = now
    this.#dueMilliseconds = now
    log.warn(
      { feed_group: feedGroup, epoch: this.#epoch, stopped_seconds: stoodMilliseconds / 1000 },
      'the process was stopped for longer than its feed lease lasts. It publishes nothing until the lease is confirmed',
    )
  }

  #tick(): void {
    if (this.#isStopped) return
    this.#noteRunning()
    const pausedForMilliseconds = this.#now() - (this.#pausedMilliseconds ?? this.#now())
    if (pausedForMilliseconds > this.#timing.leaseMilliseconds) this.#depose('unconfirmed')
    if (this.#asking === undefined && this.#now() >= this.#dueMilliseconds) this.#ask()
    this.#schedule()
  }

  #schedule(): void {
    this.#timer?.cancel()
    if (this.#isStopped || this.#dueMilliseconds === Number.POSITIVE_INFINITY) return
    const tickMilliseconds = this.#timing.renewMilliseconds / TICKS_PER_RENEWAL
    const wait = this.#asking === undefined ? this.#dueMilliseconds - this.#now() : tickMilliseconds
    const delay = Math.max(0, Math.min(tickMilliseconds, wait))
    this.#timer = this.#options.clock.schedule(delay, () => this.#tick())
  }

  /** Asks the store at once, or after the question still unanswered. */
  #hurry(): void {
    this.#dueMilliseconds = this.#now()
    this.#tick()
  }

  #ask(): void {
    const startedMilliseconds = this.#now()
    const epoch = this.#epoch
    this.#dueMilliseconds = startedMilliseconds + this.#intervalMilliseconds()
    const asking = epoch === undefined ? this.#tryToTake(startedMilliseconds) : this.#renew(epoch, startedMilliseconds)
    this.#asking = asking
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#asking = undefined
        this.#schedule()
      })
  }

  #intervalMilliseconds(): number {
    const { renewMilliseconds, pollMilliseconds } = this.#timing
    if (this.#pausedMilliseconds !== undefined) return renewMilliseconds / TICKS_PER_RENEWAL
    if (this.#epoch !== undefined) return renewMilliseconds
    return pollMilliseconds * (1 + POLL_JITTER * (this.#options.random() - 0.5))
  }

  async #tryToTake(startedMilliseconds: number): Promise<void> {
    const { records, random } = this.#options
    if (!records.isExclusive) {
      this.#unlisten ??= await records.listen(() => this.#hurry())
      this.#seen = await records.read()
      const waitMilliseconds = this.#waitFor(this.#seen)
      if (waitMilliseconds > 0) {
        const freeMilliseconds = this.#now() + waitMilliseconds + random() * EXPIRY_JITTER_MILLISECONDS
        this.#dueMilliseconds = Math.min(this.#dueMilliseconds, freeMilliseconds)
        return
      }
    }
    if (this.#isStopped) return
    const epoch = await records.take(this.#knownEpoch)
    if (epoch !== undefined) await this.#took(epoch, startedMilliseconds)
  }

  /** How long a standby leaves the lease to its holder. */
  #waitFor(lease: LeaseRecord | undefined): number {
    const now = this.#now()
    if (this.#failures > 0) this.#graceMilliseconds = now + this.#timing.leaseMilliseconds
    this.#failures = 0
    if (lease === undefined) return 0
    this.#knownEpoch = Math.max(this.#knownEpoch, lease.epoch)
    if (lease.holderName === undefined) return 0
    return Math.max(lease.leftMilliseconds, this.#graceMilliseconds - now)
  }

  async #took(epoch: number, startedMilliseconds: number): Promise<void> {
    const { records, events, log, feedGroup } = this.#options
    const hasRunOut = !records.isExclusive && this.#now() - startedMilliseconds > this.#timing.leaseMilliseconds
    if (this.#isStopped || hasRunOut || epoch <= this.#knownEpoch) {
      await records.release(epoch)
      this.#dueMilliseconds = this.#now()
      return
    }
    this.#noteRunning()
    this.#epoch = epoch
    this.#knownEpoch = epoch
    this.#failures = 0
    this.#seen = undefined
    this.#renewedMilliseconds = startedMilliseconds
    this.#dueMilliseconds = records.isExclusive
      ? Number.POSITIVE_INFINITY
      : startedMilliseconds + this.#timing.renewMilliseconds
    log.info({ feed_group: feedGroup, epoch }, 'feed lease taken')
    events.onTaken(epoch)
  }

  async #renew(epoch: number, startedMilliseconds: number): Promise<void> {
    const isHeld = await this.#options.records.renew(epoch)
    this.#failures = 0
    if (this.#epoch !== epoch) return
    this.#noteRunning()
    if (!isHeld) return this.#depose('store')
    this.#renewedMilliseconds = startedMilliseconds
    if (this.#pausedMilliseconds === undefined || startedMilliseconds < this.#pausedMilliseconds) return
    this.#pausedMilliseconds = undefined
    this.#dueMilliseconds = startedMilliseconds + this.#timing.renewMilliseconds
    this.#options.log.info({ feed_group: this.#options.feedGroup, epoch }, 'feed lease confirmed')
    this.#options.events.onResumed()
  }

  #depose(reason: LossReason): void {
    const { log, events, feedGroup } = this.#options
    const epoch = this.#epoch
    this.#epoch = undefined
    this.#pausedMilliseconds = undefined
    const fields = { feed_group: feedGroup, epoch, highest_epoch: this.#knownEpoch, reason }
    if (reason === 'stopped') log.info(fields, 'feed leadership ended')
    else log.warn(fields, 'deposed as the feed group’s leader')
    this.#hurry()
    events.onDeposed(reason)
  }

  #failed(error: unknown): void {
    const { log, feedGroup } = this.#options
    this.#noteRunning()
    if (this.#failures++ > 0) return
    const isLeader = this.#epoch !== undefined
    log.warn(
      { err: error, feed_group: feedGroup },
      isLeader ? 'feed lease not renewed. This process continues as leader' : 'the feed lease could not be read',
    )
  }
}
