/**
 * The REST view of the stream: a market's book and its last trades, from this process's memory. They have the cursors and
 * digests with which the stream's extended protocol sends them. Customers off the streaming allow list get neither, and
 * plans bound both.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { servedParams } from '../../access/clients/plans/plan.ts'
import { EXTENDED_DEPTHS } from '../../contract/channels.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { namesTag } from '../../platform/http/cached-content.ts'
import { LIMIT_SCHEMA } from '../../platform/http/list-limit.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { MarketStream } from '../gateway/market-stream.ts'
import { tradeText } from '../sequencing/frame.ts'
import {
  type MarketRequestOptions,
  readLimit,
  readQuery,
  requireAllowed,
  requireBook,
  requireStill,
  wantedMarket,
  wrong,
} from './market-requests.ts'
import { type EncodedBook, OrderBooks } from './order-books.ts'

export interface MarketDataRoutesOptions extends MarketRequestOptions {
  readonly guard: Guard
  readonly clock: Clock
}

/** A cursor's form; see sequencing/cursor. */
const CURSOR = /^[\w-]{8}\.\d{1,15}$/
/** A plan that includes it includes books. */
const CHANNELS = ['market_data'] as const
const BEFORE_RULE = 'must be the cursor of a trade that is still kept'
const Time = Type.String({ format: 'date-time' })

const Level = Type.Object({ price: Type.String(), amount: Type.String() })

const OrderBook = Type.Object(
  {
    market: Type.String(),
    cursor: Type.String({ description: 'The cursor of the stream’s extended protocol for this book at this depth' }),
    time: Type.String({ format: 'date-time', description: 'Of the book’s last change' }),
    depth: Type.Integer({ minimum: 0, description: 'Levels per side; 0 = all' }),
    digest: Type.String({ description: 'As in the extended protocol’s heartbeat' }),
    bids: Type.Array(Level, { description: 'The best first' }),
    asks: Type.Array(Level, { description: 'The best first' }),
  },
  { title: 'OrderBook' },
)

const Trade = Type.Object(
  {
    cursor: Type.String({ description: 'As on the stream. `before` takes it' }),
    price: Type.String(),
    amount: Type.String(),
    executed_at: Time,
    id: Type.String({ description: 'The venue’s, or ours' }),
    side: Type.Optional(Type.String({ description: 'The taker’s, where known' })),
    venue: Type.Optional(Type.String()),
  },
  { title: 'Trade' },
)

const TradeList = Type.Object(
  {
    market: Type.String(),
    items: Type.Array(Trade, { description: 'The newest first, as far as this process’s memory reaches' }),
  },
  { title: 'TradeList' },
)

const DepthParameter = {
  type: 'integer',
  enum: EXTENDED_DEPTHS,
  description: 'Levels per side, at most those which the market publishes; absent: all of them',
}
const BeforeParameter = { type: 'string', description: 'A trade’s cursor: only older ones' }

/** The query is read by `readTrades`, which names each wrong parameter. */
export const TRADES_QUERY = {
  validatorCompiler: () => () => true,
  schema: {
    querystring: { type: 'object', properties: { limit: LIMIT_SCHEMA, before: BeforeParameter } },
    response: { 200: TradeList },
  },
}

/** Declares the routes, with the paths from the operation table. */
export function registerMarketDataRoutes(app: FastifyInstance, options: MarketDataRoutesOptions): void {
  const { guard } = options
  const books = new OrderBooks(options.clock)
  app.route<{ Params: { market: string } }>({
    ...guard('getOrderBook'),
    validatorCompiler: () => () => true,
    schema: { querystring: { type: 'object', properties: { depth: DepthParameter } }, response: { 200: OrderBook } },
    ...WRITES_RAW_JSON,
    handler(request, reply) {
      requireAllowed(request, options)
      const wanted = readDepth(readQuery(request, reply, ['depth']).depth)
      const market = wantedMarket(request, CHANNELS, options)
      const { depth } = servedParams(callerOf(request).plans, { depth: depthAt(market, wanted) })
      requireBook(market)
      reply.header('cache-control', 'private, max-age=0')
      const tagOf = (cursor: string) => `"${cursor}-${depth}"`
      const send = ({ cursor, text }: EncodedBook) => reply.header('etag', tagOf(cursor)).send(new RawJson(text))
      const tag = tagOf(books.cursor(market, depth))
      if (namesTag(request.headers['if-none-match'] ?? '', tag)) {
        void reply.header('etag', tag).status(304).send()
        return
      }
      const book = books.read(market, depth)
      if (!(book instanceof Promise)) {
        void send(book)
        return
      }
      return book.then((encoded) => {
        // It may have been lost or withdrawn while a large book was encoded.
        requireStill(market, request, CHANNELS, options)
        return send(encoded)
      })
    },
  })
  app.route<{ Params: { market: string } }>({
    ...guard('listTrades'),
    ...WRITES_RAW_JSON,
    ...TRADES_QUERY,
    async handler(request, reply) {
      requireAllowed(request, options)
      const page = readTradesQuery(request, reply)
      return listTrades(wantedMarket(request, ['execution_data'], options), page)
    },
  })
}

interface TradesQuery {
  readonly limit: number
  readonly before: string | undefined
}

export function readTradesQuery(request: FastifyRequest, reply: FastifyReply): TradesQuery {
  const { limit: limitText, before } = readQuery(request, reply, ['limit', 'before'])
  const limit = readLimit(limitText)
  if (before !== undefined && !CURSOR.test(before)) throw wrong('before', BEFORE_RULE)
  return { limit, before }
}

export function listTrades(market: MarketStream, { limit, before }: TradesQuery): object {
  return { market: market.symbol, items: tradesOf(market, limit, before) }
}

function readDepth(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const depth = EXTENDED_DEPTHS.find((one) => String(one) === text)
  if (depth === undefined) throw wrong('depth', `must be one of ${EXTENDED_DEPTHS.join(', ')}`)
  return depth
}

function depthAt({ replica }: MarketStream, wanted: number | undefined): number {
  const { depth: published } = replica.market
  if (wanted === undefined) return published
  if (published === 0 || wanted <= published) return wanted
  throw wrong('depth', `must not be above the ${published} levels that the market publishes`)
}

function tradesOf({ replica }: MarketStream, limit: number, before: string | undefined): readonly RawJson[] {
  const { executions, market } = replica
  const end = before === undefined ? executions.lastNumber + 1 : executions.numberOf(before)
  if (end === undefined) throw wrong('before', BEFORE_RULE)
  const items: RawJson[] = []
  for (let number = end - 1; number >= executions.firstNumber && items.length < limit; number--) {
    const { execution, commitMilliseconds } = executions.at(number)
    items.push(new RawJson(tradeText(market, execution, commitMilliseconds, executions.idOf(number))))
  }
  return items
}
