/** Usage over the REST API, for the operator and for the customer itself: JSON, or CSV on request. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../platform/base/clock.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { readTime, TIME_RULE } from '../../platform/http/list-times.ts'
import { invalidRequest } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { callerOf, type Guard } from '../clients/guard.ts'
import { CSV_MEDIA_TYPE, usageCsv } from './csv.ts'
import { OPERATOR_USAGE_FILTERS, USAGE_FILTERS, type UsageGroup, UsagePage } from './schemas.ts'
import { readUsage } from './usage.ts'

/** Names the next page of an answer in CSV. */
const NEXT_PAGE_HEADER = 'tidegate-next-page-cursor'

type Query = ListQuery<typeof USAGE_FILTERS>
type OperatorQuery = ListQuery<typeof OPERATOR_USAGE_FILTERS>

export interface UsageRoutesOptions {
  readonly db: Db
  readonly clock: Clock
}

/** Declares the customer's operation, with the path from the operation table. */
export function registerUsageRoutes(
  app: FastifyInstance,
  { guard, ...options }: UsageRoutesOptions & { readonly guard: Guard },
): void {
  app.route<{ Querystring: Query }>({
    ...guard('listUsage'),
    ...readsListQuery(USAGE_FILTERS, 'ASC'),
    ...answered(UsagePage, { querystring: querySchema(USAGE_FILTERS) }),
    handler: (request, reply) => {
      const { customerId } = callerOf(request)
      const { query } = request
      const groups = query.filters.group_by ?? ['client']
      return answer(options, { request, reply, query, groups, owner: customerId, customers: [customerId] })
    },
  })
}

/** Declares the operator's call, relative to the prefix in `app`. */
export function registerUsageOperatorRoutes(app: FastifyInstance, options: UsageRoutesOptions): void {
  app.get<{ Querystring: OperatorQuery }>(
    '/usage',
    {
      ...readsListQuery(OPERATOR_USAGE_FILTERS, 'ASC'),
      ...answered(UsagePage, { querystring: querySchema(OPERATOR_USAGE_FILTERS) }),
    },
    (request, reply) => {
      const { query } = request
      const { customers, group_by: groups = ['customer'] } = query.filters
      return answer(options, { request, reply, query, groups, owner: 'operator', customers })
    },
  )
}

interface Asked {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly query: Query | OperatorQuery
  readonly groups: readonly UsageGroup[]
  /** The customer, or `operator`. */
  readonly owner: string
  readonly customers: readonly string[] | undefined
}

async function answer({ db, clock }: UsageRoutesOptions, asked: Asked) {
  const { request, reply, query, groups, owner, customers } = asked
  const { filters, binding, limit, order, pageCursor } = query
  const { from, to, clients, markets, channels } = filters
  const now = new Date(clock.wallInstant().milliseconds)
  const page = await readUsage(db, {
    from: timeOf('from', from),
    to: timeOf('to', to) ?? now.toISOString(),
    groups,
    customers,
    clients,
    markets,
    channels,
    limit,
    pageCursor,
    binding: { operation: 'listUsage', owner, filters: binding, order },
    hasNames: owner === 'operator',
  })
  if (!wantsCsv(request)) return page
  if (page.next_page_cursor !== undefined) reply.header(NEXT_PAGE_HEADER, page.next_page_cursor)
  return reply.type(CSV_MEDIA_TYPE).send(usageCsv(page.items))
}

function wantsCsv({ headers }: FastifyRequest): boolean {
  return /\btext\/csv\b/i.test(headers.accept ?? '')
}

function timeOf(parameter: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = readTime(text)
  if (time === undefined) throw invalidRequest([{ parameter, detail: TIME_RULE }])
  return time
}

function querySchema(filters: typeof USAGE_FILTERS | typeof OPERATOR_USAGE_FILTERS): object {
  const schema = listQuerySchema(filters, 'ASC') as { readonly properties: Readonly<Record<string, object>> }
  const order = { ...schema.properties.order, description: 'Sort by the group' }
  return { ...schema, properties: { ...schema.properties, order } }
}
