/**
 * Candles and the ticker, made from executions alone. The answers are equal on every node. A change of leader changes
 * closed candles only where executions may have been missed: they become incomplete. Each version of an answer is
 * encoded once for all requests.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Guard } from '../../access/clients/guard.ts'
import { namesTag } from '../../platform/http/cached-content.ts'
import { LIMIT_SCHEMA } from '../../platform/http/list-limit.ts'
import { readInstant, TIME_RULE } from '../../platform/http/list-times.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { CandleQuery, CandleReader } from '../candles/candle-reader.ts'
import { candlesText, tickerText } from '../candles/candle-text.ts'
import { INTERVALS, type Interval } from '../candles/candles.ts'
import type { Replica } from '../sequencing/replica.ts'
import {
  type MarketRequestOptions,
  notLive,
  readLimit,
  readQuery,
  requireAllowed,
  requireBook,
  requireStill,
  wantedMarket,
  wrong,
} from './market-requests.ts'

export interface CandleRoutesOptions extends MarketRequestOptions {
  readonly guard: Guard
  readonly candles: CandleReader
}

const NAMES = Object.keys(INTERVALS) as Interval[]
/** A plan that includes them includes tickers. */
const TICKER_CHANNELS = ['execution_data', 'market_data.top_of_book'] as const
const NOT_KNOWN = 'the market’s executions are not known yet'
/** The encoded answers' length: 80 answers of 1,000 candles. */
const ENCODED_CHARACTERS_MAX = 20_000_000

const Price = Type.String({ description: 'With the market’s price decimals' })
const Volume = Type.String({ description: 'Of the base asset' })
const QuoteVolume = Type.String({
  description: 'The sum of price × amount, exact: with as many decimals as prices and amounts have together',
})
const Count = Type.Integer({ minimum: 0 })

const Candle = Type.Object(
  {
    time: Type.String({ format: 'date-time', description: 'Its start. Candles are aligned to UTC' }),
    open: Price,
    high: Price,
    low: Price,
    close: Price,
    volume: Volume,
    quote_volume: QuoteVolume,
    trades: Count,
    first_execution_id: Type.Optional(
      Type.String({
        description: 'The opening trade’s `id`. Absent without executions: all prices are the last close',
      }),
    ),
    last_execution_id: Type.Optional(Type.String({ description: 'The closing trade’s `id`' })),
    revision: Type.Integer({
      minimum: 0,
      description:
        'How many executions arrived after the end of their candle. Intervals of 5m and 15m add up those of 1m, ' +
        'and 4h and 1d those of 1h',
    }),
    closed: Type.Boolean({
      description: 'Its time is over. It only changes with its revision, or becomes incomplete once',
    }),
    incomplete: Type.Boolean({ description: 'Executions may be missing in its time' }),
  },
  { title: 'Candle' },
)

const CandleList = Type.Object(
  {
    market: Type.String(),
    interval: Type.Enum(NAMES, { type: 'string' }),
    items: Type.Array(Candle, { description: 'The earliest first' }),
  },
  { title: 'CandleList' },
)

const Ticker = Type.Object(
  {
    market: Type.String(),
    time: Type.String({ format: 'date-time', description: 'Of the market’s last commit' }),
    last: Type.Optional(Price),
    bid: Type.Optional(Price),
    ask: Type.Optional(Price),
    open: Type.Optional(Price),
    high: Type.Optional(Price),
    low: Type.Optional(Price),
    volume: Volume,
    quote_volume: QuoteVolume,
    vwap: Type.Optional(
      Type.String({
        description:
          'quote_volume / volume, rounded to the price’s decimals, half a unit up. Absent without executions',
      }),
    ),
    trades: Count,
  },
  {
    title: 'Ticker',
    description:
      'Executions are counted by whole minutes: the present minute and the 1,440 before it. Without any, the prices are ' +
      'the last close. Prices that do not exist are absent',
  },
)

const time = (description: string) => ({ type: 'string', format: 'date-time', description })

const CANDLE_PARAMETERS = {
  interval: { type: 'string', enum: NAMES, description: 'Length' },
  from: time('The first candles that start at or after this time. Absent: the last ones'),
  to: time('Only candles that start before this time'),
  limit: { ...LIMIT_SCHEMA, description: 'Maximum number of candles' },
}

/** The query is read by the handler, which names each wrong parameter. */
export const CANDLE_QUERY = {
  validatorCompiler: () => () => true,
  schema: {
    querystring: { type: 'object', properties: CANDLE_PARAMETERS, required: ['interval'] },
    response: { 200: CandleList },
  },
}

/** Declares the routes, with the paths from the operation table. */
export function registerCandleRoutes(app: FastifyInstance, options: CandleRoutesOptions): void {
  const { guard, candles } = options
  const encoded = new EncodedCandles(candles)
  app.route<{ Params: { market: string } }>({
    ...guard('getTicker'),
    ...WRITES_RAW_JSON,
    schema: { response: { 200: Ticker } },
    async handler(request, reply) {
      requireAllowed(request, options)
      readQuery(request, reply, [])
      const market = wantedMarket(request, TICKER_CHANNELS, options)
      requireBook(market)
      const { replica } = market
      const totals = await candles.lastDay(replica)
      if (totals === undefined) throw notLive(NOT_KNOWN)
      // It may have been lost or withdrawn while the store was read.
      requireStill(market, request, TICKER_CHANNELS, options)
      return answer(request, reply, tickerText(replica.market, replica.instant.milliseconds, replica.top, totals))
    },
  })
  app.route<{ Params: { market: string } }>({
    ...guard('listCandles'),
    ...WRITES_RAW_JSON,
    ...CANDLE_QUERY,
    async handler(request, reply) {
      requireAllowed(request, options)
      const query = readCandleQuery(request, reply)
      const { replica } = wantedMarket(request, ['execution_data'], options)
      return answer(request, reply, await encoded.read(replica, query))
    },
  })
}

export function readCandleQuery(request: FastifyRequest, reply: FastifyReply): CandleQuery {
  const { interval: name, from, to, limit } = readQuery(request, reply, ['interval', 'from', 'to', 'limit'])
  const interval = NAMES.find((one) => one === name)
  if (interval === undefined) throw wrong('interval', `must be one of ${NAMES.join(', ')}`)
  const times = { fromMilliseconds: readTime('from', from), toMilliseconds: readTime('to', to) }
  return { interval, ...times, limit: readLimit(limit) }
}

/** Rounded up to a whole millisecond. */
function readTime(parameter: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const instant = readInstant(text)
  if (instant === undefined) throw wrong(parameter, TIME_RULE)
  return instant.isWhole ? instant.milliseconds : instant.milliseconds + 1
}

/** With the entity tag of its text, which is therefore the same on every node. */
function answer({ headers }: FastifyRequest, reply: FastifyReply, text: string): RawJson | FastifyReply {
  const tag = `"${createHash('sha256').update(text).digest('base64url')}"`
  reply.header('cache-control', 'private, max-age=0').header('etag', tag)
  if (!namesTag(headers['if-none-match'] ?? '', tag)) return new RawJson(text)
  return reply.status(304).send()
}

/** Answers as text. The last ones from memory are kept, the least recent first. */
export class EncodedCandles {
  readonly #reader: CandleReader
  readonly #texts = new Map<string, string>()
  #characters = 0

  constructor(reader: CandleReader) {
    this.#reader = reader
  }

  async read(replica: Replica, query: CandleQuery): Promise<string> {
    const found = await this.#reader.candles(replica, query)
    if (found === undefined) throw notLive(NOT_KNOWN)
    const key = found.key && `${replica.market.symbol} ${found.key}`
    const known = key && this.#texts.get(key)
    const text = known || candlesText(replica.market, query.interval, found.candles())
    if (key !== undefined) this.#keep(key, text)
    return text
  }

  #keep(key: string, text: string): void {
    if (this.#texts.delete(key)) this.#characters -= text.length
    this.#texts.set(key, text)
    this.#characters += text.length
    for (const [oldKey, old] of this.#texts) {
      if (this.#characters <= ENCODED_CHARACTERS_MAX) return
      this.#texts.delete(oldKey)
      this.#characters -= old.length
    }
  }
}
