/**
 * Finds pieces of a JSON text without reading their values, so that a reply can repeat what a client sent byte for
 * byte: numbers keep their digits, nesting its depth. Works on text that `JSON.parse` has accepted; pure.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The text `"type":…,"params":…` (each only when sent) of every entry of the request's `channels`. */
export function entryEchoes(request: string): string[] {
  const channels = memberTexts(request).get('channels') as string
  return elementTexts(channels).map((entry) => {
    const members = memberTexts(entry)
    const parts: string[] = []
    for (const name of ['type', 'params']) {
      const value = members.get(name)
      if (value !== undefined) parts.push(`"${name}":${value}`)
    }
    return parts.join()
  })
}

/** The members of an object as name and text of the value; of a repeated name the last, as `JSON.parse` has it. */
function memberTexts(object: string): Map<string, string> {
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

function elementTexts(array: string): string[] {
  const elements: string[] = []
  let position = skipBlank(array, skipBlank(array, 0) + 1)
  while (array[position] !== ']') {
    const end = valueEnd(array, position)
    elements.push(array.slice(position, end))
    position = skipSeparator(array, end)
  }
  return elements
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
