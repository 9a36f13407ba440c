/**
 * The operator API's candles and trades: the customers' answers, without their scopes, allow list and plans. The caller has
 * been authenticated as the operator.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NO_PLANS } from '../../access/clients/plans/plan.ts'
import { Problem } from '../../platform/http/problem.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { CandleReader } from '../candles/candle-reader.ts'
import type { Hub } from '../gateway/hub.ts'
import type { MarketStream } from '../gateway/market-stream.ts'
import { CANDLE_QUERY, EncodedCandles, readCandleQuery } from './candle-routes.ts'
import { listTrades, readTradesQuery, TRADES_QUERY } from './market-data-routes.ts'

export interface MarketDataOperatorOptions {
  readonly hub: Pick<Hub, 'market' | 'marketList'>
  readonly candleReader: CandleReader
}

/** Registers the routes under the prefix of `app`. */
export function registerMarketDataOperatorRoutes(
  app: FastifyInstance,
  { hub, candleReader }: MarketDataOperatorOptions,
): void {
  const encoded = new EncodedCandles(candleReader)
  app.get('/markets/:symbol/candles', { ...WRITES_RAW_JSON, ...CANDLE_QUERY }, async (request, reply) => {
    const query = readCandleQuery(request, reply)
    return new RawJson(await encoded.read(marketOf(hub, request).replica, query))
  })
  app.get('/markets/:symbol/trades', { ...WRITES_RAW_JSON, ...TRADES_QUERY }, async (request, reply) => {
    const query = readTradesQuery(request, reply)
    return listTrades(marketOf(hub, request), query)
  })
}

function marketOf(hub: MarketDataOperatorOptions['hub'], { params }: FastifyRequest): MarketStream {
  const market = hub.market((params as { readonly symbol: string }).symbol)
  if (market === undefined)
    throw new Problem('not_found', `there is no market with this symbol: ${hub.marketList(NO_PLANS)}`)
  return market
}
