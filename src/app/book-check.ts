/**
 * Looks at the books of venues for `check-config`: which levels the configured markets cannot hold. Only a market of
 * many price decimals is looked at, because only such a market is too small for a price that venues really have. It
 * opens connections of its own, shows up in no metrics, and leaves nothing open after a few seconds.
 */
import type { Clock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { createMetricsRegistry } from '../base/metrics.ts'
import type { Config } from '../config/settings.ts'
import { isFed } from '../config/sources.ts'
import type { SourceMarket } from '../feed/source.ts'
import { createFeedSource } from './venue-sources.ts'

/** With 7 decimals a market holds prices up to 900,719,925; the highest asks seen are 888,888,004 and 99,999,997. */
const PRICE_DECIMALS_MIN = 7
/** Books of one feed that are looked at; 20 of Binance use 5,000 of the 6,000 weights that an address has a minute. */
const BOOKS_MAX = 20
/** A book takes a second or two from the connection on. */
const LOOK_MILLISECONDS_MAX = 5_000

interface LookedAt {
  readonly key: string
  readonly source: SourceMarket
}

/** A warning for each market whose book ends before a level that it cannot hold. */
export async function checkBooks(config: Config, clock: Clock): Promise<readonly string[]> {
  const warnings = await Promise.all([...config.feeds.keys()].map((name) => lookAt(name, config, clock)))
  return warnings.flat()
}

async function lookAt(name: string, config: Config, clock: Clock): Promise<readonly string[]> {
  let unanswered = 0
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const looked = marketsOf(name, config, () => {
    unanswered -= 1
    if (unanswered === 0) finish()
  })
  if (looked.length === 0) return []
  unanswered = looked.length
  const source = createFeedSource(config, {
    name,
    markets: looked.map((one) => one.source),
    clock,
    random: () => 0,
    log: createLog('silent'),
    metrics: createMetricsRegistry(),
  })
  const limit = clock.schedule(LOOK_MILLISECONDS_MAX, finish)
  source.start()
  await finished
  limit.cancel()
  const warnings = looked.flatMap((one) => source.notices(one.source).map((notice) => `${one.key}: ${notice}`))
  await source.stop()
  return warnings
}

/** @param onAnswer called once for each of them, when its book is there or cannot be had */
function marketsOf(name: string, { markets }: Config, onAnswer: () => void): readonly LookedAt[] {
  const looked = markets.flatMap(({ definition, sources }, index) =>
    definition.priceDecimals < PRICE_DECIMALS_MIN
      ? []
      : sources.flatMap((source, place) =>
          isFed(source) && source.feed === name
            ? [{ definition, symbol: source.symbol, key: `markets[${index}].sources[${place}]` }]
            : [],
        ),
  )
  return looked.slice(0, BOOKS_MAX).map(({ definition, symbol, key }) => {
    let isAnswered = false
    const listener = (): void => {
      if (!isAnswered) onAnswer()
      isAnswered = true
    }
    return { key, source: { market: definition, venueSymbol: symbol, listener } }
  })
}
