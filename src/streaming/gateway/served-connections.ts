/**
 * Customers' connections as the operator API needs them, in the process that serves them. A page is one pass over
 * memory within one event-loop tick.
 */
import type { PageRequest } from '../../platform/store/page.ts'
import { type PagePart, type Placed, pageInMemory } from '../../platform/store/page-memory.ts'
import { type SessionDetails, type SessionDocument, sessionDetails, sessionDocument } from './connection-document.ts'
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
export interface PlacedConnection<Document = SessionDocument> extends Placed {
  readonly document: Document
}

export interface ConnectionPart<Document = SessionDocument> extends PagePart<PlacedConnection<Document>> {
  readonly records: readonly PlacedConnection<Document>[]
  /** How many connections match the filter, on this page or not. */
  readonly total: number
}

export interface FoundConnection {
  readonly document: SessionDocument
  /** False once it is being closed. */
  readonly isOpen: boolean
}

/** The connections in this process, or in its gateway processes. */
export interface ServedConnections {
  /** @param bytesMax approximate limit for the documents' JSON texts in bytes; one is always included */
  list(request: ConnectionRequest, bytesMax: number): Promise<ConnectionPart> | ConnectionPart
  find(id: string): Promise<FoundConnection | undefined> | FoundConnection | undefined
  /** Undefined when it is not open. */
  show(id: string): Promise<SessionDetails | undefined> | SessionDetails | undefined
  close(id: string): void
}

/** The request parameters bound to the list's cursor. */
export function pageRequestOf({ filter, ...page }: ConnectionRequest) {
  const { client_id, customer_id } = filter
  return { ...page, operation: 'connections', owner: 'operator', filters: { client_id, customer_id } }
}

/** The connections in this process. */
export class SessionConnections implements ServedConnections {
  readonly #hub: Pick<Hub, 'sessions'>

  constructor(hub: Pick<Hub, 'sessions'>) {
    this.#hub = hub
  }

  list(request: ConnectionRequest, bytesMax: number): ConnectionPart {
    const matching = [...this.#hub.sessions].filter((session) => isMatching(session, request.filter))
    const page = pageInMemory(matching, pageRequestOf(request))
    const end = page.next_page_cursor === undefined ? undefined : page.items.at(-1)
    return { ...cut(page.items, end, bytesMax), total: matching.length }
  }

  find(id: string): FoundConnection | undefined {
    const session = this.#session(id)
    return session && { document: sessionDocument(session), isOpen: session.isOpen }
  }

  show(id: string): SessionDetails | undefined {
    const session = this.#session(id)
    return session?.isOpen === true ? sessionDetails(session) : undefined
  }

  close(id: string): void {
    this.#session(id)?.close('operator')
  }

  #session(id: string): Session | undefined {
    for (const session of this.#hub.sessions) if (session.id === id) return session
    return undefined
  }
}

function isMatching({ isOpen, token }: Session, { client_id, customer_id }: ConnectionFilter): boolean {
  return (
    isOpen &&
    (client_id === undefined || client_id.toLowerCase() === token.clientId) &&
    (customer_id === undefined || customer_id.toLowerCase() === token.customerId)
  )
}

/** Bytes for a document's place and member names. */
const PLACE_BYTES = 120

/** Documents up to `bytesMax` in total. */
function cut(sessions: readonly Session[], end: Placed | undefined, bytesMax: number): Omit<ConnectionPart, 'total'> {
  const records: PlacedConnection[] = []
  let bytes = 0
  for (const session of sessions) {
    const { id, createdMilliseconds } = session
    const document = sessionDocument(session)
    bytes += Buffer.byteLength(JSON.stringify(document)) + PLACE_BYTES
    if (bytes > bytesMax && records.length > 0) return { records, end: records.at(-1) }
    records.push({ id, createdMilliseconds, document })
  }
  return { records, ...(end === undefined ? {} : { end }) }
}
