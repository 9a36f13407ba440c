/** The public operations on accounts. The guard has authenticated the caller. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { actorOf, callerOf, type Guard } from '../../access/clients/guard.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { memberTexts } from '../../platform/base/json-text.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { CreationQueue } from './creation-queue.ts'
import { accountDocument } from './documents.ts'
import { listAccounts } from './lists.ts'
import { METADATA_DEFAULT, readMetadata } from './metadata.ts'
import type { NewMember } from './model.ts'
import type { Quotas } from './quotas.ts'
import { ACCOUNT_FILTERS, Account, AccountChangeBody, AccountPage, NewAccountBody } from './schemas.ts'
import { changeAccount, createAccount, getAccount } from './store.ts'
import type { AccountTables } from './tables.ts'

export interface AccountRoutesOptions {
  readonly db: Db
  readonly guard: Guard
  readonly quotas: Quotas
  readonly clock: Clock
}

/** Declares the routes, with the paths from the operations table. */
export function registerAccountRoutes(app: FastifyInstance, { db, guard, quotas, clock }: AccountRoutesOptions): void {
  const creations = new CreationQueue(clock)
  app.route<{ Body: Static<typeof NewAccountBody> }>({
    ...guard('createAccount'),
    schema: { body: NewAccountBody, response: { 200: Account } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { account, create_profile: withProfile = false } = request.body
      const { members = [], type = 'BROKERAGE' } = account
      refuseRepeatedMembers(members, '/account/members')
      const bodyMembers = memberTexts(memberTexts(request.bodyText).get('account') as string)
      const metadata = metadataIn(bodyMembers, '/account/metadata') ?? METADATA_DEFAULT
      const { identity_id: identityId, ref_id: refId, description } = account
      const wanted = { identityId, refId, description, metadata, members, type, withProfile }
      const writer = writerOf(request)
      const row = await creations.run(writer.customerId, () => createAccount(db, writer, wanted, quotas))
      return accountDocument(row)
    },
  })
  app.route<{ Body: Static<typeof AccountChangeBody> }>({
    ...guard('updateAccount'),
    schema: { body: AccountChangeBody, response: { 200: Account } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { body } = request
      const isWrapped = 'account' in body
      const place = isWrapped ? '/account' : ''
      const {
        id,
        members,
        ref_id: refId,
        description,
        set_user_disabled: userDisabled,
      } = isWrapped ? body.account : body
      refuseRepeatedMembers(members ?? [], `${place}/members`)
      const texts = memberTexts(request.bodyText)
      const changeTexts = isWrapped ? memberTexts(texts.get('account') as string) : texts
      const metadata = metadataIn(changeTexts, `${place}/metadata`)
      const change = { refId, description, metadata, members, userDisabled }
      if (!isUuid(id)) throw noAccount(`${place}/id`)
      const row = await db.transaction((transaction: Transaction<AccountTables>) =>
        changeAccount(transaction, writerOf(request), id.toLowerCase(), change),
      )
      if (row === undefined) throw noAccount(`${place}/id`)
      return accountDocument(row)
    },
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getAccount'),
    schema: { response: { 200: Account } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const { id } = request.params
      const row = isUuid(id) ? await getAccount(db, id, callerOf(request).customerId) : undefined
      if (row === undefined) throw noAccount()
      return accountDocument(row)
    },
  })
  app.route<{ Querystring: ListQuery<typeof ACCOUNT_FILTERS> }>({
    ...guard('listAccounts'),
    ...readsListQuery(ACCOUNT_FILTERS),
    schema: { querystring: listQuerySchema(ACCOUNT_FILTERS), response: { 200: AccountPage } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      return pageDocument(await listAccounts(db, callerOf(request).customerId, request.query))
    },
  })
}

function writerOf(request: FastifyRequest): { readonly customerId: string; readonly actor: string } {
  const caller = callerOf(request)
  return { customerId: caller.customerId, actor: actorOf(caller) }
}

function metadataIn(members: ReadonlyMap<string, string>, pointer: string): string | undefined {
  const text = members.get('metadata')
  return text === undefined ? undefined : readMetadata(text, pointer)
}

function refuseRepeatedMembers(members: readonly NewMember[], pointer: string): void {
  const seen = new Set<string>()
  for (const [index, { identity_id }] of members.entries()) {
    if (seen.has(identity_id)) {
      throw invalidRequest([{ pointer: `${pointer}/${index}/identity_id`, detail: 'is a duplicate' }])
    }
    seen.add(identity_id)
  }
}

/** @param pointer the body member with the id, absent when the id is in the path */
function noAccount(pointer?: string): Problem {
  const detail = 'there is no account with this id'
  if (pointer === undefined) return new Problem('not_found', detail)
  return new Problem('not_found', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}
