/**
 * The operator API's candles and trades: the customers' answers, without their scopes, allow list and plans. The caller has
 * been authenticated as the operator.
 */
import type { FastifyInstance } from 'fastify'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { CandleReader } from '../candles/candle-reader.ts'
import type { Hub } from '../gateway/hub.ts'
import { operatorMarket } from '../gateway/operator-routes.ts'
import { CANDLE_QUERY, EncodedCandles, readCandleQuery } from './candle-routes.ts'
import { listTrades, readTradesQuery, TRADES_QUERY } from './market-data-routes.ts'

export interface MarketDataOperatorOptions {
  readonly hub: Pick<Hub, 'market' | 'marketList'>
  readonly candleReader: CandleReader
}

interface BySymbol {
  readonly Params: { readonly symbol: string }
}

/** Registers the routes under the prefix of `app`. */
export function registerMarketDataOperatorRoutes(
  app: FastifyInstance,
  { hub, candleReader }: MarketDataOperatorOptions,
): void {
  const encoded = new EncodedCandles(candleReader)
  app.get<BySymbol>('/markets/:symbol/candles', { ...WRITES_RAW_JSON, ...CANDLE_QUERY }, async (request, reply) => {
    const query = readCandleQuery(request, reply)
    return new RawJson(await encoded.read(operatorMarket(hub, request.params.symbol).replica, query))
  })
  app.get<BySymbol>('/markets/:symbol/trades', { ...WRITES_RAW_JSON, ...TRADES_QUERY }, async (request, reply) => {
    const query = readTradesQuery(request, reply)
    return listTrades(operatorMarket(hub, request.params.symbol), query)
  })
}
