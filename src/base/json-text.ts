/**
 * Finds pieces of a JSON text without reading their values, so that they can be repeated as they were sent: numbers
 * keep their digits, nesting its depth. Works on text that `JSON.parse` has accepted; pure.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The members of an object as name and text of the value; of a repeated name the last, as `JSON.parse` has it. */
export function memberTexts(object: string): Map<string, string> {
  const members = new Map<string, string>()
  let position = skipBlank(object, skipBlank(object, 0) + 1)
  while (object[position] !== '}') {
    const nameEnd = valueEnd(object, position)
    const name = JSON.parse(object.slice(position, nameEnd)) as string
    const valueStart = skipBlank(object, skipBlank(object, nameEnd) + 1)
    const end = valueEnd(object, valueStart)
    members.set(name, object.slice(valueStart, end))
    position = skipSeparator(object, end)
  }
  return members
}

/** The text of each element of an array. */
export function elementTexts(array: string): string[] {
  const elements: string[] = []
  let position = skipBlank(array, skipBlank(array, 0) + 1)
  while (array[position] !== ']') {
    const end = valueEnd(array, position)
    elements.push(array.slice(position, end))
    position = skipSeparator(array, end)
  }
  return elements
}

/**
 * The same value in the shortest usual form: no blanks between tokens, every string without needless escapes, numbers
 * as they are; and how deep objects and arrays are nested, an outermost one being the first level.
 */
export function compactText(text: string): { readonly text: string; readonly levels: number } {
  const parts: string[] = []
  let depth = 0
  let levels = 0
  for (let position = skipBlank(text, 0); position < text.length; position = skipBlank(text, position)) {
    const character = text[position] as string
    if (character === '"') {
      const end = stringEnd(text, position)
      parts.push(JSON.stringify(JSON.parse(text.slice(position, end))))
      position = end
      continue
    }
    if (character === '{' || character === '[') levels = Math.max(levels, ++depth)
    else if (character === '}' || character === ']') depth--
    parts.push(character)
    position++
  }
  return { text: parts.join(''), levels }
}

/** The position after the value that starts at `start`. */
function valueEnd(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return stringEnd(text, start)
  let position = start
  if (first !== '{' && first !== '[') {
    while (position < text.length && !',]} \t\r\n'.includes(text[position] as string)) position++
    return position
  }
  let depth = 0
  do {
    const character = text[position]
    if (character === '"') {
      position = stringEnd(text, position)
      continue
    }
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
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
  while (' \t\r\n'.includes(text[position] ?? 'x')) position++
  return position
}

/** Skips blanks and one comma. */
function skipSeparator(text: string, start: number): number {
  const position = skipBlank(text, start)
  return text[position] === ',' ? skipBlank(text, position + 1) : position
}
