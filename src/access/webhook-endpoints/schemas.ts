/** Webhook endpoints' request and response schemas, and their lists' filters. */
import { type Static, Type } from 'typebox'
import { EVENT_TYPES, type EventType } from '../../contract/event-types.ts'
import { choices, orderBy, times } from '../../platform/http/list-query.ts'
import { pageOf } from '../../platform/http/page-query.ts'
import { textChoice } from '../../platform/http/text-choice.ts'

const strict = { additionalProperties: false }
const Time = Type.String({ format: 'date-time' })
const Uuid = Type.String({ format: 'uuid' })

const TYPES = Object.keys(EVENT_TYPES) as EventType[]
const SHOWN_STATUSES = ['ACTIVE', 'PAUSED', 'DISABLED', 'DELETED'] as const
const LISTED_STATUSES = ['ACTIVE', 'PAUSED', 'DISABLED'] as const

const Url = Type.String({ maxLength: 2_000, description: 'An https address on the public internet' })
const Types = Type.Array(textChoice(TYPES), {
  uniqueItems: true,
  maxItems: TYPES.length,
  description: 'Types that it receives. Empty or absent: all that its client may read',
})

export const NewEndpoint = Type.Object({ url: Url, types: Type.Optional(Types) }, strict)

/** The operator names the client. */
export const NewCustomerEndpoint = Type.Object(
  {
    client_id: Type.String({ format: 'uuid', description: 'The endpoint receives what this client may read' }),
    ...NewEndpoint.properties,
  },
  strict,
)

export const EndpointChange = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Types),
    status: Type.Optional(textChoice(['ACTIVE', 'PAUSED'])),
    rotate_secret: Type.Optional(
      Type.Literal(true, { description: 'Creates a second secret, returned once. Both sign until the rotation ends' }),
    ),
    end_rotation: Type.Optional(Type.Literal(true, { description: 'Deletes the older of two secrets' })),
  },
  { ...strict, minProperties: 1 },
)

const endpointMembers = {
  id: Uuid,
  url: Type.String(),
  types: Type.Array(Type.String(), { description: 'Empty: all that its client may read' }),
  status: textChoice(SHOWN_STATUSES),
  disabled_reason: Type.Optional(Type.String({ description: 'Why a DISABLED one was disabled' })),
  last_sequence: Type.Integer({
    minimum: 0,
    description: 'Each event up to it was answered with 2xx, or is not for this endpoint',
  }),
  secrets: Type.Array(Type.Object({ created_at: Time }), {
    description: 'The valid ones, the oldest first, without values. Each request has a signature for each',
  }),
  secret: Type.Optional(Type.String({ description: 'A new secret’s value, returned once' })),
  created_at: Time,
}

export const Endpoint = Type.Object(endpointMembers, { title: 'WebhookEndpoint' })
export const EndpointPage = pageOf(Endpoint)

/** An endpoint in the operator API. */
export const CustomerEndpoint = Type.Object(
  {
    ...endpointMembers,
    customer_id: Uuid,
    client_id: Type.String({ format: 'uuid', description: 'It receives what this client may read' }),
  },
  { title: 'CustomerWebhookEndpoint' },
)
export const CustomerEndpointPage = pageOf(CustomerEndpoint)

export const EndpointTest = Type.Object(
  { event_id: Type.String({ format: 'uuid', description: 'The test’s event id in the list of deliveries' }) },
  { title: 'WebhookTest' },
)

export const Replay = Type.Object(
  { after: Type.Integer({ minimum: 0, maximum: 999_999_999_999_999, description: 'A sequence' }) },
  strict,
)

const EndpointDelivery = Type.Object(
  {
    id: Uuid,
    event_id: Type.Optional(Type.String({ format: 'uuid', description: 'Absent: a remark without a request' })),
    sequence: Type.Optional(Type.Integer({ minimum: 1, description: 'The event’s sequence. Absent: a test' })),
    attempt: Type.Integer({ minimum: 0 }),
    status: Type.Optional(Type.Integer({ description: 'The answer’s status. Absent: there was no answer' })),
    error: Type.Optional(Type.String({ description: 'Why the event is sent again' })),
    milliseconds: Type.Integer({ minimum: 0, description: 'Until the answer' }),
    created_at: Time,
  },
  { title: 'WebhookDelivery' },
)
export const EndpointDeliveryPage = pageOf(EndpointDelivery)

export const ENDPOINT_FILTERS = {
  status: choices(LISTED_STATUSES, 'Filter by statuses'),
  created_at: times('Created'),
  order_by: orderBy(['CREATED_AT'], 'Ordering method'),
}

export const DELIVERY_FILTERS = { order_by: orderBy(['CREATED_AT'], 'Ordering method') }

export type EndpointDocument = Static<typeof Endpoint>
