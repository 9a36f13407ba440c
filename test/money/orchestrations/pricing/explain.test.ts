/** What the evidence of a price explains, and that a changed one is noticed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  marketEvidence,
  type PriceEvidence,
  parEvidence,
} from '../../../../src/money/orchestrations/pricing/evidence.ts'
import { explainPrice, type StoredConversion } from '../../../../src/money/orchestrations/pricing/explain.ts'
import { type MarketTerms, marketPrice } from '../../../../src/money/orchestrations/pricing/market.ts'
import { parAmounts } from '../../../../src/money/orchestrations/pricing/par.ts'
import { type UsableBook, usableBook } from '../../../../src/money/orchestrations/pricing/usable-book.ts'
import { propertySettings } from '../../../support/property.ts'
import { BTC, BTCUSD, baseUnits, book, levels, pegBook, SETTINGS, USD, USDC, USDCUSD } from './books.ts'

const SELL: MarketTerms = { market: BTCUSD, source: BTC, destination: USD }
const BUY: MarketTerms = { market: BTCUSD, source: USD, destination: BTC }

function usable(found: Parameters<typeof usableBook>[0]): UsableBook {
  const result = usableBook(found, { settings: SETTINGS, isSandbox: false })
  if (typeof result === 'string') throw new Error(result)
  return result
}

/** A conversion at the market as the store gives it. */
function sold(terms: MarketTerms, amount: bigint, takenBefore: bigint, settings = SETTINGS): StoredConversion {
  const deep = usable(
    book({
      bids: levels([6_000_000, '0.7'], [5_999_900, '0.3'], [5_999_000, '50']),
      asks: levels([6_000_100, '0.7'], [6_000_200, '0.3'], [6_001_000, '50']),
    }),
  )
  const price = marketPrice(terms, amount, deep, takenBefore, settings)
  if ('kind' in price) throw new Error(price.detail)
  const evidence = marketEvidence(terms, amount, deep, takenBefore, price, settings)
  return {
    source_asset: terms.source.symbol,
    source_amount: String(amount),
    destination_asset: terms.destination.symbol,
    destination_amount: String(price.destinationAmount),
    market: 'BTCUSD',
    side: evidence.side,
    base_amount: evidence.base_amount.includes('.') ? `${evidence.base_amount}000` : evidence.base_amount,
    price: price.price,
    price_source: 'BTCUSD',
    evidence: stored(evidence),
  }
}

function atPar(amount: bigint): StoredConversion {
  const amounts = parAmounts(amount, USDC, USD)
  if ('kind' in amounts) throw new Error(amounts.detail)
  const pegs = [{ market: USDCUSD, book: usable(pegBook(9_990)) }]
  return {
    source_asset: 'USDC',
    source_amount: String(amounts.converted),
    destination_asset: 'USD',
    destination_amount: String(amounts.destination),
    market: null,
    side: null,
    base_amount: null,
    price: '1',
    price_source: 'par',
    evidence: stored(parEvidence({ source: USDC, destination: USD }, amounts, pegs, SETTINGS)),
  }
}

function stored(evidence: PriceEvidence): unknown {
  return JSON.parse(JSON.stringify(evidence))
}

const SETTINGS_WITH_LIMIT = { ...SETTINGS, notionalMax: new Map([['USD', 10n ** 12n]]) }

describe('the evidence of a price', () => {
  it("a price's evidence explains a sale to the digit", () => {
    expect(explainPrice(sold(SELL, 123_456_789n, baseUnits('0.1')))).toEqual({
      adds_up: true,
      differences: [],
      steps: [
        '3 levels from BTCUSD bids: 1.23456789 BTC for 74070.4277211 USD',
        'the price is 59997.047000064127700583 USD for 1 BTC, with the mid at 60000.500',
        '74070.4277211 USD is paid as 74070.42, and 0.0077211 stays with the desk',
      ],
    })
  })

  it("a price's evidence explains a purchase, and the part of the amount that buys nothing", () => {
    const { adds_up: addsUp, steps } = explainPrice(sold(BUY, 1_234_567n, 0n))
    expect(addsUp).toBe(true)
    expect(steps).toEqual([
      '1 level from BTCUSD asks: 0.205757737371043815 BTC for 12345.669999999999943815 USD',
      'the price is 0.000016666388893518 BTC for 1 USD, with the mid at 60000.500',
      '0.205757737371043815 BTC is paid as 0.20575773, and 0.000000007371043815 stays with the desk',
      '0.000000000000056185 USD buys no whole unit and stays with the desk',
    ])
  })

  it("a price's evidence explains a conversion at par and its remainder", () => {
    expect(explainPrice(atPar(1_234_567n))).toEqual({
      adds_up: true,
      differences: [],
      steps: [
        '1.23 USDC at par is 1.23 USD',
        '0.004567 USDC is finer than 2 decimals and stays with the profile',
        'USDCUSD is at 0.99900, 50 bps are allowed',
      ],
    })
  })

  it("a price's evidence adds up for every priced orchestration", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.bigInt(1_000n, 10n ** 9n),
        fc.bigInt(0n, 2n * 10n ** 18n),
        (isSale, units, taken) => {
          const found = sold(isSale ? SELL : BUY, isSale ? units : units / 10n, taken)
          expect(explainPrice(found)).toMatchObject({ adds_up: true, differences: [] })
        },
      ),
      propertySettings(300),
    )
  })
})

/** What nothing in a price follows from: which book it was, and settings that bound more than was used. */
const UNPROVED = /^(book|pegs\/0\/book)\/(cursor|time|simulated)$|^settings\//

/** Paths of all values in a document. */
function pathsOf(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null) return [prefix.slice(1)]
  return Object.entries(value).flatMap(([name, member]) => pathsOf(member, `${prefix}/${name}`))
}

/** A copy in which one value is another one. */
function changed(document: unknown, path: string, change: (value: unknown) => unknown): unknown {
  const copy = structuredClone(document) as Record<string, unknown>
  const names = path.split('/')
  const last = names.pop() as string
  const parent = names.reduce((value, name) => value[name] as Record<string, unknown>, copy)
  parent[last] = change(parent[last])
  return copy
}

/** The next digit in the place of the last one; another word for a word. */
function other(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  const text = String(value)
  return /\d$/.test(text) ? text.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10)) : `${text}X`
}

describe('changed evidence', () => {
  const originals: readonly (readonly [string, StoredConversion])[] = [
    ['of a sale', sold(SELL, 123_456_789n, baseUnits('0.1'), SETTINGS_WITH_LIMIT)],
    ['of a purchase', sold(BUY, 7_000_000n, baseUnits('0.1'))],
    ['at par', atPar(1_234_567n)],
  ]

  it.each(originals)('changed evidence %s is noticed at every value that the price follows from', (_, original) => {
    const paths = pathsOf(original.evidence).filter((path) => !UNPROVED.test(path))
    // Of the last level more than is needed may be there.
    const checked = paths.filter((path) => path !== 'levels/2/amount')
    expect(checked.length).toBeGreaterThan(10)
    const unnoticed = checked.filter(
      (path) => explainPrice({ ...original, evidence: changed(original.evidence, path, other) }).adds_up,
    )
    expect(unnoticed).toEqual([])
  })

  it.each(originals)('evidence %s that lacks a value or has another type is noticed', (_, original) => {
    const paths = pathsOf(original.evidence).filter((path) => !UNPROVED.test(path))
    for (const value of [undefined, null, {}, [], -1, '-1', 'x']) {
      const unnoticed = paths.filter(
        (path) => explainPrice({ ...original, evidence: changed(original.evidence, path, () => value) }).adds_up,
      )
      expect(unnoticed, String(value)).toEqual([])
    }
    for (const evidence of [undefined, null, {}, [], 'par', { kind: 'par' }, { kind: 'market' }]) {
      expect(explainPrice({ ...original, evidence }).adds_up).toBe(false)
    }
  })

  it.each(originals)('changed evidence %s is noticed in the columns beside it', (_, original) => {
    const columns = Object.keys(original).filter((column) => column !== 'evidence') as (keyof StoredConversion)[]
    for (const column of columns) {
      const value = original[column] === null ? 'BTCUSD' : other(original[column])
      if (original.market === null && (column === 'side' || column === 'base_amount')) continue
      expect(explainPrice({ ...original, [column]: value }).adds_up, column).toBe(false)
    }
  })

  it('evidence of an earlier version of the program, which named no cursor, adds up', () => {
    const [, sale] = originals[0]!
    const { cursor, time, ...book } = (sale.evidence as { readonly book: Record<string, unknown> }).book
    const earlier = { ...book, epoch: 'e', version: 7, committed_at: `${time}` }
    expect(cursor).toBe('pEcT_n4Z.7')
    expect(explainPrice({ ...sale, evidence: changed(sale.evidence, 'book', () => earlier) })).toMatchObject({
      adds_up: true,
      differences: [],
    })
  })

  it('an explanation of changed evidence names each value that differs, and its right value', () => {
    const [, sale] = originals[0]!
    const evidence = changed(sale.evidence, 'levels/1/taken', () => '0.4')
    expect(explainPrice({ ...sale, destination_amount: '1', evidence }).differences).toEqual([
      { value: 'evidence.levels.1.taken', stored: '0.4', recomputed: '0.3' },
      { value: 'conversion.destination_amount', stored: '1', recomputed: '7407042' },
    ])
  })

  it('changed evidence is noticed when a bound is tighter than the price', () => {
    const [, sale] = originals[0]!
    const tight = (path: string, value: unknown) =>
      explainPrice({ ...sale, evidence: changed(sale.evidence, path, () => value) }).differences
    const unreadable = (reason: string) => [
      { value: 'evidence', stored: `unreadable: ${reason}`, recomputed: 'readable' },
    ]
    expect(tight('settings/slippage_bps_max', 0)).toEqual(
      unreadable('BTCUSD: the average price is more than 0 bps worse than the mid'),
    )
    expect(tight('settings/notional_max', '74070.41')).toEqual(
      unreadable('BTCUSD: the amount is above conversion.notional_max: USD'),
    )
    const [, par] = originals[2]!
    const outside = explainPrice({ ...par, evidence: changed(par.evidence, 'settings/peg_bps_max', () => 9) })
    expect(outside.differences).toEqual(unreadable('USDCUSD is more than 9 bps away from 1'))
  })
})
