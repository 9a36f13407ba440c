/** One CSV value (RFC 4180), for every table that the program writes. Pure. */

/** The characters with which a spreadsheet's formula can begin, full-width forms included. */
const FORMULA_START = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const NUMBER = /^[+-]?\d+(\.\d+)?$/

/**
 * Quotes where needed. Text that a spreadsheet would run as a formula gets a leading apostrophe. Numbers stay as they
 * are, negative ones too.
 */
export function csvField(text: string): string {
  const safe = FORMULA_START.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
