/**
 * Writes JSON in which some values are text already: what a customer stored comes back with every digit of its numbers,
 * which a round trip through `JSON.parse` would lose. The runtime writes all the rest, several times as fast as a loop
 * over members could: raw values leave a mark in its text, and take their places afterwards. Pure.
 */
import { assert } from '../base/assert.ts'

/**
 * What stands for a raw value. No string can hold its text, since a quote in a string is written with a backslash; no
 * object of ours has such a member.
 */
const MARK = { '\0raw': 0 }
const MARK_TEXT = JSON.stringify(MARK)

/** Of what is being written now, in the order in which they come; absent: somebody else writes. */
let rawTexts: string[] | undefined

/** The text of one JSON value, known to be valid. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    if (rawTexts === undefined) return JSON.parse(this.text)
    rawTexts.push(this.text)
    return MARK
  }
}

/** Options of a route whose answers hold raw values: its schema describes them and does not write them. */
export const WRITES_RAW_JSON = { serializerCompiler: () => writeJson }

/** As `JSON.stringify`, with raw values as they are. */
export function writeJson(value: unknown): string {
  const texts: string[] = []
  rawTexts = texts
  let marked: string
  try {
    marked = JSON.stringify(value)
  } finally {
    rawTexts = undefined
  }
  if (texts.length === 0) return marked
  const pieces = marked.split(MARK_TEXT)
  assert(pieces.length === texts.length + 1, 'what stands for a raw value is nothing else')
  let text = pieces[0] as string
  for (const [index, raw] of texts.entries()) text += raw + pieces[index + 1]
  return text
}
