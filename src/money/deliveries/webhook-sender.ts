/**
 * Sends due deliveries to the executor's webhook, at most PARALLEL_MAX at a time. Each is claimed with a new attempt
 * and sent outside any transaction. Its outcome is recorded if the attempt is still current. When the process stops in
 * between, the outcome is unknown, and the request is sent again with the same id and the same bytes until the executor
 * answers or the delivery is left to the operator.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import { type Db, StatementFailed } from '../../platform/store/db.ts'
import { DueWorker } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import type { Resolve } from '../../platform/webhooks/request.ts'
import { postSigned, type WebhookEndpoint } from '../../platform/webhooks/signed-request.ts'
import { DELIVERIES_CHANNEL } from './create.ts'
import { giveUpOverdue } from './hand-out.ts'
import type { DeliveryOwners } from './owner.ts'
import { outcomeOf, type WebhookOutcome } from './webhook-answer.ts'
import { type DueRequest, type Recorded, recordOutcome, takeDue } from './webhook-store.ts'

export interface WebhookSenderOptions {
  readonly db: Db
  readonly owners: DeliveryOwners
  readonly clock: Clock
  readonly log: Log
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  /** `deliveries.webhook_url` and its secrets, read again for every request. */
  readonly settings: () => WebhookEndpoint
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

/** Sends deliveries once it is started. Without an address, it only gives up those that are overdue. */
export function createWebhookSender(options: WebhookSenderOptions): DueWorker<DueRequest> {
  const { db, owners, encryptionKey } = options
  const logLimit = new LogLimit(options.clock)
  return new DueWorker<DueRequest>({
    ...options,
    channel: DELIVERIES_CHANNEL,
    parallelMax: PARALLEL_MAX,
    repeatSeconds: REPEAT_SECONDS,
    failures: {
      take: 'due deliveries could not be read. They are read again within seconds',
      carryOut: 'the answer to a delivery could not be recorded. The delivery is sent again',
    },
    prepare: async () => {
      if (options.settings().url !== '') return true
      await transactionWithRetries(db, (transaction) => giveUpOverdue(transaction, owners, PARALLEL_MAX))
      return false
    },
    take: (transaction, limit, isRecent) => takeDue(transaction, owners, limit, isRecent, encryptionKey),
    carryOut: async (request, repeatSeconds) => {
      const outcome = outcomeOf(await postSigned(options.settings(), request, options))
      const recorded = await record(options, request, outcome, repeatSeconds)
      options.requests.inc({ outcome: recorded })
      report(options.log, logLimit, request, outcome, recorded)
    },
  })
}

async function record(
  { db, owners }: WebhookSenderOptions,
  request: DueRequest,
  outcome: WebhookOutcome,
  repeatSeconds: number,
): Promise<Recorded> {
  const write = (result: WebhookOutcome) =>
    transactionWithRetries(db, (transaction) => recordOutcome(transaction, owners, request, result, repeatSeconds))
  try {
    return await write(outcome)
  } catch (error) {
    const isUsed = error instanceof StatementFailed && error.constraint === 'deliveries_reference'
    if (!isUsed) throw error
    return await write({ kind: 'unknown', detail: 'answered SETTLED with another delivery’s reference' })
  }
}

function report(
  log: Log,
  logLimit: LogLimit,
  { id, attempt }: DueRequest,
  outcome: WebhookOutcome,
  recorded: Recorded,
): void {
  if (recorded === 'contradiction') {
    const reference = outcome.kind === 'settled' ? { reference: outcome.reference } : {}
    log.error({ delivery: id, attempt, said: outcome.kind, ...reference }, 'the executor contradicts a recorded result')
  }
  if (recorded !== 'unknown' || outcome.kind !== 'unknown') return
  const admitted = logLimit.admit('unknown')
  if (admitted === undefined) return
  log.warn({ delivery: id, attempt, detail: outcome.detail, ...admitted }, 'a delivery’s outcome is unknown')
}
