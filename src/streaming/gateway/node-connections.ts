/**
 * This node's connections, as any node's operator API lists, shows and closes them. Closing is a write: its audit row
 * is committed before the close begins, and while the store is unavailable no connection is closed.
 */
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db } from '../../platform/store/db.ts'
import type { ConnectionDetails, ConnectionDocument, SessionDocument } from './connection-document.ts'
import type { ConnectionPart, ConnectionRequest, ServedConnections } from './served-connections.ts'

export interface NodeConnections {
  /** @param bytesMax approximate limit for the documents' JSON texts in bytes; one is always included */
  list(request: ConnectionRequest, bytesMax?: number): Promise<ConnectionPart<ConnectionDocument>>
  /** A connection with its positions. Undefined when none has this id. */
  get(id: string): Promise<ConnectionDetails | undefined>
  /**
   * Closes a connection and returns its document; undefined when none has this id.
   * @param actor who requested it, for the audit trail
   */
  close(id: string, actor: string): Promise<ConnectionDocument | undefined>
}

export function createNodeConnections(db: Db, served: ServedConnections, node: string): NodeConnections {
  const recordAndClose = createCloser(db, served)
  return {
    async list(request, bytesMax = Number.POSITIVE_INFINITY) {
      const { records, ...part } = await served.list(request, bytesMax)
      return { ...part, records: records.map((each) => ({ ...each, document: { ...each.document, node } })) }
    },
    async get(id) {
      const details = await served.show(id)
      return details && { ...details, node }
    },
    async close(id, actor) {
      const found = await served.find(id)
      if (found?.isOpen === true) await recordAndClose(id, found.document, actor)
      return found && { ...found.document, node }
    },
  }
}

/**
 * Closes a connection with one audit row. A second request waits for the first one's row, and a closed connection is
 * not recorded again.
 */
function createCloser(
  db: Db,
  served: ServedConnections,
): (id: string, document: SessionDocument, actor: string) => Promise<void> {
  const closings = new Map<string, Promise<void>>()
  const recordAndClose = async (id: string, document: SessionDocument, actor: string): Promise<void> => {
    const { client_id, customer_id, client_address } = document
    const detail = { client_id, customer_id, client_address }
    await db.transaction((transaction) =>
      writeAudit(transaction, { actor, action: 'connection.close', subject: id, detail }),
    )
    served.close(id)
  }
  return (id, document, actor) => {
    const known = closings.get(id)
    if (known !== undefined) return known
    const closing = recordAndClose(id, document, actor).finally(() => closings.delete(id))
    closings.set(id, closing)
    return closing
  }
}
