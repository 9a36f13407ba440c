/** The `assets` setting: a configured asset's form, its validation, and the default assets. */
import type { Asset } from '../../contract/assets.ts'
import { CRYPTO_NETWORK_NAMES, type CryptoNetwork } from '../../contract/crypto-networks.ts'
import { isObject } from '../../platform/base/json-value.ts'
import { nearest } from '../../platform/base/nearest.ts'
import { given, type Problem, type Reading, type Setting } from './setting-kinds.ts'

const SYMBOL = /^[A-Z0-9]{1,12}$/
/** Most decimals for an asset in the ledger: ether's. */
const DECIMALS_MAX = 18
const MEMBERS = ['symbol', 'decimals', 'networks']

export const ASSETS_DEFAULT: readonly Asset[] = [
  { symbol: 'BTC', decimals: 8, networks: ['BITCOIN'] },
  { symbol: 'ETH', decimals: 18, networks: ['ETHEREUM', 'BASE', 'ARBITRUM_ONE'] },
  { symbol: 'SOL', decimals: 9, networks: ['SOLANA'] },
  { symbol: 'BCH', decimals: 8, networks: ['BITCOIN_CASH'] },
  { symbol: 'LTC', decimals: 8, networks: ['LITECOIN'] },
  { symbol: 'DOGE', decimals: 8, networks: ['DOGECOIN'] },
  { symbol: 'XLM', decimals: 7, networks: ['STELLAR'] },
  { symbol: 'USD', decimals: 2, networks: [] },
  {
    symbol: 'USDC',
    decimals: 6,
    networks: ['ETHEREUM', 'SOLANA', 'BASE', 'POLYGON_POS', 'ARBITRUM_ONE', 'AVALANCHE', 'STELLAR'],
  },
  { symbol: 'USDG', decimals: 6, networks: ['ETHEREUM', 'SOLANA'] },
  { symbol: 'PYUSD', decimals: 6, networks: ['ETHEREUM', 'SOLANA', 'ARBITRUM_ONE', 'STELLAR'] },
  { symbol: 'USDP', decimals: 6, networks: ['ETHEREUM'] },
]

export function isAssetSymbol(text: string): boolean {
  return SYMBOL.test(text)
}

export function assets(common: {
  readonly initial: readonly Asset[]
  readonly meaning: string
  readonly live: true
}): Setting<readonly Asset[]> {
  return {
    ...common,
    accepts: 'a list of assets',
    secret: false,
    structured: true,
    read: readAssets,
    show: (value) => value,
  }
}

function readAssets(raw: unknown): Reading<readonly Asset[]> {
  if (!Array.isArray(raw)) return { problems: [{ path: '', message: 'is not a list of assets' }] }
  const problems: Problem[] = []
  const read = raw.map((entry: unknown, index) => readAsset(entry, `[${index}]`, problems))
  const places = new Map<string, number>()
  for (const [index, { symbol }] of read.entries()) {
    const earlier = places.get(symbol)
    if (earlier === undefined) places.set(symbol, index)
    if (symbol === '' || earlier === undefined) continue
    problems.push({ path: `[${index}].symbol`, message: `is ${symbol}, which assets[${earlier}] already has` })
  }
  return problems.length > 0 ? { problems } : { value: read }
}

/** An entry's valid parts. Problems are added to `problems`. */
function readAsset(entry: unknown, path: string, problems: Problem[]): Asset {
  const note = (member: string, message: string): void => void problems.push({ path: path + member, message })
  if (!isObject(entry)) {
    note('', 'is not an object')
    return { symbol: '', decimals: 0, networks: [] }
  }
  const { symbol, decimals, networks = [] } = entry
  for (const member of Object.keys(entry)) {
    if (MEMBERS.includes(member)) continue
    const meant = nearest(member, MEMBERS)
    note(`.${member}`, meant === undefined ? 'is unknown' : `is unknown; did you mean ${meant}?`)
  }
  const isSymbol = typeof symbol === 'string' && isAssetSymbol(symbol)
  if (!isSymbol) note('.symbol', `${given(symbol)}, not 1 to 12 capital letters and digits`)
  const isCount = typeof decimals === 'number' && Number.isInteger(decimals) && decimals >= 0
  const areDecimals = isCount && decimals <= DECIMALS_MAX
  if (!areDecimals) note('.decimals', `${given(decimals)}, not a whole number from 0 to ${DECIMALS_MAX}`)
  return {
    symbol: isSymbol ? symbol : '',
    decimals: areDecimals ? decimals : 0,
    networks: readNetworks(networks, (step, message) => note(`.networks${step}`, message)),
  }
}

function readNetworks(raw: unknown, note: (step: string, message: string) => void): readonly CryptoNetwork[] {
  if (!Array.isArray(raw)) {
    note('', `${given(raw)}, not a list of networks`)
    return []
  }
  const networks: CryptoNetwork[] = []
  for (const [index, name] of raw.entries()) {
    const network = CRYPTO_NETWORK_NAMES.find((candidate) => candidate === name)
    if (network === undefined) note(`[${index}]`, `${given(name)}, not one of ${CRYPTO_NETWORK_NAMES.join(', ')}`)
    else if (networks.includes(network)) note(`[${index}]`, `is ${network}, which is named twice`)
    else networks.push(network)
  }
  return networks
}
