/**
 * The operator's calls for access: customers, clients, secrets, keys, notices, and the audit trail. A write is one
 * transaction with its audit row, and is answered when this node's directory contains it. The operator guard runs before
 * them.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Scope } from '../../contract/scopes.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { PageQuery, pageDocument, readPageQuery } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import { listAudit } from '../../platform/store/audit.ts'
import type { Db } from '../../platform/store/db.ts'
import {
  changeClient,
  createSecret,
  deleteSecret,
  ensureClient,
  getClient,
  listClients,
  lockClient,
  revokeClientTokens,
} from './clients.ts'
import { changeCustomer, ensureCustomer, getCustomer, listCustomers, lockCustomer } from './customers.ts'
import type { EncryptionKey } from './encryption-key.ts'
import {
  AuditPage,
  addressesAt,
  Client,
  ClientPage,
  Customer,
  CustomerPage,
  NewClientAnswer,
  NewSecretAnswer,
} from './operator-answers.ts'
import { idOf, operatorActor, requireSeen, type Write } from './operator-calls.ts'
import { registerPlanRoutes } from './plans/operator-routes.ts'
import { PlanName } from './plans/schemas.ts'
import { registerReceiptKeyRoutes } from './receipt-key-routes.ts'
import { registerNoticeRoutes } from './security-contacts/routes.ts'
import { registerSigningKeyRoutes } from './signing-key-routes.ts'

export interface OperatorRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  /** Whether tokens are issued here. With an external issuer there are no keys. */
  readonly issuesTokens: boolean
  /** Scopes allowed for clients. */
  readonly scopes: readonly Scope[]
  /** Encrypts signing keys, and decrypts the pepper, where the store is encrypted. */
  readonly encryptionKey?: EncryptionKey | undefined
  /** The address used by customers. */
  publicUrl(): string
  /** The stream's address for customers. Empty: that of `publicUrl`. */
  streamUrl(): string
  /** Reads the directory's changes. Resolves also after a failure. */
  refreshDirectory(): Promise<void>
}

const strict = { additionalProperties: false }
const Name = Type.String({ minLength: 1, maxLength: 200 })

const NewCustomer = Type.Object({ name: Name, streaming: Type.Optional(Type.Boolean()) }, strict)
const CustomerChange = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    streaming: Type.Optional(Type.Boolean()),
    plan: Type.Optional(PlanName),
  },
  { ...strict, minProperties: 1 },
)
const Nothing = Type.Object({}, strict)
const Filter = Type.Optional(Type.String({ maxLength: 200, pattern: '^[^\\0]*$' }))
const NameQuery = Type.Object({ ...PageQuery.properties, name: Filter })
/** Ids in one customer query. */
const IDS_MAX = 100
const CustomersQuery = Type.Object({
  ...NameQuery.properties,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^\\0]*$',
      description: 'The beginning of the name, in small or capital letters',
    }),
  ),
  ids: Type.Optional(Type.String({ description: `Up to ${IDS_MAX} ids, separated by commas` })),
})
/** A market symbol's form, as in the setting `markets`. */
const MarketSymbol = Type.String({ pattern: '^[A-Z0-9]{1,20}$', maxLength: 20 })
/** Markets one client may publish. */
const PUBLISH_MARKETS_MAX = 1_000

const AuditQuery = Type.Object({ ...PageQuery.properties, actor: Filter, subject: Filter })

function clientBodies(served: readonly Scope[]) {
  const scopes = Type.Array(textChoice(served), { uniqueItems: true, maxItems: served.length })
  const publish_markets = Type.Optional(Type.Array(MarketSymbol, { uniqueItems: true, maxItems: PUBLISH_MARKETS_MAX }))
  return {
    NewClient: Type.Object({ name: Name, scopes, publish_markets }, strict),
    ClientChange: Type.Object(
      {
        enabled: Type.Optional(Type.Boolean()),
        scopes: Type.Optional(scopes),
        publish_markets,
        plan: Type.Optional(Type.Union([PlanName, Type.Null()], { description: 'Null: none of its own' })),
      },
      { ...strict, minProperties: 1 },
    ),
  }
}

type ClientBodies = ReturnType<typeof clientBodies>

interface ById {
  readonly Params: { readonly id: string }
}
interface Listed {
  readonly Querystring: Static<typeof NameQuery>
}

/** Declares the routes, relative to the prefix in `app`. */
export function registerAuthOperatorRoutes(app: FastifyInstance, options: OperatorRoutesOptions): void {
  const { db, clock, encryptionKey } = options
  const write: Write = async (work) => {
    const result = await db.transaction(work)
    await options.refreshDirectory()
    return result
  }
  registerCustomerRoutes(app, db, write)
  registerClientRoutes(app, options, write)
  registerPlanRoutes(app, db, write)
  if (options.issuesTokens) registerSigningKeyRoutes(app, { db, clock, encryptionKey }, write)
  registerReceiptKeyRoutes(app, { db, encryptionKey }, write)
  registerNoticeRoutes(app, db)
  app.get<{ Querystring: Static<typeof AuditQuery> }>(
    '/audit',
    answered(AuditPage, { querystring: AuditQuery }),
    async ({ query }) => pageDocument(await listAudit(db, readPageQuery(query), query)),
  )
}

function registerCustomerRoutes(app: FastifyInstance, db: Db, write: Write): void {
  app.post<{ Body: Static<typeof NewCustomer> }>('/customers', answered(Customer, { body: NewCustomer }), (request) =>
    write(async (transaction) => {
      const { name, streaming = false } = request.body
      const { customer, isNew } = await ensureCustomer(transaction, operatorActor(request), { name, streaming })
      if (!isNew) throw alreadyExists('a customer with this name exists', customer)
      return customer
    }),
  )
  app.get<{ Querystring: Static<typeof CustomersQuery> }>(
    '/customers',
    answered(CustomerPage, { querystring: CustomersQuery }),
    ({ query }) => {
      const { name, search, ids } = query
      return listCustomers(db, readPageQuery(query), { name, search, ids: ids === undefined ? ids : idsOf(ids) })
    },
  )
  app.get<ById>('/customers/:id', answered(Customer), (request) => getCustomer(db, idOf(request.params.id)))
  app.patch<ById & { Body: Static<typeof CustomerChange> }>(
    '/customers/:id',
    answered(Customer, { body: CustomerChange }),
    (request) =>
      write(async (transaction) => {
        const id = idOf(request.params.id)
        await requireSeen(request, () => lockCustomer(transaction, id))
        return await changeCustomer(transaction, operatorActor(request), id, request.body)
      }),
  )
}

function registerClientRoutes(app: FastifyInstance, options: OperatorRoutesOptions, write: Write): void {
  const { db, encryptionKey } = options
  const { NewClient, ClientChange } = clientBodies(options.scopes)
  app.post<ById & { Body: Static<ClientBodies['NewClient']> }>(
    '/customers/:id/clients',
    answered(NewClientAnswer, { body: NewClient }),
    (request) =>
      write(async (transaction) => {
        const customerId = idOf(request.params.id)
        const actor = operatorActor(request)
        const { client, secret } = await ensureClient(transaction, actor, customerId, request.body, encryptionKey)
        if (secret === undefined) throw alreadyExists('the customer has a client with this name', client)
        return {
          ...client,
          client_secret: secret.client_secret,
          ...addressesAt(options.publicUrl(), options.streamUrl()),
        }
      }),
  )
  app.get<ById & Listed>(
    '/customers/:id/clients',
    answered(ClientPage, { querystring: NameQuery }),
    ({ params, query }) => listClients(db, { customerId: idOf(params.id), name: query.name }, readPageQuery(query)),
  )
  app.get<Listed>('/clients', answered(ClientPage, { querystring: NameQuery }), ({ query }) =>
    listClients(db, { name: query.name }, readPageQuery(query)),
  )
  app.get<ById>('/clients/:id', answered(Client), (request) => getClient(db, idOf(request.params.id)))
  app.patch<ById & { Body: Static<ClientBodies['ClientChange']> }>(
    '/clients/:id',
    answered(Client, { body: ClientChange }),
    (request) =>
      write(async (transaction) => {
        const id = idOf(request.params.id)
        await requireSeen(request, () => lockClient(transaction, id))
        return await changeClient(transaction, operatorActor(request), id, request.body)
      }),
  )
  app.post<ById>('/clients/:id/revoke-tokens', answered(Client, { body: Nothing }), (request) =>
    write((transaction) => revokeClientTokens(transaction, operatorActor(request), idOf(request.params.id))),
  )
  app.post<ById>('/clients/:id/secrets', answered(NewSecretAnswer, { body: Nothing }), (request) =>
    write(async (transaction) => ({
      ...(await createSecret(transaction, operatorActor(request), idOf(request.params.id), encryptionKey)),
      ...addressesAt(options.publicUrl(), options.streamUrl()),
    })),
  )
  app.delete<{ Params: { id: string; secret: string } }>('/clients/:id/secrets/:secret', answered(Client), (request) =>
    write((transaction) =>
      deleteSecret(transaction, operatorActor(request), idOf(request.params.id), idOf(request.params.secret)),
    ),
  )
}

function idsOf(text: string): readonly string[] {
  const ids = text.toLowerCase().split(',', IDS_MAX + 1)
  if (ids.length <= IDS_MAX && ids.every(isUuid)) return ids
  throw invalidRequest([{ parameter: 'ids', detail: `must be 1 to ${IDS_MAX} UUIDs, separated by commas` }])
}

function alreadyExists(detail: string, existing: object): Problem {
  return new Problem('already_exists', `name: ${detail}`, { meta: { existing } })
}
