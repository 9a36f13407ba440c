/**
 * Writes JSON in which some values are text already: what a customer stored comes back with every digit of its numbers,
 * which a round trip through `JSON.parse` would lose, and what the store has written is not parsed again. The runtime
 * writes all the rest, several times as fast as a loop over members could: raw values leave a mark in its text, and take
 * their places afterwards. Long texts stay the parts that they came in; nothing copies them before they are sent. Pure.
 */
import { assert } from '../base/assert.ts'

/**
 * What stands for a raw value. No string can hold its text, since a quote in a string is written with a backslash; no
 * object of ours has such a member.
 */
const MARK = { '\0raw': 0 }
const MARK_TEXT = JSON.stringify(MARK)

/** Of what is being written now, in the order in which they come; absent: somebody else writes. */
let rawValues: RawJson[] | undefined

/** The text of one JSON value, known to be valid; parts of it follow each other. */
export class RawJson {
  readonly parts: readonly string[]

  constructor(...parts: readonly string[]) {
    this.parts = parts
  }

  toJSON(): unknown {
    if (rawValues === undefined) return JSON.parse(this.parts.join(''))
    rawValues.push(this)
    return MARK
  }
}

/** A JSON text that is too long to be copied at once. It is not a payload of fastify: `unread-answers` sends it. */
export class LongJson {
  readonly parts: readonly string[]

  constructor(parts: readonly string[]) {
    this.parts = parts
  }
}

/** Characters above which an answer stays in parts. */
const PARTS_CHARACTERS_MIN = 65_536

/**
 * Options of a route whose answers hold raw values: its schema describes them and does not write them. The framework's
 * type knows only serialisers that give text; what they give is passed to the hooks unseen.
 */
export const WRITES_RAW_JSON = { serializerCompiler: () => writeAnswer as (value: unknown) => string }

function writeAnswer(value: unknown): string | LongJson {
  const parts = writeParts(value)
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return length < PARTS_CHARACTERS_MIN ? parts.join('') : new LongJson(parts)
}

/** As `JSON.stringify`, with raw values as they are. */
export function writeJson(value: unknown): string {
  return writeParts(value).join('')
}

function writeParts(value: unknown): readonly string[] {
  const values: RawJson[] = []
  rawValues = values
  let marked: string
  try {
    marked = JSON.stringify(value)
  } finally {
    rawValues = undefined
  }
  if (values.length === 0) return [marked]
  const pieces = marked.split(MARK_TEXT)
  assert(pieces.length === values.length + 1, 'what stands for a raw value is nothing else')
  const parts = [pieces[0] as string]
  for (const [index, raw] of values.entries()) parts.push(...raw.parts, pieces[index + 1] as string)
  return parts
}
