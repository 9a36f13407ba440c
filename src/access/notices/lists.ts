/** The notices as the operator sees them, each with its sends. */
import { Problem } from '../../platform/http/problem.ts'
import type { Db, Kysely } from '../../platform/store/db.ts'
import { type Page, readPage } from '../../platform/store/page.ts'
import { sql } from '../../platform/store/sql.ts'
import type { NoticeType } from './queue.ts'
import type { NoticeTables } from './tables.ts'

export const SEND_STATUSES = ['WAITING', 'SENT', 'FAILED', 'SKIPPED'] as const

export type SendStatus = (typeof SEND_STATUSES)[number]

export interface NoticeSend {
  readonly channel: 'mail' | 'webhook'
  /** The mail address. */
  readonly recipient?: string
  readonly status: SendStatus
  readonly attempts: number
  readonly last_error?: string
  readonly next_attempt_at?: string
  readonly sent_at?: string
}

export interface NoticeDocument {
  readonly id: string
  readonly customer_id: string
  readonly type: NoticeType
  readonly subject: string
  readonly facts: Readonly<Record<string, string>>
  readonly sends: readonly NoticeSend[]
  readonly created_at: string
}

interface NoticeFilters {
  readonly customerId?: string | undefined
  /** A notice matches when one of its sends has this status. */
  readonly status?: SendStatus | undefined
}

const TIME = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')

const SENDS = sql<readonly NoticeSend[]>`(
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
    'channel', channel,
    'recipient', nullif(recipient, ''),
    'status', status,
    'attempts', attempt,
    'last_error', last_error,
    'next_attempt_at', to_char(next_attempt_at at time zone 'UTC', ${TIME}),
    'sent_at', to_char(sent_at at time zone 'UTC', ${TIME})
  )) order by channel, recipient)
  from notice_sends where notice_id = notices.id
)`

function noticesOf(tables: Kysely<NoticeTables>) {
  return tables
    .selectFrom('notices')
    .select(['id', 'customer_id', 'type', 'subject', 'facts', SENDS.as('sends'), 'created_at'])
    .$narrowType<{ type: NoticeType }>()
}

export async function listNotices(
  db: Db,
  request: { readonly limit: number; readonly order: 'ASC' | 'DESC'; readonly pageCursor?: string },
  { customerId, status }: NoticeFilters,
): Promise<Page<NoticeDocument>> {
  const tables = db.tables<NoticeTables>()
  const filters = { customer_id: customerId, status }
  const binding = { operation: 'notices', owner: 'operator', filters, idType: 'uuid' } as const
  let query = noticesOf(tables)
  if (customerId !== undefined) query = query.where('customer_id', '=', customerId)
  if (status !== undefined) {
    query = query.where(sql<boolean>`id in (select notice_id from notice_sends where status = ${status})`)
  }
  return await readPage(tables, query, { ...request, ...binding })
}

export async function getNotice(db: Db, id: string): Promise<NoticeDocument> {
  const found = await noticesOf(db.tables()).where('id', '=', id).executeTakeFirst()
  if (found === undefined) throw new Problem('not_found', 'there is no notice with this id')
  return found
}
