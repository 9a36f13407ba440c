/**
 * Reads venue books for `check-config` and reports notices about them, above all levels the configured markets cannot
 * hold. It reads only the books for markets with many price decimals, because only those cannot hold the venues'
 * highest prices. It uses its own connections, appears in no metrics, and leaves nothing open after a few seconds.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { createLog } from '../../platform/base/log.ts'
import { createMetricsRegistry } from '../../platform/base/metrics.ts'
import { type ConfiguredMarket, isVenueSource } from '../market/configured-market.ts'
import type { SourceMarket } from '../sources/source.ts'
import { createFeedSource, type FeedSettings } from './sources.ts'

/** With 7 decimals a market holds prices up to 900,719,925. The highest asks seen are 888,888,004 and 99,999,997. */
const PRICE_DECIMALS_MIN = 7
/** Books read per feed. 20 from Binance use 5,000 out of the 6,000 request weights per address and minute. */
const BOOKS_MAX = 20
/** A book arrives a second or two after the connection is opened. */
const READ_MILLISECONDS_MAX = 5_000

interface CheckedBook {
  readonly key: string
  readonly source: SourceMarket
}

interface CheckedConfig extends FeedSettings {
  readonly markets: readonly ConfiguredMarket[]
}

/** The books' notices, as warnings: a book that ends before a level its market cannot hold, for example. */
export async function checkBooks(config: CheckedConfig, clock: Clock): Promise<readonly string[]> {
  const warnings = await Promise.all([...config.feeds.keys()].map((name) => readBooks(name, config, clock)))
  return warnings.flat()
}

async function readBooks(name: string, config: CheckedConfig, clock: Clock): Promise<readonly string[]> {
  let unanswered = 0
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const books = marketsOf(name, config, () => {
    unanswered -= 1
    if (unanswered === 0) finish()
  })
  if (books.length === 0) return []
  unanswered = books.length
  const source = createFeedSource(config, {
    name,
    markets: books.map((one) => one.source),
    clock,
    random: () => 0,
    log: createLog('silent'),
    metrics: createMetricsRegistry(),
  })
  const limit = clock.schedule(READ_MILLISECONDS_MAX, finish)
  source.start()
  await finished
  limit.cancel()
  const warnings = books.flatMap((one) => source.notices(one.source).map((notice) => `${one.key}: ${notice}`))
  await source.stop()
  return warnings
}

/** @param onAnswer called once per market, when its book has arrived or is known to be unavailable */
function marketsOf(name: string, { markets }: CheckedConfig, onAnswer: () => void): readonly CheckedBook[] {
  const books = markets.flatMap(({ definition, sources }, index) =>
    definition.priceDecimals < PRICE_DECIMALS_MIN
      ? []
      : sources.flatMap((source, place) =>
          isVenueSource(source) && source.feed === name
            ? [{ definition, symbol: source.symbol, key: `markets[${index}].sources[${place}]` }]
            : [],
        ),
  )
  return books.slice(0, BOOKS_MAX).map(({ definition, symbol, key }) => {
    let isAnswered = false
    const listener = (): void => {
      if (!isAnswered) onAnswer()
      isAnswered = true
    }
    return { key, source: { market: definition, venueSymbol: symbol, listener } }
  })
}
