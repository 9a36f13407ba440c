/** The public operations on fiat deposit instructions: create, get and list. */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import { FIAT_ACCOUNT_TYPES, FIAT_NETWORKS } from '../../contract/assets.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { RawJson, WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db } from '../../platform/store/db.ts'
import type { AddressSupply } from './allocation.ts'
import { createFiatInstructions } from './fiat-instructions.ts'
import { FIAT_INSTRUCTIONS_FILTERS, fiatInstructionsText, listFiatInstructions } from './fiat-instructions-list.ts'
import { FiatInstructions, FiatInstructionsPage } from './schemas.ts'
import type { FiatInstructionTables } from './tables.ts'

export interface FiatInstructionsRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly supply: AddressSupply
}

const Id = Type.String({ minLength: 1, maxLength: 200 })

const NewFiatInstructions = Type.Object(
  {
    profile_id: Id,
    fiat_network: textChoice(FIAT_NETWORKS),
    account_type: Type.Optional(
      Type.Enum([...FIAT_ACCOUNT_TYPES], { type: 'string', description: 'Required for WIRE' }),
    ),
    account_id: Type.Optional(Id),
    identity_id: Type.Optional(Id),
    ref_id: Type.Optional(Id),
  },
  { additionalProperties: false },
)

/** Declares the routes, with the paths from the operations table. */
export function registerFiatInstructionsRoutes(
  app: FastifyInstance,
  { db, guard, supply }: FiatInstructionsRoutesOptions,
): void {
  app.route<{ Querystring: ListQuery<typeof FIAT_INSTRUCTIONS_FILTERS> }>({
    ...guard('listFiatDepositInstructions'),
    ...readsListQuery(FIAT_INSTRUCTIONS_FILTERS),
    schema: { querystring: listQuerySchema(FIAT_INSTRUCTIONS_FILTERS), response: { 200: FiatInstructionsPage } },
    ...WRITES_RAW_JSON,
    handler: async (request) =>
      pageDocument(await listFiatInstructions(db, callerOf(request).customerId, request.query, supply.banks())),
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getFiatDepositInstructions'),
    schema: { response: { 200: FiatInstructions } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const { customerId } = callerOf(request)
      const text = isUuid(id)
        ? await fiatInstructionsText(db.tables<FiatInstructionTables>(), { customerId, id }, supply.banks())
        : undefined
      if (text === undefined) throw new Problem('not_found', 'there are no fiat deposit instructions with this id')
      return new RawJson(text)
    },
  })
  app.route<{ Body: Static<typeof NewFiatInstructions> }>({
    ...guard('createFiatDepositInstructions'),
    schema: { body: NewFiatInstructions, response: { 200: FiatInstructions } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { fiat_network, account_type } = request.body
      if (account_type === undefined && fiat_network !== 'CUBIX') {
        throw invalidRequest([{ pointer: '/account_type', detail: `is required for ${fiat_network}` }])
      }
      const caller = callerOf(request)
      const who = { customerId: caller.customerId, actor: actorOf(caller) }
      const text = await db.transaction<FiatInstructionTables, string>((transaction) =>
        createFiatInstructions(transaction, supply, who, request.body),
      )
      return new RawJson(text)
    },
  })
}
