/** Exact decimals as text: checked, brought into one form, and compared. They never become numbers. */

const DIGITS_MAX = 40

/**
 * The canonical text for a FIX price or quantity: no sign, no superfluous zero. Undefined where it is negative,
 * malformed or has more decimals than `decimals`, because nothing is rounded.
 * @param {string | undefined} text
 * @param {number} decimals
 * @returns {string | undefined}
 */
export function canonicalDecimal(text, decimals) {
  if (text === undefined || text.length > DIGITS_MAX) return undefined
  const parts = /^([0-9]*)(?:\.([0-9]*))?$/.exec(text)
  if (parts === null || text === '' || text === '.') return undefined
  const [, digits = '', zeros = ''] = parts
  const whole = digits.replace(/^0+(?=[0-9])/, '') || '0'
  const fraction = zeros.replace(/0+$/, '')
  if (fraction.length > decimals) return undefined
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/**
 * Compares two canonical decimals: below 0, 0 or above 0.
 * @param {string} left
 * @param {string} right
 * @returns {number}
 */
export function compareDecimals(left, right) {
  const [leftWhole = '', leftFraction = ''] = left.split('.')
  const [rightWhole = '', rightFraction = ''] = right.split('.')
  if (leftWhole.length !== rightWhole.length) return leftWhole.length - rightWhole.length
  if (leftWhole !== rightWhole) return leftWhole < rightWhole ? -1 : 1
  // Without superfluous zeros, fractions sort as texts.
  return leftFraction === rightFraction ? 0 : leftFraction < rightFraction ? -1 : 1
}
