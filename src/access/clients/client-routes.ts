/** `GET /v2/client`: what the calling client may do, and its secrets. Any valid token may ask. */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Db } from '../../platform/store/db.ts'
import { secretsOf } from './clients.ts'
import type { Directory } from './directory.ts'
import { callerOf, type Guard } from './guard.ts'
import { Secret } from './operator-answers.ts'
import { ownPlanDocument } from './plans/plan.ts'
import { OwnPlan } from './plans/schemas.ts'
import type { AuthTables } from './tables.ts'

const Count = Type.Integer({ minimum: 1 })

const ClientLimits = Type.Object(
  {
    connections_max: { ...Count, description: 'The client’s stream connections' },
    subscriptions_max: { ...Count, description: 'Subscriptions of one connection' },
    inbound_per_second: { ...Count, description: 'Messages to the stream on one connection' },
    rest_rate_per_second: { ...Count, description: 'Requests for each operation' },
  },
  { title: 'ClientLimits', description: 'Each node counts by itself' },
)

const OwnClient = Type.Object(
  {
    client_id: Type.String(),
    customer_id: Type.String(),
    name: Type.Optional(Type.String({ description: 'The client’s name, chosen by the operator' })),
    scopes: Type.Array(Type.String(), {
      description: 'Scopes its tokens may have. With an external issuer: this token’s scopes',
    }),
    streaming: Type.Boolean({ description: 'Whether the customer is on the stream’s allow list' }),
    plan: OwnPlan,
    limits: ClientLimits,
    secrets: Type.Array(Secret, { description: 'The valid ones, the oldest first, without values' }),
  },
  { title: 'OwnClient' },
)

export interface ClientRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly directory: Directory
  /** With an external issuer, a client's scopes are its token's. */
  readonly issuesTokens: boolean
  /** By the current settings. */
  limits(): Static<typeof ClientLimits>
}

export function registerClientRoutes(
  app: FastifyInstance,
  { db, guard, directory, issuesTokens, limits }: ClientRoutesOptions,
): void {
  app.route({
    ...guard('getClient'),
    schema: { response: { 200: OwnClient } },
    async handler(request): Promise<Static<typeof OwnClient>> {
      const { clientId, customerId, client, scopes, plans } = callerOf(request)
      const id = client?.clientId ?? clientId
      const secrets = client === undefined ? new Map<string, never[]>() : await secretsOf(db.tables<AuthTables>(), [id])
      return {
        client_id: id,
        customer_id: customerId,
        ...(client === undefined ? {} : { name: client.name }),
        scopes: [...(issuesTokens && client !== undefined ? client.scopes : scopes)],
        streaming: directory.customer(customerId)?.streaming === true,
        plan: ownPlanDocument(plans),
        limits: limits(),
        secrets: secrets.get(id) ?? [],
      }
    },
  })
}
