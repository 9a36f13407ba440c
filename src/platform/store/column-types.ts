/**
 * The conversion of values between JavaScript and the store, the same on both engines: of a column's text to a value, and
 * of a parameter to its text. Nothing is rounded or guessed: a value without an exact form on the other side is an error.
 * Types that are not in the table are returned as PostgreSQL's text.
 */

/** A stored value that has no form in this service, such as a time of `infinity` or a number `NaN`. */
export class ColumnTypeProblem extends Error {
  override name = 'ColumnTypeProblem'
}

type ReadText = (text: string) => unknown

/** Set on every connection, so that the server writes the texts that are parsed below, whatever its configuration. */
export const SESSION_SETTINGS = [
  "set timezone = 'UTC'",
  "set datestyle = 'ISO, YMD'",
  "set bytea_output = 'hex'",
  'set extra_float_digits = 1',
  'set client_min_messages = warning',
  "set default_transaction_isolation = 'read committed'",
].join(';')

/** Element type by its number in pg_type, which is fixed for built-in types; then the number of its array type. */
const TYPES: readonly (readonly [name: string, type: number, arrayType: number, read: ReadText])[] = [
  ['bool', 16, 1000, (text) => text === 't'],
  ['bytea', 17, 1001, readBytes],
  ['int8', 20, 1016, (text) => text],
  ['int2', 21, 1005, Number],
  ['int4', 23, 1007, Number],
  ['text', 25, 1009, (text) => text],
  ['oid', 26, 1028, Number],
  ['json', 114, 199, (text) => JSON.parse(text)],
  ['float4', 700, 1021, Number],
  ['float8', 701, 1022, Number],
  ['bpchar', 1042, 1014, (text) => text],
  ['varchar', 1043, 1015, (text) => text],
  ['date', 1082, 1182, readDate],
  ['timestamptz', 1184, 1185, readInstant],
  ['numeric', 1700, 1231, readNumeric],
  ['uuid', 2950, 2951, (text) => text],
  ['jsonb', 3802, 3807, (text) => JSON.parse(text)],
]

const readers = new Map<number, ReadText>(
  TYPES.flatMap(([, type, arrayType, read]) => [
    [type, read],
    [arrayType, (text: string) => readArray(text, read)],
  ]),
)

/**
 * The value of a column: int8 and numeric as text, timestamptz as RFC 3339 in UTC with three fraction digits, or six
 * when it is finer than a millisecond, date as `2006-01-02`, json parsed, bytea as bytes, arrays as arrays.
 */
function readColumn(text: string | null, type: number): unknown {
  if (text === null) return null
  const read = readers.get(type)
  return read === undefined ? text : read(text)
}

/** Rows as objects, with the values converted by `readColumn`. */
export function namedRows(
  fields: readonly { readonly name: string; readonly dataTypeID: number }[],
  rows: readonly (readonly (string | null)[])[],
): Record<string, unknown>[] {
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (const [index, { name, dataTypeID }] of fields.entries()) {
      row[name] = readColumn(values[index] as string | null, dataTypeID)
    }
    return row
  })
}

const WRITING_COMMANDS = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** The number of rows written by a statement, from its command tag. Undefined for a statement without writes. */
export function affectedRowsOf(command: string, rowCount: number | null | undefined): number | undefined {
  return WRITING_COMMANDS.has(command) ? (rowCount ?? undefined) : undefined
}

/** A command tag's parts, such as `INSERT` and 3 for `INSERT 0 3`. */
export function readTag(tag: string): { readonly command: string; readonly rowCount: number | undefined } {
  const [command = '', ...rest] = tag.split(' ')
  const count = rest.at(-1)
  return { command, rowCount: count === undefined ? undefined : Number(count) }
}

const INSTANT = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?\+00$/

function readInstant(text: string): string {
  const match = INSTANT.exec(text)
  if (match === null) throw new ColumnTypeProblem(`not a time within the years 0001 to 9999: ${text}`)
  const fraction = match[3] ?? ''
  return `${match[1]}T${match[2]}.${fraction.padEnd(fraction.length > 3 ? 6 : 3, '0')}Z`
}

function readDate(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text))
    throw new ColumnTypeProblem(`not a date within the years 0001 to 9999: ${text}`)
  return text
}

function readNumeric(text: string): string {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new ColumnTypeProblem(`not a number: ${text}`)
  return text
}

function readBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(2), 'hex')
}

/** One element at a time, quoted or bare. A quoted one escapes quotes and backslashes. */
const ARRAY_ELEMENT = /\{|\}|,|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs

function readArray(text: string, read: ReadText): unknown[] {
  const outermost: unknown[] = []
  const open: unknown[][] = [outermost]
  // An array whose first index is not 1 is written with its bounds first: `[0:1]={…}`.
  for (const [token, quoted] of text.slice(text.indexOf('{')).matchAll(ARRAY_ELEMENT)) {
    const innermost = open.at(-1) as unknown[]
    if (token === '{') {
      const nested: unknown[] = []
      innermost.push(nested)
      open.push(nested)
    } else if (token === '}') open.pop()
    else if (quoted !== undefined) innermost.push(read(quoted.replace(/\\(.)/gs, '$1')))
    else if (token !== ',') innermost.push(token === 'NULL' ? null : read(token))
  }
  return outermost[0] as unknown[]
}

/** U+0000, which PostgreSQL cannot store, and halves of surrogate pairs, which UTF-8 would silently replace. */
const UNSTORABLE = /[\0\p{Surrogate}]/u

/**
 * A parameter's text. An array is a PostgreSQL array and a plain object is json, so callers pass a json array as text
 * (`JSON.stringify`). A value without an exact form is a `TypeError` that does not quote it.
 */
export function writeParameter(value: unknown): string | Uint8Array | null {
  if (value === null) return null
  switch (typeof value) {
    case 'string':
      if (UNSTORABLE.test(value)) throw new TypeError('text with U+0000 or a lone surrogate cannot be stored')
      return value
    case 'number':
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
        throw new TypeError('an inexact number cannot be stored')
      }
      return String(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      return writeObject(value)
    default:
      throw new TypeError(`a value of type ${typeof value} cannot be stored`)
  }
}

function writeObject(value: object): string | Uint8Array {
  if (value instanceof Uint8Array) return value
  if (Array.isArray(value)) return `{${value.map(writeElement).join(',')}}`
  if (value instanceof Date) {
    // Throws a RangeError for an invalid date. Outside 0001..9999 the text has a sign that PostgreSQL does not accept.
    const text = value.toISOString()
    if (text.length !== 24) throw new TypeError('a time outside the years 0001 to 9999 cannot be stored')
    return text
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('only plain objects are stored as json')
  return JSON.stringify(value)
}

/** Text that needs neither escapes in an array nor the check for storable characters: ids, codes, numbers, times. */
const PLAIN = /^[\w.:+-]+$/

function writeElement(value: unknown): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string' && PLAIN.test(value)) return `"${value}"`
  if (Array.isArray(value)) return writeObject(value) as string
  const written = writeParameter(value)
  if (written === null) return 'NULL'
  const text = typeof written === 'string' ? written : `\\x${Buffer.from(written).toString('hex')}`
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
