/** Members common to several stream messages, as JSON Schemas. Pure. */

export type JsonSchema = Readonly<Record<string, unknown>>

const DECIMAL = '^(0|[1-9][0-9]*)([.][0-9]+)?$'

export const MARKET = text('Symbol of the market')
export const PRICE = { ...text('Always with the market’s decimals'), pattern: DECIMAL }
export const MILLISECONDS = { ...text('RFC 3339, UTC, 3 fraction digits'), format: 'date-time' }
export const NANOSECONDS = { ...text('RFC 3339, UTC, 9 fraction digits'), format: 'date-time' }

const PUBLISHED_LEVEL = level('PublishedLevel', 'The level’s total amount (0 removes it)')
const BEST_LEVEL = level('BestLevel', 'The level’s total amount')

/** A published book's sides. */
const LEVELS = { bids: side('descending', PUBLISHED_LEVEL), asks: side('ascending', PUBLISHED_LEVEL) }

const LEVEL = withOptional(level('Level', 'The level’s total amount (0 removes it)'), {
  venues: {
    type: 'array',
    description:
      'Extended protocol, with the param `attribution`: each venue’s share in the amount, in the configuration’s order. Absent where the level is removed',
    items: {
      title: 'VenueShare',
      type: 'array',
      items: text('First the venue’s name, as in executions, then its amount, with the market’s decimals'),
      minItems: 2,
      maxItems: 2,
    },
  },
})

/** Both sides, where levels may name their venues. */
export const BOOK_LEVELS = { bids: side('descending', LEVEL), asks: side('ascending', LEVEL) }

/** At most the best level of each side. */
export const BEST_LEVELS = {
  bids: { ...side('descending', BEST_LEVEL), maxItems: 1 },
  asks: { ...side('ascending', BEST_LEVEL), maxItems: 1 },
}

const INSTRUMENT_STATE = {
  title: 'InstrumentState',
  type: 'string',
  enum: ['OPEN', 'HALTED', 'AUCTION', 'CLOSED'],
  description: 'Whether it trades at the venue. The book is trusted in each of these states. Absent while not known',
}

/** Execution members in the extended protocol. */
export const IDENTITY = {
  id: text('The source’s identifier, or the service’s own where the source has none. Unique within the market'),
  side: {
    title: 'TakerSide',
    type: 'string',
    enum: ['buy', 'sell'],
    description: 'The taker’s side. Absent where the source does not report it',
  },
  venue: text('Where it was traded: as the source names it, or the name of its feed where the source names none'),
}

/** A publication's payload members, depending on its type. */
export const PUBLICATION = {
  ...LEVELS,
  executions: {
    type: 'array',
    description: 'UPDATE: the executions since the previous message, in order',
    items: withOptional(
      object('PublishedExecution', { price: PRICE, amount: PRICE, executed_at: MILLISECONDS, id: IDENTITY.id }),
      { side: IDENTITY.side, venue: IDENTITY.venue },
    ),
  },
  instrument: withOptional(
    object('PublishedInstrument', {
      price_decimals: { type: 'integer', minimum: 0 },
      amount_decimals: { type: 'integer', minimum: 0 },
      reason: text('The source, and its own word for the state, when it does not trade as usual. Otherwise empty'),
      simulated: { type: 'boolean', description: 'Whether its prices are invented by a simulator' },
    }),
    { state: INSTRUMENT_STATE },
  ),
  missed: text('UPDATE: why executions before this message’s were missed'),
  reason: text('LOST: why the book is not trusted any more'),
}

/** A publication's member `stream`. */
export const PUBLICATION_POSITION = {
  schema: withOptional(
    object('PublicationPosition', {
      epoch: text('One run of the market'),
      seq: { type: 'integer', minimum: 0, description: 'The message’s number. LOST and SNAPSHOT repeat the last one' },
    }),
    {
      prev: { type: 'integer', minimum: 0, description: 'The number of this subscription’s previous message' },
      origin: text('`EPOCH.SEQ` of the first publication in a relay chain. Absent where this is the first'),
    },
  ),
  example: { epoch: 'mG3rT0aZ', seq: 16, prev: 12 },
}

/** A book in the extended protocol's heartbeat. */
export const BOOK_STATUS = withOptional(
  object('BookStatus', {
    market: MARKET,
    cursor: text('The cursor of the subscription’s last message'),
    live: { type: 'boolean', description: 'Whether one of the market’s sources is trusted now' },
    since: { ...MILLISECONDS, description: 'Time of the last change to `live`: RFC 3339, UTC, 3 fraction digits' },
  }),
  {
    digest: {
      ...text('Digest of the book the client must have. Absent unless live'),
      pattern: '^[0-9a-f]{16}$',
    },
    origin: text(
      'The book’s position in the first publication of a relay chain, equal on all nodes with the same book',
    ),
    instrument_state: INSTRUMENT_STATE,
    receipts: {
      type: 'array',
      items: text('A compact JWS with the typ tidegate-receipt-2+jws, whose payload names its own cursor'),
      description: 'The service’s signed statements about this view which the subscription was not sent before',
    },
  },
)

/** A param for events. */
export const AFTER = {
  type: 'integer',
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'A sequence: the events after it are sent. Absent: those after the subscription',
}

/** An event's `data`. */
export const CHANGED_OBJECT = withOptional(
  object('ChangedObject', {
    object_type: text('The object’s kind'),
    id: text('The object’s id'),
    changed_at: MILLISECONDS,
  }),
  { ref_id: text('Its `ref_id`, if it has one'), status: text('Its status after the change') },
)

/** An object with these required members. Further members may be added, and clients must ignore them. */
export function object(title: string, properties: JsonSchema): JsonSchema {
  return { title, type: 'object', required: Object.keys(properties), properties }
}

/** The object, with optional members. */
export function withOptional(described: JsonSchema, members: JsonSchema): JsonSchema {
  return { ...described, properties: { ...(described.properties as JsonSchema), ...members } }
}

/** Exactly this text. */
export function word(value: string): JsonSchema {
  return { type: 'string', const: value }
}

export function text(description: string) {
  return { type: 'string', description }
}

function level(title: string, amount: string): JsonSchema {
  return object(title, { price: PRICE, amount: { ...text(amount), pattern: DECIMAL } })
}

function side(order: 'ascending' | 'descending', items: JsonSchema) {
  return { type: 'array', description: `Best price first: ${order}`, items }
}
