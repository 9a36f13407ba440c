/**
 * Sends due notices, by mail and to the operator's webhook, at most PARALLEL_MAX at a time, outside any transaction. A
 * failed send is tried again with growing delays, and given up after three days.
 */
import { type Jitter, jitteredBackoff } from '../../platform/base/backoff.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { LogLimit } from '../../platform/base/log-limit.ts'
import type { Counter } from '../../platform/base/metrics.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { DueWorker, reportFailure } from '../../platform/store/due-worker.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { postWebhook } from '../../platform/webhooks/request.ts'
import { signatureHeaders } from '../../platform/webhooks/signature.ts'
import { type MailServer, sendMail } from './mail.ts'
import { NOTICES_CHANNEL } from './queue.ts'
import { type DueSend, recordOutcome, type SendOutcome, takeDue } from './sends.ts'
import { mailTextOf, webhookBodyOf } from './text.ts'

/** The current settings, read again for every send. */
export interface NoticeSettings {
  /** Its `url` may be empty: no mail is sent. */
  readonly mail: MailServer
  readonly webhook: {
    /** The setting `notices.url`. Empty: nothing is sent to it. */
    readonly url: string
    /** The setting `notices.secrets`. */
    readonly secrets: readonly string[]
  }
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
const REPEAT_SECONDS = { first: 5, longest: 1_800 }
const REPEAT_JITTER: Jitter = [0.5, 1.5]

export class NoticeSender {
  readonly #options: NoticeSenderOptions
  readonly #logLimit: LogLimit
  readonly #worker: DueWorker<DueSend>

  constructor(options: NoticeSenderOptions) {
    this.#options = options
    this.#logLimit = new LogLimit(options.clock)
    this.#worker = new DueWorker({
      ...options,
      channel: NOTICES_CHANNEL,
      parallelMax: PARALLEL_MAX,
      failure: 'due notices could not be read. They are read again within seconds',
      prepare: () => Promise.resolve(true),
      take: (limit, isRecent) => this.#write((transaction) => takeDue(transaction, limit, isRecent)),
      carryOut: (send) => this.#carryOut(send),
    })
  }

  /** Starts listening and polling. The first search is immediate. */
  start(): Promise<void> {
    return this.#worker.start()
  }

  /** Waits for the sends under way. Each has a time limit. */
  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Resolves when no send is under way. */
  settled(): Promise<void> {
    return this.#worker.settled()
  }

  async #carryOut(send: DueSend): Promise<void> {
    const { random, sends, log } = this.#options
    const outcome = await this.#send(send)
    const seconds = jitteredBackoff(REPEAT_SECONDS, REPEAT_JITTER, send.attempt, random)
    try {
      await this.#write((transaction) => recordOutcome(transaction, send, outcome, Math.round(seconds * 1000) / 1000))
      sends.inc({ channel: send.channel, outcome: outcome.kind })
    } catch (error) {
      reportFailure(log, error, 'the outcome of a notice could not be recorded. It is sent again')
    }
    if (outcome.kind !== 'failed') return
    const admitted = this.#logLimit.admit(send.channel)
    if (admitted === undefined) return
    const subject = { notice: send.noticeId, channel: send.channel, attempt: send.attempt }
    log.warn({ ...subject, detail: outcome.reason, ...admitted }, 'a notice could not be sent. It is sent again')
  }

  async #send(send: DueSend): Promise<SendOutcome> {
    const { clock, settings } = this.#options
    const { mail, webhook } = settings()
    if (send.channel === 'mail') {
      if (mail.url === '') return { kind: 'skipped', reason: 'notices.smtp_url is not set' }
      return await sendMail(mail, { ...mailTextOf(send), id: send.id, recipient: send.recipient }, clock)
    }
    if (webhook.url === '') return { kind: 'skipped', reason: 'notices.url is not set' }
    const body = webhookBodyOf(send)
    const timestamp = Math.floor(clock.wallInstant().milliseconds / 1000)
    const headers = signatureHeaders({ id: send.noticeId, timestamp, body }, webhook.secrets)
    // The operator's own system may be on a private network: the address is the operator's, never a customer's.
    const reply = await postWebhook({ url: webhook.url, headers, body, allowPrivate: true }, { clock })
    if (reply.kind === 'failed') return reply
    if (reply.status >= 200 && reply.status < 300) return { kind: 'sent' }
    return { kind: 'failed', reason: `answered with status ${reply.status}` }
  }

  #write<Result>(work: (transaction: Transaction<object>) => Promise<Result>): Promise<Result> {
    return transactionWithRetries(this.#options.db, work)
  }
}
