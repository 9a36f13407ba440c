/**
 * The customer's operations on crypto destination addresses and fiat accounts. The guard authenticates the caller and
 * checks its scopes. No filter can match another customer's destination.
 */
import type { FastifyInstance } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { networkNamed } from '../../contract/crypto-networks.ts'
import type { OperationId } from '../../contract/operations.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { type FieldError, invalidRequest } from '../../platform/http/problem.ts'
import { WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { addressFault } from '../deposit-instructions/derivation/address-validity.ts'
import { type Parties, readParties } from '../screening/parties.ts'
import { accountFaults, normalisedAccount } from './bank-details.ts'
import { destinationDocument } from './documents.ts'
import { type DestinationKind, memoFault } from './model.ts'
import {
  CRYPTO_ADDRESS_FILTERS,
  CryptoAddress,
  CryptoAddressPage,
  FIAT_ACCOUNT_FILTERS,
  FiatAccount,
  FiatAccountPage,
  NewCryptoAddress,
  NewFiatAccount,
} from './schemas.ts'
import { deleteDestination, noDestination, type Registrar, registerAccount, registerAddress } from './service.ts'
import { type DestinationRow, getOwnDestination, listOwnDestinations, type OwnFilters } from './store.ts'
import type { DestinationTables } from './tables.ts'

export interface DestinationRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly registrar: Registrar
}

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, with the paths from the operation table. */
export function registerDestinationRoutes(app: FastifyInstance, options: DestinationRoutesOptions): void {
  registerAddressRoutes(app, options)
  registerAccountRoutes(app, options)
  registerOwn(app, options, 'CRYPTO', CryptoAddress, {
    get: 'getCryptoDestinationAddress',
    delete: 'deleteCryptoDestinationAddress',
  })
  registerOwn(app, options, 'FIAT', FiatAccount, { get: 'getFiatAccount', delete: 'deleteFiatAccount' })
}

function registerAddressRoutes(app: FastifyInstance, { db, guard, registrar }: DestinationRoutesOptions): void {
  app.route<{ Querystring: ListQuery<typeof CRYPTO_ADDRESS_FILTERS> }>({
    ...guard('listCryptoDestinationAddresses'),
    ...readsListQuery(CRYPTO_ADDRESS_FILTERS),
    schema: { querystring: listQuerySchema(CRYPTO_ADDRESS_FILTERS), response: { 200: CryptoAddressPage } },
    ...WRITES_RAW_JSON,
    handler(request) {
      const { crypto_networks, ...filters } = request.query.filters
      const networks = crypto_networks === undefined ? {} : { networks: crypto_networks.map(networkNamed) }
      const { customerId } = callerOf(request)
      return pageOf(db, registrar, customerId, 'CRYPTO', { ...filters, ...networks }, request.query)
    },
  })
  app.route<{ Body: Static<typeof NewCryptoAddress> }>({
    ...guard('createCryptoDestinationAddress'),
    schema: { body: NewCryptoAddress, response: { 200: CryptoAddress } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { parties: given, ...rest } = request.body
      const body = { ...rest, crypto_network: networkNamed(rest.crypto_network) }
      const parties = partiesOf(given, registrar)
      refuse([...addressFaults(body), ...parties.faults])
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const row = await db.transaction((transaction: Transaction<DestinationTables>) =>
        registerAddress(transaction, registrar, writer, { ...body, ...parties.sealed }),
      )
      return destinationDocument(row, registrar.encryptionKey)
    },
  })
}

function registerAccountRoutes(app: FastifyInstance, { db, guard, registrar }: DestinationRoutesOptions): void {
  app.route<{ Querystring: ListQuery<typeof FIAT_ACCOUNT_FILTERS> }>({
    ...guard('listFiatAccounts'),
    ...readsListQuery(FIAT_ACCOUNT_FILTERS),
    schema: { querystring: listQuerySchema(FIAT_ACCOUNT_FILTERS), response: { 200: FiatAccountPage } },
    ...WRITES_RAW_JSON,
    handler(request) {
      const { fiat_networks, ...filters } = request.query.filters
      const networks = fiat_networks === undefined ? {} : { networks: fiat_networks }
      const { customerId } = callerOf(request)
      return pageOf(db, registrar, customerId, 'FIAT', { ...filters, ...networks }, request.query)
    },
  })
  app.route<{ Body: Static<typeof NewFiatAccount> }>({
    ...guard('createFiatAccount'),
    schema: { body: NewFiatAccount, response: { 200: FiatAccount } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { parties: given, ...rest } = request.body
      const body = { ...rest, account: normalisedAccount(rest.account) }
      const parties = partiesOf(given, registrar)
      refuse([...accountFaults(body.fiat_network, body.account), ...parties.faults])
      const caller = callerOf(request)
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const row = await db.transaction((transaction: Transaction<DestinationTables>) =>
        registerAccount(transaction, registrar, writer, { ...body, ...parties.sealed }),
      )
      return destinationDocument(row, registrar.encryptionKey)
    },
  })
}

/** The operations on one destination of a kind. */
function registerOwn(
  app: FastifyInstance,
  { db, guard, registrar }: DestinationRoutesOptions,
  kind: DestinationKind,
  schema: TSchema,
  operations: Readonly<Record<'get' | 'delete', OperationId>>,
): void {
  const shown = (row: DestinationRow) => destinationDocument(row, registrar.encryptionKey)
  app.route<ById>({
    ...guard(operations.get),
    schema: { response: { 200: schema } },
    ...WRITES_RAW_JSON,
    handler: async (request) =>
      shown((await getOwnDestination(db, callerOf(request).customerId, kind, request.params.id)) ?? noDestination()),
  })
  app.route<ById>({
    ...guard(operations.delete),
    schema: { response: { 200: schema } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const caller = callerOf(request)
      const { id } = request.params
      if (!isUuid(id)) noDestination()
      const writer = { customerId: caller.customerId, actor: actorOf(caller) }
      const row = await db.transaction((transaction: Transaction<DestinationTables>) =>
        deleteDestination(transaction, writer, kind, id.toLowerCase(), registrar.encryptionKey),
      )
      return shown(row)
    },
  })
}

async function pageOf(
  db: Db,
  { encryptionKey }: Registrar,
  customerId: string,
  kind: DestinationKind,
  filters: OwnFilters,
  { binding, limit, order, pageCursor }: Pick<ListQuery<never>, 'binding' | 'limit' | 'order' | 'pageCursor'>,
) {
  const request = { limit, order, pageCursor, filters: binding }
  const { items, ...page } = await listOwnDestinations(db, customerId, kind, filters, request)
  return { items: items.map((row) => destinationDocument(row, encryptionKey)), ...page }
}

/** The given parties, encrypted, or why they are not accepted. */
function partiesOf(given: Static<typeof Parties> | undefined, { encryptionKey, settings }: Registrar) {
  if (given === undefined) return { faults: [], sealed: {} }
  const read = readParties(given, { isScreening: settings().isScreening, encryptionKey })
  return typeof read === 'function' ? { faults: [], sealed: { parties: read } } : { faults: [read], sealed: {} }
}

function addressFaults({
  crypto_network: network,
  address,
  memo,
}: {
  readonly crypto_network: CryptoNetwork
  readonly address: string
  readonly memo?: string
}): readonly FieldError[] {
  const faults: FieldError[] = []
  const detail = addressFault(network, address)
  if (detail !== undefined) faults.push({ pointer: '/address', detail })
  const memoDetail = memo === undefined ? undefined : memoFault(network, address)
  if (memoDetail !== undefined) faults.push({ pointer: '/memo', detail: memoDetail })
  return faults
}

function refuse([first, ...rest]: readonly FieldError[]): void {
  if (first !== undefined) throw invalidRequest([first, ...rest])
}
