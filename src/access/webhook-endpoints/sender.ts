/**
 * Sends customers' events to their webhook endpoints, in rounds. A round has at most 8 requests at a time and ends
 * within seconds, and the endpoint claimed longest ago is next, so a slow endpoint does not delay the others. Nothing is
 * stored for an event that is answered at once, apart from its row in the log.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { DueWorker } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { EncryptionKey } from '../clients/encryption-key.ts'
import { EVENTS_CHANNEL } from '../events/tables.ts'
import { type Claim, claimEndpoints } from './claims.ts'
import { EndpointRequests, type RequestOptions } from './endpoint-requests.ts'
import { readNew, readWaiting, testEvent, type Wanted } from './events-to-send.ts'
import { deleteOldRequests, type Round, recordRound } from './progress.ts'
import { type RoundResult, runRound } from './round.ts'
import { decryptSecrets } from './secrets.ts'
import { ENDPOINTS_CHANNEL } from './store.ts'
import { watchEvents } from './watched-customers.ts'

export interface WebhookSenderOptions extends RequestOptions {
  readonly db: Db
  readonly log: Log
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
  readonly encryptionKey: EncryptionKey | undefined
}

/** Endpoints with a round at a time. */
const PARALLEL_MAX = 128
/** New events within this time are claimed together. */
const GATHER_MILLISECONDS = 100
/** The time between two searches of all customers' new events. */
const FULL_SEARCH_MILLISECONDS = 10_000
/** An endpoint that cannot be sent to for a reason of ours is looked at again after this time. */
const BLOCKED_SECONDS = 60
const UPKEEP_MILLISECONDS = 3_600_000

export class WebhookSender {
  readonly #options: WebhookSenderOptions
  readonly #worker: DueWorker<Claim>
  readonly #logLimit: LogLimit
  readonly #ending = new AbortController()
  /** Customers with new events since the last claim, and those whose events are claimed next. */
  #noted = new Set<string>()
  #ready = new Set<string>()
  #gathering: Timer | undefined
  #upkeep: Timer | undefined
  #upkeeping: Promise<void> | undefined
  #fullSearchMilliseconds = Number.NEGATIVE_INFINITY
  #isFull = false
  #unlisten: (() => Promise<void>) | undefined

  constructor(options: WebhookSenderOptions) {
    this.#options = options
    this.#logLimit = new LogLimit(options.clock)
    this.#worker = new DueWorker<Claim>({
      ...options,
      channel: ENDPOINTS_CHANNEL,
      parallelMax: PARALLEL_MAX,
      repeatSeconds: { first: 1, longest: 1 },
      failures: {
        take: 'due webhook endpoints could not be read. They are read again within seconds',
        carryOut: 'requests to a webhook endpoint could not be recorded. They are repeated',
      },
      prepare: () => this.#prepare(),
      take: (transaction, limit, isRecent) => this.#take(transaction, limit, isRecent),
      carryOut: (claim) => this.#carryOut(claim),
    })
  }

  /** Starts listening and polling. The first search is immediate. May be repeated when the store was unavailable. */
  async start(): Promise<void> {
    const { db } = this.#options
    const wake = () => this.#worker.look()
    this.#unlisten ??= await db.listen(EVENTS_CHANNEL, { onNotify: (id) => this.#note(id), onReconnect: wake })
    await this.#worker.start()
    this.#keepUp()
  }

  /** Waits for the requests under way. Each has a time limit. */
  async stop(): Promise<void> {
    this.#ending.abort()
    this.#gathering?.cancel()
    this.#upkeep?.cancel()
    await this.#unlisten?.()
    await this.#worker.stop()
    await this.#upkeeping
  }

  /** Resolves when no request is under way. */
  settled(): Promise<void> {
    return this.#worker.settled()
  }

  #note(customerId: string): void {
    this.#noted.add(customerId)
    if (this.#ending.signal.aborted) return
    this.#gathering ??= this.#options.clock.schedule(GATHER_MILLISECONDS, () => {
      this.#gathering = undefined
      for (const id of this.#noted) this.#ready.add(id)
      this.#noted.clear()
      this.#worker.look()
    })
  }

  /** Before a search of all customers' new events, asks for notifications about the next ones. */
  async #prepare(): Promise<boolean> {
    const now = this.#options.clock.monotonicMilliseconds()
    if (now - this.#fullSearchMilliseconds < FULL_SEARCH_MILLISECONDS) return true
    this.#fullSearchMilliseconds = now
    this.#isFull = true
    await watchEvents(sql`true`).execute(this.#options.db.tables())
    return true
  }

  async #take(
    transaction: Transaction<object>,
    limit: number,
    isRecent: RawBuilder<boolean>,
  ): Promise<readonly Claim[]> {
    const customerIds = this.#ready
    this.#ready = new Set()
    try {
      const wanted = { limit, isRecent, isFull: this.#isFull, customerIds: [...customerIds] }
      const claims = await claimEndpoints(transaction, wanted)
      if (claims.length < limit) {
        this.#isFull = false
        customerIds.clear()
      }
      return claims
    } finally {
      for (const id of customerIds) this.#ready.add(id)
    }
  }

  async #carryOut(claim: Claim): Promise<void> {
    const { db, log } = this.#options
    try {
      const round = await this.#round(claim)
      const isDisabled = await transactionWithRetries(db, (transaction) => recordRound(transaction, claim, round))
      if (isDisabled) log.warn({ endpoint: claim.id, reason: round.disabled }, 'a webhook endpoint was disabled')
    } finally {
      // Events since the claim may have been announced while the endpoint could not be claimed.
      this.#note(claim.customerId)
    }
  }

  async #round(claim: Claim): Promise<Round> {
    const { clock, encryptionKey, log } = this.#options
    const { id, customerId, status, testId } = claim
    const idle = idleRound(claim)
    if (!claim.isClientEnabled) return { ...idle, disabled: 'its client is disabled' }
    if (!claim.isCustomerEnabled) return { ...idle, waits: true, seconds: BLOCKED_SECONDS }
    const secrets = decryptSecrets(encryptionKey, id, claim.secrets)
    if (secrets === undefined) {
      const admitted = this.#logLimit.admit('key')
      const message = 'a webhook endpoint gets no requests: this process lacks the key of its secrets'
      if (admitted !== undefined) log.error({ endpoint: id, ...admitted }, message)
      return { ...idle, waits: true, seconds: BLOCKED_SECONDS }
    }
    const requests = new EndpointRequests(this.#options, claim, secrets)
    try {
      if (testId !== null) await requests.send(testEvent(claim, testId, timeOf(clock)), 1)
      if (status !== 'ACTIVE') return { ...idle, requests: requests.sent }
      const types = claim.types.length === 0 ? undefined : new Set(claim.types)
      const result = await this.#sendEvents(claim, requests, { customerId, scopes: new Set(claim.scopes), types })
      const disabled = result.overdue === undefined ? {} : { disabled: result.overdue }
      return { ...result, ...disabled, requests: requests.sent, testId }
    } finally {
      requests.close()
    }
  }

  #sendEvents(claim: Claim, requests: EndpointRequests, wanted: Wanted): Promise<RoundResult> {
    const { db, clock, random } = this.#options
    const begin = clock.monotonicMilliseconds()
    return runRound(claim, {
      random,
      signal: this.#ending.signal,
      elapsed: () => clock.monotonicMilliseconds() - begin,
      readAt: (sequences) => readWaiting(db, wanted, sequences),
      readNew: (limit) => readNew(db, wanted, claim.passedSequence, limit, (oldest) => requests.noteExpired(oldest)),
      send: (event, attempt) => requests.send(event, attempt),
    })
  }

  #keepUp(): void {
    if (this.#ending.signal.aborted) return
    this.#upkeep = this.#options.clock.schedule(UPKEEP_MILLISECONDS, () => this.#keepUp())
    this.#upkeeping = this.#deleteOld()
  }

  async #deleteOld(): Promise<void> {
    const { db, log } = this.#options
    try {
      let hasMore = true
      while (hasMore && !this.#ending.signal.aborted) {
        hasMore = await db.transaction((transaction) => deleteOldRequests(transaction))
      }
    } catch (error) {
      log.warn({ err: error }, 'old rows in the log of webhook requests were not deleted. They are deleted later')
    }
  }
}

/** A round without requests, which ends the wait for a test. */
function idleRound({ passedSequence, failures, testId }: Claim): Round {
  return { passedSequence, failures, backlogs: [], waits: false, isRecovered: false, requests: [], testId }
}

function timeOf(clock: Clock): string {
  return new Date(clock.wallInstant().milliseconds).toISOString()
}
