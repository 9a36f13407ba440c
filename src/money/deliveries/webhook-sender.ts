/**
 * Sends due deliveries to the executor's webhook, at most PARALLEL_MAX at a time. Each is claimed with a new attempt
 * and sent outside any transaction. Its outcome is recorded if the attempt is still current. When the process stops in
 * between, the outcome is unknown, and the request is sent again with the same id and the same bytes until the executor
 * answers or the delivery is left to the operator.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { type Jitter, jitteredBackoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed, type Transaction } from '../../platform/store/db.ts'
import { DueWorker, reportFailure } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { postWebhook, type Resolve } from '../../platform/webhooks/request.ts'
import { signatureHeaders } from '../../platform/webhooks/signature.ts'
import { DELIVERIES_CHANNEL } from './create.ts'
import { giveUpOverdue } from './hand-out.ts'
import type { DeliveryOwners } from './owner.ts'
import type { DeliveryTables } from './tables.ts'
import { outcomeOf, type WebhookOutcome } from './webhook-answer.ts'
import { type DueRequest, type Recorded, recordOutcome, takeDue } from './webhook-store.ts'

/** The current settings, read again for every request. */
export interface WebhookSettings {
  /** The setting `deliveries.webhook_url`. Empty: nothing is sent. */
  readonly url: string
  /** The setting `deliveries.webhook_secrets`. */
  readonly secrets: readonly string[]
  /** The setting `deliveries.allow_private`. */
  readonly allowPrivate: boolean
}

export interface WebhookSenderOptions {
  readonly db: Db
  readonly owners: DeliveryOwners
  readonly clock: Clock
  readonly log: Log
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  readonly settings: () => WebhookSettings
  readonly requests: Counter<'outcome'>
  /** Decrypts the payments’ parties. Absent: payments with parties are not sent. */
  readonly encryptionKey?: EncryptionKey | undefined
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** Concurrent requests. */
const PARALLEL_MAX = 8
/** Backoff before a request is retried. */
const REPEAT_SECONDS = { first: 5, longest: 900 }
const REPEAT_JITTER: Jitter = [0.5, 1.5]

export class WebhookSender {
  readonly #options: WebhookSenderOptions
  readonly #logLimit: LogLimit
  readonly #worker: DueWorker<DueRequest>

  constructor(options: WebhookSenderOptions) {
    this.#options = options
    this.#logLimit = new LogLimit(options.clock)
    this.#worker = new DueWorker({
      ...options,
      channel: DELIVERIES_CHANNEL,
      parallelMax: PARALLEL_MAX,
      failure: 'due deliveries could not be read. They are read again within seconds',
      prepare: () => this.#prepare(),
      take: (limit, isRecent) =>
        this.#write((transaction) => takeDue(transaction, options.owners, limit, isRecent, options.encryptionKey)),
      carryOut: (request) => this.#send(request),
    })
  }

  /** Starts listening and polling. The first search is immediate. */
  start(): Promise<void> {
    return this.#worker.start()
  }

  /** Waits for the requests under way. Each has a time limit. */
  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Resolves when no request is under way. */
  settled(): Promise<void> {
    return this.#worker.settled()
  }

  async #prepare(): Promise<boolean> {
    const { owners, settings } = this.#options
    if (settings().url !== '') return true
    await this.#write((transaction) => giveUpOverdue(transaction, owners, PARALLEL_MAX))
    return false
  }

  async #send(request: DueRequest): Promise<void> {
    const { clock, log, settings, resolve } = this.#options
    const { url, secrets, allowPrivate } = settings()
    const timestamp = Math.floor(clock.wallInstant().milliseconds / 1000)
    const headers = signatureHeaders({ ...request, timestamp }, secrets)
    const tools = resolve === undefined ? { clock } : { clock, resolve }
    const outcome = outcomeOf(await postWebhook({ url, headers, body: request.body, allowPrivate }, tools))
    try {
      this.#count(request, outcome, await this.#record(request, outcome))
    } catch (error) {
      reportFailure(log, error, 'the answer to a delivery could not be recorded. The delivery is sent again')
    }
  }

  async #record(request: DueRequest, outcome: WebhookOutcome): Promise<Recorded> {
    const { owners, random } = this.#options
    const seconds = jitteredBackoff(REPEAT_SECONDS, REPEAT_JITTER, request.attempt, random)
    const repeatSeconds = Math.round(seconds * 1000) / 1000
    const record = (result: WebhookOutcome) =>
      this.#write((transaction) => recordOutcome(transaction, owners, request, result, repeatSeconds))
    try {
      return await record(outcome)
    } catch (error) {
      const isUsed = error instanceof StatementFailed && error.constraint === 'deliveries_reference'
      if (!isUsed) throw error
      return await record({ kind: 'unknown', detail: 'answered SETTLED with another delivery’s reference' })
    }
  }

  #count({ id, attempt }: DueRequest, outcome: WebhookOutcome, recorded: Recorded): void {
    const { requests, log } = this.#options
    requests.inc({ outcome: recorded })
    if (recorded === 'contradiction') {
      const reference = outcome.kind === 'settled' ? { reference: outcome.reference } : {}
      log.error(
        { delivery: id, attempt, said: outcome.kind, ...reference },
        'the executor contradicts a recorded result',
      )
    }
    if (recorded !== 'unknown' || outcome.kind !== 'unknown') return
    const admitted = this.#logLimit.admit('unknown')
    if (admitted === undefined) return
    log.warn({ delivery: id, attempt, detail: outcome.detail, ...admitted }, 'a delivery’s outcome is unknown')
  }

  #write<Result>(work: (transaction: Transaction<DeliveryTables>) => Promise<Result>): Promise<Result> {
    return transactionWithRetries(this.#options.db, work)
  }
}
