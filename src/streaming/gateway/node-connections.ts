/**
 * This node's connections, as any node's operator API lists, shows and closes them: this process's sessions, or
 * connections served by gateway processes. A page is one pass over memory within one event-loop tick. Closing is a
 * write: its audit row is committed before the close begins, and while the store is unavailable no connection is
 * closed.
 */
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db } from '../../platform/store/db.ts'
import type { PageRequest } from '../../platform/store/page.ts'
import { type PagePart, type Placed, pageInMemory } from '../../platform/store/page-memory.ts'
import {
  type ConnectionDetails,
  type ConnectionDocument,
  sessionDetails,
  sessionDocument,
} from './connection-document.ts'
import type { GatewayProcesses } from './gateway-processes.ts'
import type { Hub } from './hub.ts'
import type { Session } from './session.ts'

export interface ConnectionFilter {
  readonly client_id?: string | undefined
  readonly customer_id?: string | undefined
}

/** A page of connections that match the filter, in creation order. */
export interface ConnectionRequest extends Pick<PageRequest, 'order' | 'pageCursor'> {
  readonly limit: number
  readonly filter: ConnectionFilter
}

/** A document at its place in the list. */
export interface PlacedConnection extends Placed {
  readonly document: ConnectionDocument
}

export interface ConnectionPart extends PagePart<PlacedConnection> {
  readonly records: readonly PlacedConnection[]
  /** How many connections match the filter, on this page or not. */
  readonly total: number
}

export interface NodeConnections {
  /** @param bytesMax approximate limit for the documents' JSON texts in bytes; one is always included */
  list(request: ConnectionRequest, bytesMax?: number): Promise<ConnectionPart>
  /** A connection with its positions. Undefined when none has this id. */
  get(id: string): Promise<ConnectionDetails | undefined>
  /**
   * Closes a connection and returns its document; undefined when none has this id.
   * @param actor who requested it, for the audit trail
   */
  close(id: string, actor: string): Promise<ConnectionDocument | undefined>
}

export function createNodeConnections(
  db: Db,
  hub: Hub,
  processes: GatewayProcesses | undefined,
  nodeName: string,
): NodeConnections {
  return processes === undefined
    ? operated(db, sessionsOf(hub, nodeName))
    : operated(db, connectionsOf(processes, nodeName))
}

/** The request parameters bound to the list's cursor. */
export function pageRequestOf({ filter, ...page }: ConnectionRequest) {
  const { client_id, customer_id } = filter
  return { ...page, operation: 'connections', owner: 'operator', filters: { client_id, customer_id } }
}

interface Connection extends Placed {
  readonly token: { readonly clientId: string; readonly customerId: string }
  readonly isOpen: boolean
}

interface Connections<Kind extends Connection> {
  readonly all: Iterable<Kind>
  /** In the same order. Undefined for a gateway process's closed connections. */
  documents(connections: readonly Kind[]): Promise<(ConnectionDocument | undefined)[]>
  /** Undefined when it has ended, or its process does not answer in time. */
  details(connection: Kind): Promise<ConnectionDetails | undefined>
  close(connection: Kind): void
}

function sessionsOf(hub: Hub, node: string): Connections<Session> {
  return {
    all: hub.sessions,
    documents: async (sessions) => sessions.map((session) => ({ ...sessionDocument(session), node })),
    details: async (session) => ({ ...sessionDetails(session), node }),
    close: (session) => session.close('operator'),
  }
}

function connectionsOf(processes: GatewayProcesses, node: string): Connections<Connection> {
  return {
    all: processes.sessions,
    async documents(connections) {
      const documents = await processes.describe(connections.map(({ id }) => id))
      return connections.map(({ id }) => {
        const document = documents.get(id)
        return document === undefined ? undefined : { ...document, node }
      })
    },
    async details({ id }) {
      const details = await processes.inspect(id)
      return details === undefined ? undefined : { ...details, node }
    },
    close: ({ id }) => processes.close(id, 'operator'),
  }
}

function operated<Kind extends Connection>(db: Db, connections: Connections<Kind>): NodeConnections {
  const closer = createCloser(db, connections)
  return {
    async list(request, bytesMax = Number.POSITIVE_INFINITY) {
      const matching = [...connections.all].filter((connection) => isMatching(connection, request.filter))
      const page = pageInMemory(matching, pageRequestOf(request))
      const end = page.next_page_cursor === undefined ? undefined : page.items.at(-1)
      const documents = await connections.documents(page.items)
      return { ...cut(page.items, documents, end, bytesMax), total: matching.length }
    },
    async get(id) {
      const connection = connectionWith(connections, id)
      const details = connection?.isOpen === true ? await connections.details(connection) : undefined
      if (details === undefined && connection?.isOpen === true) {
        throw new Problem('unavailable', 'the connection’s process has not answered in time: try again')
      }
      return details
    },
    async close(id, actor) {
      const connection = connectionWith(connections, id)
      return connection === undefined ? undefined : await closer(connection, actor)
    },
  }
}

function connectionWith<Kind extends Connection>({ all }: Connections<Kind>, id: string): Kind | undefined {
  for (const connection of all) if (connection.id === id) return connection
  return undefined
}

function isMatching({ isOpen, token }: Connection, { client_id, customer_id }: ConnectionFilter): boolean {
  return (
    isOpen &&
    (client_id === undefined || client_id.toLowerCase() === token.clientId) &&
    (customer_id === undefined || customer_id.toLowerCase() === token.customerId)
  )
}

/** Documents up to `bytesMax` in total. */
function cut(
  connections: readonly Connection[],
  documents: readonly (ConnectionDocument | undefined)[],
  end: Placed | undefined,
  bytesMax: number,
): Omit<ConnectionPart, 'total'> {
  const records: PlacedConnection[] = []
  let bytes = 0
  let last: Placed | undefined
  for (const [index, { id, createdMilliseconds }] of connections.entries()) {
    const document = documents[index]
    if (document !== undefined) {
      bytes += Buffer.byteLength(JSON.stringify(document)) + PLACE_BYTES
      if (bytes > bytesMax && records.length > 0) return { records, end: last }
      records.push({ id, createdMilliseconds, document })
    }
    last = { id, createdMilliseconds }
  }
  return { records, ...(end === undefined ? {} : { end }) }
}

/** Bytes for a document's place and member names. */
const PLACE_BYTES = 120

/**
 * Closes a connection with one audit row. A second request waits for the first one's row, and a closed connection is
 * not recorded again.
 */
function createCloser<Kind extends Connection>(
  db: Db,
  connections: Connections<Kind>,
): (connection: Kind, actor: string) => Promise<ConnectionDocument | undefined> {
  const closings = new Map<Kind, Promise<void>>()
  const recordAndClose = async (connection: Kind, document: ConnectionDocument, actor: string): Promise<void> => {
    const { client_id, customer_id, client_address } = document
    const detail = { client_id, customer_id, client_address }
    await db.transaction((transaction) =>
      writeAudit(transaction, { actor, action: 'connection.close', subject: connection.id, detail }),
    )
    connections.close(connection)
  }
  return async (connection, actor) => {
    const [document] = await connections.documents([connection])
    if (document === undefined || !connection.isOpen) return document
    let closing = closings.get(connection)
    if (closing === undefined) {
      closing = recordAndClose(connection, document, actor).finally(() => closings.delete(connection))
      closings.set(connection, closing)
    }
    await closing
    return document
  }
}
