/**
 * The `markets` setting: a configured market's form, its validation, and the simulated markets that `demo` serves by
 * default. No other verb has default markets. Also `demo`'s other defaults.
 */
import { isObject, type JsonObject } from '../../platform/base/json-value.ts'
import { nearest } from '../../platform/base/nearest.ts'
import type { AggregationPolicy } from '../../streaming/market/aggregate.ts'
import {
  type Aggregation,
  type ConfiguredMarket,
  FEED_GROUP_DEFAULT,
  isSimulator,
} from '../../streaming/market/configured-market.ts'
import { TEST_BANK } from './banking.ts'
import { given, type Problem, type Reading, type Setting } from './setting-kinds.ts'
import { maxAgeOf, readSources, showSource } from './sources.ts'

/** Most decimals with which the simulator's prices and amounts are exact integers. */
const SIMULATOR_DECIMALS_MAX = 8
/** More levels per side than any venue offers. */
const DEPTH_MAX = 1_000_000
/**
 * More than the pairs that any venue lists. It limits what is built from all markets at once: the answer to
 * `GET /v2/markets` (1.3 MB for 5,000 markets) and one connection's subscriptions.
 */
export const MARKETS_MAX = 5_000
const MEMBERS = [
  'symbol',
  'base_asset',
  'quote_asset',
  'price_decimals',
  'amount_decimals',
  'depth',
  'sources',
  'aggregation',
  'feed_group',
]
export const FEED_GROUP = /^[a-z0-9][a-z0-9_-]{0,62}$/
export const FEED_GROUP_RULE = '1 to 63 small letters, digits, - and _'
const POLICIES: readonly AggregationPolicy[] = ['recency', 'priority']
const AGGREGATION_DEFAULT: Aggregation = { policy: 'recency' }

const SIMULATED_MARKETS: readonly ConfiguredMarket[] = [
  simulated('BTC', 'USD', 2, 8),
  simulated('ETH', 'USD', 2, 8),
  simulated('SOL', 'USD', 3, 6),
]

/** The defaults for `demo` where they differ from the settings table, as in a configuration file. */
export const DEMO_DEFAULTS = {
  markets: SIMULATED_MARKETS.map(showMarket),
  'simulator.allowed': true,
  'rest.sandbox': true,
  'banking.instructions': TEST_BANK,
  'accounts.approval': 'auto',
  'destinations.required': false,
  'destinations.approval': 'auto',
  'destinations.cooling_hours': 0,
} as const

/** The markets using the simulator although it is not allowed, with their place in the setting. */
export function simulatorProblems(configured: readonly ConfiguredMarket[], isAllowed: boolean): readonly Problem[] {
  if (isAllowed) return []
  return configured.flatMap(({ sources }, index) => {
    const place = sources.findIndex(isSimulator)
    if (place < 0) return []
    const message =
      'is simulator, whose prices are invented: simulator.allowed must be true to serve them (it is false)'
    return [{ path: `[${index}].sources[${place}]`, message }]
  })
}

export function markets(common: {
  initial: readonly ConfiguredMarket[]
  meaning: string
  live: true
}): Setting<readonly ConfiguredMarket[]> {
  return {
    ...common,
    accepts: 'a list of markets',
    secret: false,
    structured: true,
    read: readMarkets,
    show: (value) => value.map(showMarket),
  }
}

function simulated(baseAsset: string, quoteAsset: string, priceDecimals: number, amountDecimals: number) {
  const symbol = baseAsset + quoteAsset
  return {
    definition: { symbol, baseAsset, quoteAsset, priceDecimals, amountDecimals, depth: 1000 },
    sources: [{ feed: 'simulator', symbol: '' }],
    aggregation: AGGREGATION_DEFAULT,
    feedGroup: FEED_GROUP_DEFAULT,
  } as const
}

function readMarkets(raw: unknown): Reading<readonly ConfiguredMarket[]> {
  if (!Array.isArray(raw)) return { problems: [{ path: '', message: 'is not a list of markets' }] }
  if (raw.length > MARKETS_MAX) {
    return { problems: [{ path: '', message: `has ${raw.length} markets, but at most ${MARKETS_MAX} are allowed` }] }
  }
  const problems: Problem[] = []
  const configured: ConfiguredMarket[] = []
  const places = new Map<string, number>()
  for (const [index, entry] of raw.entries()) {
    const parsed = new MarketEntry(entry, `[${index}]`)
    const market = parsed.read()
    // One by one: a broken entry can have more problems than a call takes arguments.
    for (const problem of parsed.problems) problems.push(problem)
    if (market === undefined) continue
    const { symbol } = market.definition
    const earlier = places.get(symbol)
    if (earlier === undefined) places.set(symbol, index)
    else problems.push({ path: `[${index}].symbol`, message: `is ${symbol}, which markets[${earlier}] already has` })
    configured.push(market)
  }
  return problems.length > 0 ? { problems } : { value: configured }
}

/** Reads one entry and collects its problems. */
class MarketEntry {
  readonly problems: Problem[] = []
  readonly #entry: JsonObject | undefined
  readonly #path: string

  constructor(entry: unknown, path: string) {
    this.#path = path
    this.#entry = isObject(entry) ? entry : undefined
  }

  read(): ConfiguredMarket | undefined {
    const entry = this.#entry
    if (entry === undefined) {
      this.#note('', 'is not an object')
      return undefined
    }
    for (const member of Object.keys(entry)) {
      if (MEMBERS.includes(member)) continue
      const meant = nearest(member, MEMBERS)
      this.#note(`.${member}`, meant === undefined ? 'is unknown' : `is unknown; did you mean ${meant}?`)
    }
    const symbol = this.#name('symbol', 20)
    const baseAsset = this.#name('base_asset', 12)
    const quoteAsset = this.#name('quote_asset', 12)
    if (symbol && baseAsset && quoteAsset && symbol !== baseAsset + quoteAsset) {
      this.#note('.symbol', `is ${symbol}, but base and quote make ${baseAsset}${quoteAsset}`)
    }
    const priceDecimals = this.#count('price_decimals', 18)
    const amountDecimals = this.#count('amount_decimals', 18)
    const depth = this.#count('depth', DEPTH_MAX)
    const sources = readSources(entry.sources, `${this.#path}.sources`, this.problems)
    const simulator = sources.findIndex(isSimulator)
    if (simulator >= 0 && Math.max(priceDecimals, amountDecimals) > SIMULATOR_DECIMALS_MAX) {
      this.#note(`.sources[${simulator}]`, `is simulator, which has at most ${SIMULATOR_DECIMALS_MAX} decimals`)
    }
    const aggregation = this.#aggregation()
    const feedGroup = this.#feedGroup()
    if (this.problems.length > 0) return undefined
    const definition = { symbol, baseAsset, quoteAsset, priceDecimals, amountDecimals, depth }
    return { definition, sources, aggregation, feedGroup }
  }

  #feedGroup(): string {
    const { feed_group: value = FEED_GROUP_DEFAULT } = this.#entry ?? {}
    if (typeof value === 'string' && FEED_GROUP.test(value)) return value
    this.#note('.feed_group', `${given(value)}, not ${FEED_GROUP_RULE}`)
    return FEED_GROUP_DEFAULT
  }

  #aggregation(): Aggregation {
    const value = this.#entry?.aggregation
    if (value === undefined) return AGGREGATION_DEFAULT
    if (!isObject(value)) {
      this.#note('.aggregation', `${given(value)}, not an object`)
      return AGGREGATION_DEFAULT
    }
    const { policy = AGGREGATION_DEFAULT.policy, max_age_ms: age, ...rest } = value
    for (const member of Object.keys(rest)) {
      this.#note(`.aggregation.${member}`, 'is unknown (there are policy and max_age_ms)')
    }
    const known = POLICIES.find((one) => one === policy)
    if (known === undefined) this.#note('.aggregation.policy', `${given(policy)}, not ${POLICIES.join(' or ')}`)
    const maxAge = age === undefined ? undefined : maxAgeOf(age)
    if (typeof maxAge === 'string') this.#note('.aggregation.max_age_ms', maxAge)
    const aggregation = { policy: known ?? AGGREGATION_DEFAULT.policy }
    return typeof maxAge === 'number' ? { ...aggregation, maxAgeMilliseconds: maxAge } : aggregation
  }

  #name(member: string, lengthMax: number): string {
    const value = this.#entry?.[member]
    if (typeof value === 'string' && value.length <= lengthMax && /^[A-Z0-9]+$/.test(value)) return value
    this.#note(`.${member}`, `${given(value)}, not 1 to ${lengthMax} capital letters and digits`)
    return ''
  }

  #count(member: string, max: number): number {
    const value = this.#entry?.[member]
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value
    this.#note(`.${member}`, `${given(value)}, not a whole number from 0 to ${max}`)
    return 0
  }

  #note(member: string, message: string): void {
    this.problems.push({ path: this.#path + member, message })
  }
}

function showMarket({ definition, sources, aggregation, feedGroup }: ConfiguredMarket) {
  return {
    symbol: definition.symbol,
    base_asset: definition.baseAsset,
    quote_asset: definition.quoteAsset,
    price_decimals: definition.priceDecimals,
    amount_decimals: definition.amountDecimals,
    depth: definition.depth,
    sources: sources.map(showSource),
    ...(sources.length < 2 ? {} : { aggregation: showAggregation(aggregation) }),
    ...(feedGroup === FEED_GROUP_DEFAULT ? {} : { feed_group: feedGroup }),
  }
}

function showAggregation({ policy, maxAgeMilliseconds }: Aggregation): unknown {
  return maxAgeMilliseconds === undefined ? { policy } : { policy, max_age_ms: maxAgeMilliseconds }
}
