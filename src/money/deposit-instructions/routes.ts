/** The public operations on deposit addresses: create, get and list. No filter can match another customer's address. */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import { type Conversions, isConvertible } from '../../contract/assets.ts'
import {
  CRYPTO_NETWORKS,
  type CryptoNetwork,
  networkNamed,
  networksOf,
  REQUESTED_NETWORK_NAMES,
} from '../../contract/crypto-networks.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import type { AddressSupply } from './allocation.ts'
import { DEPOSIT_ADDRESS_FILTERS, listDepositAddresses } from './deposit-address-list.ts'
import {
  createDepositAddress,
  type DepositAddressDocument,
  getDepositAddress,
  NO_CONVERSION,
} from './deposit-addresses.ts'
import { DepositAddress, DepositAddressPage } from './schemas.ts'
import type { DepositInstructionTables } from './tables.ts'

export interface DepositAddressRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly supply: AddressSupply
  /** The current configuration. */
  conversions(): Conversions
}

const METADATA_MEMBERS_MAX = 6
const METADATA_CHARACTERS_MAX = 100

const strict = { additionalProperties: false }
const Id = Type.String({ minLength: 1, maxLength: 200 })
const RequestedNetworkName = textChoice(REQUESTED_NETWORK_NAMES)

const Metadata = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  maxProperties: METADATA_MEMBERS_MAX,
  propertyNames: { maxLength: METADATA_CHARACTERS_MAX },
  additionalProperties: { type: 'string', maxLength: METADATA_CHARACTERS_MAX },
})

const NewDepositAddress = Type.Object(
  {
    profile_id: Id,
    crypto_network: RequestedNetworkName,
    account_id: Type.Optional(Id),
    identity_id: Type.Optional(Id),
    ref_id: Type.Optional(Id),
    conversion_target_asset: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `${NO_CONVERSION}, or an asset to which one of the network’s assets can be converted`,
      }),
    ),
    metadata: Type.Optional(Metadata),
  },
  strict,
)

/** Declares the routes, with the paths from the operations table. */
export function registerDepositAddressRoutes(app: FastifyInstance, options: DepositAddressRoutesOptions): void {
  const { db, guard, supply } = options
  app.route<{ Querystring: ListQuery<typeof DEPOSIT_ADDRESS_FILTERS> }>({
    ...guard('listDepositAddresses'),
    ...readsListQuery(DEPOSIT_ADDRESS_FILTERS),
    schema: { querystring: listQuerySchema(DEPOSIT_ADDRESS_FILTERS), response: { 200: DepositAddressPage } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { filters, ...query } = request.query
      const { crypto_networks = [], networks = [], ...others } = filters
      const named = [...new Set([...crypto_networks, ...networks].map(networkNamed))]
      const wanted = { ...query, filters: named.length === 0 ? others : { ...others, crypto_networks: named } }
      return pageDocument(await listDepositAddresses(db, callerOf(request).customerId, wanted))
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getDepositAddress'),
    schema: { response: { 200: DepositAddress } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const found = isUuid(id) ? await getDepositAddress(db, id, callerOf(request).customerId) : undefined
      if (found === undefined) throw new Problem('not_found', 'there is no deposit address with this id')
      return found
    },
  })
  app.route<{ Body: Static<typeof NewDepositAddress> }>({
    ...guard('createDepositAddress'),
    schema: { body: NewDepositAddress, response: { 200: DepositAddress } },
    ...WRITES_RAW_JSON,
    handler(request): Promise<DepositAddressDocument> {
      const body = { ...request.body, crypto_network: networkNamed(request.body.crypto_network) }
      refuseConversionTarget(body.crypto_network, body.conversion_target_asset, options.conversions())
      const caller = callerOf(request)
      const who = { customerId: caller.customerId, actor: actorOf(caller) }
      return db.transaction<DepositInstructionTables, DepositAddressDocument>((transaction) =>
        createDepositAddress(transaction, supply, who, body),
      )
    },
  })
}

/** Throws 400 when no asset that can arrive at the address can be converted into the target asset. */
function refuseConversionTarget(network: CryptoNetwork, target: string | undefined, conversions: Conversions): void {
  if (target === undefined || target === NO_CONVERSION) return
  const pointer = '/conversion_target_asset'
  const { assets } = conversions
  if (!assets.some(({ symbol }) => symbol === target)) {
    throw invalidRequest([{ pointer, detail: `must be ${NO_CONVERSION} or an asset symbol` }])
  }
  const compatible = networksOf(CRYPTO_NETWORKS[network])
  const arriving = assets.filter(({ networks }) => networks.some((carrier) => compatible.includes(carrier)))
  if (arriving.some(({ symbol }) => isConvertible(symbol, target, conversions))) return
  const detail = `no asset of ${network} can be converted into ${target}: none has a market with it or is at par with it`
  throw invalidRequest([{ pointer, detail }])
}
