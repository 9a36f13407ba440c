import Big from 'big.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addScaled, formatDecimal, parseDecimal, rescale, type Scaled } from '../../../src/platform/base/decimal.ts'
import { propertySettings } from '../../support/property.ts'

const digits = (minimum: number, maximum: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: minimum, maxLength: maximum, size: 'max' })
    .map((all) => all.join(''))

const decimalText = fc
  .tuple(
    fc.constantFrom('', '', '', '-'),
    digits(1, 22),
    fc.option(digits(1, 20), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'), fc.integer({ min: 0, max: 30 })), {
      nil: undefined,
    }),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const point = fraction === undefined ? '' : `.${fraction}`
    return `${sign}${whole}${point}${exponent?.join('') ?? ''}`
  })

const scale = fc.integer({ min: 0, max: 18 })

/** Integers around zero, around the edge of the safe integers, and far beyond it. */
const integer = fc.oneof(
  fc.bigInt({ min: -1000n, max: 1000n }),
  fc.bigInt({ min: -5n, max: 5n }).map((distance) => 2n ** 53n + distance),
  fc.bigInt({ min: -5n, max: 5n }).map((distance) => -(2n ** 53n) + distance),
  fc.bigInt({ min: -(2n ** 120n), max: 2n ** 120n }),
)

function scaled(whole: bigint): Scaled {
  const value = parseDecimal(whole.toString(), 0)
  if (value === 'malformed' || value === 'too-fine') throw new Error(`${whole} was refused as ${value}`)
  expectCanonical(value, whole)
  return value
}

function expectCanonical(value: Scaled, expected: bigint): void {
  expect(BigInt(value)).toBe(expected)
  expect(typeof value).toBe(isSafe(expected) ? 'number' : 'bigint')
  expect(Object.is(value, -0)).toBe(false)
}

function isSafe(value: bigint): boolean {
  return value >= -9_007_199_254_740_991n && value <= 9_007_199_254_740_991n
}

describe('parseDecimal', () => {
  test('parseDecimal reads the same numbers as big.js, exactly or not at all', () => {
    const property = fc.property(decimalText, scale, (text, decimals) => {
      const parsed = parseDecimal(text, decimals)
      const exact = new Big(text).times(new Big(10).pow(decimals))
      if (exact.round(0, Big.roundDown).eq(exact)) {
        expect(parsed).not.toBe('too-fine')
        expect(parsed).not.toBe('malformed')
        expectCanonical(parsed as Scaled, BigInt(exact.toFixed(0)))
      } else {
        expect(parsed).toBe('too-fine')
      }
    })
    fc.assert(property, propertySettings(2000))
  })

  test.each<[text: string, scale: number, expected: Scaled | 'too-fine' | 'malformed']>([
    ['12.34', 2, 1234],
    ['12.3400', 2, 1234],
    ['12.341', 2, 'too-fine'],
    ['0012.30', 1, 123],
    ['1e-05', 8, 1000],
    ['1e-05', 4, 'too-fine'],
    ['0e-05', 0, 0],
    ['0.00000000', 8, 0],
    ['-0.00', 2, 0],
    ['-0.01', 2, -1],
    ['1.5E+3', 0, 1500],
    ['5e-999', 8, 'too-fine'],
    ['90071992547409.91', 2, Number.MAX_SAFE_INTEGER],
    ['90071992547409.92', 2, 9_007_199_254_740_992n],
    ['-90071992547409.91', 2, Number.MIN_SAFE_INTEGER],
    ['-90071992547409.92', 2, -9_007_199_254_740_992n],
    ['9007199254740993', 0, 9_007_199_254_740_993n],
    ['0000000000000000000000000000000000000001', 2, 100],
  ])('%s at scale %i is %s', (text, decimals, expected) => {
    expect(parseDecimal(text, decimals)).toBe(expected)
  })

  test.each([
    '',
    ' ',
    '-',
    '.',
    '1.',
    '.5',
    '+1',
    '--1',
    '1,5',
    '1 ',
    ' 1',
    '1\n',
    '1.2.3',
    '1e',
    'e5',
    '1e5.5',
    '1e1000',
    '0x10',
    'NaN',
    'Infinity',
    '1_000',
    '١',
    '1'.repeat(41),
    `0.${'1'.repeat(41)}`,
  ])('parseDecimal refuses %j', (text) => {
    expect(parseDecimal(text, 2)).toBe('malformed')
  })
})

describe('formatDecimal', () => {
  test('formatDecimal writes the same text as big.js, which parseDecimal reads back', () => {
    const property = fc.property(integer, scale, (whole, decimals) => {
      const value = scaled(whole)
      const text = formatDecimal(value, decimals)
      const expected = new Big(whole.toString()).div(new Big(10).pow(decimals)).toFixed(decimals)
      expect(text).toBe(expected)
      expect(parseDecimal(text, decimals)).toBe(value)
    })
    const divisionPlaces = Big.DP
    Big.DP = 20
    try {
      fc.assert(property, propertySettings(1000))
    } finally {
      Big.DP = divisionPlaces
    }
  })

  test.each<[value: Scaled, scale: number, expected: string]>([
    [0, 0, '0'],
    [-0, 2, '0.00'],
    [0, 8, '0.00000000'],
    [7, 0, '7'],
    [7, 1, '0.7'],
    [70, 1, '7.0'],
    [-5, 2, '-0.05'],
    [2n ** 64n, 8, '184467440737.09551616'],
    [Number.MAX_SAFE_INTEGER, 18, '0.009007199254740991'],
  ])('%s at scale %i is %s', (value, decimals, expected) => {
    expect(formatDecimal(value, decimals)).toBe(expected)
  })
})

describe('rescale', () => {
  test('rescale keeps the exact value, as a number while it is safe and a bigint beyond', () => {
    const property = fc.property(integer, fc.integer({ min: 0, max: 20 }), (whole, finer) => {
      expectCanonical(rescale(scaled(whole), 3, 3 + finer), whole * 10n ** BigInt(finer))
    })
    fc.assert(property, propertySettings(1000))
  })

  test('rescale changes form exactly at the edge of the safe integers', () => {
    expect(rescale(900_719_925_474_099, 0, 1)).toBe(9_007_199_254_740_990)
    expect(rescale(900_719_925_474_100, 0, 1)).toBe(9_007_199_254_741_000n)
    expect(rescale(2n ** 53n, 2, 2)).toBe(2n ** 53n)
    expect(rescale(0, 0, 18)).toBe(0)
  })

  test('rescale cannot make a value coarser', () => {
    expect(() => rescale(1, 2, 1)).toThrow(RangeError)
  })
})

describe('addScaled', () => {
  test('addScaled gives the exact sum, as a number while it is safe and a bigint beyond', () => {
    const property = fc.property(integer, integer, (left, right) => {
      expectCanonical(addScaled(scaled(left), scaled(right)), left + right)
    })
    fc.assert(property, propertySettings(1000))
  })

  test('addScaled changes form exactly at the edge of the safe integers, both ways', () => {
    expect(addScaled(Number.MAX_SAFE_INTEGER - 1, 1)).toBe(Number.MAX_SAFE_INTEGER)
    expect(addScaled(Number.MAX_SAFE_INTEGER, 1)).toBe(2n ** 53n)
    expect(addScaled(Number.MAX_SAFE_INTEGER, 2)).toBe(2n ** 53n + 1n)
    expect(addScaled(2n ** 53n, -1)).toBe(Number.MAX_SAFE_INTEGER)
    expect(addScaled(Number.MIN_SAFE_INTEGER, -1)).toBe(-(2n ** 53n))
  })
})
