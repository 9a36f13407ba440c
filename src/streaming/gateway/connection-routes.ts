/**
 * The operator API's endpoints for connections on all nodes. The called node asks the others and joins their answers
 * with its own connections. A node that does not answer within two seconds is named in the list, because its
 * connections are missing there. A connection is closed by its own node. The caller has been authenticated as the
 * operator.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { operatorActor } from '../../access/clients/operator-calls.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { isObject, membersOf } from '../../platform/base/json-value.ts'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Page } from '../../platform/store/page.ts'
import { type Placed, pageOfParts } from '../../platform/store/page-memory.ts'
import type { NodeDocument, Nodes } from '../cluster/nodes.ts'
import type { NodeAnswer, NodeQuestions } from '../cluster/questions.ts'
import type { ConnectionDetails, ConnectionDocument } from './connection-document.ts'
import type { NodeConnections } from './node-connections.ts'
import { Connection, ConnectionPage, ConnectionDetails as Details } from './operator-answers.ts'
import {
  type ConnectionFilter,
  type ConnectionPart,
  type ConnectionRequest,
  type PlacedConnection,
  pageRequestOf,
} from './served-connections.ts'

/** The nodes that serve the stream, this one included. */
export interface ConnectionNodes {
  readonly nodes: Pick<Nodes, 'all'>
  readonly questions: Pick<NodeQuestions, 'ask' | 'answer'>
}

/** A node that serves the stream, as named in a connection list. */
type ListedNode =
  /** Its connections that match the filter, on this page or another. */
  | { readonly node: string; readonly connections: number }
  /** Why its connections are missing in the list. */
  | { readonly node: string; readonly problem: string }

interface ConnectionList extends Page<ConnectionDocument> {
  readonly nodes: readonly ListedNode[]
}

const ConnectionQuery = Type.Object({
  ...PageQuery.properties,
  client_id: Type.Optional(Type.String()),
  customer_id: Type.Optional(Type.String()),
})

/** Question kinds for other nodes. */
const LIST = 'connections'
const SHOW = 'connection'
const CLOSE = 'close connection'

/** Registers the routes under the prefix of `app`, and answers the other nodes. */
export function registerConnectionRoutes(
  app: FastifyInstance,
  connections: NodeConnections,
  { nodes, questions }: ConnectionNodes,
): void {
  questions.answer(LIST, async (question, bytesMax) => await connections.list(requestOf(question), bytesMax))
  questions.answer(SHOW, async ({ id }) => ({ connection: await connections.get(String(id)) }))
  questions.answer(CLOSE, async ({ id, actor }) => ({ closed: await connections.close(String(id), String(actor)) }))
  const serving = () => nodes.all.filter(({ roles }) => roles.includes('gateway'))
  app.get<{ Querystring: Static<typeof ConnectionQuery> }>(
    '/connections',
    answered(ConnectionPage, { querystring: ConnectionQuery }),
    async ({ query }): Promise<ConnectionList> => {
      const { client_id, customer_id } = query
      const request: ConnectionRequest = { ...readPageQuery(query), filter: { client_id, customer_id } }
      const others = serving().filter(({ self }) => !self)
      const own = await connections.list(request)
      const listed = await listOthers(questions, request, others)
      const parts = [own, ...listed.flatMap(({ part }) => part ?? [])]
      const { items, ...page } = pageOfParts(parts, pageRequestOf(request))
      const self = serving().filter((node) => node.self)
      return {
        items: items.map(({ document }) => document),
        ...page,
        nodes: [...self.map(({ name }) => ({ node: name, connections: own.total })), ...listed.map(({ node }) => node)],
      }
    },
  )
  const closes = answered(Connection)
  app.delete<{ Params: { id: string } }>('/connections/:id', closes, async (request): Promise<ConnectionDocument> => {
    const id = request.params.id.toLowerCase()
    const actor = operatorActor(request)
    const own = await connections.close(id, actor)
    if (own !== undefined) return own
    const others = serving().filter(({ self }) => !self)
    const answers = isUuid(id) ? await questions.ask(CLOSE, { id, actor }, others) : []
    return oneOf(others, answers, ({ closed }, node) => readDocument(closed, node))
  })
  app.get<{ Params: { id: string } }>(
    '/connections/:id',
    answered(Details),
    async (request): Promise<ConnectionDetails> => {
      const id = request.params.id.toLowerCase()
      const own = await connections.get(id)
      if (own !== undefined) return own
      const others = serving().filter(({ self }) => !self)
      const answers = isUuid(id) ? await questions.ask(SHOW, { id }, others) : []
      return oneOf(others, answers, ({ connection }, node) => readDetails(connection, node))
    },
  )
}

interface ListedPart {
  readonly node: ListedNode
  readonly part?: ConnectionPart<ConnectionDocument>
}

/** A silent node is not asked. */
async function listOthers(
  questions: ConnectionNodes['questions'],
  request: ConnectionRequest,
  others: readonly NodeDocument[],
): Promise<ListedPart[]> {
  const present = others.filter(({ state }) => state === 'present')
  const answers = await questions.ask(LIST, request, present)
  return others.map((node): ListedPart => {
    const { name } = node
    const place = present.indexOf(node)
    if (place < 0) return { node: { node: name, problem: `silent since ${node.seen_at}` } }
    const answer = answers[place]
    const part = answer !== undefined && 'value' in answer ? readPart(answer.value, name) : undefined
    if (part === undefined) return { node: { node: name, problem: problemOf(answer) } }
    return { node: { node: name, connections: part.total }, part }
  })
}

function problemOf(answer: NodeAnswer): string {
  if (answer === undefined) return 'no answer in time'
  return 'problem' in answer ? answer.problem.message : 'its answer cannot be read'
}

/** The connection from its node. Only when every node has answered is it known that none has it. */
function oneOf<Document>(
  others: readonly NodeDocument[],
  answers: readonly NodeAnswer[],
  read: (value: Readonly<Record<string, unknown>>, node: string) => Document | undefined,
): Document {
  for (const [index, answer] of answers.entries()) {
    if (answer === undefined || !('value' in answer)) continue
    const document = read(membersOf(answer.value), (others[index] as NodeDocument).name)
    if (document !== undefined) return document
  }
  for (const [index, answer] of answers.entries()) {
    const { name } = others[index] as NodeDocument
    if (answer === undefined)
      throw new Problem('unavailable', `node ${name} has not answered in time, and may have the connection: try again`)
    if ('problem' in answer) throw answer.problem
  }
  throw new Problem('not_found', 'there is no connection with this id')
}

/** Another node's request. @throws {Problem} when it is invalid */
function requestOf({ limit, order, pageCursor, filter }: Readonly<Record<string, unknown>>): ConnectionRequest {
  const page = readPageQuery({
    limit: String(limit),
    order: order === 'ASC' ? 'ASC' : 'DESC',
    ...(typeof pageCursor === 'string' ? { page_cursor: pageCursor } : {}),
  })
  return { ...page, filter: filterOf(membersOf(filter)) }
}

function filterOf({ client_id, customer_id }: Readonly<Record<string, unknown>>): ConnectionFilter {
  return {
    client_id: typeof client_id === 'string' ? client_id : undefined,
    customer_id: typeof customer_id === 'string' ? customer_id : undefined,
  }
}

/** Another node's answer. Undefined when it is invalid. */
function readPart(value: unknown, node: string): ConnectionPart<ConnectionDocument> | undefined {
  const { records, end, total } = membersOf(value)
  if (!Array.isArray(records) || !Number.isSafeInteger(total)) return undefined
  if (end !== undefined && !isPlaced(end)) return undefined
  const read = records.map((record): PlacedConnection<ConnectionDocument> | undefined => {
    const document = readDocument(membersOf(record).document, node)
    if (document === undefined || !isPlaced(record)) return undefined
    return { id: record.id, createdMilliseconds: record.createdMilliseconds, document }
  })
  if (read.includes(undefined)) return undefined
  return {
    records: read as PlacedConnection<ConnectionDocument>[],
    total: total as number,
    ...(end === undefined ? {} : { end }),
  }
}

function isPlaced(value: unknown): value is Placed {
  const { id, createdMilliseconds } = membersOf(value)
  return typeof id === 'string' && isUuid(id) && Number.isSafeInteger(createdMilliseconds)
}

function readDocument(value: unknown, node: string): ConnectionDocument | undefined {
  if (!isObject(value)) return undefined
  const isDocument =
    ['id', 'client_id', 'customer_id', 'client_address', 'created_at'].every(
      (name) => typeof value[name] === 'string',
    ) &&
    ['subscriptions', 'queued_bytes', 'bytes_out'].every((name) => Number.isSafeInteger(value[name])) &&
    typeof value.behind === 'boolean' &&
    // A node on an earlier release has none of them.
    ['boolean', 'undefined'].includes(typeof value.reading) &&
    ['conflated_messages', 'pong_age_ms', 'round_trip_ms'].every(
      (name) => value[name] === undefined || Number.isSafeInteger(value[name]),
    ) &&
    ['string', 'undefined'].includes(typeof value.subprotocol)
  return isDocument ? ({ ...value, node } as unknown as ConnectionDocument) : undefined
}

function readDetails(value: unknown, node: string): ConnectionDetails | undefined {
  const document = readDocument(value, node)
  const { heartbeat, market_count, markets } = membersOf(value)
  const isDetails =
    document !== undefined &&
    typeof heartbeat === 'boolean' &&
    Number.isSafeInteger(market_count) &&
    Array.isArray(markets) &&
    markets.every(isSubscribedMarket)
  return isDetails ? (document as ConnectionDetails) : undefined
}

function isSubscribedMarket(value: unknown): boolean {
  const { market, channels, behind, version, current_version, last_digest } = membersOf(value)
  return (
    typeof market === 'string' &&
    Array.isArray(channels) &&
    channels.every((channel) => typeof membersOf(channel).type === 'string') &&
    typeof behind === 'boolean' &&
    (version === undefined || Number.isSafeInteger(version)) &&
    Number.isSafeInteger(current_version) &&
    (last_digest === undefined ||
      ['digest', 'cursor', 'sent_at'].every((name) => typeof membersOf(last_digest)[name] === 'string'))
  )
}
