/** Members that occur in several messages of the stream, as JSON Schemas. */

export type JsonSchema = Readonly<Record<string, unknown>>

const DECIMAL = '^(0|[1-9][0-9]*)([.][0-9]+)?$'

export const MARKET = text('Symbol of the market')
export const PRICE = { ...text('Always with the decimals of the market'), pattern: DECIMAL }
export const MILLISECONDS = { ...text('RFC 3339, UTC, 3 fraction digits'), format: 'date-time' }
export const NANOSECONDS = { ...text('RFC 3339, UTC, 9 fraction digits'), format: 'date-time' }

const LEVEL = level('Level', 'Total amount of the level; 0 removes it')
const BEST_LEVEL = level('BestLevel', 'Total amount of the level')

/** Both sides of a book. */
export const LEVELS = { bids: side('descending', LEVEL), asks: side('ascending', LEVEL) }

/** At most the best level of each side. */
export const BEST_LEVELS = {
  bids: { ...side('descending', BEST_LEVEL), maxItems: 1 },
  asks: { ...side('ascending', BEST_LEVEL), maxItems: 1 },
}

/** A book in the heartbeat of the extended protocol. */
export const BOOK_STATUS = withOptional(
  object('BookStatus', {
    market: MARKET,
    cursor: text('The cursor of the last message of the subscription'),
    live: { type: 'boolean', description: 'Whether a source of the market is trusted now' },
    since: { ...MILLISECONDS, description: 'Time of the last change of live: RFC 3339, UTC, 3 fraction digits' },
  }),
  {
    digest: {
      ...text('Digest of the book that the client must have; absent unless live'),
      pattern: '^[0-9a-f]{16}$',
    },
  },
)

/** An object with these required members; further members may be added, and clients must ignore them. */
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
