/**
 * Writes JSON in which some values are JSON text already: metadata is returned with all digits in its numbers, which
 * parsing would lose, and JSON records from the store are not parsed again. `JSON.stringify` writes everything else,
 * several times as fast as a loop over members: it writes a placeholder for each raw value, which is replaced
 * afterwards. Long texts are kept as parts and not copied before they are sent. Pure.
 */
import type { TSchema } from 'typebox'
import { assert } from '../base/assert.ts'

/**
 * A raw value's placeholder. No string contains its text, since quotes in strings are escaped, and none of our objects
 * has such a member.
 */
const PLACEHOLDER = { '\0raw': 0 }
const PLACEHOLDER_TEXT = JSON.stringify(PLACEHOLDER)

/** The raw values in the document being written, in order. Undefined while another caller uses `JSON.stringify`. */
let rawValues: RawJson[] | undefined

/** One valid JSON value's text, in consecutive parts. */
export class RawJson {
  readonly parts: readonly string[]

  constructor(...parts: readonly string[]) {
    this.parts = parts
  }

  toJSON(): unknown {
    if (rawValues === undefined) return JSON.parse(this.parts.join(''))
    rawValues.push(this)
    return PLACEHOLDER
  }
}

/** A JSON text too long to be copied at once. fastify does not accept it as a payload: `unread-answers` sends it. */
export class LongJson {
  readonly parts: readonly string[]

  constructor(parts: readonly string[]) {
    this.parts = parts
  }
}

/** Characters above which an answer stays in parts. */
const PARTS_CHARACTERS_MIN = 65_536

/**
 * Options for a route whose answers contain raw values: its schema describes them, and `writeAnswer` serialises them.
 * The cast is needed because fastify's type allows only strings, while it passes any result to the hooks unchanged.
 */
export const WRITES_RAW_JSON = { serializerCompiler: () => writeAnswer as (value: unknown) => string }

/**
 * Options for a route whose answer has this schema: it describes the answer, and changes nothing in it.
 * @param request the request's schemas
 */
export function answered<Request extends object>(schema: TSchema, request?: Request) {
  return { ...WRITES_RAW_JSON, schema: { ...(request as Request), response: { 200: schema } } }
}

function writeAnswer(value: unknown): string | LongJson {
  const parts = writeParts(value)
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return length < PARTS_CHARACTERS_MIN ? parts.join('') : new LongJson(parts)
}

/** The document with one more member at its end. */
export function withMember(document: object, name: string, value: unknown): object {
  if (!(document instanceof RawJson)) return { ...document, [name]: value }
  const parts = [...document.parts]
  const last = parts.pop() as string
  assert(last.endsWith('}'), 'a document is an object, and its text ends with it')
  return new RawJson(...parts, `${last.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`)
}

/** As `JSON.stringify`, with raw values inserted unchanged. */
export function writeJson(value: unknown): string {
  return writeParts(value).join('')
}

function writeParts(value: unknown): readonly string[] {
  if (value instanceof RawJson) return value.parts
  const values: RawJson[] = []
  rawValues = values
  let written: string
  try {
    written = JSON.stringify(value)
  } finally {
    rawValues = undefined
  }
  if (values.length === 0) return [written]
  const pieces = written.split(PLACEHOLDER_TEXT)
  assert(pieces.length === values.length + 1, 'a raw value’s placeholder occurs nowhere else')
  const parts = [pieces[0] as string]
  for (const [index, raw] of values.entries()) parts.push(...raw.parts, pieces[index + 1] as string)
  return parts
}
