/**
 * The stream's channels, one row each, and the protocol around them: request types, subprotocols, and the possible values
 * of extended params. Requests, metrics, the subscription list and the AsyncAPI document are derived from the rows. Pure.
 */
import {
  AFTER,
  BEST_LEVELS,
  BOOK_LEVELS,
  BOOK_STATUS,
  CHANGED_OBJECT,
  IDENTITY,
  type JsonSchema,
  MARKET,
  MILLISECONDS,
  NANOSECONDS,
  PRICE,
  PUBLICATION,
  PUBLICATION_POSITION,
  text,
  word,
} from './stream-fields.ts'

/** The handshake's subprotocols. `tidegate.default` is the base protocol, which is also used when none is offered. */
export const SUBPROTOCOLS = ['tidegate.default', 'tidegate.v1'] as const

/** The extended protocol: cursors in every data message, depths, intervals, resume, digests. */
export const EXTENDED_SUBPROTOCOL: (typeof SUBPROTOCOLS)[number] = 'tidegate.v1'

/** `type` in the payloads of market_data and market_data.top_of_book. */
export const PAYLOAD_TYPES = { snapshot: 'SNAPSHOT', update: 'UPDATE', topOfBook: 'TOP_OF_BOOK' } as const

/** A subscribe param, besides `market`, in the extended protocol only. */
export type ExtendedParam = 'depth' | 'interval_ms' | 'attribution' | 'resume'

/** One channel and its message: `{"channel": …, "payload": {…}}`. */
interface Channel {
  /** Whether a subscription names a market. Messages of such a channel have cursors in the extended protocol. */
  readonly perMarket: boolean
  /** Whether the channel exists in the extended protocol only. */
  readonly extendedOnly?: true
  readonly extendedParams: readonly ExtendedParam[]
  /** The optional params where a subscription names no market. Absent: none. */
  readonly freeParams?: JsonSchema
  /**
   * Whether the reply to a subscribe request with `resume` reports whether the subscription continues from the cursor.
   * False where the first message is otherwise complete. Executions would be lost without notice.
   */
  readonly acknowledgesResume: boolean
  /** Prefix of the schema names in the AsyncAPI document. */
  readonly schemaName: string
  readonly summary: string
  /** The payload's members. */
  readonly payload: JsonSchema
  /** Possible payload members in the extended protocol only. */
  readonly extendedPayload?: JsonSchema
  /** A payload. */
  readonly example: JsonSchema
  /** Additional members of an extended payload. */
  readonly extendedExample?: JsonSchema
  /** The member `stream`, where it is not a cursor. */
  readonly position?: { readonly schema: JsonSchema; readonly example: JsonSchema }
}

export const CHANNELS = {
  market_data: {
    perMarket: true,
    extendedParams: ['depth', 'interval_ms', 'attribution', 'resume'],
    acknowledgesResume: false,
    schemaName: 'MarketData',
    summary: 'The order book: first a SNAPSHOT, then an UPDATE for every change in the published depth',
    payload: {
      market: MARKET,
      type: { title: 'BookMessageType', type: 'string', enum: [PAYLOAD_TYPES.snapshot, PAYLOAD_TYPES.update] },
      time: { ...MILLISECONDS, description: 'Strictly later than in the previous message' },
      ...BOOK_LEVELS,
    },
    example: {
      market: 'BTCUSD',
      type: 'UPDATE',
      time: '2026-11-20T12:00:00.123Z',
      bids: [{ price: '60000.10', amount: '0.25000000' }],
      asks: [{ price: '60001.00', amount: '0' }],
    },
  },
  'market_data.top_of_book': {
    perMarket: true,
    extendedParams: ['interval_ms', 'resume'],
    acknowledgesResume: false,
    schemaName: 'TopOfBook',
    summary: 'The best price per side, after the subscription and whenever it or its amount changes',
    payload: { market: MARKET, type: word(PAYLOAD_TYPES.topOfBook), timestamp: NANOSECONDS, ...BEST_LEVELS },
    example: {
      market: 'BTCUSD',
      type: 'TOP_OF_BOOK',
      timestamp: '2026-11-20T12:00:00.123456789Z',
      bids: [{ price: '60000.10', amount: '0.25000000' }],
      asks: [{ price: '60001.20', amount: '1.00000000' }],
    },
  },
  execution_data: {
    perMarket: true,
    extendedParams: ['resume'],
    acknowledgesResume: true,
    schemaName: 'Execution',
    summary: 'Every trade, in order, without gaps',
    payload: { market: MARKET, price: PRICE, amount: PRICE, executed_at: MILLISECONDS },
    extendedPayload: IDENTITY,
    example: { market: 'BTCUSD', price: '60001.00', amount: '0.10000000', executed_at: '2026-11-20T12:00:00.123Z' },
    extendedExample: { id: '70124', side: 'buy', venue: 'engine' },
  },
  publication: {
    perMarket: true,
    extendedOnly: true,
    extendedParams: ['resume'],
    acknowledgesResume: true,
    schemaName: 'Publication',
    summary: 'For relays: the book, its changes with their executions, and the instrument state in one sequence',
    payload: {
      market: MARKET,
      type: { title: 'PublicationType', type: 'string', enum: ['SNAPSHOT', 'UPDATE', 'LOST'] },
      time: { ...text('Commit time: RFC 3339, UTC, up to 9 fraction digits'), format: 'date-time' },
    },
    extendedPayload: PUBLICATION,
    position: PUBLICATION_POSITION,
    example: {
      market: 'BTCUSD',
      type: 'UPDATE',
      time: '2026-11-20T12:00:00.123456789Z',
      asks: [{ price: '60001.00', amount: '0' }],
      executions: [
        {
          price: '60001.00',
          amount: '0.10000000',
          executed_at: '2026-11-20T12:00:00.123Z',
          id: '70124',
          side: 'buy',
          venue: 'engine',
        },
      ],
    },
  },
  events: {
    perMarket: false,
    extendedOnly: true,
    extendedParams: [],
    freeParams: { after: AFTER },
    acknowledgesResume: false,
    schemaName: 'Event',
    summary: 'The customer’s events, in order, without gaps. Needs the scope `events:read_event` too',
    payload: {
      id: text('The same in every repetition'),
      sequence: { type: 'integer', minimum: 1, description: 'Ascending. Those the client may not see are missing' },
      type: text('As in GET /v2/events'),
      source: word('tidegate'),
      time: { ...MILLISECONDS, description: 'When the change was committed' },
      specversion: word('1.0'),
      subject: text('The changed object: `object_type/id`'),
      object: word('event'),
      is_test: { type: 'boolean' },
      data: CHANGED_OBJECT,
    },
    example: {
      id: '00000000-0007-8b1a-a4f0-93c2d51e6a77',
      sequence: 7,
      type: 'transfer.deposit.completed',
      source: 'tidegate',
      time: '2026-11-20T12:00:00.123Z',
      specversion: '1.0',
      subject: 'transfer/019ab0f2-6f0e-7c44-8f3e-5f2b6d1c9a10',
      object: 'event',
      is_test: false,
      data: {
        object_type: 'transfer',
        id: '019ab0f2-6f0e-7c44-8f3e-5f2b6d1c9a10',
        status: 'COMPLETED',
        changed_at: '2026-11-20T12:00:00.120Z',
      },
    },
  },
  heartbeat: {
    perMarket: false,
    extendedParams: [],
    acknowledgesResume: false,
    schemaName: 'Heartbeat',
    summary: 'Sent periodically while the connection works',
    payload: { timestamp: NANOSECONDS },
    extendedPayload: {
      books: {
        type: 'array',
        description: extendedOnly('The up-to-date market_data subscriptions'),
        items: BOOK_STATUS,
      },
    },
    example: { timestamp: '2026-11-20T12:00:01.000000000Z' },
    extendedExample: {
      books: [
        {
          market: 'BTCUSD',
          cursor: 'KbYAR8_u.3',
          digest: '7a6182355f8de12d',
          live: true,
          since: '2026-11-20T08:30:00.000Z',
          origin: 'mG3rT0aZ.12',
          instrument_state: 'OPEN',
        },
        { market: 'ETHUSD', cursor: '3zWplfC2.9', live: false, since: '2026-11-20T11:59:58.250Z' },
      ],
    },
  },
} as const satisfies Readonly<Record<string, Channel>>

export type ChannelType = keyof typeof CHANNELS

/** A protocol's channels. */
export function channelsOf(isExtended: boolean): readonly ChannelType[] {
  return (Object.keys(CHANNELS) as ChannelType[]).filter((type) => isExtended || !('extendedOnly' in CHANNELS[type]))
}

/** The stream's request types. */
export const REQUEST_TYPES = ['subscribe', 'unsubscribe', 'subscription_list'] as const

export type RequestType = (typeof REQUEST_TYPES)[number]

/** Levels per side for `depth`, at most those which the market publishes. */
export const EXTENDED_DEPTHS: readonly number[] = [1, 5, 10, 25, 50, 100, 500, 1000]

/** Throttle intervals for `interval_ms`, in milliseconds. Each is a multiple of the first. */
export const EXTENDED_INTERVALS: readonly number[] = [50, 100, 250, 500, 1000]

/** Prefix of the subprotocol entry with a browser's token. Such an entry is never selected or echoed. */
export const BEARER_SUBPROTOCOL_PREFIX = 'bearer.'

/** Describes a member or param as one of the extended protocol only. */
export function extendedOnly(description: string): string {
  return `With the subprotocol \`${EXTENDED_SUBPROTOCOL}\` only. ${description}`
}
