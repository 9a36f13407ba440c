/**
 * The messages of the stream as schemas with examples: requests, answers and the data of every channel. Names come from the
 * tables of the contract, so a channel, param or code that is added there must be described here. Members of the extended
 * protocol are optional, so that messages of both protocols conform. Pure.
 */
import {
  CHANNELS,
  type ChannelType,
  EXTENDED_DEPTHS,
  EXTENDED_INTERVALS,
  EXTENDED_SUBPROTOCOL,
  PAYLOAD_TYPES,
  type RequestType,
} from '../contract/channels.ts'
import { STREAM_ERRORS } from '../contract/stream-codes.ts'
import type { Json } from './answers.ts'

export interface StreamMessage {
  readonly summary: string
  /** Every object, union and enumeration in it has a title, its name among the components of the document. */
  readonly payload: Json
  readonly example: unknown
  /** The example in the extended protocol, where it differs. */
  readonly extendedExample?: unknown
}

const text = (description: string) => ({ type: 'string', description })
const DECIMAL = '^(0|[1-9][0-9]*)([.][0-9]+)?$'
const milliseconds = { ...text('RFC 3339, UTC, 3 fraction digits'), format: 'date-time' }
const nanoseconds = { ...text('RFC 3339, UTC, 9 fraction digits'), format: 'date-time' }
const market = text('Symbol of the market')
const price = { ...text('Always with the decimals of the market'), pattern: DECIMAL }
const code = { title: 'ErrorCode', type: 'string', enum: Object.keys(STREAM_ERRORS) }
const channelTypes = Object.keys(CHANNELS) as ChannelType[]
const marketChannels = channelTypes.filter((type) => CHANNELS[type].perMarket)
const freeChannels = channelTypes.filter((type) => !CHANNELS[type].perMarket)

/** Names of schemas. */
const NAMES = {
  market_data: 'MarketData',
  'market_data.top_of_book': 'TopOfBook',
  execution_data: 'Execution',
  heartbeat: 'Heartbeat',
} as const satisfies Record<ChannelType, string>
const MESSAGE_NAMES = {
  subscribe: { request: 'SubscribeRequest', answer: 'SubscribeAnswer' },
  unsubscribe: { request: 'UnsubscribeRequest', answer: 'UnsubscribeAnswer' },
} as const

type ExtendedParam = (typeof CHANNELS)[ChannelType]['extendedParams'][number]

const extended = (description: string) => `With the subprotocol \`${EXTENDED_SUBPROTOCOL}\` only. ${description}`
const EXTENDED_PARAMS: Readonly<Record<ExtendedParam, Json>> = {
  depth: {
    title: 'Depth',
    type: 'integer',
    enum: EXTENDED_DEPTHS,
    description: extended(
      'Best levels per side, not above what the market publishes; without it, all that it publishes',
    ),
  },
  interval_ms: {
    title: 'Interval',
    type: 'integer',
    enum: EXTENDED_INTERVALS,
    description: extended('Milliseconds: at most one message per interval, with all that changed'),
  },
  resume: text(extended('The cursor to resume from, of the same market, channel and depth')),
}

/** Entries of requests. */
const marketEntries = marketChannels.map((type) => {
  const own = CHANNELS[type].extendedParams.map((name) => [name, EXTENDED_PARAMS[name]])
  const properties = { market, ...Object.fromEntries(own) }
  const params = {
    title: `${NAMES[type]}Params`,
    type: 'object',
    required: ['market'],
    properties,
    additionalProperties: false,
  }
  return object(`${NAMES[type]}Entry`, { type: word(type), params })
})
const freeEntries = freeChannels.map((type) => ({
  title: `${NAMES[type]}Entry`,
  type: 'object',
  required: ['type'],
  properties: { type: word(type), params: { title: 'NoParams', type: ['object', 'null'], maxProperties: 0 } },
}))
/** An entry of the list of subscriptions. */
const listedMarket = object('ListedMarketEntry', {
  type: { title: 'MarketChannel', type: 'string', enum: marketChannels },
  params: {
    title: 'ListedParams',
    type: 'object',
    required: ['market'],
    properties: { market, depth: EXTENDED_PARAMS.depth, interval_ms: EXTENDED_PARAMS.interval_ms },
  },
})
const listedFree = freeChannels.map((type) => object(`Listed${NAMES[type]}Entry`, { type: word(type) }))
/** An entry of an answer echoes `type` and `params` of the request, whatever they were. */
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
      description: extended('For executions with `resume`: whether they continue from the cursor without a gap'),
    },
    error: code,
    message: text(
      'Of a failed entry: the reason, for people. Of a market that was removed or changed: which of the two',
    ),
  },
}

const level = (title: string, amount: string) => object(title, { price, amount: { ...text(amount), pattern: DECIMAL } })
const LEVEL = level('Level', 'Total amount of the level; 0 removes it')
const BEST_LEVEL = level('BestLevel', 'Total amount of the level')
const bids = (items: Json) => ({ type: 'array', description: 'Best price first: descending', items })
const asks = (items: Json) => ({ type: 'array', description: 'Best price first: ascending', items })

/** The position of a data message in its subscription, and the number of commits in it. */
const STREAM_MEMBER = {
  title: 'StreamPosition',
  type: 'object',
  description: extended('The position of the message in its subscription'),
  required: ['cursor', 'covers'],
  properties: {
    cursor: text('The position after this message; opaque'),
    prev: text('The cursor of the previous message of this subscription; absent in the first'),
    covers: { type: 'integer', minimum: 0, description: 'Number of commits since prev that this message contains' },
  },
}

const BOOK_STATUSES = {
  type: 'array',
  description: extended('The market_data subscriptions that are up to date'),
  items: withOptional(
    object('BookStatus', {
      market,
      cursor: text('The cursor of the last message of the subscription'),
      live: { type: 'boolean', description: 'Whether a source of the market is trusted now' },
      since: { ...milliseconds, description: 'Time of the last change of live: RFC 3339, UTC, 3 fraction digits' },
    }),
    {
      digest: {
        ...text('Digest of the book that the client must have; absent unless live'),
        pattern: '^[0-9a-f]{16}$',
      },
    },
  ),
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
    summary: 'The result of each entry of the request',
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
    summary:
      'The result of each entry of the request; also sent without a request when a market was removed or changed',
    payload: answer('unsubscribe'),
    example: { type: 'unsubscribe', channels: [{ ...BTCUSD, success: true }] },
  },
  subscription_list: {
    summary: 'All subscriptions of the connection',
    payload: object('SubscriptionListAnswer', {
      type: word('subscription_list'),
      channels: { type: 'array', items: { title: 'ListedEntry', oneOf: [listedMarket, ...listedFree] } },
    }),
    example: { type: 'subscription_list', channels: [BTCUSD, { type: 'heartbeat' }] },
    extendedExample: { type: 'subscription_list', channels: [THROTTLED, { type: 'heartbeat' }] },
  },
}

export const ERROR: StreamMessage = {
  summary: 'The request failed as a whole; the connection stays open',
  payload: object('ErrorMessage', { type: word('error'), error: code, message: text('The reason, for people') }),
  example: { type: 'error', error: 'MALFORMED_REQUEST', message: 'the message is not valid JSON' },
}

const UPDATE = {
  channel: 'market_data',
  payload: {
    market: 'BTCUSD',
    type: 'UPDATE',
    time: '2026-11-20T12:00:00.123Z',
    bids: [{ price: '60000.10', amount: '0.25000000' }],
    asks: [{ price: '60001.00', amount: '0' }],
  },
}
const TOP_OF_BOOK = {
  channel: 'market_data.top_of_book',
  payload: {
    market: 'BTCUSD',
    type: 'TOP_OF_BOOK',
    timestamp: '2026-11-20T12:00:00.123456789Z',
    bids: [{ price: '60000.10', amount: '0.25000000' }],
    asks: [{ price: '60001.20', amount: '1.00000000' }],
  },
}
const EXECUTION = {
  channel: 'execution_data',
  payload: { market: 'BTCUSD', price: '60001.00', amount: '0.10000000', executed_at: '2026-11-20T12:00:00.123Z' },
}
const HEARTBEAT = { channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:01.000000000Z' } }
const LIVE_BOOK = {
  market: 'BTCUSD',
  cursor: 'KbYAR8_u.3',
  digest: '7a6182355f8de12d',
  live: true,
  since: '2026-11-20T08:30:00.000Z',
}
const STALE_BOOK = { market: 'ETHUSD', cursor: '3zWplfC2.9', live: false, since: '2026-11-20T11:59:58.250Z' }
const THIRD = { cursor: 'KbYAR8_u.3', prev: 'KbYAR8_u.2', covers: 1 }

export const DATA: Readonly<Record<ChannelType, StreamMessage>> = {
  market_data: {
    summary: 'The order book: first a SNAPSHOT, then an UPDATE for every change of the published depth',
    payload: data('market_data', {
      market,
      type: { title: 'BookMessageType', type: 'string', enum: [PAYLOAD_TYPES.snapshot, PAYLOAD_TYPES.update] },
      time: { ...milliseconds, description: 'Strictly later than that of the previous message' },
      bids: bids(LEVEL),
      asks: asks(LEVEL),
    }),
    example: UPDATE,
    extendedExample: { ...UPDATE, stream: THIRD },
  },
  'market_data.top_of_book': {
    summary: 'The best price of each side, after the subscription and whenever it or its amount changes',
    payload: data('market_data.top_of_book', {
      market,
      type: word(PAYLOAD_TYPES.topOfBook),
      timestamp: nanoseconds,
      bids: { ...bids(BEST_LEVEL), maxItems: 1 },
      asks: { ...asks(BEST_LEVEL), maxItems: 1 },
    }),
    example: TOP_OF_BOOK,
    extendedExample: { ...TOP_OF_BOOK, stream: THIRD },
  },
  execution_data: {
    summary: 'Every trade, in order, without gaps',
    payload: data('execution_data', { market, price, amount: price, executed_at: milliseconds }),
    example: EXECUTION,
    extendedExample: { ...EXECUTION, stream: THIRD },
  },
  heartbeat: {
    summary: 'Sent periodically while the connection works',
    payload: object('HeartbeatMessage', {
      channel: word('heartbeat'),
      payload: withOptional(object('HeartbeatPayload', { timestamp: nanoseconds }), { books: BOOK_STATUSES }),
    }),
    example: HEARTBEAT,
    extendedExample: {
      ...HEARTBEAT,
      payload: { ...HEARTBEAT.payload, books: [LIVE_BOOK, STALE_BOOK] },
    },
  },
}

/** An object with these required members; further members may be added, and clients must ignore them. */
function object(title: string, properties: Json): Json {
  return { title, type: 'object', required: Object.keys(properties), properties }
}

function word(value: string): Json {
  return { type: 'string', const: value }
}

function request(type: 'subscribe' | 'unsubscribe'): Json {
  const items = { title: 'RequestedEntry', oneOf: [...marketEntries, ...freeEntries] }
  return object(MESSAGE_NAMES[type].request, { type: word(type), channels: { type: 'array', minItems: 1, items } })
}

function answer(type: 'subscribe' | 'unsubscribe'): Json {
  const channels = { type: 'array', minItems: 1, items: answeredEntry }
  return object(MESSAGE_NAMES[type].answer, { type: word(type), channels })
}

function data(channel: Exclude<ChannelType, 'heartbeat'>, members: Json): Json {
  const name = NAMES[channel]
  const message = object(`${name}Message`, { channel: word(channel), payload: object(`${name}Payload`, members) })
  return withOptional(message, { stream: STREAM_MEMBER })
}

/** The object, with optional members. */
function withOptional(described: Json, members: Json): Json {
  return { ...described, properties: { ...(described.properties as Json), ...members } }
}
