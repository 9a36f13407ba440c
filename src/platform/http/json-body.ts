/**
 * Strict parsing for JSON bodies: valid UTF-8, valid JSON, no duplicate member, no text that cannot be stored (U+0000,
 * lone surrogates), a bounded number of values and nesting levels. `JSON.parse` decides what is JSON. A scan before it
 * finds the defects that `JSON.parse` accepts silently. The scan stops at the limits, so a hostile body is neither
 * parsed nor validated. `__proto__` is a member like any other: `JSON.parse` creates an own property, and schemas
 * decide where it is allowed.
 */
import type { FieldError } from './problem.ts'

export type JsonReading =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | { readonly ok: false; readonly error: FieldError }

/** An object or array still open at the current position. */
interface Frame {
  readonly isObject: boolean
  /** Names so far. Absent before the second member, because most objects in a hostile body have at most one. */
  names: Set<string> | undefined
  /** The current member or element. */
  step: string | number
  /** Whether an object has had a member. */
  hasMember: boolean
}

/** A fault found by the scan. After a limit, the text is not parsed. */
interface Finding {
  readonly error: FieldError
  readonly isLimit: boolean
}

/**
 * A body's members and elements, counted by its opening brackets and commas. The largest valid body has about 8,000:
 * metadata with 16 KiB.
 */
export const BODY_ENTRIES_MAX = 50_000
/** A body's nesting. The deepest valid one has 10 levels: metadata has up to 8. */
export const BODY_LEVELS_MAX = 64

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const QUOTE = 0x22
const UNSTORABLE = /[\0\p{Surrogate}]/u
const decoder = new TextDecoder('utf-8', { fatal: true })

export function readJson(bytes: Uint8Array): JsonReading {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch (error) {
    return reject('', `is not UTF-8 (${nameOf(error)})`)
  }
  const finding = new Scan(text).run()
  if (finding?.isLimit) return { ok: false, error: finding.error }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The parser's message quotes the text, which may hold a secret.
    return reject('', `is not valid JSON (${nameOf(error)})`)
  }
  return finding === undefined ? { ok: true, value, text } : { ok: false, error: finding.error }
}

function reject(pointer: string, detail: string): JsonReading {
  return { ok: false, error: { pointer, detail } }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'error'
}

/** Scans a text once, string by string. It always ends. Its result is arbitrary for text that is not JSON. */
class Scan {
  readonly #text: string
  readonly #frames: Frame[] = []
  /** The first backslash at or after the current position. */
  #backslash: number
  #entries = 0

  constructor(text: string) {
    this.#text = text
    this.#backslash = indexOrEnd(text, '\\', 0)
  }

  run(): Finding | undefined {
    const text = this.#text
    let nameIsNext = false
    for (let position = 0; position < text.length; position++) {
      switch (text.charCodeAt(position)) {
        case OPEN_OBJECT:
        case OPEN_ARRAY: {
          nameIsNext = text.charCodeAt(position) === OPEN_OBJECT
          this.#frames.push({ isObject: nameIsNext, names: undefined, step: nameIsNext ? '' : 0, hasMember: false })
          if (this.#frames.length > BODY_LEVELS_MAX)
            return limit(`must be nested at most ${BODY_LEVELS_MAX} levels deep`)
          if (++this.#entries > BODY_ENTRIES_MAX) return tooManyEntries()
          break
        }
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#frames.pop()
          nameIsNext = false
          break
        case COMMA: {
          const frame = this.#frames.at(-1)
          nameIsNext = frame?.isObject === true
          if (typeof frame?.step === 'number') frame.step++
          if (++this.#entries > BODY_ENTRIES_MAX) return tooManyEntries()
          break
        }
        case QUOTE: {
          const { end, hasEscape } = this.#stringAt(position)
          const detail = this.#stringFault(position, end, hasEscape, nameIsNext)
          if (detail !== undefined) return { error: { pointer: pointerOf(this.#frames), detail }, isLimit: false }
          nameIsNext = false
          position = end
          break
        }
      }
    }
    return undefined
  }

  /** The closing quote's position (the text's end where there is none), and whether an escape comes before it. */
  #stringAt(start: number): { readonly end: number; readonly hasEscape: boolean } {
    let end = indexOrEnd(this.#text, '"', start + 1)
    for (let next = start + 1; ; ) {
      if (this.#backslash < next) this.#backslash = indexOrEnd(this.#text, '\\', next)
      if (this.#backslash >= end) return { end, hasEscape: next > start + 1 }
      next = this.#backslash + 2
      if (end < next) end = indexOrEnd(this.#text, '"', next)
    }
  }

  #stringFault(start: number, end: number, hasEscape: boolean, isName: boolean): string | undefined {
    // Without an escape there is nothing to find: UTF-8 has no surrogates, and JSON no control characters.
    if (!hasEscape && !isName) return undefined
    const value = hasEscape ? parsedString(this.#text.slice(start, end + 1)) : this.#text.slice(start + 1, end)
    const frame = this.#frames.at(-1)
    const nameFault = isName && frame !== undefined ? enterMember(frame, value) : undefined
    return nameFault ?? (hasEscape && UNSTORABLE.test(value) ? 'contains U+0000 or a lone surrogate' : undefined)
  }
}

/** Empty when the string is not valid JSON: `JSON.parse` then rejects the whole text. */
function parsedString(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch (error) {
    if (error instanceof SyntaxError) return ''
    throw error
  }
}

function indexOrEnd(text: string, wanted: string, start: number): number {
  const index = text.indexOf(wanted, start)
  return index < 0 ? text.length : index
}

function limit(detail: string): Finding {
  return { error: { pointer: '', detail }, isLimit: true }
}

function tooManyEntries(): Finding {
  return limit(`must have at most ${BODY_ENTRIES_MAX} members and elements`)
}

function enterMember(frame: Frame, name: string): string | undefined {
  const { step: earlier, hasMember } = frame
  frame.step = name
  frame.hasMember = true
  if (!hasMember) return undefined
  frame.names ??= new Set([String(earlier)])
  if (frame.names.has(name)) return 'is a duplicate member'
  frame.names.add(name)
  return undefined
}

function pointerOf(frames: readonly Frame[]): string {
  return frames.map(({ step }) => `/${pointerStep(String(step))}`).join('')
}

/** One JSON pointer step (RFC 6901 section 3), made safe to show. */
function pointerStep(name: string): string {
  return name
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
