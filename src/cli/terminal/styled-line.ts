/**
 * Terminal lines as styled pieces: their width is known before any escape sequence is added, so they can be cut to the
 * terminal exactly. Control characters are removed from text here, so no text can control the terminal, or show its
 * characters in another order. Pure.
 */

export interface Piece {
  readonly text: string
  readonly style?: Style
}

export type Line = readonly Piece[]

/** Select Graphic Rendition (ECMA-48 8.3.117). */
const STYLES = {
  bold: '1',
  dim: '2',
  red: '31',
  green: '32',
  yellow: '33',
  boldRed: '1;31',
  boldGreen: '1;32',
  inverse: '7',
} as const

export type Style = keyof typeof STYLES

/** What JSON does not escape itself. */
const STEERING = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function lineWidth(line: Line): number {
  return line.reduce((width, piece) => width + piece.text.length, 0)
}

/** The line filled with blanks, or cut, to exactly `width` columns. */
export function fitLine(line: Line, width: number): Line {
  const fitted: Piece[] = []
  let left = width
  for (const piece of line) {
    if (left <= 0) break
    const text = piece.text.slice(0, left)
    fitted.push({ ...piece, text })
    left -= text.length
  }
  if (left > 0) fitted.push({ text: ' '.repeat(left) })
  return fitted
}

/** The line as text for a terminal with this width, without blanks at its end. */
export function renderLine(line: Line, width: number, hasColors: boolean): string {
  const pieces = fitLine(line, Math.min(width, lineWidth(line)))
  return pieces
    .map(({ text, style }) => {
      const safe = printable(text)
      return style === undefined || !hasColors ? safe : `\u001b[${STYLES[style]}m${safe}\u001b[0m`
    })
    .join('')
    .trimEnd()
}

/** Text without control characters, and without those for bidirectional text (Unicode UAX #9 section 2). */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
  return text.replace(/[\u0000-\u001f]/g, '?').replace(STEERING, '?')
}

/** The value as JSON, where the same characters are escaped: every reader gets the same value. */
export function printableJson(value: unknown, indent?: number): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(STEERING, escaped)
}
