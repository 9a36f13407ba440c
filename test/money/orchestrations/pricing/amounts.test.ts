/** Amounts at par and from a book, held against a naive oracle in exact fractions. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BASE_SCALE, type PricingLevel } from '../../../../src/money/orchestrations/pricing/context.ts'
import { type MarketTerms, marketPrice } from '../../../../src/money/orchestrations/pricing/market.ts'
import { isInsidePeg, parAmounts } from '../../../../src/money/orchestrations/pricing/par.ts'
import { type UsableBook, usableBook } from '../../../../src/money/orchestrations/pricing/usable-book.ts'
import { propertySettings } from '../../../support/property.ts'
import { BTC, BTCUSD, baseUnits, book, levels, SETTINGS, USD, USDC } from './books.ts'

const SELL: MarketTerms = { market: BTCUSD, source: BTC, destination: USD }
const BUY: MarketTerms = { market: BTCUSD, source: USD, destination: BTC }
const WIDE = { ...SETTINGS, slippageBpsMax: 10_000 }

function usable(changes: Parameters<typeof book>[0] = {}): UsableBook {
  const found = usableBook(book(changes), { settings: SETTINGS, isSandbox: false })
  if (typeof found === 'string') throw new Error(found)
  return found
}

describe('at par', () => {
  it('a conversion at par converts the amount that the destination can represent, and leaves the rest', () => {
    expect(parAmounts(1_234_567n, USDC, USD)).toEqual({ converted: 1_230_000n, destination: 123n, remainder: 4_567n })
    expect(parAmounts(123n, USD, USDC)).toEqual({ converted: 123n, destination: 1_230_000n, remainder: 0n })
    expect(parAmounts(9_999n, USDC, USD)).toMatchObject({ kind: 'impossible', code: 'NOT_CONVERTIBLE' })
    expect(parAmounts(10n ** 38n - 1n, USD, USDC)).toMatchObject({ kind: 'impossible', code: 'NOT_CONVERTIBLE' })
  })

  it('a conversion at par never makes or loses money, whatever the decimals', () => {
    const decimals = fc.integer({ min: 0, max: 18 })
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 20n), decimals, decimals, (amount, from, to) => {
        const found = parAmounts(amount, { symbol: 'A', decimals: from }, { symbol: 'B', decimals: to })
        // Both amounts as counts of 10^-36.
        const fine = (units: bigint, scale: number) => units * 10n ** BigInt(36 - scale)
        if ('kind' in found) {
          expect(fine(amount, from)).toBeLessThan(fine(1n, to))
          return
        }
        expect(found.converted + found.remainder).toBe(amount)
        expect(fine(found.converted, from)).toBe(fine(found.destination, to))
        expect(fine(found.remainder, from)).toBeLessThan(fine(1n, to))
      }),
      propertySettings(500),
    )
  })

  it.each([
    [9_950, true],
    [9_949, false],
    [10_050, true],
    [10_051, false],
  ])('a price at par is inside a peg of 50 bps at %i of 10,000: %s', (price, isInside) => {
    expect(isInsidePeg(BigInt(2 * price), 4, 50)).toBe(isInside)
    // Half a unit further out.
    expect(isInsidePeg(BigInt(2 * price + (price > 10_000 ? 1 : -1)), 4, 50)).toBe(false)
  })
})

describe('from a book', () => {
  it('a price from a book takes the levels from the best one outward', () => {
    const price = marketPrice(SELL, 150_000_000n, usable(), 0n, SETTINGS)
    // 1 at 60,000.00 and 0.5 at 59,999.00.
    expect(price).toMatchObject({ destinationAmount: 8_999_950n, price: '59999.666666666666666666' })
  })

  it('a price from a book leaves the amounts that others took before', () => {
    const price = marketPrice(SELL, 100_000_000n, usable(), baseUnits('1.5'), SETTINGS)
    expect(price).toMatchObject({
      destinationAmount: 5_999_900n,
      walk: { levels: [{ taken: 0n, takenBefore: baseUnits('1') }, { takenBefore: baseUnits('0.5') }] },
    })
    expect(marketPrice(SELL, 100_000_000n, usable(), baseUnits('2.1'), SETTINGS)).toMatchObject({
      kind: 'waits',
      waitingFor: 'SLIPPAGE',
    })
  })

  it('a price from a book bounds the average price against the mid', () => {
    const deep = usable({ bids: levels([6_000_000, '1'], [5_000_000, '9']) })
    expect(marketPrice(SELL, 100_000_000n, deep, 0n, SETTINGS)).toMatchObject({ destinationAmount: 6_000_000n })
    expect(marketPrice(SELL, 200_000_000n, deep, 0n, SETTINGS)).toMatchObject({ kind: 'waits', waitingFor: 'SLIPPAGE' })
    const thin = usable({ asks: levels([6_000_100, '1'], [7_000_000, '9']) })
    expect(marketPrice(BUY, 6_000_100n, thin, 0n, SETTINGS)).toMatchObject({ destinationAmount: 100_000_000n })
    expect(marketPrice(BUY, 12_000_000n, thin, 0n, SETTINGS)).toMatchObject({ kind: 'waits', waitingFor: 'SLIPPAGE' })
  })

  it('a price from a book bounds the notional in the quote asset', () => {
    const settings = { ...SETTINGS, notionalMax: new Map([['USD', 6_000_000n]]) }
    expect(marketPrice(SELL, 100_000_000n, usable(), 0n, settings)).toMatchObject({ destinationAmount: 6_000_000n })
    expect(marketPrice(SELL, 100_001_000n, usable(), 0n, settings)).toMatchObject({ waitingFor: 'SLIPPAGE' })
    expect(marketPrice(BUY, 6_000_000n, usable(), 0n, settings)).toMatchObject({ destinationAmount: 99_998_333n })
    expect(marketPrice(BUY, 6_000_001n, usable(), 0n, settings)).toMatchObject({ waitingFor: 'SLIPPAGE' })
  })

  it('a book gives no price for an amount worth less than a unit of the destination', () => {
    expect(marketPrice(SELL, 1n, usable({ bids: levels([1, '1']), asks: levels([2, '1']) }), 0n, WIDE)).toMatchObject({
      kind: 'impossible',
      code: 'NOT_CONVERTIBLE',
    })
  })

  it('a price from a book pays the amount of an oracle in exact fractions, rounded down', () => {
    fc.assert(
      fc.property(fc.boolean(), ladder(), fc.bigInt(1n, 2n * 10n ** 9n), fc.bigInt(0n, 10n ** 19n), (...given) => {
        const [isSale, rows, units, takenBefore] = given
        // Up to 20 BTC, or 20,000 USD.
        const amount = isSale ? units : units / 1000n + 1n
        const terms = isSale ? SELL : BUY
        const found = marketPrice(terms, amount, ladderBook(rows, isSale), takenBefore, {
          ...WIDE,
          slippageBpsMax: isSale ? 10_000 : 10_000_000,
        })
        const expected = isSale ? soldFor(rows, amount, takenBefore) : boughtFor(rows, amount, takenBefore)
        if (expected === 'not enough') expect(found).toMatchObject({ kind: 'waits', waitingFor: 'SLIPPAGE' })
        else if (expected === 0n) expect(found).toMatchObject({ kind: 'impossible' })
        else expect(found).toMatchObject({ destinationAmount: expected })
      }),
      propertySettings(2_000),
    )
  })
})

/** Steps outward from the best price, each with an amount in units of 10^-9. */
function ladder(): fc.Arbitrary<readonly (readonly [step: bigint, amount: bigint])[]> {
  return fc.array(fc.tuple(fc.bigInt(1n, 5_000n), fc.bigInt(1n, 3n * 10n ** 9n)), { minLength: 1, maxLength: 6 })
}

const BEST = 100_000n

function levelsOf(rows: readonly (readonly [bigint, bigint])[], isSale: boolean): readonly PricingLevel[] {
  let price = BEST
  return rows.map(([step, amount]) => {
    price += isSale ? -step : step
    return { price, amount: amount * 10n ** BigInt(BASE_SCALE - 9) }
  })
}

function ladderBook(rows: readonly (readonly [bigint, bigint])[], isSale: boolean): UsableBook {
  const side = levelsOf(rows, isSale)
  return usable(isSale ? { bids: side, asks: levels([100_001, '1']) } : { bids: levels([99_999, '1']), asks: side })
}

/**
 * Quote units of 10^-20 for `base` units of 10^-18 of the ladder behind `takenBefore`; the walk is one unit of the book
 * (10^-18) after the other in mind, a level in one step in fact.
 */
function cost(side: readonly PricingLevel[], base: bigint, takenBefore: bigint): bigint | 'not enough' {
  const upTo = (amount: bigint): bigint | 'not enough' => {
    let rest = amount
    let sum = 0n
    for (const level of side) {
      const part = rest < level.amount ? rest : level.amount
      sum += part * level.price
      rest -= part
    }
    return rest === 0n ? sum : 'not enough'
  }
  const whole = upTo(takenBefore + base)
  const before = upTo(takenBefore)
  return whole === 'not enough' || before === 'not enough' ? 'not enough' : whole - before
}

/** Cents for an amount in units of 10^-8. */
function soldFor(
  rows: readonly (readonly [bigint, bigint])[],
  amount: bigint,
  takenBefore: bigint,
): bigint | 'not enough' {
  const proceeds = cost(levelsOf(rows, true), amount * 10n ** 10n, takenBefore)
  return proceeds === 'not enough' ? proceeds : proceeds / 10n ** 18n
}

/** The most units of 10^-8 that cost no more than this number of cents: by halving, not by walking. */
function boughtFor(
  rows: readonly (readonly [bigint, bigint])[],
  amount: bigint,
  takenBefore: bigint,
): bigint | 'not enough' {
  const side = levelsOf(rows, false)
  const budget = amount * 10n ** 18n
  const all = side.reduce((sum, level) => sum + level.amount, 0n) - takenBefore
  const costOfAll = all < 0n ? 0n : (cost(side, all, takenBefore) as bigint)
  if (costOfAll < budget) return 'not enough'
  let low = 0n
  let high = all / 10n ** 10n
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    const price = cost(side, middle * 10n ** 10n, takenBefore)
    if (price !== 'not enough' && price <= budget) low = middle
    else high = middle - 1n
  }
  return low
}

describe('a book', () => {
  const fault = (changes: Parameters<typeof book>[0], isSandbox = false) =>
    usableBook(book(changes), { settings: SETTINGS, isSandbox })

  it.each<[string, Parameters<typeof book>[0]]>([
    ['not live', { isLive: false }],
    ['older than 5 seconds', { ageMilliseconds: 5_001 }],
    ['of a clock that was set back', { ageMilliseconds: -5_001 }],
    ['crossed', { bids: levels([6_000_100, '1']) }],
    ['without bids', { bids: [] }],
    ['without asks', { asks: [] }],
    ['empty', { bids: [], asks: [] }],
    ['with an amount of zero', { bids: levels([6_000_000, '0']) }],
    ['with a price of zero', { bids: levels([0, '1']) }],
    ['from a simulator or a recording', { isSimulated: true }],
  ])('a book is not used when it is %s', (_, changes) => {
    expect(fault(changes)).toEqual(expect.any(String))
  })

  it('a book is used when no reason against it holds, and from a simulator in a sandbox', () => {
    expect(fault({ ageMilliseconds: 5_000 })).toMatchObject({ doubleMid: 12_000_100n })
    expect(fault({ isSimulated: true }, true)).toMatchObject({ cursor: 'pEcT_n4Z.7' })
    expect(usableBook(undefined, { settings: SETTINGS, isSandbox: false })).toEqual(expect.any(String))
  })
})
