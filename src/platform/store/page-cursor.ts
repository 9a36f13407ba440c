/**
 * A list's page cursor: the last returned record's position, with a digest for its list. Cursors need no server state,
 * survive restarts and do not expire.
 */
import { createHash } from 'node:crypto'

export type PageOrder = 'ASC' | 'DESC'

/** A cursor's list: it is rejected for any other operation, owner, order or filter set. */
export interface PageBinding {
  readonly operation: string
  /** The customer whose records these are, or `operator`. */
  readonly owner: string
  /**
   * Filters with their effective values. Absent ones are left out or undefined. The order in a list of values is
   * ignored.
   */
  readonly filters: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly order: PageOrder
}

/** The type of the list's `id` column: a cursor with another id type is invalid. `hex`: the bytes of a text in the store. */
export type PageIdType = 'uuid' | 'bigint' | 'hex'

/** The last returned record. */
export interface PagePosition {
  readonly createdAt: string
  readonly id: string
}

/** Not a page cursor, or another list's cursor: answered with 400 `invalid_cursor`. */
export class InvalidCursor extends Error {
  override name = 'InvalidCursor'

  constructor() {
    super('page_cursor was not returned by this operation for these filters and this order')
  }
}

/** Separates digest, time and id, none of which contains it. */
const SEPARATOR = '|'

export function encodeCursor(position: PagePosition, binding: PageBinding): string {
  return Buffer.from([bindingDigest(binding), position.createdAt, position.id].join(SEPARATOR)).toString('base64url')
}

/** The position in a cursor from `encodeCursor` for an equal binding. Throws `InvalidCursor` for any other text. */
export function decodeCursor(cursor: string, binding: PageBinding, idType: PageIdType): PagePosition {
  const bytes = Buffer.from(cursor, 'base64url')
  // Decoding skips invalid characters. Only a text that encodes to itself is valid.
  if (bytes.toString('base64url') !== cursor) throw new InvalidCursor()
  const [digest, createdAt, id, ...rest] = bytes.toString('latin1').split(SEPARATOR)
  if (createdAt === undefined || id === undefined || rest.length > 0) throw new InvalidCursor()
  if (digest !== bindingDigest(binding) || !isInstant(createdAt) || !isId(id, idType)) throw new InvalidCursor()
  return { createdAt, id }
}

/**
 * A digest, not a signature: it detects a cursor used with another list. A forged cursor does no harm, because the
 * query filters records by owner in any case.
 */
function bindingDigest({ operation, owner, filters, order }: PageBinding): string {
  const present = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? [...value].sort() : value] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1))
  const text = JSON.stringify([1, operation, owner, order, present])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/**
 * Whether the text has the timestamptz form from `column-types` and is a valid date: PostgreSQL fails on 30 February.
 */
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
  // No text in the store has a zero byte: the query would fail.
  if (idType === 'hex') return /^([0-9a-f]{2})*$/.test(text) && !/^(..)*00/.test(text)
  return /^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) < 2n ** 63n
}
