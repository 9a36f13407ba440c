/**
 * Strict reading of JSON bodies: valid UTF-8, valid JSON, no member twice, no `__proto__`, no text that cannot be
 * stored (U+0000, lone surrogates). `JSON.parse` decides what is JSON; one more pass over the text finds what it would
 * silently accept. Pure.
 */
import type { FieldError } from './problem.ts'

export type JsonReading =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | { readonly ok: false; readonly error: FieldError }

/** An object or array that is open at the present place of the text. */
interface Frame {
  /** Names seen so far; absent in arrays. */
  readonly names: Set<string> | undefined
  /** Where in it we are. */
  step: string | number
}

const UNSTORABLE = /[\0\p{Surrogate}]/u
const decoder = new TextDecoder('utf-8', { fatal: true })

export function readJson(bytes: Uint8Array): JsonReading {
  let text: string
  let value: unknown
  try {
    text = decoder.decode(bytes)
  } catch (error) {
    return refuse('', `is not UTF-8 (${nameOf(error)})`)
  }
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The parser's message quotes the text, which may hold a secret.
    return refuse('', `is not valid JSON (${nameOf(error)})`)
  }
  const fault = findFault(text)
  return fault === undefined ? { ok: true, value, text } : { ok: false, error: fault }
}

function refuse(pointer: string, detail: string): JsonReading {
  return { ok: false, error: { pointer, detail } }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'error'
}

/** Walks text that is known to be JSON, string by string. */
function findFault(text: string): FieldError | undefined {
  const frames: Frame[] = []
  let nameIsNext = false
  for (let position = 0; position < text.length; position++) {
    const frame = frames.at(-1)
    switch (text[position]) {
      case '{':
        frames.push({ names: new Set(), step: '' })
        nameIsNext = true
        break
      case '[':
        frames.push({ names: undefined, step: 0 })
        nameIsNext = false
        break
      case '}':
      case ']':
        frames.pop()
        nameIsNext = false
        break
      case ',':
        nameIsNext = frame?.names !== undefined
        if (typeof frame?.step === 'number') frame.step++
        break
      case '"': {
        const end = endOfString(text, position)
        const value: string = JSON.parse(text.slice(position, end + 1))
        const detail = (nameIsNext && frame !== undefined ? enterMember(frame, value) : undefined) ?? textFault(value)
        if (detail !== undefined) return { pointer: pointerOf(frames), detail }
        nameIsNext = false
        position = end
        break
      }
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  let position = start + 1
  while (text[position] !== '"') position += text[position] === '\\' ? 2 : 1
  return position
}

function enterMember(frame: Frame, name: string): string | undefined {
  frame.step = name
  if (name === '__proto__') return 'is not an allowed name'
  if (frame.names?.has(name)) return 'stands twice in one object'
  frame.names?.add(name)
  return undefined
}

function textFault(text: string): string | undefined {
  return UNSTORABLE.test(text) ? 'holds U+0000 or a lone surrogate' : undefined
}

function pointerOf(frames: readonly Frame[]): string {
  return frames.map(({ step }) => `/${pointerStep(String(step))}`).join('')
}

/** One step of a JSON pointer (RFC 6901 section 3), made safe to show. */
function pointerStep(name: string): string {
  return name
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
