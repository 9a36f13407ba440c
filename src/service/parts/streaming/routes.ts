/** The routes for markets, nodes and the stream's connections. */
import { registerNodeRoutes } from '../../../streaming/cluster/routes.ts'
import {
  registerStreamOperatorRoutes,
  type StreamOperatorRoutesOptions,
} from '../../../streaming/gateway/operator-routes.ts'
import type { Markets } from '../../../streaming/markets/market-changes.ts'
import { type CandleRoutesOptions, registerCandleRoutes } from '../../../streaming/rest/candle-routes.ts'
import { type MarketDataRoutesOptions, registerMarketDataRoutes } from '../../../streaming/rest/market-data-routes.ts'
import { type MarketRoutesOptions, registerMarketRoutes } from '../../../streaming/rest/market-routes.ts'
import {
  type MarketDataOperatorOptions,
  registerMarketDataOperatorRoutes,
} from '../../../streaming/rest/operator-routes.ts'
import type { ModuleRoutes } from '../../listeners/listener.ts'
import type { Cluster } from './start-cluster.ts'

export interface StreamingOperatorOptions
  extends Omit<StreamOperatorRoutesOptions, 'pastBooks' | 'cluster'>,
    Omit<MarketDataOperatorOptions, 'hub'> {
  readonly cluster: Pick<Cluster, 'nodes' | 'questions'>
  readonly markets?: Pick<Markets, 'recorder'>
}

export type MarketViewOptions = MarketDataRoutesOptions & CandleRoutesOptions

export type StreamingPublicOptions = MarketRoutesOptions & MarketViewOptions

export function streamingPublicRoutes(options: StreamingPublicOptions): readonly ModuleRoutes[] {
  return [(app) => registerMarketRoutes(app, options), ...marketViewRoutes(options)]
}

/** Books, trades, candles and tickers. */
export function marketViewRoutes(options: MarketViewOptions): readonly ModuleRoutes[] {
  return [(app) => registerMarketDataRoutes(app, options), (app) => registerCandleRoutes(app, options)]
}

/** Relative to `/admin/v1`. */
export function streamingOperatorRoutes(options: StreamingOperatorOptions): readonly ModuleRoutes[] {
  const pastBooks = options.markets?.recorder?.pastBooks
  return [
    (app) => registerNodeRoutes(app, options.cluster.nodes),
    (app) => registerStreamOperatorRoutes(app, { ...options, pastBooks }),
    (app) => registerMarketDataOperatorRoutes(app, options),
  ]
}
