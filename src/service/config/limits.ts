/** The kind of the setting `limits.defaults`: rows of scope, asset, window and amount. */
import type { Asset } from '../../contract/assets.ts'
import { LIMIT_SCOPES, LIMIT_WINDOWS, type Limit, type LimitScope, type LimitWindow } from '../../money/limits/model.ts'
import { parseDecimal } from '../../platform/base/decimal.ts'
import { isObject } from '../../platform/base/json-value.ts'
import { amountText, assetAmountProblems } from './asset-amounts.ts'
import { given, type Problem, type Setting } from './setting-kinds.ts'

/** A limit with its amount as decimal text. */
export interface ConfiguredLimit {
  readonly scope: LimitScope
  readonly asset: string
  readonly window: LimitWindow
  readonly amount: string
}

const MEMBERS = ['scope', 'asset', 'window', 'amount']

export function limitRows(common: {
  readonly live?: true
  readonly meaning: string
}): Setting<readonly ConfiguredLimit[]> {
  return {
    ...common,
    initial: [],
    accepts: 'a list of {scope, asset, window, amount}',
    secret: false,
    structured: true,
    show: (value) => value,
    read(raw) {
      if (raw === null || raw === '') return { value: [] }
      if (!Array.isArray(raw)) return { problems: [{ path: '', message: `${given(raw)}, not a list of limits` }] }
      const rows: ConfiguredLimit[] = []
      const problems: Problem[] = []
      for (const [index, value] of raw.entries()) {
        const row = readRow(value)
        const add = (message: string) => problems.push({ path: `[${index}]`, message })
        if (typeof row === 'string') add(row)
        else if (rows.some((other) => keyOf(other) === keyOf(row))) add('is given twice, by scope, asset and window')
        else rows.push(row)
      }
      return problems.length > 0 ? { problems } : { value: rows }
    },
  }
}

function keyOf({ scope, asset, window }: ConfiguredLimit): string {
  return `${scope} ${asset} ${window}`
}

/** The row, or why it is not one. */
function readRow(value: unknown): ConfiguredLimit | string {
  if (!isObject(value)) return `${given(value)}, not a map with ${MEMBERS.join(', ')}`
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) return `has ${unknown}, which is not one of ${MEMBERS.join(', ')}`
  const scope = LIMIT_SCOPES.find((name) => name === value.scope)
  const window = LIMIT_WINDOWS.find((name) => name === value.window)
  const amount = amountText(value.amount)
  if (scope === undefined) return `has a scope that ${given(value.scope)}, not one of ${LIMIT_SCOPES.join(', ')}`
  if (window === undefined) return `has a window that ${given(value.window)}, not one of ${LIMIT_WINDOWS.join(', ')}`
  if (typeof value.asset !== 'string') return `has an asset that ${given(value.asset)}, not a symbol`
  if (amount === undefined) {
    return `has an amount that ${given(value.amount)}, not a decimal number from 0. Put one with a fraction into quotes: "0.5"`
  }
  return { scope, asset: value.asset, window, amount }
}

/** Problems with limits in unknown assets, or with more decimals than their asset. */
export function limitProblems(rows: readonly ConfiguredLimit[], assets: readonly Asset[]): readonly Problem[] {
  return rows.flatMap(({ asset, amount }, index) =>
    assetAmountProblems(new Map([[asset, amount]]), assets).map(({ path, message }) => ({
      path: `[${index}]${path}`,
      message,
    })),
  )
}

/** The limits in minor units. Every asset must be configured. */
export function limitsIn(rows: readonly ConfiguredLimit[], assets: readonly Asset[]): readonly Limit[] {
  return rows.flatMap(({ amount, ...row }) => {
    const decimals = assets.find(({ symbol }) => symbol === row.asset)?.decimals
    const value = decimals === undefined ? 'malformed' : parseDecimal(amount, decimals)
    return typeof value === 'string' ? [] : [{ ...row, amount: BigInt(value) }]
  })
}
