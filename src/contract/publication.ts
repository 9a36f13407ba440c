/**
 * The messages between a publisher and Tidegate (docs/how-to/feeding-your-own-book.md) as one JSON Schema: the publisher's
 * messages, a pull's requests and acknowledgements, and the server's messages in a push. A schema cannot compare two members
 * or two messages, so the document's description names those rules. Pure.
 */

type JsonSchema = Readonly<Record<string, unknown>>

/** Levels on both sides, orders, or order changes in one message, and in a book. */
export const PUBLISHED_ENTRIES_MAX = 250_000
const EXECUTIONS_MAX = 100_000
const BOOKS_MAX = 10_000
const NUMBER_MAX = Number.MAX_SAFE_INTEGER

const POSITION = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}[.](0|[1-9][0-9]{0,15})$' }
const DECIMAL = { type: 'string', pattern: '^[0-9]{1,40}([.][0-9]{1,40})?$' }
const ABOVE_ZERO = { ...DECIMAL, allOf: [{ pattern: '[1-9]' }] }
const IDENTIFIER = { type: 'string', pattern: '^[ -~]{1,64}$' }
const SIDE = { enum: ['buy', 'sell'] }
const MARKET = { type: 'string', minLength: 1, maxLength: 64 }
const EPOCH = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' }
const TIME = {
  type: 'string',
  description: 'RFC 3339, UTC, up to 9 fraction digits',
  pattern:
    '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?Z$',
}

const INSTRUMENT_MEMBERS = {
  price_decimals: whole(0, 18),
  amount_decimals: whole(0, 18),
  state: { enum: ['OPEN', 'HALTED', 'AUCTION', 'CLOSED'] },
  reason: { type: 'string', maxLength: 200 },
  simulated: { type: 'boolean' },
}
const INSTRUMENT_REQUIRED = ['price_decimals', 'amount_decimals']

const ORDER_MEMBERS = { order_id: IDENTIFIER, side: SIDE, price: ABOVE_ZERO, amount: ABOVE_ZERO }
const EXECUTION_MEMBERS = {
  id: IDENTIFIER,
  side: SIDE,
  venue: IDENTIFIER,
  price: ABOVE_ZERO,
  amount: ABOVE_ZERO,
  executed_at: TIME,
}
const EXECUTION_REQUIRED = ['id', 'price', 'amount']

/** Orders replace levels. */
const NO_LEVELS = { not: { anyOf: [{ required: ['bids'] }, { required: ['asks'] }] } }

const PREV = whole(0, NUMBER_MAX)

const DEFINITIONS: Readonly<Record<string, JsonSchema>> = {
  Level: members({ price: ABOVE_ZERO, amount: ABOVE_ZERO }, ['price', 'amount']),
  LevelChange: members({ price: ABOVE_ZERO, amount: DECIMAL }, ['price', 'amount']),
  Order: members(ORDER_MEMBERS, Object.keys(ORDER_MEMBERS)),
  Execution: members(EXECUTION_MEMBERS, EXECUTION_REQUIRED),
  OrderChange: {
    anyOf: [
      members({ type: word('order_add'), ...ORDER_MEMBERS }, ['type', ...Object.keys(ORDER_MEMBERS)]),
      members({ type: word('order_modify'), order_id: IDENTIFIER, amount: ABOVE_ZERO, price: ABOVE_ZERO }, [
        'type',
        'order_id',
        'amount',
      ]),
      members({ type: word('order_delete'), order_id: IDENTIFIER }, ['type', 'order_id']),
      members({ type: word('trade'), order_id: IDENTIFIER, ...EXECUTION_MEMBERS }, ['type', ...EXECUTION_REQUIRED]),
    ],
  },
  Instrument: members(INSTRUMENT_MEMBERS, INSTRUMENT_REQUIRED),
  Snapshot: publication(
    'SNAPSHOT',
    0,
    { prev: PREV, continues: POSITION },
    {
      ...members(
        {
          instrument: reference('Instrument'),
          bids: list('Level', PUBLISHED_ENTRIES_MAX),
          asks: list('Level', PUBLISHED_ENTRIES_MAX),
          orders: list('Order', PUBLISHED_ENTRIES_MAX),
        },
        ['instrument'],
      ),
      if: { required: ['orders'] },
      // biome-ignore lint/suspicious/noThenProperty: the name is that of JSON Schema
      then: NO_LEVELS,
      else: { required: ['bids', 'asks'] },
    },
  ),
  Update: publication(
    'UPDATE',
    1,
    { prev: PREV },
    {
      ...members(
        {
          bids: list('LevelChange', PUBLISHED_ENTRIES_MAX),
          asks: list('LevelChange', PUBLISHED_ENTRIES_MAX),
          executions: list('Execution', EXECUTIONS_MAX),
          orders: list('OrderChange', PUBLISHED_ENTRIES_MAX),
          missed: { type: 'string' },
          instrument: reference('Instrument'),
        },
        [],
      ),
      if: { required: ['orders'] },
      // biome-ignore lint/suspicious/noThenProperty: the name is that of JSON Schema
      then: NO_LEVELS,
    },
  ),
  InstrumentChange: publication('INSTRUMENT', 1, { prev: PREV }, members(INSTRUMENT_MEMBERS, INSTRUMENT_REQUIRED)),
  Lost: publication('LOST', 0, {}, members({ reason: { type: 'string' } }, [])),
  PublisherHeartbeat: members(
    {
      channel: word('heartbeat'),
      payload: members({ books: { type: 'array', maxItems: BOOKS_MAX, items: heartbeatBook() } }, []),
    },
    ['channel', 'payload'],
  ),
  PublisherMessage: anyOf(['Snapshot', 'Update', 'InstrumentChange', 'Lost', 'PublisherHeartbeat']),
  Accepted: members(
    {
      type: word('accepted'),
      markets: {
        type: 'array',
        items: members({ market: MARKET, epoch: EPOCH, seq: whole(0, NUMBER_MAX) }, ['market']),
      },
    },
    ['type', 'markets'],
  ),
  SnapshotRequest: members({ type: word('snapshot_request'), market: MARKET, reason: { type: 'string' } }, [
    'type',
    'market',
    'reason',
  ]),
  Rejected: members({ type: word('rejected'), market: MARKET, message: { type: 'string' } }, ['type', 'message']),
  ServerMessage: anyOf(['Accepted', 'SnapshotRequest', 'Rejected']),
  PullRequest: request({ resume: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}[.][0-9]{1,16}$' } }, {}),
  PullAcknowledgement: request(
    {},
    { success: { type: 'boolean' }, resumed: { type: 'boolean' }, message: { type: 'string' } },
  ),
}

/** The document, which validates a publisher's message, and the others by their names in `$defs`. */
export const PUBLICATION_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Messages between a publisher and Tidegate',
  description:
    'Not expressed: prev is below seq, bids and asks together have at most 250,000 levels, no price, order or execution occurs twice, a day exists in its month, lengths count UTF-16 code units, and every rule about earlier messages.',
  $ref: '#/$defs/PublisherMessage',
  $defs: DEFINITIONS,
} as const

function publication(
  type: string,
  minimum: number,
  more: Readonly<Record<string, JsonSchema>>,
  content: JsonSchema,
): JsonSchema {
  const payload = members({ market: MARKET, type: word(type), time: TIME }, ['market', 'type', 'time'])
  return members(
    {
      channel: word('publication'),
      payload: { allOf: [payload, content] },
      stream: members({ epoch: EPOCH, seq: whole(minimum, NUMBER_MAX), ...more }, ['epoch', 'seq']),
    },
    ['channel', 'payload', 'stream'],
  )
}

/** Entries without epoch or digest belong to another kind of book. */
function heartbeatBook(): JsonSchema {
  const book = {
    market: MARKET,
    epoch: EPOCH,
    seq: whole(0, NUMBER_MAX),
    digest: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  }
  return {
    type: 'object',
    if: { required: ['epoch', 'digest'] },
    // biome-ignore lint/suspicious/noThenProperty: the name is that of JSON Schema
    then: { properties: book, required: Object.keys(book) },
  }
}

/** A request, or its acknowledgement, with an entry for each channel. */
function request(params: JsonSchema, outcome: JsonSchema): JsonSchema {
  const required = Object.keys(outcome).includes('success') ? ['type', 'success'] : ['type']
  const ofMarket = members(
    { type: word('publication'), params: members({ market: MARKET, ...params }, ['market']), ...outcome },
    [...required, 'params'],
  )
  const heartbeat = members({ type: word('heartbeat'), ...outcome }, required)
  return members(
    {
      type: { enum: ['subscribe', 'unsubscribe'] },
      channels: { type: 'array', items: { anyOf: [ofMarket, heartbeat] } },
    },
    ['type', 'channels'],
  )
}

function members(properties: JsonSchema, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

function whole(minimum: number, maximum: number): JsonSchema {
  return { type: 'integer', minimum, maximum }
}

function word(value: string): JsonSchema {
  return { const: value }
}

function reference(name: string): JsonSchema {
  return { $ref: `#/$defs/${name}` }
}

function list(name: string, maxItems: number): JsonSchema {
  return { type: 'array', maxItems, items: reference(name) }
}

function anyOf(names: readonly string[]): JsonSchema {
  return { anyOf: names.map(reference) }
}
