/**
 * The page cursor of a list: the position of the last record that was returned, with a digest of its list. Cursors need no
 * server state, survive restarts and do not expire.
 */
import { createHash } from 'node:crypto'

export type PageOrder = 'ASC' | 'DESC'

/** What a cursor belongs to: it is refused for any other operation, owner, order or set of filters. */
export interface PageBinding {
  readonly operation: string
  /** The customer whose records these are, or `operator`. */
  readonly owner: string
  /** Filters as they take effect; absent ones left out or undefined. The order of a list of values means nothing. */
  readonly filters: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly order: PageOrder
}

/** What the list's `id` column is: a cursor with another type of id is invalid. */
export type PageIdType = 'uuid' | 'bigint'

/** The last record that was returned. */
export interface PagePosition {
  readonly createdAt: string
  readonly id: string
}

/** Not a cursor of ours, or one of another list: answered as 400 `invalid_cursor`. */
export class InvalidCursor extends Error {
  override name = 'InvalidCursor'

  constructor() {
    super('page_cursor is not one that this operation gave for these filters and this order')
  }
}

/** Digest, time and id; the separator is in none of them. */
const SEPARATOR = '|'

export function encodeCursor(position: PagePosition, binding: PageBinding): string {
  return Buffer.from([bindingDigest(binding), position.createdAt, position.id].join(SEPARATOR)).toString('base64url')
}

/** The position in a cursor that `encodeCursor` gave for an equal binding; anything else is an `InvalidCursor`. */
export function decodeCursor(cursor: string, binding: PageBinding, idType: PageIdType): PagePosition {
  const bytes = Buffer.from(cursor, 'base64url')
  // Decoding skips invalid characters; only a text that encodes to itself is valid.
  if (bytes.toString('base64url') !== cursor) throw new InvalidCursor()
  const [digest, createdAt, id, ...rest] = bytes.toString('latin1').split(SEPARATOR)
  if (createdAt === undefined || id === undefined || rest.length > 0) throw new InvalidCursor()
  if (digest !== bindingDigest(binding) || !isInstant(createdAt) || !isId(id, idType)) throw new InvalidCursor()
  return { createdAt, id }
}

/**
 * A digest, not a signature: it detects a cursor that is used with another list. A forged cursor is only a position in a
 * list whose records the query filters by owner anyway.
 */
function bindingDigest({ operation, owner, filters, order }: PageBinding): string {
  const present = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? [...value].sort() : value] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  const text = JSON.stringify([1, operation, owner, order, present])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** What `column-types` writes for a timestamptz, and a time that exists: PostgreSQL would fail on 30 February. */
function isInstant(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}(\d{3})?Z$/.test(text)) return false
  const milliseconds = Date.parse(`${text.slice(0, 23)}Z`)
  return (
    !text.startsWith('0000') &&
    !Number.isNaN(milliseconds) &&
    new Date(milliseconds).toISOString().slice(0, 23) === text.slice(0, 23)
  )
}

function isId(text: string, idType: PageIdType): boolean {
  if (idType === 'uuid') return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
  return /^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) < 2n ** 63n
}
