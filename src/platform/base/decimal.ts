/**
 * Exact decimals as scaled integers: 12.34 at scale 2 is 1234. A value is a `number` while it is a safe integer and a
 * `bigint` beyond, never both, so equal values are `===` and `<` works across the two. No floating point anywhere.
 * Pure.
 */

/** An integer count in units of 10^-scale: `number` when safe, `bigint` otherwise (canonical). */
export type Scaled = number | bigint

/** Why a text is not a decimal with the requested scale. `too-fine`: it has non-zero digits beyond the scale. */
export type DecimalProblem = 'malformed' | 'too-fine'

/** Sign, integer digits, fraction digits, exponent: what JSON allows in a number, also with leading zeros. */
const DECIMAL = /^(-?)([0-9]{1,40})(?:\.([0-9]{1,40}))?(?:[eE]([+-]?[0-9]{1,3}))?$/

/** A longer text has more digits than a safe integer, or superfluous zeros. */
const PLAIN_CHARACTERS_MAX = 24
const DIGIT_ZERO = 0x30
const DIGIT_NINE = 0x39
const POINT = 0x2e
/** 10 to the power given by the index, as far as doubles are exact. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`))

/** Brings an integer into the canonical `Scaled` form. */
function canonical(value: bigint): Scaled {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

/** Reads decimal text (an exponent is allowed, as exchanges send `1e-05`) as an integer at `scale` decimals. */
export function parseDecimal(text: string, scale: number): Scaled | DecimalProblem {
  return parsePlain(text, scale) ?? parseAny(text, scale)
}

/**
 * The fast path, for nearly all numbers from exchanges: digits with at most one point, within the safe integers at the
 * scale. Integers up to that limit are exact in a double, and a larger product is never rounded back below it.
 * Undefined for everything else, which `parseAny` reads in ten times the time.
 */
function parsePlain(text: string, scale: number): number | undefined {
  const { length } = text
  if (length === 0 || length > PLAIN_CHARACTERS_MAX) return undefined
  let value = 0
  let fractionDigits = -1
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code >= DIGIT_ZERO && code <= DIGIT_NINE) {
      if (fractionDigits >= 0 && ++fractionDigits > scale) {
        if (code !== DIGIT_ZERO) return undefined
        continue
      }
      value = value * 10 + (code - DIGIT_ZERO)
    } else if (code === POINT && fractionDigits < 0 && index > 0 && index < length - 1) {
      fractionDigits = 0
    } else {
      return undefined
    }
  }
  const scaled = value * (POWERS[scale - Math.min(scale, Math.max(0, fractionDigits))] ?? Number.NaN)
  return scaled <= Number.MAX_SAFE_INTEGER ? scaled : undefined
}

function parseAny(text: string, scale: number): Scaled | DecimalProblem {
  const match = DECIMAL.exec(text)
  if (match === null) return 'malformed'
  const sign = match[1] as string
  const fraction = match[3] ?? ''
  const digits = (match[2] as string) + fraction
  const shift = scale - fraction.length + (match[4] === undefined ? 0 : Number(match[4]))
  let scaledDigits: string
  if (shift >= 0) {
    scaledDigits = digits + '0'.repeat(shift)
  } else {
    const cut = Math.max(0, digits.length + shift)
    if (/[1-9]/.test(digits.slice(cut))) return 'too-fine'
    scaledDigits = cut === 0 ? '0' : digits.slice(0, cut)
  }
  if (scaledDigits.length <= 15) {
    const value = Number(scaledDigits)
    return sign === '-' && value !== 0 ? -value : value
  }
  const value = BigInt(scaledDigits)
  return canonical(sign === '-' ? -value : value)
}

/** Plain decimal text with exactly `scale` fraction digits (none and no point at scale 0). */
export function formatDecimal(value: Scaled, scale: number): string {
  if (value < 0) return `-${formatDecimal(-value, scale)}`
  const digits = String(value)
  if (scale === 0) return digits
  if (digits.length > scale) return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return `0.${digits.padStart(scale, '0')}`
}

/** The same value at a finer scale. `toScale` must not be below `fromScale`: nothing is ever rounded here. */
export function rescale(value: Scaled, fromScale: number, toScale: number): Scaled {
  if (toScale === fromScale || value === 0) return value
  return canonical(BigInt(value) * 10n ** BigInt(toScale - fromScale))
}

/** The sum, exact however large. */
export function addScaled(left: Scaled, right: Scaled): Scaled {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right
    // The sum of two safe integers is never rounded into the safe range.
    if (Number.isSafeInteger(sum)) return sum
  }
  return canonical(BigInt(left) + BigInt(right))
}

/** The product, exact however large. Its scale is the sum of both scales. */
export function multiplyScaled(left: Scaled, right: Scaled): Scaled {
  if (typeof left === 'number' && typeof right === 'number') {
    const product = left * right
    // The product of two safe integers is never rounded into the safe range.
    if (Number.isSafeInteger(product)) return product
  }
  return canonical(BigInt(left) * BigInt(right))
}
