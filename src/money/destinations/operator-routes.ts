/**
 * The operator's calls for all customers' destinations: list, get, approve and reject. The operator guard runs first.
 * An account's numbers are shown in full only by the call for one destination, to the roles that approve or pay, and
 * each such reading is in the audit trail.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { idOf, operatorActor, operatorOf, requireSeen } from '../../access/clients/operator-calls.ts'
import type { OperatorRole } from '../../contract/operator-calls.ts'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import type { ApprovalHooks } from '../accounts/operator-routes.ts'
import { operatorDocument, partiesMember, reviewedDocument } from './documents.ts'
import { DESTINATION_KINDS, DESTINATION_STATUSES } from './model.ts'
import { ApproveBody, OperatorDestination, OperatorDestinationPage, RejectBody } from './schemas.ts'
import { approveDestination, noDestination, rejectDestination } from './service.ts'
import { type DestinationRow, getDestination, listAllDestinations, lockDestination } from './store.ts'
import type { DestinationTables } from './tables.ts'

export interface DestinationOperatorOptions {
  readonly db: Db
  readonly encryptionKey?: EncryptionKey | undefined
  readonly onApproval: ApprovalHooks
}

interface ById {
  readonly Params: { readonly id: string }
}

const DestinationsQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(textChoice(DESTINATION_STATUSES)),
  kind: Type.Optional(textChoice(DESTINATION_KINDS)),
  customer_id: Type.Optional(Type.String({ maxLength: 200 })),
  unverified: Type.Optional(textChoice(['true', 'false'])),
})

/** The roles that approve or pay destinations. */
const FULL_ROLES: readonly OperatorRole[] = ['reviewer', 'treasurer', 'admin']

type Work = (transaction: Transaction<DestinationTables>) => Promise<DestinationRow>

/** Declares the routes, relative to the prefix of `app`. */
export function registerDestinationOperatorRoutes(
  app: FastifyInstance,
  { db, encryptionKey, onApproval }: DestinationOperatorOptions,
): void {
  const reviewed = (row: DestinationRow) => reviewedDocument(row, encryptionKey)
  const listed = (row: DestinationRow) => operatorDocument(row, encryptionKey)
  const write = async (work: Work) => listed(await db.transaction<DestinationTables, DestinationRow>(work))
  app.get<{ Querystring: Static<typeof DestinationsQuery> }>(
    '/destinations',
    answered(OperatorDestinationPage, { querystring: DestinationsQuery }),
    async ({ query }) => {
      const { items, ...page } = await listAllDestinations(db, readPageQuery(query), filtersOf(query))
      return { items: items.map(listed), ...page }
    },
  )
  app.get<ById>('/destinations/:id', answered(OperatorDestination), (request) =>
    db.transaction<DestinationTables, object>(async (transaction) => {
      const row = (await getDestination(transaction, idOf(request.params.id))) ?? noDestination()
      const isFull = row.details !== null && seesNumbers(request)
      const document = {
        ...reviewedDocument(row, encryptionKey, isFull),
        ...(operatorOf(request).keepsRecord === true ? {} : partiesMember(row, encryptionKey)),
      }
      if (isFull) {
        const entry = { actor: operatorActor(request), action: 'destination.read_numbers', subject: row.id }
        await writeAudit(transaction, { ...entry, detail: { customer_id: row.customer_id } })
      }
      return document
    }),
  )
  app.post<ById & { Body: Static<typeof ApproveBody> }>(
    '/destinations/:id/approve',
    answered(OperatorDestination, { body: ApproveBody }),
    (request) =>
      write(async (transaction) => {
        const id = idOf(request.params.id)
        const { customer_id: ownerId } = (await getDestination(transaction, id)) ?? noDestination()
        await onApproval.before(transaction, ownerId)
        // An account whose details cannot be shown is not approved either.
        const seen = reviewed((await lockDestination(transaction, id)) ?? noDestination())
        await requireSeen(request, async () => seen)
        const approved = await approveDestination(transaction, operatorActor(request), id, request.body, encryptionKey)
        await onApproval.after(transaction, ownerId)
        return approved
      }),
  )
  app.post<ById & { Body: Static<typeof RejectBody> }>(
    '/destinations/:id/reject',
    answered(OperatorDestination, { body: RejectBody }),
    (request) =>
      write((transaction) =>
        rejectDestination(transaction, operatorActor(request), idOf(request.params.id), request.body.reason),
      ),
  )
}

/** A change request keeps the record as it was seen, so its own reading shows neither numbers nor parties. */
function seesNumbers(request: FastifyRequest): boolean {
  const { role, keepsRecord } = operatorOf(request)
  return keepsRecord !== true && FULL_ROLES.includes(role)
}

function filtersOf({ status, kind, customer_id, unverified }: Static<typeof DestinationsQuery>) {
  return { status, kind, customer_id, unverified }
}
