/** The operator API's endpoint for the nodes of the service, as the node that answers knows them. */
import type { FastifyInstance } from 'fastify'
import type { NodeDocument, Nodes } from './nodes.ts'

/** Registers the route under the prefix of `app`. */
export function registerNodeRoutes(app: FastifyInstance, nodes: Pick<Nodes, 'all'>): void {
  app.get('/nodes', async (): Promise<{ items: readonly NodeDocument[] }> => ({ items: nodes.all }))
}
