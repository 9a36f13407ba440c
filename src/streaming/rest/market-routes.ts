/**
 * `GET /v2/markets` in the public API: the markets in the client's plan on this node, and whether their data is current. Read from
 * memory in one event-loop tick, so a response is consistent. Any valid token may ask: it shows no customer data, only
 * what an integrator needs before the first subscription.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { includesMarket } from '../../access/clients/plans/plan.ts'
import { millisecondText } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import { IGNORES_PARAMETERS } from '../../platform/http/list-query.ts'
import type { Hub } from '../gateway/hub.ts'
import { MARKET_STATES } from '../gateway/market-stream.ts'
import type { ListedMarket } from '../gateway/served-markets.ts'
import { INSTRUMENT_STATES, PROOFS, type Proof } from '../market/event.ts'

export interface MarketRoutesOptions {
  readonly guard: Guard
  readonly hub: Pick<Hub, 'listedMarkets'>
  /** Whether a market's prices come from the simulator. */
  isSimulated(symbol: string): boolean
  /** The proof for a live market's book. */
  proofOf(symbol: string): Proof
}

const text = { type: 'string' }
const Count = Type.Integer({ minimum: 0 })

const Market = Type.Object(
  {
    market: Type.String({ description: 'What subscriptions name' }),
    base_asset: Type.String(),
    quote_asset: Type.String(),
    price_decimals: { ...Count, description: 'Fraction digits in every price' },
    amount_decimals: { ...Count, description: 'Fraction digits in every amount' },
    tick_size: Type.String({ description: 'The smallest price step: every price is a multiple' }),
    amount_min: Type.String({
      description: 'The smallest amount of a level or execution. The venue’s own minimum order may be larger',
    }),
    depth: { ...Count, description: 'Published levels per side (0 = all)' },
    state: Type.Enum([...MARKET_STATES], {
      ...text,
      description:
        'STARTING: no book yet. LIVE: a source is trusted. STALE: there was a book, no source is trusted now',
    }),
    state_since: Type.String({ format: 'date-time', description: 'When `state` changed last on this node' }),
    simulated: Type.Boolean({ description: 'Whether its prices are invented by a simulator' }),
    instrument_state: Type.Optional(
      Type.Enum([...INSTRUMENT_STATES], {
        ...text,
        description:
          'Whether it trades at the venue. The book is trusted in each of these states. Absent while not known',
      }),
    ),
    instrument_reason: Type.Optional(
      Type.String({ description: 'The source, and its own word for the state, when it is not OPEN' }),
    ),
    proof: Type.Enum([...PROOFS], {
      ...text,
      description:
        'The proof that the book equals its venue’s: the weakest among its live sources. CHECKSUM: the venue’s checksum or ' +
        'digest. SEQUENCE: numbers that show each missing message. COMPARISON: a snapshot now and then. NONE: nothing, ' +
        'as for a simulator, or a market that is not LIVE',
    }),
  },
  { title: 'Market' },
)

const MarketList = Type.Object({ items: Type.Array(Market) }, { title: 'MarketList' })

export function registerMarketRoutes(app: FastifyInstance, options: MarketRoutesOptions): void {
  const { guard, hub } = options
  app.route({
    ...guard('listMarkets'),
    ...IGNORES_PARAMETERS,
    schema: { response: { 200: MarketList } },
    async handler(request) {
      const { plans } = callerOf(request)
      const included = hub.listedMarkets.filter(({ replica }) => includesMarket(plans, replica.market.symbol))
      const items = included.map((market) => marketOf(market, options))
      return { items: items.sort((left, right) => (left.market < right.market ? -1 : 1)) }
    },
  })
}

function marketOf(
  { replica, state, stateSinceMilliseconds }: ListedMarket,
  { isSimulated, proofOf }: Pick<MarketRoutesOptions, 'isSimulated' | 'proofOf'>,
): Static<typeof Market> {
  const { instrument } = replica
  const { symbol, baseAsset, quoteAsset, priceDecimals, amountDecimals, depth } = replica.market
  return {
    market: symbol,
    base_asset: baseAsset,
    quote_asset: quoteAsset,
    price_decimals: priceDecimals,
    amount_decimals: amountDecimals,
    tick_size: formatDecimal(1, priceDecimals),
    amount_min: formatDecimal(1, amountDecimals),
    depth,
    state,
    state_since: millisecondText(stateSinceMilliseconds),
    simulated: isSimulated(symbol),
    ...(instrument === undefined ? {} : { instrument_state: instrument.state }),
    ...(instrument === undefined || instrument.reason === '' ? {} : { instrument_reason: instrument.reason }),
    proof: state === 'LIVE' ? proofOf(symbol) : 'NONE',
  }
}
