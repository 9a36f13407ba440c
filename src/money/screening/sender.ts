/**
 * Asks the operator's screening hook about due movements, in the order in which they became due, at most PARALLEL_MAX
 * at a time. A request is sent outside any transaction. Until it is answered with a decision, the movement waits, and
 * the same question is asked again with the same id and body. When the process stops in between, so it is too.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { DueWorker } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import type { Resolve } from '../../platform/webhooks/request.ts'
import { postSigned, type WebhookEndpoint } from '../../platform/webhooks/signed-request.ts'
import { answerOf } from './answer.ts'
import { SCREENINGS_CHANNEL } from './ask.ts'
import type { ScreenedKinds } from './movements.ts'
import { partiesOf, withParties } from './parties.ts'
import { closeEnded, type Question, recordAnswer, takeDue } from './questions.ts'

export interface ScreeningSenderOptions {
  readonly db: Db
  readonly kinds: ScreenedKinds
  readonly clock: Clock
  readonly log: Log
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  /** `screening.url` and its secrets, read again for every request. */
  readonly settings: () => WebhookEndpoint
  readonly requests: Counter<'outcome'>
  /** Decrypts the movements’ parties. */
  readonly encryptionKey: EncryptionKey | undefined
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** Concurrent requests. */
const PARALLEL_MAX = 16
/** The time between two searches for screenings whose movements have ended. It reads every open one. */
const CLOSING_MILLISECONDS = 5_000
/** Backoff before a question is asked again. A customer waits for the answer. */
const REPEAT_SECONDS = { first: 2, longest: 60 }

/** Asks the hook once it is started. Without an address, it only closes the screenings whose movements have ended. */
export function createScreeningSender(options: ScreeningSenderOptions): DueWorker<Question> {
  const logLimit = new LogLimit(options.clock)
  let closesAt = options.clock.monotonicMilliseconds()
  return new DueWorker<Question>({
    ...options,
    channel: SCREENINGS_CHANNEL,
    parallelMax: PARALLEL_MAX,
    repeatSeconds: REPEAT_SECONDS,
    failures: {
      take: 'due screenings could not be read. They are read again within seconds',
      carryOut: 'a screening could not be asked or recorded. It is asked again',
    },
    prepare: async () => {
      const now = options.clock.monotonicMilliseconds()
      // Without the hook too: what waited for it leaves unasked.
      if (now >= closesAt) {
        closesAt = now + CLOSING_MILLISECONDS
        await transactionWithRetries(options.db, closeEnded)
      }
      return options.settings().url !== ''
    },
    take: takeDue,
    carryOut: (question, repeatSeconds) => carryOut(options, logLimit, question, repeatSeconds),
  })
}

async function carryOut(
  options: ScreeningSenderOptions,
  logLimit: LogLimit,
  question: Question,
  repeatSeconds: number,
): Promise<void> {
  const { db, kinds, settings, encryptionKey, requests, log } = options
  const { id, kind, screeningId, movementId, attempt } = question
  const body = bodyOf(question, await partiesOf(db.tables(), [movementId], encryptionKey, 'sent'))
  const answer = answerOf(await postSigned(settings(), { id, body }, options), id)
  const recorded = await transactionWithRetries(db, (transaction) =>
    recordAnswer(transaction, kinds, question, answer, repeatSeconds),
  )
  requests.inc({ outcome: recorded })
  const subject = { screening: screeningId, [kind]: movementId }
  if (recorded === 'rejected' && kind === 'deposit') {
    log.error(subject, 'the screening rejected a deposit. It stays held until a person decides')
  }
  if (recorded !== 'unanswered' || answer.kind !== 'unanswered') return
  const admitted = logLimit.admit('unanswered')
  if (admitted === undefined) return
  log.warn({ ...subject, attempt, detail: answer.fault, ...admitted }, 'a screening was not answered')
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
