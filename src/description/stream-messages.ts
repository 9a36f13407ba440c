/**
 * The messages of the stream as schemas with an example each, both ways: what a client may send, what it is answered,
 * and the data of every channel. Names come from the tables of the contract, so a channel, a param or a code that is added
 * there has to be described here. What only the extended wire has is optional: a message of either conforms. Pure data.
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
  readonly payload: Json
  readonly example: unknown
  /** The same on the extended wire, where it differs. */
  readonly extendedExample?: unknown
}

const text = (description: string) => ({ type: 'string', description })
const DECIMAL = '^(0|[1-9][0-9]*)([.][0-9]+)?$'
const milliseconds = { ...text('RFC 3339, UTC, 3 fraction digits'), format: 'date-time' }
const nanoseconds = { ...text('RFC 3339, UTC, 9 fraction digits'), format: 'date-time' }
const market = text('Symbol of the market')
const price = { ...text('Always with the decimals of the market'), pattern: DECIMAL }
const code = { type: 'string', enum: Object.keys(STREAM_ERRORS) }
const channelTypes = Object.keys(CHANNELS) as ChannelType[]
const marketChannels = channelTypes.filter((type) => CHANNELS[type].perMarket)
const freeChannels = channelTypes.filter((type) => !CHANNELS[type].perMarket)

type ExtendedParam = (typeof CHANNELS)[ChannelType]['extendedParams'][number]

const extended = (description: string) => `With the subprotocol \`${EXTENDED_SUBPROTOCOL}\` only. ${description}`
const EXTENDED_PARAMS: Readonly<Record<ExtendedParam, Json>> = {
  depth: {
    type: 'integer',
    enum: EXTENDED_DEPTHS,
    description: extended('Best levels a side, not above what the market publishes; without it, all that it publishes'),
  },
  interval_ms: {
    type: 'integer',
    enum: EXTENDED_INTERVALS,
    description: extended('Milliseconds: at most one message an interval, with all that changed'),
  },
  resume: text(extended('The cursor to go on from, of the same market, channel and depth')),
}

/** Entries of requests: what they are about. */
const marketEntries = marketChannels.map((type) => {
  const own = CHANNELS[type].extendedParams.map((name) => [name, EXTENDED_PARAMS[name]])
  const properties = { market, ...Object.fromEntries(own) }
  const params = { type: 'object', required: ['market'], properties, additionalProperties: false }
  return object({ type: { const: type }, params })
})
const freeEntry = {
  type: { type: 'string', enum: freeChannels },
  params: { type: ['object', 'null'], maxProperties: 0 },
}
/** An entry of the list of subscriptions. */
const listedMarket = object({
  type: { type: 'string', enum: marketChannels },
  params: {
    type: 'object',
    required: ['market'],
    properties: { market, depth: EXTENDED_PARAMS.depth, interval_ms: EXTENDED_PARAMS.interval_ms },
  },
})
/** An entry of an answer echoes what was sent, whatever that was. */
const answeredEntry = {
  type: 'object',
  required: ['success'],
  properties: {
    type: { description: 'As it was sent' },
    params: { description: 'As it was sent' },
    success: { type: 'boolean' },
    resumed: {
      type: 'boolean',
      description: extended('Of executions that were to go on from a cursor: whether they do, and none is left out'),
    },
    error: { ...code, description: 'Of an entry that failed' },
    message: text(
      'Of an entry that failed: why, for people. Of a market that was removed or changed: which of the two',
    ),
  },
}

const side = (description: string, amounts: string) => ({
  type: 'array',
  description,
  items: object({ price, amount: { ...text(amounts), pattern: DECIMAL } }),
})
const bids = (amounts: string) => side('Best price first: descending', amounts)
const asks = (amounts: string) => side('Best price first: ascending', amounts)
const ABSOLUTE = 'What the level holds now; 0 removes it'

/** What comes before a data message of a market, and what is merged into it. */
const STREAM_MEMBER = {
  type: 'object',
  description: extended('Where the channel stands'),
  required: ['cursor', 'covers'],
  properties: {
    cursor: text('Where the channel stands after this message; opaque'),
    prev: text('The cursor of the message before in this subscription; absent in the first'),
    covers: { type: 'integer', minimum: 0, description: 'Commits since prev that are merged into this message' },
  },
}

const BOOK_STATUSES = {
  type: 'array',
  description: extended('Each market_data subscription that is current'),
  items: withOptional(
    object({
      market,
      cursor: text('That of the last message of the subscription'),
      live: { type: 'boolean', description: 'Whether a source of the market is trusted now' },
      since: { ...milliseconds, description: 'When live changed last, in RFC 3339, UTC, 3 fraction digits' },
    }),
    { digest: { ...text('Of the book that has to be held; absent unless live'), pattern: '^[0-9a-f]{16}$' } },
  ),
}

const BTCUSD = { type: 'market_data', params: { market: 'BTCUSD' } }
const PACED = { type: 'market_data', params: { market: 'BTCUSD', depth: 10, interval_ms: 100 } }
const RESUMED = { type: 'execution_data', params: { market: 'BTCUSD', resume: 'KbYAR8_u.3' } }
const WRONG = { type: 'market_data', params: { market: 'NOSUCH' } }

export const REQUESTS: Readonly<Record<RequestType, StreamMessage>> = {
  subscribe: {
    summary: 'Subscribe to one or more channels',
    payload: request('subscribe'),
    example: { type: 'subscribe', channels: [BTCUSD, { type: 'heartbeat' }] },
    extendedExample: { type: 'subscribe', channels: [PACED, RESUMED] },
  },
  unsubscribe: {
    summary: 'End one or more subscriptions',
    payload: request('unsubscribe'),
    example: { type: 'unsubscribe', channels: [BTCUSD] },
  },
  subscription_list: {
    summary: 'Ask for all subscriptions of the connection',
    payload: object({ type: { const: 'subscription_list' } }),
    example: { type: 'subscription_list' },
  },
}

export const ANSWERS: Readonly<Record<RequestType, StreamMessage>> = {
  subscribe: {
    summary: 'Which entries of the request are subscribed now, each on its own',
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
        { ...PACED, success: true },
        { ...RESUMED, success: true, resumed: true },
      ],
    },
  },
  unsubscribe: {
    summary: 'Which entries of the request have ended; also sent unasked when a market was removed or changed',
    payload: answer('unsubscribe'),
    example: { type: 'unsubscribe', channels: [{ ...BTCUSD, success: true }] },
  },
  subscription_list: {
    summary: 'All subscriptions of the connection',
    payload: object({
      type: { const: 'subscription_list' },
      channels: { type: 'array', items: { oneOf: [listedMarket, object({ type: freeEntry.type })] } },
    }),
    example: { type: 'subscription_list', channels: [BTCUSD, { type: 'heartbeat' }] },
    extendedExample: { type: 'subscription_list', channels: [PACED, { type: 'heartbeat' }] },
  },
}

export const ERROR: StreamMessage = {
  summary: 'The request failed as a whole; the connection stays',
  payload: object({ type: { const: 'error' }, error: code, message: text('Why, for people') }),
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
const BEAT = { channel: 'heartbeat', payload: { timestamp: '2026-11-20T12:00:01.000000000Z' } }
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
      type: { type: 'string', enum: [PAYLOAD_TYPES.snapshot, PAYLOAD_TYPES.update] },
      time: { ...milliseconds, description: 'Strictly later than that of the message before' },
      bids: bids(ABSOLUTE),
      asks: asks(ABSOLUTE),
    }),
    example: UPDATE,
    extendedExample: { ...UPDATE, stream: THIRD },
  },
  'market_data.top_of_book': {
    summary: 'The best price of each side, at once and then whenever it or its amount changes',
    payload: data('market_data.top_of_book', {
      market,
      type: { const: PAYLOAD_TYPES.topOfBook },
      timestamp: nanoseconds,
      bids: { ...bids('What the level holds'), maxItems: 1 },
      asks: { ...asks('What the level holds'), maxItems: 1 },
    }),
    example: TOP_OF_BOOK,
    extendedExample: { ...TOP_OF_BOOK, stream: THIRD },
  },
  execution_data: {
    summary: 'Every trade, in order, none left out',
    payload: data('execution_data', { market, price, amount: price, executed_at: milliseconds }),
    example: EXECUTION,
    extendedExample: { ...EXECUTION, stream: THIRD },
  },
  heartbeat: {
    summary: 'The service is alive and the connection carries data',
    payload: object({
      channel: { const: 'heartbeat' },
      payload: withOptional(object({ timestamp: nanoseconds }), { books: BOOK_STATUSES }),
    }),
    example: BEAT,
    extendedExample: {
      ...BEAT,
      payload: { ...BEAT.payload, books: [LIVE_BOOK, STALE_BOOK] },
    },
  },
}

/** An object that has all of these members; others may come, and are to be ignored. */
function object(properties: Json): Json {
  return { type: 'object', required: Object.keys(properties), properties }
}

function request(type: RequestType): Json {
  const free = { type: 'object', required: ['type'], properties: freeEntry }
  const channels = { type: 'array', minItems: 1, items: { oneOf: [...marketEntries, free] } }
  return object({ type: { const: type }, channels })
}

function answer(type: RequestType): Json {
  return object({ type: { const: type }, channels: { type: 'array', minItems: 1, items: answeredEntry } })
}

function data(channel: Exclude<ChannelType, 'heartbeat'>, members: Json): Json {
  return withOptional(object({ channel: { const: channel }, payload: object(members) }), { stream: STREAM_MEMBER })
}

/** The object, with members that may be there. */
function withOptional(described: Json, members: Json): Json {
  return { ...described, properties: { ...(described.properties as Json), ...members } }
}
