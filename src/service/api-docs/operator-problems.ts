/**
 * The problems that operator calls usually return, from which their description lists them by status. Most follow from
 * the method, the path and the credentials, and others are a table row. A call may return further ones.
 */
import {
  LOGIN_CALLS,
  type LoginCallId,
  OPERATOR_CALLS,
  type OperatorCallId,
  type OperatorCallRow,
} from '../../contract/operator-calls.ts'
import { PROBLEMS, type ProblemCode } from '../../platform/http/problem.ts'
import { ADDRESS_CREATION } from './operation-problems.ts'

export type DescribedCallId = LoginCallId | OperatorCallId

const EVERYWHERE: readonly ProblemCode[] = [
  'invalid_request',
  'foreign_origin',
  'request_timeout',
  'misdirected_request',
  'too_many_connections',
  'too_many_unread_answers',
  'headers_too_large',
  'internal',
  'unavailable',
]

/** Problems for every call with credentials. */
const WITH_CREDENTIALS: readonly ProblemCode[] = [
  'unauthorized',
  'invalid_token',
  'session_ended',
  'csrf_failed',
  'insufficient_role',
]

/** Problems for every call that may have a body. */
const WITH_BODY: readonly ProblemCode[] = ['body_too_large', 'unsupported_media_type']

const LOGIN: readonly ProblemCode[] = ['login_unavailable', 'rate_limited']

/** Calls that change a record's state, which may not allow it. */
const CHANGES_STATE =
  /^POST \/(rules|destinations|deposits|orchestrations|deliveries|screening|change-requests)\/:id\/(?!notes$)/

/** Calls that only processes with a role that moves money serve. */
const MOVES_MONEY =
  /^\w+ \/(accounts|address-pool|customers\/:id\/(profiles|quotas)|deliveries|deposit-addresses|deposits|desk|ledger|limits|orchestrations|profiles|rules|destinations|screening)\b/

/** Problems that do not follow from method and path. */
const OF_ITS_OWN: { readonly [Call in DescribedCallId]?: readonly ProblemCode[] } = {
  'GET /login/openid': ['login_unavailable', 'not_found'],
  'GET /login/openid/callback': ['login_unavailable', 'not_found'],
  'POST /session': [...LOGIN, 'login_failed', 'encryption_key_missing'],
  'POST /setup': [...LOGIN, 'setup_link_invalid', 'already_exists'],
  'POST /setup/confirm': [
    ...LOGIN,
    'setup_link_invalid',
    'login_failed',
    'already_exists',
    'invalid_state',
    'encryption_key_missing',
  ],
  'POST /session/password': [...LOGIN, 'login_failed', 'invalid_state', 'encryption_key_missing'],
  'POST /session/authenticator': [...LOGIN, 'login_failed', 'invalid_state', 'encryption_key_missing'],
  'POST /customers': ['already_exists'],
  'POST /customers/:id/profiles': ['already_exists', 'quota_exceeded', 'daily_quota_exceeded'],
  'POST /customers/:id/clients': ['already_exists'],
  'GET /customers/:id/events': ['events_expired'],
  'POST /customers/:id/webhook-endpoints': ['quota_exceeded', 'encryption_key_missing'],
  'PATCH /webhook-endpoints/:id': ['invalid_state', 'encryption_key_missing'],
  'POST /webhook-endpoints/:id/test': ['invalid_state'],
  'POST /webhook-endpoints/:id/replay': ['invalid_state'],
  'POST /clients/:id/secrets': ['invalid_state'],
  'POST /plans': ['already_exists'],
  'PATCH /plans/:name': ['invalid_state'],
  'DELETE /plans/:name': ['invalid_state'],
  'POST /signing-keys/encrypt': ['invalid_state'],
  'PATCH /accounts/:id': ['invalid_state'],
  'POST /accounts/:id/notes': ['quota_exceeded'],
  'GET /destinations/:id': ['encryption_key_missing'],
  'POST /destinations/:id/approve': ['encryption_key_missing'],
  'POST /rules/:id/approve': ['fiat_network_unavailable', ...ADDRESS_CREATION],
  'POST /deposits/:id/release': ['record_changed'],
  'POST /deposits/:id/return': ['own_address'],
  'POST /screening/:id/decide': ['record_changed'],
  'POST /rules/:id/notes': ['quota_exceeded'],
  'POST /address-pool': ['already_exists'],
  'POST /deposits': ['deposit_conflict', 'ambiguous_payment', 'outside_binding', 'encryption_key_missing'],
  'POST /orchestrations/:id/release': ['record_changed'],
  'POST /orchestrations/:id/retry': ['insufficient_funds', 'encryption_key_missing'],
  'POST /ledger/entries': ['already_exists', 'insufficient_funds', 'invalid_state', 'not_found'],
  'POST /ledger/entries/:id/reverse': ['invalid_state'],
  'GET /limits': ['not_found'],
  'PUT /limits': ['not_found'],
  'POST /deliveries/:id/settle': ['already_exists', 'outside_binding'],
  'POST /deliveries/:id/claim': ['outside_binding', 'encryption_key_missing'],
  'POST /deliveries/:id/fail': ['earlier_attempt_unknown', 'outside_binding'],
  'POST /change-requests/:id/confirm': ['own_request', 'record_changed'],
  'POST /operators': ['already_exists', 'invalid_state'],
  'PATCH /operators/:name': ['already_exists', 'invalid_state'],
  'POST /operators/setup-link': ['invalid_state'],
  'POST /operators/:name/reset': ['invalid_state'],
  'POST /operators/:name/tokens': ['already_exists', 'invalid_state'],
}

/** The call's own problems. A confirmation is answered like the call it carries out. */
function ownProblemsOf(call: DescribedCallId): readonly ProblemCode[] {
  const own = OF_ITS_OWN[call] ?? []
  if (call !== 'POST /change-requests/:id/confirm') return own
  const calls: readonly (readonly [string, OperatorCallRow])[] = Object.entries(OPERATOR_CALLS)
  const confirmed = calls.filter(([, { fourEyes }]) => fourEyes !== undefined)
  return [...own, ...confirmed.flatMap(([each]) => OF_ITS_OWN[each as OperatorCallId] ?? [])]
}

/** Problems by status, in the problem table's order. */
export function operatorProblemsOf(
  call: DescribedCallId,
  isList: boolean,
): ReadonlyMap<number, readonly ProblemCode[]> {
  const isSafe = call.startsWith('GET ')
  const codes = new Set<ProblemCode>([...EVERYWHERE, ...ownProblemsOf(call)])
  if (!isSafe) for (const code of WITH_BODY) codes.add(code)
  if (isList) codes.add('invalid_cursor')
  if (MOVES_MONEY.test(call)) codes.add('role_missing')
  if (call.includes('/:')) codes.add('not_found')
  if (CHANGES_STATE.test(call)) codes.add('invalid_state')
  if (!isLoginCall(call)) {
    for (const code of WITH_CREDENTIALS) codes.add(code)
    const { fourEyes }: OperatorCallRow = OPERATOR_CALLS[call]
    // Another call for the same record waits for its confirmation.
    if (fourEyes !== undefined) codes.add('already_exists')
  }
  const byStatus = new Map<number, ProblemCode[]>()
  for (const [code, { status }] of Object.entries(PROBLEMS) as [ProblemCode, { status: number }][]) {
    if (codes.has(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return byStatus
}

export function isLoginCall(call: DescribedCallId): call is LoginCallId {
  return Object.hasOwn(LOGIN_CALLS, call)
}
