/** The operator's calls for all customers' orchestrations. The operator guard runs first. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { idOf, operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { answered, RawJson } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import type { GateSettings } from '../controls/gates.ts'
import { type Release, ReleaseBody } from '../gates/release.ts'
import { partiesFormFor } from '../screening/parties.ts'
import { getAnyOrchestration, listAllOrchestrations, textWithParties } from './lists.ts'
import {
  lockOrchestration,
  noOrchestration,
  rejectOrchestration,
  releaseOrchestration,
  retryOrchestration,
} from './operator-actions.ts'
import {
  OPERATOR_ORCHESTRATION_FILTERS,
  OperatorOrchestration,
  OperatorOrchestrationPage,
  RejectBody,
} from './schemas.ts'
import type { StartSettings } from './start.ts'
import type { OrchestrationTables } from './tables.ts'

export interface OrchestrationOperatorRoutesOptions {
  readonly db: Db
  /** Decrypts the orchestrations’ parties, and encrypts those of retries. Undefined: none can be read. */
  readonly encryptionKey: EncryptionKey | undefined
  /** The current settings. */
  settings(): StartSettings & { readonly gates: GateSettings }
}

interface ById {
  readonly Params: { readonly id: string }
}

const Nothing = Type.Object({}, { additionalProperties: false })

/** Declares the routes, relative to the prefix of `app`. */
export function registerOrchestrationOperatorRoutes(
  app: FastifyInstance,
  { db, encryptionKey, settings }: OrchestrationOperatorRoutesOptions,
): void {
  const write = async (
    request: FastifyRequest,
    work: (transaction: Transaction<OrchestrationTables>, actor: string, id: string) => Promise<string>,
  ): Promise<RawJson> => {
    const id = idOf((request.params as ById['Params']).id)
    const text = await transactionWithRetries(db, async (transaction: Transaction<OrchestrationTables>) => {
      await requireSeen(request, async () => {
        await lockOrchestration(transaction, id)
        const text = (await getAnyOrchestration(transaction, id)) ?? noOrchestration()
        return new RawJson(await textWithParties(transaction, id, text, encryptionKey, 'kept'))
      })
      return await work(transaction, operatorActor(request), id)
    })
    return new RawJson(text)
  }
  app.get<{ Querystring: ListQuery<typeof OPERATOR_ORCHESTRATION_FILTERS> }>(
    '/orchestrations',
    {
      ...readsListQuery(OPERATOR_ORCHESTRATION_FILTERS),
      ...answered(OperatorOrchestrationPage, { querystring: listQuerySchema(OPERATOR_ORCHESTRATION_FILTERS) }),
    },
    async ({ query }) => pageDocument(await listAllOrchestrations(db, query)),
  )
  app.get<ById>('/orchestrations/:id', answered(OperatorOrchestration), async (request) => {
    const tables = db.tables<OrchestrationTables>()
    const id = idOf(request.params.id)
    const text = (await getAnyOrchestration(tables, id)) ?? noOrchestration()
    return new RawJson(await textWithParties(tables, id, text, encryptionKey, partiesFormFor(request)))
  })
  app.post<ById>('/orchestrations/:id/retry', answered(OperatorOrchestration, { body: Nothing }), (request) =>
    write(request, (transaction, actor, id) => retryOrchestration(transaction, actor, id, settings(), encryptionKey)),
  )
  app.post<ById & { Body: Release }>(
    '/orchestrations/:id/release',
    answered(OperatorOrchestration, { body: ReleaseBody }),
    (request) =>
      write(request, (transaction, actor, id) =>
        releaseOrchestration(transaction, actor, id, request.body, settings().gates),
      ),
  )
  app.post<ById & { Body: Static<typeof RejectBody> }>(
    '/orchestrations/:id/reject',
    answered(OperatorOrchestration, { body: RejectBody }),
    (request) =>
      write(request, (transaction, actor, id) => rejectOrchestration(transaction, actor, id, request.body.reason)),
  )
}
