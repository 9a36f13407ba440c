/**
 * Exact arithmetic on the decimal texts of prices and amounts, as integers in units of their last decimal. Only pixel
 * positions are floating-point numbers.
 */

/** The text as an integer with this many decimals. The text must not have more. */
export function unitsOf(text: string, decimals: number): bigint {
  const [whole = '0', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

export function decimalsOf(text: string): number {
  return text.split('.')[1]?.length ?? 0
}

function textOf(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0')
  return sign + (decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`)
}

/** The difference between two texts from one market. */
export function difference(higher: string, lower: string): string {
  const decimals = Math.max(decimalsOf(higher), decimalsOf(lower))
  return textOf(unitsOf(higher, decimals) - unitsOf(lower, decimals), decimals)
}

/** The fraction `part / whole`, from 0 to 1, for a bar's length. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * 10_000n) / whole) / 10_000
}
