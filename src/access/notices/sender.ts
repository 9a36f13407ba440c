/**
 * Sends due notices, by mail and to the operator's webhook, at most PARALLEL_MAX at a time, outside any transaction. A
 * failed send is tried again with growing delays, and given up after three days. Old notices are deleted.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import type { Db } from '../../platform/store/db.ts'
import { DueWorker } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { postSigned, type WebhookEndpoint } from '../../platform/webhooks/signed-request.ts'
import { type MailServer, sendMail } from './mail.ts'
import { NOTICES_CHANNEL } from './queue.ts'
import { type DueSend, deleteOld, recordOutcome, type SendOutcome, takeDue } from './sends.ts'
import { mailTextOf, webhookBodyOf } from './text.ts'

/** The current settings, read again for every send. */
export interface NoticeSettings {
  /** Its `url` may be empty: no mail is sent. */
  readonly mail: MailServer
  /** `notices.url` and its secrets. Empty: no request is sent. */
  readonly webhook: WebhookEndpoint
}

export interface NoticeSenderOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** A number in [0, 1), for retry jitter. */
  readonly random: () => number
  readonly settings: () => NoticeSettings
  readonly sends: Counter<'channel' | 'outcome'>
}

const PARALLEL_MAX = 4
/** The time between two searches for old notices. */
const DELETION_MILLISECONDS = 3_600_000
const REPEAT_SECONDS = { first: 5, longest: 1_800 }

/** Sends notices once it is started. */
export function createNoticeSender(options: NoticeSenderOptions): DueWorker<DueSend> {
  const logLimit = new LogLimit(options.clock)
  let deletesAt = options.clock.monotonicMilliseconds()
  return new DueWorker<DueSend>({
    ...options,
    channel: NOTICES_CHANNEL,
    parallelMax: PARALLEL_MAX,
    repeatSeconds: REPEAT_SECONDS,
    failures: {
      take: 'due notices could not be read. They are read again within seconds',
      carryOut: 'the outcome of a notice could not be recorded. It is sent again',
    },
    prepare: async () => {
      const now = options.clock.monotonicMilliseconds()
      if (now < deletesAt) return true
      deletesAt = now + ((await transactionWithRetries(options.db, deleteOld)) ? 0 : DELETION_MILLISECONDS)
      return true
    },
    take: takeDue,
    carryOut: (send, repeatSeconds) => carryOut(options, logLimit, send, repeatSeconds),
  })
}

async function carryOut(
  options: NoticeSenderOptions,
  logLimit: LogLimit,
  send: DueSend,
  repeatSeconds: number,
): Promise<void> {
  const { db, sends, log } = options
  const outcome = await outcomeOf(options, send)
  if (outcome.kind === 'failed') {
    const admitted = logLimit.admit(send.channel)
    const subject = { notice: send.noticeId, channel: send.channel, attempt: send.attempt, detail: outcome.reason }
    if (admitted !== undefined) log.warn({ ...subject, ...admitted }, 'a notice could not be sent. It is sent again')
  }
  await transactionWithRetries(db, (transaction) => recordOutcome(transaction, send, outcome, repeatSeconds))
  sends.inc({ channel: send.channel, outcome: outcome.kind })
}

async function outcomeOf({ clock, settings }: NoticeSenderOptions, send: DueSend): Promise<SendOutcome> {
  const { mail, webhook } = settings()
  if (send.channel === 'mail') {
    if (mail.url === '') return { kind: 'skipped', reason: 'notices.smtp_url is not set' }
    return await sendMail(mail, { ...mailTextOf(send), id: send.id, recipient: send.recipient }, clock)
  }
  if (webhook.url === '') return { kind: 'skipped', reason: 'notices.url is not set' }
  const reply = await postSigned(webhook, { id: send.noticeId, body: webhookBodyOf(send) }, { clock })
  if (reply.kind === 'failed') return reply
  if (reply.status >= 200 && reply.status < 300) return { kind: 'sent' }
  return { kind: 'failed', reason: `answered with status ${reply.status}` }
}
