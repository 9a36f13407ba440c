/**
 * Queues notices to a customer's security contacts, in the transaction of the change that they report. They are about
 * events that a stolen client secret could cause, so they reach people without any client. A notice has one send for
 * each contact at that time, and one for the operator's webhook. A worker sends them later.
 */
import { newId } from '../../platform/base/ids.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'

/** The store's notification channel for due sends. */
export const NOTICES_CHANNEL = 'tidegate_notices'

export const NOTICE_TYPES = [
  'destination.created',
  'destination.approved',
  'destination.deleted',
  'secret.created',
  'limit.raised',
  'sign_in.locked',
  'webhook_endpoint.disabled',
  'test',
] as const

export type NoticeType = (typeof NOTICE_TYPES)[number]

export interface Notice {
  readonly customerId: string
  readonly type: NoticeType
  /** The id of the record that it is about. */
  readonly subject: string
  /**
   * What the reader needs to recognise the event, by names such as `crypto_network`, in reading order. Never a secret,
   * nor bank details: mail is not encrypted. An account number appears with its last four characters.
   */
  readonly facts: Readonly<Record<string, string>>
}

/** Returns the notice's id. */
export async function queueNotice<Tables>(transaction: Transaction<Tables>, notice: Notice): Promise<string> {
  const { customerId, type, subject, facts } = notice
  const id = newId()
  await sql`
    with noticed as (
      insert into notices (id, customer_id, type, subject, facts)
      values (${id}, ${customerId}, ${type}, ${subject}, ${JSON.stringify(facts)}::json)
    ), sent as (
      insert into notice_sends (notice_id, channel, recipient)
      select ${id}::uuid, 'mail', contact from customers, unnest(security_contacts) as contact
      where customers.id = ${customerId}
      union all select ${id}::uuid, 'webhook', ''
    )
    select pg_notify(${NOTICES_CHANNEL}, '')
  `.execute(transaction)
  return id
}
