/**
 * Sends in the store: claims due ones and records outcomes. A send gets its attempt number before it leaves, and an
 * earlier attempt's outcome is not recorded. When the process stops in between, it is sent again with the same id.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { claimedRows } from '../../platform/store/due-search.ts'
import { unlessLocked } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { NoticeType } from './queue.ts'

/** Longer than an attempt takes. */
const LEASE_SECONDS = 120
/** A send is given up this long after its notice. */
const GIVEN_UP_AFTER_HOURS = 72
/** Notices are kept this long. The audit trail keeps what they report. */
const NOTICE_DAYS = 90
/** Notices deleted by one statement. */
const DELETED_MAX = 1_000

export interface DueSend {
  readonly id: string
  readonly noticeId: string
  readonly channel: 'mail' | 'webhook'
  /** The mail address. Empty for the webhook. */
  readonly recipient: string
  readonly attempt: number
  readonly type: NoticeType
  readonly subject: string
  readonly facts: Readonly<Record<string, string>>
  readonly createdAt: string
  readonly customerId: string
  readonly customerName: string
  /** All the notice's mail addresses. */
  readonly contacts: readonly string[]
  /** When it was due, by the store's clock. */
  readonly dueAt: string
}

/** `skipped`: no setting says where to send it. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'skipped'; readonly reason: string }

/** Claims up to `limit` due sends, each with a new attempt. */
export async function takeDue<Tables>(
  transaction: Transaction<Tables>,
  limit: number,
  isRecent: RawBuilder<boolean>,
): Promise<readonly DueSend[]> {
  const { rows } = await sql<DueSend>`
    ${claimedRows({ table: 'notice_sends', limit, isRecent, leaseSeconds: LEASE_SECONDS })}
    select claimed.id, notice_id as "noticeId", channel, recipient, attempt, notices.type, subject, facts,
      notices.created_at as "createdAt", customer_id as "customerId", customers.name as "customerName",
      array(
        select recipient from notice_sends as mail
        where mail.notice_id = claimed.notice_id and mail.channel = 'mail' order by recipient
      ) as contacts,
      due_at as "dueAt"
    from claimed join notices on notices.id = notice_id join customers on customers.id = customer_id
    order by due_at, claimed.id
  `.execute(transaction)
  return rows
}

/** Deletes notices older than NOTICE_DAYS whose sends have ended, some at a time. Returns whether more may be left. */
export async function deleteOld<Tables>(transaction: Transaction<Tables>): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    with old as materialized (
      select id from notices
      where created_at < clock_timestamp() - ${NOTICE_DAYS} * interval '1 day'
        and not exists (select from notice_sends where notice_id = notices.id and status = 'WAITING')
      order by created_at, id limit ${DELETED_MAX} ${unlessLocked}
    ), sends as (
      delete from notice_sends using old where notice_id = old.id
    )
    delete from notices using old where notices.id = old.id
  `.execute(transaction)
  return numAffectedRows === BigInt(DELETED_MAX)
}

/** @param repeatSeconds the time until a failed send is tried again */
export async function recordOutcome<Tables>(
  transaction: Transaction<Tables>,
  { id, attempt }: Pick<DueSend, 'id' | 'attempt'>,
  outcome: SendOutcome,
  repeatSeconds: number,
): Promise<void> {
  const isCurrent = sql<boolean>`id = ${id} and attempt = ${attempt} and status = 'WAITING'`
  if (outcome.kind === 'failed') {
    const isGivenUp = sql<boolean>`created_at < clock_timestamp() - ${GIVEN_UP_AFTER_HOURS} * interval '1 hour'`
    await sql`
      update notice_sends set last_error = ${outcome.reason},
        status = case when ${isGivenUp} then 'FAILED' else status end,
        next_attempt_at = case when not ${isGivenUp} then clock_timestamp() + ${repeatSeconds} * interval '1 second' end
      where ${isCurrent}
    `.execute(transaction)
    return
  }
  const isSent = outcome.kind === 'sent'
  await sql`
    update notice_sends set status = ${isSent ? 'SENT' : 'SKIPPED'}, next_attempt_at = null,
      sent_at = ${isSent ? sql`date_trunc('milliseconds', clock_timestamp())` : null},
      last_error = ${isSent ? sql`last_error` : outcome.reason}
    where ${isCurrent}
  `.execute(transaction)
}
