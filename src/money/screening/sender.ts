/**
 * Asks the operator's screening hook about due movements, in the order in which they became due, at most PARALLEL_MAX
 * at a time. A request is sent outside any transaction. Until it is answered with a decision, the movement waits, and
 * the same question is asked again with the same id and body. When the process stops in between, so it is too.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { type Jitter, jitteredBackoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { DueWorker, reportFailure } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { postWebhook, type Resolve } from '../../platform/webhooks/request.ts'
import { signatureHeaders } from '../../platform/webhooks/signature.ts'
import { answerOf, type ScreeningAnswer } from './answer.ts'
import { SCREENINGS_CHANNEL } from './ask.ts'
import type { ScreenedKinds } from './movements.ts'
import { partiesOf, withParties } from './parties.ts'
import { closeEnded, type Question, type Recorded, recordAnswer, takeDue } from './questions.ts'

/** The current settings, read again for every request. */
export interface HookSettings {
  /** The setting `screening.url`. Empty: nothing is sent. */
  readonly url: string
  /** The setting `screening.secrets`. */
  readonly secrets: readonly string[]
  /** The setting `screening.allow_private`. */
  readonly allowPrivate: boolean
}

export interface ScreeningSenderOptions {
  readonly db: Db
  readonly kinds: ScreenedKinds
  readonly clock: Clock
  readonly log: Log
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  readonly settings: () => HookSettings
  readonly requests: Counter<'outcome'>
  /** Decrypts the movements’ parties. */
  readonly encryptionKey: EncryptionKey | undefined
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** Concurrent requests. */
const PARALLEL_MAX = 16
/** Backoff before a question is asked again. A customer waits for the answer. */
const REPEAT_SECONDS = { first: 2, longest: 60 }
const REPEAT_JITTER: Jitter = [0.5, 1.5]

export class ScreeningSender {
  readonly #options: ScreeningSenderOptions
  readonly #logLimit: LogLimit
  readonly #worker: DueWorker<Question>

  constructor(options: ScreeningSenderOptions) {
    this.#options = options
    this.#logLimit = new LogLimit(options.clock)
    this.#worker = new DueWorker({
      ...options,
      channel: SCREENINGS_CHANNEL,
      parallelMax: PARALLEL_MAX,
      failure: 'due screenings could not be read. They are read again within seconds',
      prepare: () => this.#prepare(),
      take: (limit, isRecent) => this.#write((transaction) => takeDue(transaction, limit, isRecent)),
      carryOut: (question) => this.#ask(question),
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
    if (this.#options.settings().url === '') return false
    await this.#write(closeEnded)
    return true
  }

  async #ask(question: Question): Promise<void> {
    try {
      const answer = await this.#answer(question)
      this.#count(question, answer, await this.#record(question, answer))
    } catch (error) {
      reportFailure(this.#options.log, error, 'a screening could not be asked or recorded. It is asked again')
    }
  }

  async #answer(question: Question): Promise<ScreeningAnswer> {
    const { db, clock, settings, resolve, encryptionKey } = this.#options
    const { url, secrets, allowPrivate } = settings()
    const body = bodyOf(question, await partiesOf(db.tables(), [question.movementId], encryptionKey))
    const timestamp = Math.floor(clock.wallInstant().milliseconds / 1000)
    const headers = signatureHeaders({ id: question.id, body, timestamp }, secrets)
    const tools = resolve === undefined ? { clock } : { clock, resolve }
    return answerOf(await postWebhook({ url, headers, body, allowPrivate }, tools), question.id)
  }

  #record(question: Question, answer: ScreeningAnswer): Promise<Recorded> {
    const { kinds, random } = this.#options
    const seconds = jitteredBackoff(REPEAT_SECONDS, REPEAT_JITTER, question.attempt, random)
    const repeatSeconds = Math.round(seconds * 1000) / 1000
    return this.#write((transaction) => recordAnswer(transaction, kinds, question, answer, repeatSeconds))
  }

  #count({ kind, screeningId, movementId, attempt }: Question, answer: ScreeningAnswer, recorded: Recorded): void {
    const { requests, log } = this.#options
    requests.inc({ outcome: recorded })
    const subject = { screening: screeningId, [kind]: movementId }
    if (recorded === 'rejected' && kind === 'deposit') {
      log.error(subject, 'the screening rejected a deposit. It stays held until a person decides')
    }
    if (recorded !== 'unanswered' || answer.kind !== 'unanswered') return
    const admitted = this.#logLimit.admit('unanswered')
    if (admitted === undefined) return
    log.warn({ ...subject, attempt, detail: answer.fault, ...admitted }, 'a screening was not answered')
  }

  #write<Result>(work: (transaction: Transaction<object>) => Promise<Result>): Promise<Result> {
    return transactionWithRetries(this.#options.db, work)
  }
}

/** The same bytes in every request for a question. */
function bodyOf(
  { id, screeningId, movementId, revision, askedAt, facts }: Question,
  parties: ReadonlyMap<string, string>,
): string {
  const data = JSON.stringify({ id, screening_id: screeningId, revision, ...facts })
  const common = JSON.stringify({ type: 'screening.requested', timestamp: askedAt })
  return `${common.slice(0, -1)},"data":${withParties(data, parties.get(movementId))}}`
}
