/** The answer's schema for usage, and the parameters of its list. */
import { Type } from 'typebox'
import { choices, text, texts, uuids } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'

/** In the order of their members. */
const USAGE_GROUPS = ['customer', 'client', 'market', 'channel', 'day', 'hour'] as const

export type UsageGroup = (typeof USAGE_GROUPS)[number]

const Count = (description: string) => Type.Integer({ minimum: 0, description })

const UsageDocument = Type.Object(
  {
    customer_id: Type.Optional(Type.String({ format: 'uuid' })),
    customer_name: Type.Optional(Type.String({ description: 'For the operator. Absent when the customer is unknown' })),
    client_id: Type.Optional(Type.String()),
    market: Type.Optional(Type.String({ description: 'Empty for what belongs to no market' })),
    channel: Type.Optional(
      Type.String({ description: '`control`: replies, notices, control frames, connections and REST requests' }),
    ),
    day: Type.Optional(Type.String({ description: 'A UTC day, such as 2026-11-28' })),
    hour: Type.Optional(
      Type.String({ description: 'The beginning of a UTC hour. Older than 14 days: of the whole day' }),
    ),
    messages: Count('Messages and control frames written to the socket'),
    bytes: Count('Their WebSocket frames, before TLS'),
    connection_seconds: Count('The sum over all connections'),
    rest_requests: Count('Requests within the rate limits'),
    incomplete: Type.Boolean({
      description: 'A process ended abnormally in this time, and lost up to a minute of usage',
    }),
  },
  { title: 'Usage' },
)

export const UsagePage = pageOf(UsageDocument)

const PERIOD = {
  from: text('Hours, and days older than 14 days, that begin at or after this time. Default: the month’s first'),
  to: text('Hours and days that begin before this time. Default: now'),
}

const CHOSEN = {
  clients: texts('Only these clients'),
  markets: texts('Only these markets'),
  channels: texts('Only these channels'),
}

const groups = (values: readonly UsageGroup[], initial: UsageGroup) =>
  choices(values, `One item for each combination. Default: ${initial}`)

/** A customer's own list. */
export const USAGE_FILTERS = {
  ...PERIOD,
  group_by: groups(
    USAGE_GROUPS.filter((group) => group !== 'customer'),
    'client',
  ),
  ...CHOSEN,
}

export const OPERATOR_USAGE_FILTERS = {
  ...PERIOD,
  group_by: groups(USAGE_GROUPS, 'customer'),
  customers: uuids('Only these customers'),
  ...CHOSEN,
}
