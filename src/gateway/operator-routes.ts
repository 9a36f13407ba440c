/**
 * The operator API's endpoints for the connections and markets of this node. They read memory within one event-loop
 * tick, so a page or a book is of one moment. Closing a connection is a write: its audit row is committed before the
 * close begins, and while the store is unavailable no connection is closed. The caller has been authenticated as the
 * operator. Prices and amounts in documents are exact text with the market's decimals, as in the stream; members
 * without a value are absent.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { millisecondText, nanosecondText } from '../base/clock.ts'
import { formatDecimal } from '../base/decimal.ts'
import { PageQuery, readPageQuery } from '../http/page-query.ts'
import { invalidRequest, Problem } from '../http/problem.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../market/event.ts'
import { writeAudit } from '../store/audit.ts'
import type { Db } from '../store/db.ts'
import type { Page } from '../store/page.ts'
import { pageInMemory } from '../store/page-memory.ts'
import { type ConnectionDocument, connectionDocument } from './connection-document.ts'
import type { GatewayProcesses } from './gateway-processes.ts'
import type { Hub } from './hub.ts'
import type { MarketStream } from './market-stream.ts'
import { answerPastBook, PastBookQuery, type PastBookReader } from './past-book.ts'
import type { Session } from './session.ts'

export interface StreamOperatorRoutesOptions {
  readonly db: Db
  readonly hub: Hub
  /** Where gateway processes serve the connections. */
  readonly processes?: GatewayProcesses | undefined
  /** The recordings of this node; undefined when it records nothing. */
  readonly pastBooks?: PastBookReader | undefined
  /** The sources of a market. */
  sourcesOf(symbol: string): readonly ObservedSource[]
}

/** Actor of the audit rows: there is one operator token. */
const ACTOR = 'operator'

const BOOK_DEPTH_DEFAULT = 100
/** Levels per side in one response; encoding them takes about a millisecond. The whole book is in the stream. */
const BOOK_DEPTH_MAX = 1_000

const ConnectionQuery = Type.Object({
  ...PageQuery.properties,
  client_id: Type.Optional(Type.String()),
  customer_id: Type.Optional(Type.String()),
})
const BookQuery = Type.Object({ ...PastBookQuery.properties, depth: Type.Optional(Type.String()) })

/** Registers the routes under the prefix of `app`. */
export function registerStreamOperatorRoutes(app: FastifyInstance, options: StreamOperatorRoutesOptions): void {
  const { db, hub, processes } = options
  if (processes === undefined) registerConnectionRoutes(app, db, sessionsOf(hub))
  else registerConnectionRoutes(app, db, connectionsOf(processes))
  registerMarketRoutes(app, options)
}

/** What the routes show and close: sessions of this process, or connections that gateway processes serve. */
interface Connection {
  readonly id: string
  readonly token: { readonly clientId: string; readonly customerId: string }
  readonly createdMilliseconds: number
  readonly isOpen: boolean
}

interface Connections<Kind extends Connection> {
  readonly all: Iterable<Kind>
  /** In the same order; of gateway processes, only those that are still open. */
  documents(connections: readonly Kind[]): Promise<ConnectionDocument[]>
  close(connection: Kind): void
}

function sessionsOf(hub: Hub): Connections<Session> {
  return {
    all: hub.sessions,
    documents: async (sessions) => sessions.map(connectionDocument),
    close: (session) => session.close('operator'),
  }
}

function connectionsOf(processes: GatewayProcesses): Connections<Connection> {
  return {
    all: processes.sessions,
    async documents(connections) {
      const documents = await processes.describe(connections.map(({ id }) => id))
      return connections.flatMap(({ id }) => documents.get(id) ?? [])
    },
    close: ({ id }) => processes.close(id, 'operator'),
  }
}

function registerConnectionRoutes<Kind extends Connection>(
  app: FastifyInstance,
  db: Db,
  connections: Connections<Kind>,
): void {
  app.get<{ Querystring: Static<typeof ConnectionQuery> }>(
    '/connections',
    { schema: { querystring: ConnectionQuery } },
    async ({ query }): Promise<Page<ConnectionDocument>> => {
      const { client_id, customer_id } = query
      const request = { ...readPageQuery(query), operation: 'connections', owner: 'operator' }
      const page = pageInMemory(matching(connections.all, query), { ...request, filters: { client_id, customer_id } })
      return { ...page, items: await connections.documents(page.items) }
    },
  )
  const closer = createCloser(db, connections)
  app.delete<{ Params: { id: string } }>('/connections/:id', async ({ params }) => {
    const id = params.id.toLowerCase()
    for (const connection of connections.all) if (connection.id === id) return closer(connection)
    throw notFound()
  })
}

function notFound(): Problem {
  return new Problem('not_found', 'there is no connection with this id on this node')
}

function* matching<Kind extends Connection>(
  connections: Iterable<Kind>,
  filter: { readonly client_id?: string; readonly customer_id?: string },
): Iterable<Kind> {
  for (const connection of connections) {
    const { clientId, customerId } = connection.token
    if (!connection.isOpen) continue
    if (filter.client_id !== undefined && filter.client_id.toLowerCase() !== clientId) continue
    if (filter.customer_id !== undefined && filter.customer_id.toLowerCase() !== customerId) continue
    yield connection
  }
}

/**
 * Closes a connection with one audit row: a second request waits for the row of the first, and a closed connection is
 * not recorded again.
 */
function createCloser<Kind extends Connection>(
  db: Db,
  connections: Connections<Kind>,
): (connection: Kind) => Promise<ConnectionDocument> {
  const closings = new Map<Kind, Promise<void>>()
  const recordAndClose = async (connection: Kind, document: ConnectionDocument): Promise<void> => {
    const { client_id, customer_id, client_address } = document
    const detail = { client_id, customer_id, client_address }
    await db.transaction((transaction) =>
      writeAudit(transaction, { actor: ACTOR, action: 'connection.close', subject: connection.id, detail }),
    )
    connections.close(connection)
  }
  return async (connection) => {
    const [document] = await connections.documents([connection])
    if (document === undefined) throw notFound()
    if (!connection.isOpen) return document
    let closing = closings.get(connection)
    if (closing === undefined) {
      closing = recordAndClose(connection, document).finally(() => closings.delete(connection))
      closings.set(connection, closing)
    }
    await closing
    return document
  }
}

function registerMarketRoutes(
  app: FastifyInstance,
  { hub, processes, sourcesOf, pastBooks }: StreamOperatorRoutesOptions,
): void {
  app.get('/markets', async (): Promise<{ items: MarketDocument[] }> => {
    const subscribers = (await processes?.measure())?.subscribers
    return {
      items: [...hub.markets].map((market) => ({
        ...marketDocument(market, sourcesOf(market.symbol)),
        subscribers: subscribers === undefined ? market.clientCount : (subscribers.get(market.symbol) ?? 0),
      })),
    }
  })
  app.get<{ Params: { symbol: string }; Querystring: Static<typeof BookQuery> }>(
    '/markets/:symbol/book',
    { schema: { querystring: BookQuery } },
    async ({ params, query }): Promise<object> => {
      const depth = readDepth(query.depth)
      // A market that is no longer configured can still be in the recordings.
      if (query.at !== undefined) return answerPastBook(pastBooks, params.symbol, depth, query)
      return bookDocument(marketOf(hub, params.symbol), depth)
    },
  )
}

function marketOf(hub: Hub, symbol: string): MarketStream {
  const market = hub.market(symbol)
  if (market === undefined) throw new Problem('not_found', `there is no market with this symbol; ${hub.marketList}`)
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

/** One source of a market as this process observes it. */
export interface ObservedSource {
  /** As the configuration names it. */
  readonly source: string
  readonly state: 'starting' | 'live' | 'lost'
  /** Why it is not live. */
  readonly reason: string
  readonly sinceMilliseconds: number
  readonly notices: readonly string[]
}

interface SourceDocument {
  readonly source: string
  readonly live: boolean
  /** Why it is not live. */
  readonly reason?: string
  /** When its state changed last: `lost` follows `starting` without a change of `live`. */
  readonly since: string
  /** Notices for the operator, also about a source that is live. */
  readonly notices: readonly string[]
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
  /** Published levels per side; 0 = all. */
  readonly depth: number
  /** Version of the last commit since the process started; 0 before the first. */
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
  /** `time` of the last commit, as the messages of the stream carry it. */
  readonly time?: string
  /** Best first. */
  readonly bids: readonly LevelDocument[]
  readonly asks: readonly LevelDocument[]
}

function marketDocument(stream: MarketStream, sources: readonly ObservedSource[]): Omit<MarketDocument, 'subscribers'> {
  const { replica, state, stateSinceMilliseconds } = stream
  const { market, view, top, instant, version } = replica
  return {
    symbol: market.symbol,
    ...statusOf(stream),
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

function sourceDocument({ source, state, reason, sinceMilliseconds, notices }: ObservedSource): SourceDocument {
  const live = state === 'live'
  return { source, live, ...(live ? {} : { reason }), since: millisecondText(sinceMilliseconds), notices }
}

/** @param depth at most this many levels per side, the best ones */
function bookDocument(stream: MarketStream, depth: number): BookDocument {
  const { market, view, instant, version } = stream.replica
  const levels = view.levels(depth)
  const side = (wanted: Side): LevelDocument[] =>
    levels.filter((level) => level.side === wanted).map((level) => levelDocument(market, level))
  return {
    symbol: market.symbol,
    ...statusOf(stream),
    version,
    ...(version === 0 ? {} : { time: millisecondText(instant.milliseconds) }),
    bids: side(BID),
    asks: side(ASK),
  }
}

function statusOf({ replica: { live, reason } }: MarketStream): { readonly live: boolean; readonly reason?: string } {
  return live ? { live } : { live, reason }
}

function levelDocument(market: MarketDefinition, { price, amount }: LevelChange): LevelDocument {
  return {
    price: formatDecimal(price, market.priceDecimals),
    amount: formatDecimal(amount, market.amountDecimals),
  }
}
