/** Whose requests an operator may confirm. */
import { callRowOf, includesRole, mayCall, type OperatorCallId } from '../../contract/operator-calls.ts'
import { Problem } from '../../platform/http/problem.ts'
import type { Kysely } from '../../platform/store/db.ts'
import { BUILT_IN_OPERATOR, type CallingOperator } from '../clients/operator-calls.ts'
import type { OperatorTables } from './tables.ts'

/** 403 unless the role includes the requested call, 409 when only another release has the call. */
export function refuseRole({ call }: { readonly call: OperatorCallId }, { role }: Pick<CallingOperator, 'role'>): void {
  const needed = callRowOf(call)?.role
  if (needed === undefined) {
    const detail = `this release has no call ${call}: decide on the request with the release that recorded it`
    throw new Problem('invalid_state', detail, { meta: { current: 'unknown_call' } })
  }
  if (includesRole(role, needed)) return
  throw new Problem('insufficient_role', `the role ${role} does not include this call, which needs ${needed}`, {
    meta: { role, needed },
  })
}

/** 403 `own_request`. Two credentials count as one person's when one was issued with the other. */
export function refuseOwn(
  { requested_by, issuers: requesters }: { readonly requested_by: string; readonly issuers: readonly string[] },
  { name, issuers }: Pick<CallingOperator, 'name' | 'issuers'>,
): void {
  const refuse = (detail: string) => new Problem('own_request', detail)
  if (name === BUILT_IN_OPERATOR) throw refuse('the single token confirms nothing: a person must')
  if (requested_by === name) throw refuse('a second operator must confirm what one has requested')
  if (issuers.includes(requested_by)) {
    throw refuse(
      `${requested_by} has requested this, and has issued credentials of ${name}: another operator must confirm`,
    )
  }
  if (requesters.includes(name)) {
    throw refuse(
      `${name} has issued credentials of ${requested_by}, who has requested this: another operator must confirm`,
    )
  }
}

/** 409 unless the requester may still make the call: two people stand behind it when it is carried out. */
export async function requireRequester(
  queries: Pick<Kysely<OperatorTables>, 'selectFrom'>,
  request: { readonly requested_by: string; readonly token_id: string | null; readonly call: OperatorCallId },
): Promise<void> {
  const lost = await lostAccess(queries, request)
  if (lost === undefined) return
  throw new Problem(
    'invalid_state',
    `${request.requested_by}, who has requested this, ${lost}: the request can no longer be confirmed`,
    {
      meta: { current: 'requester_without_access' },
    },
  )
}

async function lostAccess(
  queries: Pick<Kysely<OperatorTables>, 'selectFrom'>,
  { requested_by, token_id, call }: Parameters<typeof requireRequester>[1],
): Promise<string | undefined> {
  const query = queries.selectFrom('operators').select(['role', 'enabled']).where('name', '=', requested_by)
  const requester = await query.executeTakeFirst()
  if (!requester?.enabled) return 'has been disabled'
  if (!mayCall(requester.role, call)) return 'no longer has the role for this'
  if (token_id === null) return undefined
  const token = queries.selectFrom('operator_tokens').select('id').where('id', '=', token_id)
  return (await token.executeTakeFirst()) === undefined ? 'used an API token that has been revoked' : undefined
}
