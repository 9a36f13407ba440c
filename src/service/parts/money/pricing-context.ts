/**
 * A price's inputs: the current configuration and this process's live books. A book is copied within one event-loop
 * tick, so all its levels are from one version.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  BASE_SCALE,
  LEVELS_MAX,
  type PricingBook,
  type PricingContext,
  type PricingLevel,
} from '../../../money/orchestrations/pricing/context.ts'
import { type Clock, millisecondText } from '../../../platform/base/clock.ts'
import { BID } from '../../../streaming/market/event.ts'
import type { MarketReplicas } from '../../../streaming/markets/market-replicas.ts'
import { Cursors } from '../../../streaming/sequencing/cursor.ts'
import type { Replica } from '../../../streaming/sequencing/replica.ts'
import { minorUnitsOf } from '../../config/asset-amounts.ts'
import type { Config } from '../../config/settings.ts'

export interface PricingParts {
  readonly config: Config
  readonly clock: Clock
  readonly replicas: Pick<MarketReplicas, 'replicaOf' | 'isFromVenues'>
  /** Follows a market from now on. */
  want(symbol: string): void
}

export function pricingContext({ config, clock, replicas, want }: PricingParts): PricingContext {
  const { assets } = config
  const markets = config.markets.map(({ definition }) => definition)
  return {
    assets,
    parAssets: config['conversion.par_assets'],
    markets,
    settings: {
      pegBpsMax: config['conversion.peg_bps_max'],
      slippageBpsMax: config['conversion.slippage_bps_max'],
      depthSeconds: config['conversion.depth_seconds'],
      bookAgeSecondsMax: config['conversion.book_age_seconds_max'],
      notionalMax: minorUnitsOf(config['conversion.notional_max'], assets),
      deskLimits: minorUnitsOf(config['conversion.desk_limits'], assets),
    },
    isSandbox: config['rest.sandbox'],
    bookOf(symbol) {
      // A market that is not followed yet has no live book. The conversion waits and asks again.
      want(symbol)
      const replica = replicas.replicaOf(symbol)
      const market = markets.find((candidate) => candidate.symbol === symbol)
      // A reload may have changed the market's decimals, and the replica's prices would be read in the wrong unit.
      if (replica === undefined || !isDeepStrictEqual(replica.market, market)) return undefined
      return readBook(replica, clock, !replicas.isFromVenues(symbol))
    },
  }
}

function readBook(replica: Replica, clock: Clock, isSimulated: boolean): PricingBook {
  const { market, view, epoch, changeInstant } = replica
  const scale = 10n ** BigInt(BASE_SCALE - market.amountDecimals)
  const bids: PricingLevel[] = []
  const asks: PricingLevel[] = []
  for (const { side, price, amount } of view.levels(LEVELS_MAX)) {
    ;(side === BID ? bids : asks).push({ price: BigInt(price), amount: BigInt(amount) * scale })
  }
  return {
    cursor: new Cursors(market.symbol, 'market_data', view.depth).token(epoch, view.changeVersion),
    time: millisecondText(changeInstant.milliseconds),
    ageMilliseconds: clock.wallInstant().milliseconds - replica.receivedMilliseconds,
    isLive: replica.live,
    isSimulated,
    bids,
    asks,
  }
}
