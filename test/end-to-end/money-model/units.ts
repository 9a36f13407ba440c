/** Amounts as integers of the last decimal, and what a conversion at par makes of them: computed without the product. */

export const DECIMALS: Readonly<Record<string, number>> = { USD: 2, USDC: 6, USDG: 6 }
export const FEE_BPS = 10n
/** Above these whole amounts a person decides. */
export const REVIEWED = { deposit: 970n, payment: 900n }

export function isReviewed(units: bigint, asset: string): boolean {
  return units > REVIEWED.deposit * 10n ** BigInt(DECIMALS[asset] as number)
}

export function toUnits(text: string, asset: string): bigint {
  const decimals = DECIMALS[asset] as number
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const units = BigInt(whole) * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0') || '0')
  return text.startsWith('-') ? -units : units
}

export function toText(units: bigint, asset: string): string {
  const decimals = DECIMALS[asset] as number
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const whole = digits.slice(0, digits.length - decimals)
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

export interface Converted {
  readonly fee: bigint
  /** Of the source asset; what it and the fee leave stays with the profile. */
  readonly taken: bigint
  /** Of the destination asset. */
  readonly outgoing: bigint
}

/**
 * The fee is rounded down, and only what the destination's decimals can represent is converted.
 * @param isCharged false for what was converted before, and only could not be delivered
 */
export function convertedAtPar(amount: bigint, source: string, destination: string, isCharged: boolean): Converted {
  const fee = isCharged ? (amount * FEE_BPS) / 10_000n : 0n
  const rest = amount - fee
  const shift = (DECIMALS[source] as number) - (DECIMALS[destination] as number)
  if (shift <= 0) return { fee, taken: rest, outgoing: rest * 10n ** BigInt(-shift) }
  const unit = 10n ** BigInt(shift)
  return { fee, taken: rest - (rest % unit), outgoing: rest / unit }
}
