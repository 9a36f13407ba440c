/**
 * The operator API's stream endpoints: connections on all nodes (`connection-routes`), and this node's markets, whose
 * books are read within one event-loop tick. The caller has been authenticated as the operator. Prices and amounts in
 * documents are exact text with the market's decimals, as in the stream. Members without a value are absent.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { NO_PLANS } from '../../access/clients/plans/plan.ts'
import { millisecondText, nanosecondText } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Proof, type Side } from '../market/event.ts'
import type { Replica } from '../sequencing/replica.ts'
import { type ConnectionNodes, registerConnectionRoutes } from './connection-routes.ts'
import type { GatewayProcesses } from './gateway-processes.ts'
import type { Hub } from './hub.ts'
import type { MarketStream } from './market-stream.ts'
import { createNodeConnections } from './node-connections.ts'
import { Book, MarketList } from './operator-answers.ts'
import { answerPastBook, PastBookQuery, type PastBookReader } from './past-book.ts'
import { SessionConnections } from './served-connections.ts'
import type { ListedMarket } from './served-markets.ts'

export interface StreamOperatorRoutesOptions {
  readonly db: Db
  readonly hub: Hub
  /** The nodes whose connections are listed and closed. */
  readonly cluster: ConnectionNodes & { readonly nodes: { readonly name: string } }
  /** Where gateway processes serve the connections. */
  readonly processes?: GatewayProcesses | undefined
  /** This node's recordings. Undefined when it records nothing. */
  readonly pastBooks?: PastBookReader | undefined
  /** A market's sources. */
  sourcesOf(symbol: string): readonly ObservedSource[]
}

const BOOK_DEPTH_DEFAULT = 100
/** Levels per side in one response. Encoding them takes about a millisecond. The whole book is in the stream. */
const BOOK_DEPTH_MAX = 1_000

const BookQuery = Type.Object({ ...PastBookQuery.properties, depth: Type.Optional(Type.String()) })

/** Registers the routes under the prefix of `app`. */
export function registerStreamOperatorRoutes(app: FastifyInstance, options: StreamOperatorRoutesOptions): void {
  const { db, hub, processes, cluster } = options
  const served = processes ?? new SessionConnections(hub)
  registerConnectionRoutes(app, createNodeConnections(db, served, cluster.nodes.name), cluster)
  registerMarketRoutes(app, options)
}

function registerMarketRoutes(
  app: FastifyInstance,
  { hub, processes, sourcesOf, pastBooks }: StreamOperatorRoutesOptions,
): void {
  app.get('/markets', answered(MarketList), async (): Promise<{ items: MarketDocument[] }> => {
    const subscribers = (await processes?.measure())?.subscribers
    return {
      items: hub.listedMarkets.map((listed) => {
        const { symbol } = listed.replica.market
        const count = subscribers === undefined ? listed.clientCount : (subscribers.get(symbol) ?? 0)
        return { ...marketDocument(listed, sourcesOf(symbol)), subscribers: count }
      }),
    }
  })
  app.get<{ Params: { symbol: string }; Querystring: Static<typeof BookQuery> }>(
    '/markets/:symbol/book',
    answered(Book, { querystring: BookQuery }),
    async ({ params, query }): Promise<object> => {
      const depth = readDepth(query.depth)
      // A market that is no longer configured can still be in the recordings.
      if (query.at !== undefined) return answerPastBook(pastBooks, params.symbol, depth, query)
      return bookDocument(operatorMarket(hub, params.symbol), depth)
    },
  )
}

/** The market in an operator's request: plans do not apply. */
export function operatorMarket(hub: Pick<Hub, 'market' | 'marketList'>, symbol: string): MarketStream {
  const market = hub.market(symbol)
  if (market === undefined)
    throw new Problem('not_found', `there is no market with this symbol: ${hub.marketList(NO_PLANS)}`)
  return market
}

function readDepth(text: string | undefined): number {
  if (text === undefined) return BOOK_DEPTH_DEFAULT
  const depth = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0
  if (depth >= 1 && depth <= BOOK_DEPTH_MAX) return depth
  throw invalidRequest([{ parameter: 'depth', detail: `must be a whole number from 1 to ${BOOK_DEPTH_MAX}` }])
}

interface LevelDocument {
  readonly price: string
  readonly amount: string
}

/** A market's source as this process observes it. */
export interface ObservedSource {
  /** As the configuration names it. */
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
  /** Why it is not live. */
  readonly reason: string
  readonly sinceMilliseconds: number
  readonly notices: readonly string[]
  readonly proof: Proof
  /** Its contribution to a book from several sources. */
  readonly presence?: { readonly levels: number; readonly heardMilliseconds: number } | undefined
}

interface SourceDocument {
  readonly source: string
  readonly live: boolean
  /** Why it is not live. */
  readonly reason?: string
  /** When its state changed last: `lost` follows `starting` without a change in `live`. */
  readonly since: string
  /** Operator notices, also about a live source. */
  readonly notices: readonly string[]
  /** What proves its book, while it is live. */
  readonly proof: Proof
  /** Its levels in the book, where the market has several sources. */
  readonly levels?: number
  /** When its last book message arrived, where the market has several sources. */
  readonly heard_at?: string
}

interface MarketDocument {
  readonly symbol: string
  readonly live: boolean
  /** Why it is not live. */
  readonly reason?: string
  /** Since when the market has been stale. */
  readonly stale_since?: string
  readonly sources: readonly string[]
  readonly source_states: readonly SourceDocument[]
  /** Published levels per side (0 = all). */
  readonly depth: number
  /** The last commit's version since the process started. 0 before the first. */
  readonly version: number
  readonly committed_at?: string
  readonly bid_levels: number
  readonly ask_levels: number
  readonly best_bid?: LevelDocument
  readonly best_ask?: LevelDocument
  /** Connections with a subscription to any of its channels. */
  readonly subscribers: number
}

interface BookDocument {
  readonly symbol: string
  readonly live: boolean
  readonly reason?: string
  readonly version: number
  /** The last commit's `time`, as in stream messages. */
  readonly time?: string
  /** Most levels per side in `bids` and `asks`. */
  readonly depth: number
  /** Published levels. */
  readonly bid_levels: number
  readonly ask_levels: number
  /** Best first. */
  readonly bids: readonly LevelDocument[]
  readonly asks: readonly LevelDocument[]
}

function marketDocument(listed: ListedMarket, sources: readonly ObservedSource[]): Omit<MarketDocument, 'subscribers'> {
  const { replica, state, stateSinceMilliseconds } = listed
  const { market, view, top, instant, version } = replica
  return {
    symbol: market.symbol,
    ...statusOf(listed),
    ...(state === 'STALE' ? { stale_since: millisecondText(stateSinceMilliseconds) } : {}),
    sources: sources.map(({ source }) => source),
    source_states: sources.map(sourceDocument),
    depth: market.depth,
    version,
    ...(version === 0 ? {} : { committed_at: nanosecondText(instant.milliseconds, instant.nanoseconds) }),
    bid_levels: view.levelCount(BID),
    ask_levels: view.levelCount(ASK),
    ...(top.bid === undefined ? {} : { best_bid: levelDocument(market, top.bid) }),
    ...(top.ask === undefined ? {} : { best_ask: levelDocument(market, top.ask) }),
  }
}

function sourceDocument(observed: ObservedSource): SourceDocument {
  const { source, state, reason, sinceMilliseconds, notices, proof, presence } = observed
  const live = state === 'live'
  return {
    source,
    live,
    ...(live ? {} : { reason }),
    since: millisecondText(sinceMilliseconds),
    notices,
    proof,
    ...(presence === undefined
      ? {}
      : { levels: presence.levels, heard_at: millisecondText(presence.heardMilliseconds) }),
  }
}

/** @param depth at most this many levels per side, the best ones */
function bookDocument(stream: MarketStream, depth: number): BookDocument {
  const { market, view, instant, version } = stream.replica
  const levels = view.levels(depth)
  const side = (wanted: Side): LevelDocument[] =>
    levels.filter((level) => level.side === wanted).map((level) => levelDocument(market, level))
  return {
    symbol: market.symbol,
    ...statusOf(stream.replica),
    version,
    ...(version === 0 ? {} : { time: millisecondText(instant.milliseconds) }),
    depth,
    bid_levels: view.levelCount(BID),
    ask_levels: view.levelCount(ASK),
    bids: side(BID),
    asks: side(ASK),
  }
}

function statusOf({ live, reason }: Pick<Replica, 'live' | 'reason'>): Pick<MarketDocument, 'live' | 'reason'> {
  return live ? { live } : { live, reason }
}

function levelDocument(market: MarketDefinition, { price, amount }: LevelChange): LevelDocument {
  return {
    price: formatDecimal(price, market.priceDecimals),
    amount: formatDecimal(amount, market.amountDecimals),
  }
}
