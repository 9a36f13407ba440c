/**
 * Finds the parts of a JSON text without parsing their values, so they can be repeated exactly as sent, numbers with
 * all their digits. The text must be valid for `JSON.parse`. Pure.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * An object's members: each name with its value's text. The last member wins for a repeated name, as with `JSON.parse`.
 */
export function memberTexts(object: string): Map<string, string> {
  const members = new Map<string, string>()
  let position = skipBlank(object, skipBlank(object, 0) + 1)
  while (object.charCodeAt(position) !== CLOSE_OBJECT) {
    const nameEnd = valueEnd(object, position)
    const name = JSON.parse(object.slice(position, nameEnd)) as string
    const valueStart = skipBlank(object, skipBlank(object, nameEnd) + 1)
    const end = valueEnd(object, valueStart)
    members.set(name, object.slice(valueStart, end))
    position = skipSeparator(object, end)
  }
  return members
}

/** The text of each array element. */
export function elementTexts(array: string): string[] {
  const elements: string[] = []
  let position = skipBlank(array, skipBlank(array, 0) + 1)
  while (array.charCodeAt(position) !== CLOSE_ARRAY) {
    const end = valueEnd(array, position)
    elements.push(array.slice(position, end))
    position = skipSeparator(array, end)
  }
  return elements
}

/**
 * The same value without blanks between tokens and without needless escapes, numbers unchanged. Also its nesting depth:
 * 0 for a scalar, 1 for an outermost object or array.
 */
export function compactText(text: string): { readonly text: string; readonly levels: number } {
  let compact = ''
  let depth = 0
  let levels = 0
  // A run without blanks and strings begins here. It is copied as a whole.
  let pieceStart = skipBlank(text, 0)
  let position = pieceStart
  while (position < text.length) {
    const code = text.charCodeAt(position)
    if (code === QUOTE) {
      const end = stringEnd(text, position)
      compact += text.slice(pieceStart, position) + JSON.stringify(JSON.parse(text.slice(position, end)))
      pieceStart = skipBlank(text, end)
      position = pieceStart
    } else if (isBlank(code)) {
      compact += text.slice(pieceStart, position)
      pieceStart = skipBlank(text, position)
      position = pieceStart
    } else {
      if (isOpening(code)) levels = Math.max(levels, ++depth)
      else if (isClosing(code)) depth--
      position++
    }
  }
  return { text: compact + text.slice(pieceStart), levels }
}

/** The position after the value starting at `start`. */
function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return stringEnd(text, start)
  let position = start
  if (!isOpening(first)) {
    while (position < text.length && !endsScalar(text.charCodeAt(position))) position++
    return position
  }
  let depth = 0
  do {
    const code = text.charCodeAt(position)
    if (code === QUOTE) {
      position = stringEnd(text, position)
      continue
    }
    if (isOpening(code)) depth++
    else if (isClosing(code)) depth--
    position++
  } while (depth > 0)
  return position
}

function stringEnd(text: string, start: number): number {
  let position = start + 1
  while (text.charCodeAt(position) !== QUOTE) position += text.charCodeAt(position) === BACKSLASH ? 2 : 1
  return position + 1
}

function skipBlank(text: string, start: number): number {
  let position = start
  while (isBlank(text.charCodeAt(position))) position++
  return position
}

/** Skips blanks and one comma. */
function skipSeparator(text: string, start: number): number {
  const position = skipBlank(text, start)
  return text.charCodeAt(position) === COMMA ? skipBlank(text, position + 1) : position
}

function isOpening(code: number): boolean {
  return code === OPEN_OBJECT || code === OPEN_ARRAY
}

function isClosing(code: number): boolean {
  return code === CLOSE_OBJECT || code === CLOSE_ARRAY
}

/** Space, tab, line feed, carriage return. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d
}

function endsScalar(code: number): boolean {
  return code === COMMA || isClosing(code) || isBlank(code)
}
