/**
 * Converts amounts between decimal text and units of 10^-decimals, exactly. Formatted amounts have no trailing zeros, so
 * equal amounts have equal texts. Pure.
 */
import { formatDecimal, parseDecimal } from '../../platform/base/decimal.ts'
import type { MinorUnits } from './posting.ts'

/** The largest amount in the store: 38 digits. */
export const AMOUNT_MAX: MinorUnits = 10n ** 38n - 1n

/** Why a text is not an amount, as an error detail. */
export type AmountFault =
  | 'must be a decimal number above zero, such as 12.5'
  | 'has too many digits'
  | `has more than ${number} decimals`

/** Plain digits with at most one point: an amount has no sign, no exponent and no blanks. */
const PLAIN = /^[0-9]{1,40}(\.[0-9]{1,40})?$/

/** Reads an amount above zero. */
export function parseAmount(text: string, decimals: number): MinorUnits | AmountFault {
  if (!PLAIN.test(text)) return 'must be a decimal number above zero, such as 12.5'
  const value = parseDecimal(text, decimals)
  if (value === 'too-fine') return `has more than ${decimals} decimals`
  if (value === 'malformed' || value <= 0) return 'must be a decimal number above zero, such as 12.5'
  const amount = BigInt(value)
  return amount > AMOUNT_MAX ? 'has too many digits' : amount
}

export function formatAmount(amount: MinorUnits, decimals: number): string {
  const text = formatDecimal(amount, decimals)
  return decimals === 0 ? text : text.replace(/\.?0+$/, '')
}
