/** The schemas for plans, in the operator API and in the client's own document. */
import { Type } from 'typebox'
import { CHANNELS, type ChannelType, EXTENDED_DEPTHS, EXTENDED_INTERVALS } from '../../../contract/channels.ts'
import { textChoice } from '../../../platform/http/text-choice.ts'

/** No plan names the heartbeat, which is never denied. */
const PLAN_CHANNELS = (Object.keys(CHANNELS) as ChannelType[]).filter((type) => type !== 'heartbeat')
/** Symbols in one plan. */
const MARKETS_MAX = 10_000
const BOUND_MAX = 1_000_000

const strict = { additionalProperties: false }
const integer = { type: 'integer' } as const
const count = (description: string) => Type.Integer({ minimum: 1, maximum: BOUND_MAX, description })

const Markets = Type.Array(Type.String({ pattern: '^([A-Z0-9]{1,20}|\\*)$', maxLength: 20 }), {
  minItems: 1,
  maxItems: MARKETS_MAX,
  uniqueItems: true,
  description: 'Symbols, or `*` for all',
})
const Channels = Type.Array(textChoice(PLAN_CHANNELS), {
  minItems: 1,
  maxItems: PLAN_CHANNELS.length,
  uniqueItems: true,
  description: 'Besides the heartbeat. Absent: all',
})
const DepthMax = Type.Enum([...EXTENDED_DEPTHS], { ...integer, description: 'An order book’s levels per side' })
const IntervalMin = Type.Enum([...EXTENDED_INTERVALS], {
  ...integer,
  description: 'Least time between two order book or top-of-book messages',
})
const ConnectionsMax = count('Stream connections on one node')
const SubscriptionsMax = count('Subscriptions on one node, besides heartbeats')
const RestRate = count('REST requests of one client on one node')

const bounds = {
  channels: Type.Optional(Channels),
  depth_max: Type.Optional(DepthMax),
  interval_ms_min: Type.Optional(IntervalMin),
  connections_max: Type.Optional(ConnectionsMax),
  subscriptions_max: Type.Optional(SubscriptionsMax),
  rest_rate_per_second: Type.Optional(RestRate),
}

export const PlanName = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,49}$', maxLength: 50 })

export const Plan = Type.Object(
  { name: Type.String(), markets: Markets, ...bounds, created_at: Type.String({ format: 'date-time' }) },
  { title: 'Plan' },
)

export const PlanList = Type.Object({ items: Type.Array(Plan) }, { title: 'PlanList' })

export const NewPlan = Type.Object({ name: PlanName, markets: Type.Optional(Markets), ...bounds }, strict)

const orNone = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/** Null removes a bound. */
export const PlanChange = Type.Object(
  {
    markets: orNone(Markets),
    channels: orNone(Channels),
    depth_max: orNone(DepthMax),
    interval_ms_min: orNone(IntervalMin),
    connections_max: orNone(ConnectionsMax),
    subscriptions_max: orNone(SubscriptionsMax),
    rest_rate_per_second: orNone(RestRate),
  },
  { ...strict, minProperties: 1 },
)

/** The calling client's plan, with the narrower bounds of its customer's plan and its own. */
export const OwnPlan = Type.Object(
  {
    name: Type.String(),
    markets: Type.Optional(Markets),
    ...bounds,
    channels: Type.Optional(Type.Array(Type.String(), { description: 'Besides the heartbeat. Absent: all' })),
  },
  { title: 'OwnPlan', description: 'What the client may use. An absent bound: none but `limits`' },
)
