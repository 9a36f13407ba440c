/**
 * The worker for orchestrations. It claims due work and converts it in batches with one asset pair, each in one
 * transaction. A failed batch is repeated one by one, so one bad orchestration does not stop the others. One that fails
 * alone is logged, counted and tried again later. Any number of workers may share a store: a claim belongs to one
 * worker, and a transaction under an ended claim is rolled back. A dead worker's claims end after CLAIM_SECONDS. A
 * worker that loses the store schedules its claims again when the store is available.
 *
 * Notifications wake it, and it polls: once a second while there is work, every five seconds while there is none.
 * `stop` waits for the batch in progress.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import { inSpan } from '../../platform/base/tracing.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import { DueSearch } from '../../platform/store/due-search.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { type Converter, convertBatch } from './convert.ts'
import { type Claim, ClaimLost, claimWork, putOffFailedWork, returnWork } from './queue.ts'
import { CONVERT_KIND, WORK_CHANNEL } from './start.ts'

export interface RunnerOptions extends Converter {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
}

const CLAIMS_MAX = 50
/**
 * The embedded store has one connection. A batch of this size occupies it for about 20 ms, and requests run in between.
 */
const EMBEDDED_CLAIMS_MAX = 10
/** Far longer than a batch takes, even when it is repeated one by one. */
const CLAIM_SECONDS = 60
/** The least time between two attempts. */
const POLL_MILLISECONDS = 1_000
/** Work that waits is attempted every 30 s or more often, so there is none when nothing was claimed for this long. */
const QUIET_AFTER_MILLISECONDS = 60_000
/** Only another process's claims may end then, whose work it did not finish. */
const QUIET_POLL_MILLISECONDS = 5_000

export class OrchestrationRunner {
  readonly #options: RunnerOptions
  readonly #logLimit: LogLimit
  readonly #search: DueSearch
  /**
   * Claims whose transaction failed because the store was unavailable. They are scheduled again before the next claim.
   */
  #unfinished: Claim[] = []
  #claimedMilliseconds: number
  #unlisten: (() => Promise<void>) | undefined
  #running: Promise<void> | undefined
  /** Set by a notification: work may have been committed after the last claim. */
  #isWoken = false
  #endWait: (() => void) | undefined
  #timer: Timer | undefined
  #stopped = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#logLimit = new LogLimit(options.clock)
    this.#search = new DueSearch(options.clock)
    this.#claimedMilliseconds = options.clock.monotonicMilliseconds()
  }

  /** Must be called once, when the store has its schema. */
  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#wake()
    await this.#running
    await this.#unlisten?.()
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#listen()
        this.#isWoken = false
        if ((await this.#work()) === 0) await this.#wait()
      } catch (error) {
        this.#report('work', error, 'no work was claimed')
        await this.#wait()
      }
    }
  }

  /** Claims due work and processes it. Returns the claim count. */
  async #work(): Promise<number> {
    const { db, clock } = this.#options
    const limit = db.engine === 'embedded' ? EMBEDDED_CLAIMS_MAX : CLAIMS_MAX
    await putOffFailedWork(db, this.#unfinished)
    this.#unfinished = []
    const request = { kinds: [CONVERT_KIND], limit, claimSeconds: CLAIM_SECONDS }
    const claims = await this.#search.claim((isRecent) => claimWork(db, request, isRecent))
    if (claims.length > 0) this.#claimedMilliseconds = clock.monotonicMilliseconds()
    const batches = batchesOf(claims)
    for (const [index, batch] of batches.entries()) {
      if (this.#stopped) {
        await returnWork(db, batches.slice(index).flat())
        break
      }
      await this.#workBatch(batch)
    }
    return claims.length
  }

  async #workBatch(batch: readonly Claim[]): Promise<void> {
    if (await this.#attempt(batch)) return
    for (const claim of batch) await this.#attempt([claim])
  }

  /** Processes claims in one transaction. False when they have to be repeated one by one. */
  async #attempt(batch: readonly Claim[]): Promise<boolean> {
    const { db, metrics, settings } = this.#options
    const current = settings()
    try {
      const counts = await inSpan('orchestration step', { 'tidegate.orchestrations': batch.length }, () =>
        transactionWithRetries(db, (transaction) => convertBatch(transaction, batch, current)),
      )
      for (const [result, count] of Object.entries(counts)) metrics.steps.inc({ result }, count)
      return true
    } catch (error) {
      if (batch.length > 1) {
        this.#report('batch', error, 'an orchestration batch failed and is repeated one by one')
        return false
      }
      await this.#fail(batch[0] as Claim, error)
      return true
    }
  }

  async #fail(claim: Claim, error: unknown): Promise<void> {
    const { db, metrics } = this.#options
    if (error instanceof ClaimLost) {
      metrics.steps.inc({ result: 'lost' })
      return
    }
    metrics.steps.inc({ result: 'error' })
    this.#report('row', error, 'a step of an orchestration failed and is tried again later', claim.orchestrationId)
    if (error instanceof StoreUnavailable) this.#unfinished.push(claim)
    else await putOffFailedWork(db, [claim])
  }

  async #listen(): Promise<void> {
    this.#unlisten ??= await this.#options.db.listen(WORK_CHANNEL, {
      onNotify: () => this.#wake(),
      onReconnect: () => this.#wake(),
    })
  }

  #wake(): void {
    this.#isWoken = true
    this.#endWait?.()
  }

  /** Waits for the next notification, or until it is time to poll. */
  async #wait(): Promise<void> {
    if (this.#isWoken || this.#stopped) return
    const { clock } = this.#options
    const isQuiet = clock.monotonicMilliseconds() - this.#claimedMilliseconds >= QUIET_AFTER_MILLISECONDS
    await new Promise<void>((resolve) => {
      this.#endWait = resolve
      this.#timer = clock.schedule(isQuiet ? QUIET_POLL_MILLISECONDS : POLL_MILLISECONDS, resolve)
    })
    this.#timer?.cancel()
    this.#endWait = undefined
  }

  #report(kind: string, error: unknown, message: string, orchestrationId?: string): void {
    const admitted = this.#logLimit.admit(kind)
    if (admitted === undefined) return
    const subject = orchestrationId === undefined ? {} : { orchestration_id: orchestrationId }
    this.#options.log.warn({ err: error, ...subject, ...admitted }, message)
  }
}

/** The claims, grouped by asset pair. */
function batchesOf(claims: readonly Claim[]): readonly (readonly Claim[])[] {
  const batches = new Map<string, Claim[]>()
  for (const claim of claims) {
    const pair = `${claim.sourceAsset}/${claim.destinationAsset}`
    const batch = batches.get(pair)
    if (batch === undefined) batches.set(pair, [claim])
    else batch.push(claim)
  }
  return [...batches.values()]
}
