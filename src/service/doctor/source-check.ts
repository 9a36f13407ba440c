/**
 * Asks the venues whether the configured markets' sources can be used: each pair is listed, has a book, and has no more
 * decimals than its market. A venue that cannot be asked causes a warning, never a problem, and every lookup is limited
 * to a few seconds. No connection outlives the check, and it is not counted in metrics.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { createLog } from '../../platform/base/log.ts'
import { isVenueSource, sourceText } from '../../streaming/market/configured-market.ts'
import type { MarketDefinition } from '../../streaming/market/event.ts'
import { lookUpUpstream } from '../../streaming/sources/tidegate/upstream-lookup.ts'
import type { Listing } from '../../streaming/sources/venues/venue.ts'
import { VENUES, type Venue } from '../../streaming/sources/venues/venues.ts'
import type { Check, ConfigProblem } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'

export interface SourceCheck extends Check {
  /** Number of venue sources without a problem. They may have warnings. */
  readonly goodCount: number
}

/** A market's source that is read through a feed, with its key in the configuration. */
interface PlacedSource {
  readonly key: string
  readonly market: MarketDefinition
  readonly feed: string
  readonly symbol: string
}

/**
 * Asks the venues behind all feeds that the markets name, in parallel.
 * @param origins where each value comes from
 */
export async function checkSources(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  clock: Clock,
): Promise<SourceCheck> {
  const sources = placedSources(config)
  const symbolsByFeed = new Map<string, Set<string>>()
  for (const { feed, symbol } of sources) {
    symbolsByFeed.set(feed, (symbolsByFeed.get(feed) ?? new Set()).add(symbol))
  }
  const answers = new Map(
    await Promise.all(
      [...symbolsByFeed].map(async ([name, symbols]) => [name, await ask(name, [...symbols], config, clock)] as const),
    ),
  )
  const problems: ConfigProblem[] = []
  const warnings: string[] = []
  let goodCount = 0
  for (const [name, symbols] of symbolsByFeed) warnings.push(...booksWarnings(name, symbols.size, config))
  for (const [name, answer] of answers) {
    if (typeof answer === 'string') warnings.push(`${name} could not be asked for its markets’ pairs: ${answer}`)
  }
  for (const source of sources) {
    const { key, feed, symbol } = source
    const answer = answers.get(feed)
    if (!(answer instanceof Map)) continue
    const listing = answer.get(symbol)
    const message = problemOf(source, listing)
    if (message === undefined) goodCount += 1
    else problems.push({ key, origin: origins.markets, message })
    if (message === undefined && listing?.state === 'restricted') {
      warnings.push(`${key}: ${feed} lists ${symbol} as ${listing.status}. Its book may stand still`)
    }
    if (message === undefined && listing?.feedSymbol !== undefined) {
      warnings.push(`${key}: ${feed} sends ${listing.feedSymbol}’s book and trades for ${symbol}`)
    }
  }
  return { problems, warnings, goodCount }
}

function placedSources({ markets }: Config): PlacedSource[] {
  return markets.flatMap(({ definition: market, sources }, index) =>
    sources.flatMap((source, place) => {
      const { feed, symbol } = source
      return isVenueSource(source) ? [{ key: `markets[${index}].sources[${place}]`, market, feed, symbol }] : []
    }),
  )
}

/** The venue refuses books beyond its limit per connection, so the last configured markets would have none. */
function booksWarnings(name: string, count: number, { feeds }: Config): readonly string[] {
  const kind = feeds.get(name)?.kind
  const { booksMax } = kind === undefined || kind === 'tidegate' ? {} : (VENUES[kind] as Venue)
  if (booksMax === undefined || count <= booksMax) return []
  const remedy = `name another feed with the kind ${kind} for the others`
  return [`the venue takes ${booksMax} books on a connection, and markets name ${count} of ${name}; ${remedy}`]
}

/** The venue's listings for these symbols, by symbol, or the reason why it gave none. */
async function ask(
  name: string,
  symbols: readonly string[],
  { feeds }: Config,
  clock: Clock,
): Promise<Map<string, Listing> | string> {
  const feed = feeds.get(name)
  if (feed === undefined) return 'there is no such feed'
  // Failures are returned as warnings, because log lines would mix with the command's output.
  const parts = { name, clock, log: createLog('silent') }
  const listings =
    feed.kind === 'tidegate'
      ? await lookUpUpstream(feed.upstream, symbols, parts)
      : await VENUES[feed.kind].readListings(feed.addresses, symbols, parts)
  if ('problem' in listings) return listings.problem
  return new Map(listings.value.map((listing) => [listing.symbol, listing]))
}

function problemOf(source: PlacedSource, listing: Listing | undefined): string | undefined {
  const { feed, market } = source
  const name = sourceText(source)
  if (listing === undefined) return `is ${name}, which ${feed} does not list`
  const { priceDecimals, amountDecimals, status, state } = listing
  if (state === 'gone') return `is ${name}, which ${feed} lists as ${status}: it has no book`
  if (priceDecimals <= market.priceDecimals && amountDecimals <= market.amountDecimals) return undefined
  return (
    `is ${name}, which has ${priceDecimals} price and ${amountDecimals} amount decimals, but ` +
    `${market.symbol} keeps ${market.priceDecimals} and ${market.amountDecimals}`
  )
}
