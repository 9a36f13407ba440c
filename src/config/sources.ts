/**
 * The `sources` of a configured market: what each text means, and which may stand side by side. It knows what the symbols
 * of each kind of feed look like, not how a venue is spoken to.
 */
import { isObject } from '../base/json-value.ts'
import { VENUES } from '../feed/venues.ts'
import { isSimulator, isVenueSource, type MarketSource, sourceText } from '../markets/configured-market.ts'
import { type Feeds, unknownFeedText } from './feeds.ts'
import { given, type Problem } from './setting-kinds.ts'

/** Longest maximum age of a source, a day. */
const MAX_AGE_MILLISECONDS_MAX = 86_400_000

/** More venues than there are, less than anybody can watch. */
export const SOURCES_MAX = 8

/** What is wrong with a source in the light of the feeds that there are. */
export function feedProblem(source: MarketSource, feeds: Feeds): string | undefined {
  if (!isVenueSource(source)) return undefined
  const feed = feeds.get(source.feed)
  if (feed === undefined)
    return `names the feed ${source.feed}, which is not configured (${unknownFeedText(source.feed, feeds)})`
  const { symbolPattern, symbolExample } = VENUES[feed.kind]
  if (symbolPattern.test(source.symbol)) return undefined
  return `${given(sourceText(source))}, not like ${source.feed}:${symbolExample}`
}

/** A source as a list of sources has it: its text, or an object where it has a maximum age of its own. */
export function showSource(source: MarketSource): unknown {
  const { maxAgeMilliseconds } = source
  return maxAgeMilliseconds === undefined
    ? sourceText(source)
    : { source: sourceText(source), max_age_ms: maxAgeMilliseconds }
}

/** How sources are written, for messages and pages. */
export const SOURCE_FORMS: readonly string[] = ['simulator', 'FEED:SYMBOL', 'replay:FILE']

/** What is wrong with the sources of markets as they were written, in the light of the feeds that there are. */
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

/** Reads a list of sources, noting everything that is wrong with it; `path` stands before what is noted. */
export function readSources(value: unknown, path: string, problems: Problem[]): readonly MarketSource[] {
  const note = (place: string, message: string) => problems.push({ path: path + place, message })
  if (!Array.isArray(value) || value.length === 0) {
    note('', `${given(value)}, not a list of sources`)
    return []
  }
  if (value.length > SOURCES_MAX) {
    note('', `names ${value.length} sources; ${SOURCES_MAX} are the most`)
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
    else note(`[${index}]`, `is ${text}, which sources[${earlier}] is already`)
    sources.push(source)
  }
  const alone = sources.find(standsAlone)
  if (alone !== undefined && places.size > 1) {
    note(
      '',
      `names ${sourceText(alone)} beside other sources; its book is not the market's of now, so it has to stand alone`,
    )
  }
  return sources
}

/** A made-up book, or one of the past, added to a real one is a wrong book. */
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

/** A maximum age in milliseconds, or what is wrong with it. */
export function maxAgeOf(value: unknown): number | string {
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_AGE_MILLISECONDS_MAX
  return fits ? value : `${given(value)}, not a whole number of milliseconds from 1 to ${MAX_AGE_MILLISECONDS_MAX}`
}

/** The source that a text names, or why there is none; whether there is such a feed is `feedProblem`'s to say. */
function sourceOf(value: unknown): MarketSource | string {
  if (typeof value !== 'string' || value === '') return `${given(value)}, not ${SOURCE_FORMS.join(' or ')}`
  const colon = value.indexOf(':')
  const feed = colon < 0 ? value : value.slice(0, colon)
  const symbol = colon < 0 ? '' : value.slice(colon + 1)
  if (feed === 'simulator') return colon < 0 ? { feed, symbol } : 'the simulator takes no symbol'
  if (feed === 'replay' && !isPath(symbol)) return `${given(value)}, not like replay:FILE`
  return { feed, symbol }
}

function isPath(text: string): boolean {
  return /^[^\0]{1,4096}$/.test(text)
}
