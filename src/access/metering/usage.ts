/**
 * Reads usage, summed by what the caller groups by. Items are in the order of their group, and a page ends with one, so
 * later writes move no item to another page.
 */
import type { Db } from '../../platform/store/db.ts'
import { decodeCursor, encodeCursor, type PageBinding } from '../../platform/store/page-cursor.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import type { UsageGroup } from './schemas.ts'

export interface UsageRequest {
  /** RFC 3339, UTC. Undefined: the beginning of the UTC month of `to`. */
  readonly from: string | undefined
  /** RFC 3339, UTC. Later pages have the first one's. */
  readonly to: string
  readonly groups: readonly UsageGroup[]
  readonly customers?: readonly string[] | undefined
  readonly clients?: readonly string[] | undefined
  readonly markets?: readonly string[] | undefined
  readonly channels?: readonly string[] | undefined
  readonly limit: number
  readonly pageCursor?: string | undefined
  readonly binding: PageBinding
  /** Whether items name their customers. */
  readonly hasNames: boolean
}

export interface UsageItem {
  readonly customer_id?: string
  readonly customer_name?: string
  readonly client_id?: string
  readonly market?: string
  readonly channel?: string
  readonly day?: string
  readonly hour?: string
  readonly messages: number
  readonly bytes: number
  readonly connection_seconds: number
  readonly rest_requests: number
  readonly incomplete: boolean
}

interface Row extends Omit<UsageItem, 'messages' | 'bytes' | 'connection_seconds' | 'rest_requests'> {
  readonly key: string
  readonly messages: string
  readonly bytes: string
  readonly connection_ms: string
  readonly rest_requests: string
}

/** What identifies an item, as text. */
const GROUPS: Readonly<Record<UsageGroup, RawBuilder<unknown>>> = {
  customer: sql`customer_id::text`,
  client: sql`client_id`,
  market: sql`market`,
  channel: sql`channel`,
  day: sql`to_char(since at time zone 'UTC', 'YYYY-MM-DD')`,
  hour: sql`to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
}
const MEMBERS: Readonly<Record<UsageGroup, string>> = {
  customer: 'customer_id',
  client: 'client_id',
  market: 'market',
  channel: 'channel',
  day: 'day',
  hour: 'hour',
}

/** After this time without a write, a process that has not ended is known to be lost. */
const LOST_SECONDS = 120
/** A process writes more often: so much may be lost with it. */
const LOSS_SECONDS = 60
/** A request with the period of its first page. */
type PeriodRequest = UsageRequest & { readonly from: string }

export async function readUsage(
  db: Db,
  { from, to, ...asked }: UsageRequest,
): Promise<{ readonly items: UsageItem[]; readonly next_page_cursor?: string }> {
  const { groups, limit, binding, pageCursor } = asked
  const position = pageCursor === undefined ? undefined : decodeCursor(pageCursor, binding, 'hex')
  // Items have no creation time: the cursor has the period's end in its place.
  const end = position?.createdAt ?? to
  const request: PeriodRequest = { ...asked, from: from ?? monthOf(end), to: end }
  const after = position === undefined ? undefined : keyIn(position.id)
  const isDescending = binding.order === 'DESC'
  const key = sql`concat_ws(' ', ${sql.join(groups.map((group) => GROUPS[group]))}) collate "C"`
  const members = groups.map((group) => sql`${GROUPS[group]} as ${sql.ref(MEMBERS[group])}`)
  const beyond = after === undefined ? sql`true` : sql`key ${isDescending ? sql`<` : sql`>`} ${after}`
  const { rows } = await sql<Row>`
    with used as (${usedRows(request)}), lost as (${LOST})
    select summed.*, ${isIncomplete(request)} as incomplete ${customerName(request)}
    from (
      select ${key} as key, ${sql.join(members)}, min(since) as since, max(until) as until,
        sum(messages)::text as messages, sum(bytes)::text as bytes, sum(connection_ms)::text as connection_ms,
        sum(rest_requests)::text as rest_requests
      from used group by ${sql.join([sql`1`, ...groups.map((_, index) => sql.raw(String(index + 2)))])}
    ) as summed
    where ${beyond} order by key ${isDescending ? sql`desc` : sql`asc`} limit ${limit + 1}
  `.execute(db.tables())
  const items = rows.slice(0, limit).map((row) => itemOf(row, request))
  const last = rows[limit - 1]
  if (rows.length <= limit || last === undefined) return { items }
  const id = Buffer.from(last.key).toString('hex')
  return { items, next_page_cursor: encodeCursor({ createdAt: end, id }, binding) }
}

/** The period's rows, with the time that each covers. */
function usedRows({ from, to, customers, clients, markets, channels }: PeriodRequest): RawBuilder<unknown> {
  const chosen = (column: string, type: string, values: readonly string[] | undefined) =>
    values === undefined ? [] : [sql`${sql.ref(column)} = any (${[...values]}::${sql.raw(type)}[])`]
  const conditions = (column: string) =>
    sql.join(
      [
        sql`${sql.ref(column)} >= ${from}::timestamptz and ${sql.ref(column)} < ${to}::timestamptz`,
        ...chosen('customer_id', 'uuid', customers),
        ...chosen('client_id', 'text', clients),
        ...chosen('market', 'text', markets),
        ...chosen('channel', 'text', channels),
      ],
      sql` and `,
    )
  const columns = sql`customer_id, client_id, market, channel, messages, bytes, connection_ms, rest_requests`
  return sql`
    select hour as since, hour + interval '1 hour' as until, ${columns} from usage_hours where ${conditions('hour')}
    union all
    select day, day + interval '1 day', ${columns} from usage_days where ${conditions('day')}`
}

/** When usage was lost. */
const LOST = sql`
  select flushed_at as since, coalesce(lost_until, flushed_at + make_interval(secs => ${LOSS_SECONDS})) as until
  from usage_runs
  where ended_at is null
    and (lost_until is not null or written_at < clock_timestamp() - make_interval(secs => ${LOST_SECONDS}))
  union all select since, until from usage_gaps`

/** Whether usage was lost in an item's time: its hours or its day, or else the whole period. */
function isIncomplete({ groups, from, to }: PeriodRequest): RawBuilder<unknown> {
  const [since, until] = groups.includes('hour')
    ? [sql`summed.since`, sql`summed.until`]
    : groups.includes('day')
      ? [sql`date_trunc('day', summed.since, 'UTC')`, sql`date_trunc('day', summed.since, 'UTC') + interval '1 day'`]
      : [sql`date_trunc('hour', ${from}::timestamptz, 'UTC')`, sql`${to}::timestamptz`]
  return sql`exists (select from lost where lost.since < ${until} and date_trunc('hour', lost.until, 'UTC') >= ${since})`
}

function customerName({ groups, hasNames }: UsageRequest): RawBuilder<unknown> {
  if (!hasNames || !groups.includes('customer')) return sql``
  return sql`, (select name from customers where id::text = summed.customer_id) as customer_name`
}

function itemOf(row: Row, { groups }: UsageRequest): UsageItem {
  return {
    ...Object.fromEntries(
      groups.flatMap((group) => {
        const member = MEMBERS[group] as keyof Row
        const named = group === 'customer' && row.customer_name ? [['customer_name', row.customer_name]] : []
        return [[member, row[member]], ...named]
      }),
    ),
    messages: Number(row.messages),
    bytes: Number(row.bytes),
    connection_seconds: Math.floor(Number(row.connection_ms) / 1000),
    rest_requests: Number(row.rest_requests),
    incomplete: row.incomplete,
  }
}

/** The beginning of a time's UTC month. */
function monthOf(time: string): string {
  return `${time.slice(0, 7)}-01T00:00:00.000Z`
}

function keyIn(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
