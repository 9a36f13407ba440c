/** Compares bank payment references: which are the same, and which may be the same. Pure. */

/** Shorter references are often consecutive numbers, which differ by one character. */
const EDITED_LENGTH_MIN = 6

/** A bank's reference in upper case and without blanks. The store compares references in this form (`known`). */
export function plainReference(text: string): string {
  return text.replaceAll(/[ \t\n\r\f]/g, '').replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
}

/**
 * Whether two references may be the same. Only letters and digits without leading zeros are compared. They must be
 * equal, or have at least six characters and differ by one added character, or by a letter in a digit's place.
 * References that differ in one digit belong to consecutive payments.
 */
export function areNear(left: string, right: string): boolean {
  const [first, second] = [left, right]
    .map((text) =>
      plainReference(text)
        .replaceAll(/[^0-9A-Z]/g, '')
        .replace(/^0+/, ''),
    )
    .sort((one, other) => one.length - other.length) as [string, string]
  if (first === second) return true
  if (first.length < EDITED_LENGTH_MIN || second.length - first.length > 1) return false
  let start = 0
  while (start < first.length && first[start] === second[start]) start++
  if (first.length < second.length) return first.slice(start) === second.slice(start + 1)
  const isDigit = (text: string, place: number) => /[0-9]/.test(text.charAt(place))
  return first.slice(start + 1) === second.slice(start + 1) && isDigit(first, start) !== isDigit(second, start)
}
