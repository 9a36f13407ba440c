/** CSV text (RFC 4180) from a page's data. Pure. */

/** The characters with which a spreadsheet's formula can begin, full-width forms included. */
const FORMULA_START = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const NUMBER = /^[+-]?\d+(\.\d+)?$/

/**
 * Quotes where needed. Text that a spreadsheet would run as a formula gets a leading apostrophe. Numbers stay as they
 * are, as in the program's CSV.
 */
export function csvText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

function cell(value: string): string {
  const safe = FORMULA_START.test(value) && !NUMBER.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
