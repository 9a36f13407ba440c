/**
 * A kind of setting that assigns an amount to assets: `{USD: 1000, BTC: "0.5"}`. Amounts from 0 up are kept as text.
 * Whether the assets exist and have enough decimals is checked once the whole configuration is loaded.
 */
import type { Asset } from '../../contract/assets.ts'
import { parseDecimal } from '../../platform/base/decimal.ts'
import { isObject } from '../../platform/base/json-value.ts'
import { isAssetSymbol } from './assets.ts'
import { given, type Problem, type Setting } from './setting-kinds.ts'

/** Amounts as decimal text, by asset symbol. */
export type AssetAmounts = ReadonlyMap<string, string>

const AMOUNT = /^[0-9]{1,20}(\.[0-9]{1,18})?$/

export function assetAmounts(common: { readonly live?: true; readonly meaning: string }): Setting<AssetAmounts> {
  return {
    ...common,
    initial: new Map(),
    accepts: 'a map from asset symbols to amounts',
    secret: false,
    structured: true,
    show: (value) => Object.fromEntries(value),
    read(raw) {
      if (raw === null || raw === '') return { value: new Map() }
      if (!isObject(raw)) {
        return {
          problems: [{ path: '', message: `${given(raw)}, not a map of assets to amounts such as {USD: 1000}` }],
        }
      }
      const amounts = new Map<string, string>()
      const problems: Problem[] = []
      for (const [symbol, value] of Object.entries(raw)) {
        const amount = amountText(value)
        if (!isAssetSymbol(symbol)) problems.push({ path: `.${symbol}`, message: 'is not an asset symbol' })
        else if (amount !== undefined) amounts.set(symbol, amount)
        else {
          const message = `${given(value)}, not a decimal number from 0. Put one with a fraction into quotes: "0.5"`
          problems.push({ path: `.${symbol}`, message })
        }
      }
      return problems.length > 0 ? { problems } : { value: amounts }
    },
  }
}

/** Problems with amounts in unknown assets, or with more decimals than their asset. */
export function assetAmountProblems(amounts: AssetAmounts, assets: readonly Asset[]): readonly Problem[] {
  return [...amounts].flatMap(([symbol, amount]): Problem[] => {
    const path = `.${symbol}`
    const asset = assets.find((candidate) => candidate.symbol === symbol)
    if (asset === undefined) {
      return [{ path, message: `is not one of ${assets.map((candidate) => candidate.symbol).join(', ')}` }]
    }
    if (typeof parseDecimal(amount, asset.decimals) !== 'string') return []
    return [{ path, message: `is ${amount}, which has more decimals than ${symbol} (${asset.decimals})` }]
  })
}

/** Amounts in minor units. Every asset must be configured. */
export function minorUnitsOf(amounts: AssetAmounts, assets: readonly Asset[]): ReadonlyMap<string, bigint> {
  return new Map(
    assets.flatMap(({ symbol, decimals }) => {
      const amount = amounts.get(symbol)
      const value = amount === undefined ? 'malformed' : parseDecimal(amount, decimals)
      return typeof value === 'string' ? [] : [[symbol, BigInt(value)] as const]
    }),
  )
}

/** A YAML number with a fraction is refused: its text is lost. */
export function amountText(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && AMOUNT.test(text) ? text : undefined
}
