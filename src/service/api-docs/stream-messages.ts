/**
 * The stream's messages as schemas with examples: requests, answers and every channel's data. Channels, params and
 * codes come from the contract's tables. Members from the extended protocol are optional, so messages in both protocols
 * conform. Pure.
 */
import {
  CHANNELS,
  type ChannelType,
  EXTENDED_DEPTHS,
  EXTENDED_INTERVALS,
  type ExtendedParam,
  extendedOnly,
  type RequestType,
} from '../../contract/channels.ts'
import { STREAM_ERRORS } from '../../contract/stream-codes.ts'
import { type JsonSchema, MARKET, object, text, withOptional, word } from '../../contract/stream-fields.ts'
import type { Json } from './answers.ts'

export interface StreamMessage {
  readonly summary: string
  /** Every object, union and enumeration in it has a title, its name among the document's components. */
  readonly payload: Json
  readonly example: unknown
  /** The example in the extended protocol, where it differs. */
  readonly extendedExample?: unknown
}

const code = { title: 'ErrorCode', type: 'string', enum: Object.keys(STREAM_ERRORS) }
const channelTypes = Object.keys(CHANNELS) as ChannelType[]
const marketChannels = channelTypes.filter((type) => CHANNELS[type].perMarket)
const freeChannels = channelTypes.filter((type) => !CHANNELS[type].perMarket)

/** Schema names. */
const MESSAGE_NAMES = {
  subscribe: { request: 'SubscribeRequest', answer: 'SubscribeAnswer' },
  unsubscribe: { request: 'UnsubscribeRequest', answer: 'UnsubscribeAnswer' },
} as const

const EXTENDED_PARAMS: Readonly<Record<ExtendedParam, Json>> = {
  depth: {
    title: 'Depth',
    type: 'integer',
    enum: EXTENDED_DEPTHS,
    description: extendedOnly(
      'Best levels per side, at most the market’s published depth. Without it: all published levels',
    ),
  },
  interval_ms: {
    title: 'Interval',
    type: 'integer',
    enum: EXTENDED_INTERVALS,
    description: extendedOnly('Milliseconds: at most one message per interval, with all changes'),
  },
  attribution: {
    title: 'AttributionParam',
    type: 'boolean',
    description: extendedOnly('Whether each level has the member `venues`: each venue’s share in its amount'),
  },
  resume: text(extendedOnly('The cursor to resume from, of the same market, channel, depth and attribution')),
}

/** Request entries. */
const marketEntries = marketChannels.map((type) => {
  const own = CHANNELS[type].extendedParams.map((name) => [name, EXTENDED_PARAMS[name]])
  const properties = { market: MARKET, ...Object.fromEntries(own) }
  const params = {
    title: `${CHANNELS[type].schemaName}Params`,
    type: 'object',
    required: ['market'],
    properties,
    additionalProperties: false,
  }
  return object(`${CHANNELS[type].schemaName}Entry`, { type: word(type), params })
})
const freeEntries = freeChannels.map((type) => ({
  title: `${CHANNELS[type].schemaName}Entry`,
  type: 'object',
  required: ['type'],
  properties: { type: word(type), params: freeParams(type) },
}))
/** An entry in the list of subscriptions. */
const listedMarket = object('ListedMarketEntry', {
  type: { title: 'MarketChannel', type: 'string', enum: marketChannels },
  params: {
    title: 'ListedParams',
    type: 'object',
    required: ['market'],
    properties: {
      market: MARKET,
      depth: EXTENDED_PARAMS.depth,
      interval_ms: EXTENDED_PARAMS.interval_ms,
      attribution: EXTENDED_PARAMS.attribution,
    },
  },
})
const listedFree = freeChannels.map((type) => object(`Listed${CHANNELS[type].schemaName}Entry`, { type: word(type) }))
/** A reply's entry repeats the request's `type` and `params`, valid or not. */
const answeredEntry = {
  title: 'AnsweredEntry',
  type: 'object',
  required: ['success'],
  properties: {
    type: { description: 'As it was sent' },
    params: { description: 'As it was sent' },
    success: { type: 'boolean' },
    resumed: {
      type: 'boolean',
      description: extendedOnly('For executions with `resume`: whether they continue from the cursor without a gap'),
    },
    served: {
      title: 'ServedParams',
      type: 'object',
      properties: {
        depth: { type: 'integer', minimum: 0, description: 'Levels per side, 0 = all. Only for `market_data`' },
        interval_ms: { type: 'integer', description: 'Absent: every commit' },
      },
      description: extendedOnly(
        'When a plan bounds the subscription: the depth and interval in place of the requested',
      ),
    },
    error: code,
    message: text(
      'For a failed entry, or a subscription which the service has ended: the reason, for people. For a removed or changed market: which of the two',
    ),
    last_sequence: {
      type: 'integer',
      description: extendedOnly('For events without `after`: the sequence after which they begin'),
    },
    oldest_sequence: {
      type: 'integer',
      description: extendedOnly('With `events_expired`: the oldest kept event’s sequence'),
    },
  },
}

/** A data message's position in its subscription, and its number of commits. */
const STREAM_MEMBER = {
  title: 'StreamPosition',
  type: 'object',
  description: extendedOnly('The message’s position in its subscription'),
  required: ['cursor', 'covers'],
  properties: {
    cursor: text('The position after this message (opaque)'),
    prev: text('The cursor of this subscription’s previous message. Absent in the first, and after a withdrawal'),
    covers: { type: 'integer', minimum: 0, description: 'Number of commits since prev in this message' },
  },
}

const BTCUSD = { type: 'market_data', params: { market: 'BTCUSD' } }
const THROTTLED = { type: 'market_data', params: { market: 'BTCUSD', depth: 10, interval_ms: 100 } }
const RESUMED = { type: 'execution_data', params: { market: 'BTCUSD', resume: 'KbYAR8_u.3' } }
const WRONG = { type: 'market_data', params: { market: 'NOSUCH' } }

export const REQUESTS: Readonly<Record<RequestType, StreamMessage>> = {
  subscribe: {
    summary: 'Subscribe to one or more channels',
    payload: request('subscribe'),
    example: { type: 'subscribe', channels: [BTCUSD, { type: 'heartbeat' }] },
    extendedExample: { type: 'subscribe', channels: [THROTTLED, RESUMED] },
  },
  unsubscribe: {
    summary: 'End one or more subscriptions',
    payload: request('unsubscribe'),
    example: { type: 'unsubscribe', channels: [BTCUSD] },
  },
  subscription_list: {
    summary: 'List all subscriptions of the connection',
    payload: object('SubscriptionListRequest', { type: word('subscription_list') }),
    example: { type: 'subscription_list' },
  },
}

export const ANSWERS: Readonly<Record<RequestType, StreamMessage>> = {
  subscribe: {
    summary: 'The result of each entry',
    payload: answer('subscribe'),
    example: {
      type: 'subscribe',
      channels: [
        { ...BTCUSD, success: true },
        {
          ...WRONG,
          success: false,
          error: 'UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
          message: 'params.market names no market: "NOSUCH"',
        },
      ],
    },
    extendedExample: {
      type: 'subscribe',
      channels: [
        { ...THROTTLED, success: true },
        { ...RESUMED, success: true, resumed: true },
      ],
    },
  },
  unsubscribe: {
    summary: 'The result of each entry. Also sent without a request when a market was removed or changed',
    payload: answer('unsubscribe'),
    example: { type: 'unsubscribe', channels: [{ ...BTCUSD, success: true }] },
  },
  subscription_list: {
    summary: 'The connection’s subscriptions',
    payload: object('SubscriptionListAnswer', {
      type: word('subscription_list'),
      channels: { type: 'array', items: { title: 'ListedEntry', oneOf: [listedMarket, ...listedFree] } },
    }),
    example: { type: 'subscription_list', channels: [BTCUSD, { type: 'heartbeat' }] },
    extendedExample: { type: 'subscription_list', channels: [THROTTLED, { type: 'heartbeat' }] },
  },
}

export const ERROR: StreamMessage = {
  summary: 'The request failed as a whole. The connection stays open',
  payload: object('ErrorMessage', { type: word('error'), error: code, message: text('The reason, for people') }),
  example: { type: 'error', error: 'MALFORMED_REQUEST', message: 'the message is not valid JSON' },
}

const THIRD = { cursor: 'KbYAR8_u.3', prev: 'KbYAR8_u.2', covers: 1 }

export const DATA = Object.fromEntries(channelTypes.map((type) => [type, data(type)])) as Record<
  ChannelType,
  StreamMessage
>

function freeParams(type: ChannelType): Json {
  const row: { readonly schemaName: string; readonly freeParams?: JsonSchema } = CHANNELS[type]
  const { schemaName, freeParams: properties } = row
  if (properties === undefined) return { title: 'NoParams', type: ['object', 'null'], maxProperties: 0 }
  return { title: `${schemaName}Params`, type: ['object', 'null'], properties, additionalProperties: false }
}

function request(type: 'subscribe' | 'unsubscribe'): Json {
  const items = { title: 'RequestedEntry', oneOf: [...marketEntries, ...freeEntries] }
  return object(MESSAGE_NAMES[type].request, { type: word(type), channels: { type: 'array', minItems: 1, items } })
}

function answer(type: 'subscribe' | 'unsubscribe'): Json {
  const channels = { type: 'array', minItems: 1, items: answeredEntry }
  return object(MESSAGE_NAMES[type].answer, { type: word(type), channels })
}

function data(channel: ChannelType): StreamMessage {
  const row: (typeof CHANNELS)[ChannelType] & {
    readonly extendedPayload?: JsonSchema
    readonly extendedExample?: JsonSchema
    readonly extendedOnly?: true
    readonly position?: { readonly schema: JsonSchema; readonly example: JsonSchema }
  } = CHANNELS[channel]
  const { perMarket, schemaName, summary, extendedPayload = {}, extendedExample = {} } = row
  const payload = withOptional(object(`${schemaName}Payload`, row.payload), extendedPayload)
  const message = object(`${schemaName}Message`, { channel: word(channel), payload })
  const example = { channel, payload: row.example }
  const { schema, example: position } = row.position ?? { schema: STREAM_MEMBER, example: THIRD }
  const extended = {
    channel,
    payload: { ...row.example, ...extendedExample },
    ...(perMarket ? { stream: position } : {}),
  }
  return {
    summary,
    payload: perMarket ? withOptional(message, { stream: schema }) : message,
    ...(row.extendedOnly ? { example: extended } : { example, extendedExample: extended }),
  }
}
