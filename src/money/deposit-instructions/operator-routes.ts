/** The operator's calls for address pools and address owners. The operator guard has authenticated the caller. */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { operatorActor } from '../../access/clients/operator-calls.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import { depositAddressesAt } from './address-owner.ts'
import { countPools, importAddresses } from './address-pool.ts'
import { POOL_NETWORKS } from './allocation.ts'
import { DepositAddress } from './schemas.ts'
import type { DepositInstructionTables } from './tables.ts'

const ADDRESSES_MAX = 1_000
const ADDRESS_CHARACTERS_MAX = 200

const PoolImport = Type.Object(
  {
    network: textChoice(POOL_NETWORKS),
    addresses: Type.Array(Type.String({ maxLength: ADDRESS_CHARACTERS_MAX }), { minItems: 1, maxItems: ADDRESSES_MAX }),
  },
  { additionalProperties: false },
)

const OwnerQuery = Type.Object({ address: Type.String({ minLength: 1, maxLength: ADDRESS_CHARACTERS_MAX }) })

const Count = Type.Integer({ minimum: 0 })
const poolMembers = {
  network: textChoice(POOL_NETWORKS),
  free: { ...Count, description: 'Addresses not allocated yet' },
  used: Count,
}
const Pools = Type.Object({ items: Type.Array(Type.Object(poolMembers, { title: 'AddressPool' })) })
const ImportedPool = Type.Object({ ...poolMembers, added: Count })
const Owners = Type.Object({ items: Type.Array(DepositAddress) })

/** Declares the routes, relative to the prefix of `app`. */
export function registerAddressOperatorRoutes(app: FastifyInstance, db: Db): void {
  app.post<{ Body: Static<typeof PoolImport> }>(
    '/address-pool',
    answered(ImportedPool, { body: PoolImport }),
    (request) =>
      db.transaction<DepositInstructionTables, object>((transaction) =>
        importAddresses(transaction, operatorActor(request), request.body.network, request.body.addresses),
      ),
  )
  app.get('/address-pool', answered(Pools), async () => ({
    items: await countPools(db.tables<DepositInstructionTables>()),
  }))
  app.get<{ Querystring: Static<typeof OwnerQuery> }>(
    '/deposit-addresses',
    answered(Owners, { querystring: OwnerQuery }),
    async ({ query }) => ({ items: await depositAddressesAt(db, query.address) }),
  )
}
