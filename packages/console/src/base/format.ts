/**
 * Texts for people from the API's values. Amounts and prices stay exact text: only their integer digits are grouped.
 */

/** `1234567.50` as `1,234,567.50`. Other texts stay unchanged. */
export function grouped(amount: string): string {
  const parts = /^(-?)(\d+)(\.\d+)?$/.exec(amount)
  if (parts === null) return amount
  const [, sign = '', whole = '', fraction = ''] = parts
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ',') + fraction
}

export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `3 markets`, `1 market`. */
export function plural(value: number, noun: string, many = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : many}`
}

/** An RFC 3339 time as `2026-11-23 08:45:12`, in UTC. */
export function timeText(time: string | undefined): string {
  return time === undefined ? '' : time.slice(0, 19).replace('T', ' ')
}

/** The time of day with milliseconds, in UTC. */
export function clockText(time: string): string {
  return time.slice(11, 23)
}

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A duration in its two largest units: `2 h 5 min`. */
export function durationText(milliseconds: number): string {
  let seconds = Math.max(0, Math.round(milliseconds / 1000))
  const parts: string[] = []
  for (const [size, unit] of STEPS) {
    const amount = Math.floor(seconds / size)
    if (amount === 0 && parts.length === 0 && unit !== 's') continue
    if (amount > 0 || parts.length === 0) parts.push(`${amount} ${unit}`)
    seconds -= amount * size
    if (parts.length === 2 || size >= 86_400 * 2) break
  }
  return parts.join(' ')
}

/** How long ago a time was: `5 min ago`. */
export function agoText(time: string | undefined, now = Date.now()): string {
  if (time === undefined) return ''
  const passed = now - Date.parse(time)
  if (passed < 0) return 'now'
  const [first] = durationText(passed).split(/(?<=[a-z]) /)
  return `${first} ago`
}

/** `12.3 MB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let index = 0
  while (value >= 1000 && index < units.length - 1) {
    value /= 1000
    index++
  }
  return `${index === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[index]}`
}

/** A long id's first and last characters. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`
}

/** `NEEDS_OPERATOR` as `Needs operator`. */
export function words(code: string): string {
  const text = code.toLowerCase().replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A typed whole number. Another text stays, and the service names what is wrong with it. */
export function wholeNumber(typed: unknown): number | string {
  const text = String(typed).trim()
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** Characters that a person cannot see, or that reorder the visible text. */
const INVISIBLE = /\p{C}|[^\P{Z} ]/gu
/** A page shows these as a blank. */
const BLANKS = '\t\r\n'

/** A text whose every character counts. Invisible characters are shown by their code point: `a[U+200B]b`. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, numberOf)
}

/** A text from outside in a sentence or a cell: no invisible character makes it look like another one. */
export function shown<Content>(content: Content): Content | string {
  if (typeof content !== 'string') return content
  return content.replace(INVISIBLE, (sign) => (BLANKS.includes(sign) ? sign : numberOf(sign)))
}

/** A document as JSON, with invisible characters escaped. */
export function jsonText(document: unknown): string {
  return JSON.stringify(document, null, 2).replace(INVISIBLE, (sign) => (sign === '\n' ? sign : escaped(sign)))
}

function numberOf(sign: string): string {
  return `[U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`
}

function escaped(sign: string): string {
  const units = sign.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return units.map((unit) => `\\u${unit}`).join('')
}
