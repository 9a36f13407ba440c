/** The operator API's endpoint for the service's nodes, as known by the answering node. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { NodeDocument, Nodes } from './nodes.ts'

const Node = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    roles: Type.Array(Type.String()),
    version: Type.String({ description: 'Of the program' }),
    started_at: Type.String(),
    ready: Type.Boolean({ description: 'Whether its `/readyz` answers 200' }),
    markets: Type.Integer({ minimum: 0, description: 'Number of its markets' }),
    definitions: Type.String({ description: 'Digest of its market definitions' }),
    directory_version: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The time of its known customers and clients. Absent while it does not reach the store',
      }),
    ),
    self: Type.Boolean({ description: 'The node that answers' }),
    state: textChoice(['present', 'silent']),
    seen_at: Type.String({ format: 'date-time' }),
    same_definitions: Type.Boolean({ description: 'Whether its definitions equal the answering node’s' }),
  },
  { title: 'Node' },
)

/** Registers the route under the prefix of `app`. */
export function registerNodeRoutes(app: FastifyInstance, nodes: Pick<Nodes, 'all'>): void {
  const nodeList = Type.Object({ items: Type.Array(Node) })
  app.get('/nodes', answered(nodeList), async (): Promise<{ items: readonly NodeDocument[] }> => ({ items: nodes.all }))
}
