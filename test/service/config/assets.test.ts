/** The settings about assets and rules: what they take, what they refuse, and the defaults. */
import { describe, expect, it } from 'vitest'
import { minorUnitsOf } from '../../../src/service/config/asset-amounts.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import type { Config } from '../../../src/service/config/settings.ts'

function load(flags: Record<string, string>): Config | string[] {
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
  return result.ok
    ? result.config
    : result.problems.map((problem) => describeProblem(problem).replace(/ \(from .*/, ''))
}

function read(flags: Record<string, string>): Config {
  const config = load(flags)
  if (Array.isArray(config)) throw new Error(config.join('\n'))
  return config
}

function problems(...assets: readonly unknown[]): string[] {
  const result = load({ assets: JSON.stringify(assets) })
  return Array.isArray(result) ? result : []
}

const USDC = { symbol: 'USDC', decimals: 6, networks: ['ETHEREUM', 'SOLANA'] }

describe('assets', () => {
  it('assets are twelve by default, with their decimals and networks', () => {
    const { assets } = read({})
    expect(assets.map(({ symbol, decimals }) => `${symbol} ${decimals}`)).toEqual([
      'BTC 8',
      'ETH 18',
      'SOL 9',
      'BCH 8',
      'LTC 8',
      'DOGE 8',
      'XLM 7',
      'USD 2',
      'USDC 6',
      'USDG 6',
      'PYUSD 6',
      'USDP 6',
    ])
    expect(assets.filter(({ networks }) => networks.length === 0).map(({ symbol }) => symbol)).toEqual(['USD'])
  })

  it('assets may be money at a bank, also by omitting networks', () => {
    const text = '[{symbol: EUR, decimals: 2}, {symbol: JPY, decimals: 0, networks: []}]'
    expect(read({ assets: text }).assets).toEqual([
      { symbol: 'EUR', decimals: 2, networks: [] },
      { symbol: 'JPY', decimals: 0, networks: [] },
    ])
  })

  it('assets keep every rule of their members', () => {
    expect(problems(USDC)).toEqual([])
    expect(problems({ ...USDC, symbol: 'A'.repeat(12), decimals: 18 })).toEqual([])
    expect(problems({ ...USDC, symbol: 'A'.repeat(13), decimals: 19 })).toEqual([
      'assets[0].symbol is "AAAAAAAAAAAAA", not 1 to 12 capital letters and digits',
      'assets[0].decimals is 19, not a whole number from 0 to 18',
    ])
    expect(problems({ decimal: 6, networks: 'ETHEREUM' })).toEqual([
      'assets[0].decimal is unknown; did you mean decimals?',
      'assets[0].symbol is missing, not 1 to 12 capital letters and digits',
      'assets[0].decimals is missing, not a whole number from 0 to 18',
      'assets[0].networks is "ETHEREUM", not a list of networks',
    ])
    expect(problems({ ...USDC, symbol: 'usdc' }, { ...USDC, decimals: 1.5 }, 7)).toHaveLength(3)
    expect(problems({ ...USDC, networks: ['TRON', 'SOLANA', 'SOLANA'] })).toEqual([
      expect.stringContaining('assets[0].networks[0] is "TRON", not one of BITCOIN, '),
      'assets[0].networks[2] is SOLANA, which is named twice',
    ])
    expect(load({ assets: 'USDC' })).toEqual(['assets is not a list of assets'])
  })

  it('assets are unique', () => {
    expect(problems(USDC, { ...USDC, decimals: 2 })).toEqual(['assets[1].symbol is USDC, which assets[0] already has'])
  })
})

describe('settings of rules', () => {
  it('settings of rules have defaults that need no approval and keep the deprecated member', () => {
    const config = read({})
    expect(config['rules.approval']).toBe('auto')
    expect(config['rest.rules_field']).toBe(true)
    expect(config['conversion.par_assets']).toEqual(['USD', 'USDC', 'USDG', 'PYUSD', 'USDP'])
  })

  it('settings of rules accept their words and nothing else', () => {
    expect(read({ 'rest.rules_field': 'false' })['rest.rules_field']).toBe(false)
    expect(read({ 'rest.rules_field': 'true' })['rest.rules_field']).toBe(true)
    expect(load({ 'rest.rules_field': 'no' })).toEqual(['rest.rules_field is "no", not true or false'])
    expect(load({ 'rules.approval': 'none' })).toEqual(['rules.approval is "none", not one of auto, required'])
    expect(read({ 'conversion.par_assets': '[USD, USDC]' })['conversion.par_assets']).toEqual(['USD', 'USDC'])
    expect(read({ 'conversion.par_assets': '[]' })['conversion.par_assets']).toEqual([])
    expect(load({ 'conversion.par_assets': '[usd]' })).toEqual([
      'conversion.par_assets[0] is "usd", but accepted are asset symbols',
    ])
  })
})

describe('settings of conversions', () => {
  it('settings of conversions have defaults, and no limits', () => {
    expect(read({})).toMatchObject({
      'conversion.peg_bps_max': 50,
      'conversion.slippage_bps_max': 100,
      'conversion.depth_seconds': 10,
      'conversion.book_age_seconds_max': 5,
      'conversion.notional_max': new Map(),
      'conversion.desk_limits': new Map(),
    })
  })

  it('settings of conversions take amounts by asset, as texts or whole numbers', () => {
    const config = read({ 'conversion.desk_limits': '{USD: 1000, BTC: "0.00000001", USDC: 0}' })
    expect(config['conversion.desk_limits']).toEqual(
      new Map([
        ['USD', '1000'],
        ['BTC', '0.00000001'],
        ['USDC', '0'],
      ]),
    )
    expect(minorUnitsOf(config['conversion.desk_limits'], config.assets)).toEqual(
      new Map([
        ['BTC', 1n],
        ['USD', 100_000n],
        ['USDC', 0n],
      ]),
    )
    expect(read({ 'conversion.notional_max': '' })['conversion.notional_max']).toEqual(new Map())
  })

  it('settings of conversions refuse invalid amounts, and those of other assets', () => {
    const number = 'not a decimal number from 0. Put one with a fraction into quotes: "0.5"'
    expect(load({ 'conversion.notional_max': '{USD: 0.5, BTC: -1, usd: 1, ETH: "1e3"}' })).toEqual([
      `conversion.notional_max.USD is 0.5, ${number}`,
      `conversion.notional_max.BTC is -1, ${number}`,
      'conversion.notional_max.usd is not an asset symbol',
      `conversion.notional_max.ETH is "1e3", ${number}`,
    ])
    expect(load({ 'conversion.notional_max': '[USD]' })).toEqual([
      'conversion.notional_max is ["USD"], not a map of assets to amounts such as {USD: 1000}',
    ])
    expect(load({ 'conversion.desk_limits': '{USD: "0.001", XRP: 1}' })).toEqual([
      'conversion.desk_limits.USD is 0.001, which has more decimals than USD (2)',
      expect.stringMatching(/^conversion\.desk_limits\.XRP is not one of BTC, ETH, /),
    ])
  })
})
