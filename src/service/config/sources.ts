/**
 * A configured market's `sources`: how each entry is parsed, and which may be combined. The symbols' form comes from
 * the venue table.
 */

import { resolve } from 'node:path'
import { isObject } from '../../platform/base/json-value.ts'
import {
  type ConfiguredMarket,
  isIngested,
  isSimulator,
  isVenueSource,
  type MarketSource,
  sourceText,
} from '../../streaming/market/configured-market.ts'
import { VENUES } from '../../streaming/sources/venues/venues.ts'
import { type Feeds, unknownFeedText } from './feeds.ts'
import { hasRole } from './roles.ts'
import { given, type Problem } from './setting-kinds.ts'

/** A source's longest maximum age, a day. */
const MAX_AGE_MILLISECONDS_MAX = 86_400_000

/** Most sources for one market. */
export const SOURCES_MAX = 8

/** Symbols that a publisher may use. */
const PUBLISHED_SYMBOLS = { symbolPattern: /^[\x21-\x7e]{1,64}$/, symbolExample: 'BTCUSD' }

/** A module's file, and its engine's symbol. */
const MODULE = /^[^\0]{1,4096}:[\x21-\x39\x3b-\x7e]{1,64}$/

/** A source's problem with the configured feeds, if there is one. */
export function feedProblem(source: MarketSource, feeds: Feeds): string | undefined {
  if (!isVenueSource(source)) return undefined
  const feed = feeds.get(source.feed)
  if (feed === undefined)
    return `names the feed ${source.feed}, which is not configured (${unknownFeedText(source.feed, feeds)})`
  const { symbolPattern, symbolExample } = feed.kind === 'tidegate' ? PUBLISHED_SYMBOLS : VENUES[feed.kind]
  if (symbolPattern.test(source.symbol)) return undefined
  return `${given(sourceText(source))}, not like ${source.feed}:${symbolExample}`
}

/** A source as in the configuration: its text, or an object when it has its own maximum age. */
export function showSource(source: MarketSource): unknown {
  const { maxAgeMilliseconds } = source
  return maxAgeMilliseconds === undefined
    ? sourceText(source)
    : { source: sourceText(source), max_age_ms: maxAgeMilliseconds }
}

/** A source's forms, for messages and pages. */
export const SOURCE_FORMS: readonly string[] = [
  'simulator',
  'ingest',
  'FEED:SYMBOL',
  'module:FILE:SYMBOL',
  'replay:FILE',
]

/** All markets' source problems as written, with the configured feeds. */
export function feedProblems(markets: unknown, feeds: Feeds): readonly Problem[] {
  const problems: Problem[] = []
  for (const [index, market] of (Array.isArray(markets) ? (markets as unknown[]) : []).entries()) {
    const sources = isObject(market) && Array.isArray(market.sources) ? (market.sources as unknown[]) : []
    for (const [place, entry] of sources.slice(0, SOURCES_MAX).entries()) {
      const source = sourceOf(isObject(entry) ? entry.source : entry)
      const message = typeof source === 'string' ? undefined : feedProblem(source, feeds)
      if (message !== undefined) problems.push({ path: `[${index}].sources[${place}]`, message })
    }
  }
  return problems
}

/** The settings that decide where engines publish. */
interface IngestSettings {
  readonly roles: readonly string[]
  /** Empty: this process has no ingest listener. */
  readonly 'ingest.port': number | ''
}

/**
 * Whether engines can publish to the service: to this process, or perhaps to one with the role `feed`. Its listener is
 * unknown here, and a reload may add the first market that is published to it.
 */
export function takesPublications({ roles, 'ingest.port': port }: IngestSettings): boolean {
  return port !== '' || !hasRole({ roles }, 'feed')
}

/**
 * The markets with the source `ingest`, in a process that has the role feed but no ingest listener, with their place in
 * the setting. Processes with other roles receive these markets over the bus.
 */
export function ingestProblems(
  configured: readonly ConfiguredMarket[],
  { roles, 'ingest.port': port }: IngestSettings,
): readonly Problem[] {
  if (port !== '' || !hasRole({ roles }, 'feed')) return []
  return configured.flatMap(({ sources }, index) => {
    const place = sources.findIndex(isIngested)
    if (place < 0) return []
    const message = 'is ingest, but ingest.port is empty. Set it, so that engines can publish the market'
    return [{ path: `[${index}].sources[${place}]`, message }]
  })
}

/**
 * Parses a list of sources and collects its problems.
 * @param path the list's place in the setting
 */
export function readSources(value: unknown, path: string, problems: Problem[]): readonly MarketSource[] {
  const note = (place: string, message: string) => problems.push({ path: path + place, message })
  if (!Array.isArray(value) || value.length === 0) {
    note('', `${given(value)}, not a list of sources`)
    return []
  }
  if (value.length > SOURCES_MAX) {
    note('', `names ${value.length} sources, but at most ${SOURCES_MAX} are allowed`)
    return []
  }
  const places = new Map<string, number>()
  const sources: MarketSource[] = []
  for (const [index, entry] of value.entries()) {
    const source = isObject(entry) ? sourceOfObject(entry) : sourceOf(entry)
    if (typeof source === 'string') {
      note(`[${index}]`, source)
      continue
    }
    const text = sourceText(source)
    const earlier = places.get(text)
    if (earlier === undefined) places.set(text, index)
    else note(`[${index}]`, `is ${text}, which sources[${earlier}] already names`)
    sources.push(source)
  }
  const alone = sources.find(standsAlone)
  if (alone !== undefined && places.size > 1) {
    note(
      '',
      `names ${sourceText(alone)} beside other sources, but a simulated or recorded book must be the only source`,
    )
  }
  return sources
}

/** A simulated or recorded book must not be added to a current one. */
function standsAlone(source: MarketSource): boolean {
  return isSimulator(source) || source.feed === 'replay'
}

/** `{source, max_age_ms}`. */
function sourceOfObject(entry: Readonly<Record<string, unknown>>): MarketSource | string {
  const unknown = Object.keys(entry).find((member) => member !== 'source' && member !== 'max_age_ms')
  if (unknown !== undefined) return `has the unknown member ${unknown} (there are source and max_age_ms)`
  const source = sourceOf(entry.source)
  if (typeof source === 'string' || entry.max_age_ms === undefined) return source
  const maxAgeMilliseconds = maxAgeOf(entry.max_age_ms)
  return typeof maxAgeMilliseconds === 'string'
    ? `has max_age_ms that ${maxAgeMilliseconds}`
    : { ...source, maxAgeMilliseconds }
}

/** A maximum age in milliseconds, or the problem with it. */
export function maxAgeOf(value: unknown): number | string {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_AGE_MILLISECONDS_MAX
  return fits ? value : `${given(value)}, not a whole number of milliseconds from 1 to ${MAX_AGE_MILLISECONDS_MAX}`
}

/** The source named by a text, or the problem with it. `feedProblem` checks whether its feed exists. */
function sourceOf(value: unknown): MarketSource | string {
  if (typeof value !== 'string' || value === '') return `${given(value)}, not ${SOURCE_FORMS.join(' or ')}`
  const colon = value.indexOf(':')
  const feed = colon < 0 ? value : value.slice(0, colon)
  const symbol = colon < 0 ? '' : value.slice(colon + 1)
  if (feed === 'simulator') return colon < 0 ? { feed, symbol } : 'the simulator takes no symbol'
  if (feed === 'module' && !MODULE.test(symbol)) return `${given(value)}, not like module:FILE:SYMBOL`
  if (feed === 'ingest') return colon < 0 ? { feed, symbol } : 'ingest takes no symbol: publishers use the market’s'
  if (feed === 'replay' && !isPath(symbol)) return `${given(value)}, not like replay:FILE`
  return { feed, symbol }
}

/** The markets with their modules' files relative to a folder. */
export function withModulesIn(folder: string, configured: readonly ConfiguredMarket[]): readonly ConfiguredMarket[] {
  return configured.map((market) => ({
    ...market,
    sources: market.sources.map((source) =>
      source.feed === 'module' ? { ...source, symbol: resolve(folder, source.symbol) } : source,
    ),
  }))
}

function isPath(text: string): boolean {
  return /^[^\0]{1,4096}$/.test(text)
}
