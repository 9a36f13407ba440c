/** Publishers' prices and amounts in one exact form: text with 18 decimals, and `0`. Pure. */

const SCALE = 18

/** The text with exactly 18 decimals and no leading zeros. Further digits are cut. Zero is `0`. */
export function exactText(text: string): string {
  const [whole = '', fraction = ''] = text.split('.')
  return textOfUnits(BigInt(whole + fraction.padEnd(SCALE, '0').slice(0, SCALE)))
}

/** An exact text in units of 10^-18. */
export function unitsOf(exact: string): bigint {
  return BigInt(exact.replace('.', ''))
}

export function textOfUnits(units: bigint): string {
  if (units === 0n) return '0'
  const digits = units.toString().padStart(SCALE + 1, '0')
  return `${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
}

/** Digits after the point without zeros at the end. */
export function decimalsOf(text: string): number {
  const [, fraction = ''] = text.split('.')
  return fraction.replace(/0+$/, '').length
}
