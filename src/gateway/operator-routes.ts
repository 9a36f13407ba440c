/**
 * The operator API's endpoints for the connections and markets of this node. They read memory within one event-loop tick,
 * so a page or a book is of one moment. Closing a connection is a write: its audit row is committed before the close
 * begins, and while the store is unavailable no connection is closed. The caller has been authenticated as the operator.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { PageQuery, readPageQuery } from '../http/page-query.ts'
import { invalidRequest, Problem } from '../http/problem.ts'
import { writeAudit } from '../store/audit.ts'
import type { Db } from '../store/db.ts'
import type { Page } from '../store/page.ts'
import { pageInMemory } from '../store/page-memory.ts'
import type { Hub } from './hub.ts'
import type { MarketStream } from './market-stream.ts'
import {
  type BookDocument,
  bookDocument,
  type ConnectionDocument,
  connectionDocument,
  type MarketDocument,
  marketDocument,
  type ObservedSource,
} from './operator-documents.ts'
import type { Session } from './session.ts'

export interface StreamOperatorRoutesOptions {
  readonly db: Db
  readonly hub: Hub
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
const BookQuery = Type.Object({ depth: Type.Optional(Type.String()) })

/** Registers the routes under the prefix of `app`. */
export function registerStreamOperatorRoutes(app: FastifyInstance, options: StreamOperatorRoutesOptions): void {
  registerConnectionRoutes(app, options)
  registerMarketRoutes(app, options)
}

function registerConnectionRoutes(app: FastifyInstance, { db, hub }: StreamOperatorRoutesOptions): void {
  app.get<{ Querystring: Static<typeof ConnectionQuery> }>(
    '/connections',
    { schema: { querystring: ConnectionQuery } },
    async ({ query }): Promise<Page<ConnectionDocument>> => {
      const { client_id, customer_id } = query
      const request = { ...readPageQuery(query), operation: 'connections', owner: 'operator' }
      const page = pageInMemory(matching(hub.sessions, query), { ...request, filters: { client_id, customer_id } })
      return { ...page, items: page.items.map(connectionDocument) }
    },
  )
  const closer = createCloser(db)
  app.delete<{ Params: { id: string } }>('/connections/:id', async ({ params }) => {
    const id = params.id.toLowerCase()
    for (const session of hub.sessions) if (session.id === id) return closer(session)
    throw new Problem('not_found', 'there is no connection with this id on this node')
  })
}

function* matching(
  sessions: Iterable<Session>,
  filter: { readonly client_id?: string; readonly customer_id?: string },
): Iterable<Session> {
  for (const session of sessions) {
    const { clientId, customerId } = session.token
    if (!session.isOpen) continue
    if (filter.client_id !== undefined && filter.client_id.toLowerCase() !== clientId) continue
    if (filter.customer_id !== undefined && filter.customer_id.toLowerCase() !== customerId) continue
    yield session
  }
}

/** Closes a connection once: a request for one whose audit row is being written, or that is closing, joins that. */
function createCloser(db: Db): (session: Session) => Promise<ConnectionDocument> {
  const closings = new Map<Session, Promise<void>>()
  const recordAndClose = async (session: Session): Promise<void> => {
    const { client_id, customer_id, client_address } = connectionDocument(session)
    const detail = { client_id, customer_id, client_address }
    await db.transaction((transaction) =>
      writeAudit(transaction, { actor: ACTOR, action: 'connection.close', subject: session.id, detail }),
    )
    session.close('operator')
  }
  return async (session) => {
    const document = connectionDocument(session)
    if (!session.isOpen) return document
    let closing = closings.get(session)
    if (closing === undefined) {
      closing = recordAndClose(session).finally(() => closings.delete(session))
      closings.set(session, closing)
    }
    await closing
    return document
  }
}

function registerMarketRoutes(app: FastifyInstance, { hub, sourcesOf }: StreamOperatorRoutesOptions): void {
  app.get('/markets', async (): Promise<{ items: MarketDocument[] }> => {
    return { items: [...hub.markets].map((market) => marketDocument(market, sourcesOf(market.symbol))) }
  })
  app.get<{ Params: { symbol: string }; Querystring: Static<typeof BookQuery> }>(
    '/markets/:symbol/book',
    { schema: { querystring: BookQuery } },
    async ({ params, query }): Promise<BookDocument> => {
      const depth = readDepth(query.depth)
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
