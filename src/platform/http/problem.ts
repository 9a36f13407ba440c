/**
 * Problems (RFC 9457): the form for every HTTP error, except at the token and revocation endpoints. Contains the code
 * table and writes the documents. A detail names the field and the rule, and never quotes a secret.
 */
import { STATUS_CODES } from 'node:http'
import { writeJson } from './raw-json.ts'
import { securityHeaders } from './security-headers.ts'

/**
 * Every problem code with its status, its meaning, and the members allowed in its `meta`. Codes are stable: clients may
 * switch on them.
 */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    meaning: 'a parameter, member or header breaks its rule. `errors` names field and rule',
  },
  invalid_cursor: { status: 400, meaning: 'the cursor is malformed, or from another list, filter or order' },
  own_address: {
    status: 400,
    meaning: 'the destination is a deposit address of this service: name its profile as the destination instead',
  },
  fiat_network_unavailable: {
    status: 400,
    meaning: 'the operator has no bank details for the fiat network and account type',
  },
  bad_handshake: { status: 400, meaning: 'the WebSocket handshake breaks RFC 6455' },
  unauthorized: { status: 401, meaning: 'a bearer token is required' },
  invalid_token: {
    status: 401,
    meaning: 'the bearer token is malformed, expired, revoked, or not from the trusted issuer',
  },
  insufficient_scope: { status: 403, meaning: 'the token, or its client by now, lacks the scope' },
  login_failed: {
    status: 401,
    meaning: 'name, password or one-time code are not right, the code was used before, or the operator is disabled',
  },
  setup_link_invalid: { status: 401, meaning: 'the setup link was used, has expired, or was replaced by a newer one' },
  session_ended: { status: 401, meaning: 'the operator’s session has ended: sign in again' },
  insufficient_role: {
    status: 403,
    meaning: 'the operator’s role does not include this call. `meta.role` is the role, `meta.needed` the lowest one',
    meta: ['role', 'needed'],
  },
  outside_binding: {
    status: 403,
    meaning: 'the machine’s token is bound to other sources or assets, or another executor made the attempt',
  },
  login_unavailable: {
    status: 403,
    meaning: 'operators sign in with a password only over TLS or from the service’s machine',
  },
  own_request: {
    status: 403,
    meaning:
      'another person must confirm a request: not its operator, no operator whose credentials one of the two has issued to the other, and not the single token',
  },
  csrf_failed: {
    status: 403,
    meaning:
      'a call with an operator’s session lacks its `X-CSRF-Token`, or, if it is not a GET, the listener’s `Origin`',
  },
  disabled: { status: 403, meaning: 'the client or its customer is disabled' },
  not_allowed: {
    status: 403,
    meaning: 'the customer is not on the streaming allow list, or its plan does not include this',
  },
  foreign_origin: {
    status: 403,
    meaning: 'a web page from another origin may neither call the operator listener nor get a demo page token',
  },
  quota_exceeded: {
    status: 403,
    meaning:
      'the customer, or the record in the path, may have no more records of this kind. `meta.limit` and `meta.used` count them',
    meta: ['limit', 'used'],
  },
  account_blocked: {
    status: 403,
    meaning:
      'the profile’s account is DISABLED, DENIED or ERROR: the profile gets no new addresses or rules. `meta.summary_status` names the status',
    meta: ['summary_status'],
  },
  account_not_approved: {
    status: 403,
    meaning:
      'the profile’s account is PENDING: it gets addresses, rules, memos and orchestrations once the operator has approved it',
  },
  destination_not_registered: {
    status: 403,
    meaning: 'the destination is not registered and ACTIVE, or was deleted or rejected. Nothing is paid to it',
  },
  destination_cooling: {
    status: 403,
    meaning: 'the destination is new, and is paid from `meta.usable_at` on',
    meta: ['usable_at'],
  },
  limit_exceeded: {
    status: 403,
    meaning:
      'the amount is above a limit on what leaves the customer’s profiles. `meta.limit`, `meta.used` and `meta.available` are amounts. At `meta.next_release_at` some of the used amount is released; absent: waiting does not help',
    meta: ['limit', 'used', 'available', 'next_release_at'],
  },
  insufficient_funds: {
    status: 403,
    meaning: 'the profile has too little of the asset available. `meta.available` and `meta.needed` are the amounts',
    meta: ['available', 'needed'],
  },
  receivable: {
    status: 403,
    meaning: 'the profile owes money since a deposit was reversed. Nothing leaves it until that is repaid',
  },
  paused: { status: 403, meaning: 'the operator has paused the asset, the network or the pair. Try again later' },
  not_found: {
    status: 404,
    meaning: 'there is nothing at this path, or with this id',
    meta: ['recorded_before', 'recorded_after'],
  },
  method_not_allowed: { status: 405, meaning: 'the resource has other methods. `Allow` names them' },
  request_timeout: { status: 408, meaning: 'the request came too slowly' },
  already_exists: {
    status: 409,
    meaning: 'the name is taken. `meta.existing` contains its record',
    meta: ['existing'],
  },
  invalid_state: {
    status: 409,
    meaning: 'the record’s state does not allow this',
    meta: ['current', 'attempt', 'profile_id', 'secrets', 'available', 'needed'],
  },
  earlier_attempt_unknown: {
    status: 409,
    meaning:
      'one of the delivery’s attempts may have been paid. `meta.attempts` names such attempts with their executors. Only these or a person can state `earlier_attempts`: `not_paid`',
    meta: ['attempts'],
  },
  record_changed: {
    status: 409,
    meaning: 'the record’s version differs from the call’s: read it again',
  },
  deposit_conflict: {
    status: 409,
    meaning:
      'the payment is known with other terms, and nothing was credited. `meta.fields` names the differences, `meta.deposit_id` the deposit',
    meta: ['fields', 'deposit_id'],
  },
  ambiguous_payment: {
    status: 409,
    meaning:
      'it may be the payment of the deposit `meta.deposit_id`, and nothing was credited: one of them has no `bank_reference`',
    meta: ['deposit_id'],
  },
  events_expired: {
    status: 410,
    meaning:
      'events after `after` are no longer kept, or `after` is later than the last event (the store was restored). `meta.oldest_sequence` is the oldest kept',
    meta: ['oldest_sequence'],
  },
  body_too_large: { status: 413, meaning: 'the body is over its limit' },
  unsupported_media_type: {
    status: 415,
    meaning: 'the resource does not accept the body’s type, or the body has a `Content-Encoding`',
  },
  misdirected_request: {
    status: 421,
    meaning: '`Host` is neither an IP address nor one of the operator listener’s names (`operator.allowed_hosts`)',
  },
  upgrade_required: { status: 426, meaning: 'the stream is a WebSocket, version 13' },
  too_many_connections: {
    status: 429,
    meaning: 'the client, its customer or its address has as many connections, or requests in progress, as it may',
  },
  too_many_unread_answers: {
    status: 429,
    meaning: 'the client has too many unread answers. `Retry-After` gives the delay',
  },
  rate_limited: { status: 429, meaning: 'too many requests. `Retry-After` gives the delay' },
  daily_quota_exceeded: {
    status: 429,
    meaning:
      'the customer has reached its creation limit for this UTC day. `Retry-After` gives the time until its end, `meta.limit` and `meta.used` the counts',
    meta: ['limit', 'used'],
  },
  headers_too_large: { status: 431, meaning: 'the request head is over its limit' },
  internal: { status: 500, meaning: 'an error on our side. Quote `request_id`' },
  unavailable: {
    status: 503,
    meaning: 'the store is unavailable or did not answer in time, or the node is starting, full or shutting down',
  },
  role_missing: {
    status: 503,
    meaning: 'none of this process’s roles serves the request. `meta.roles` names the roles that do',
    meta: ['roles'],
  },
  market_not_live: {
    status: 503,
    meaning: 'the market has no trusted book now. `Retry-After` gives the delay',
  },
  encryption_key_missing: {
    status: 503,
    meaning:
      'this process has no `keys.encryption_key`, or another one, and cannot store or read bank details or parties',
  },
  address_unavailable: { status: 503, meaning: 'the service has no key for addresses of this network' },
  pool_empty: { status: 503, meaning: 'every imported address on this network is in use' },
  pool_reserved: {
    status: 503,
    meaning: 'the few imported addresses left on this network are kept for customers that have received fewer',
  },
} as const satisfies Record<string, ProblemRow>

interface ProblemRow {
  readonly status: number
  readonly meaning: string
  readonly meta?: readonly string[]
}

export type ProblemCode = keyof typeof PROBLEMS

/** The names allowed in a code's `meta`. */
export type MetaMember<Code extends ProblemCode = ProblemCode> = Code extends ProblemCode
  ? (typeof PROBLEMS)[Code] extends { readonly meta: readonly (infer Name)[] }
    ? Name
    : never
  : never

export function isProblemCode(code: unknown): code is ProblemCode {
  return typeof code === 'string' && Object.hasOwn(PROBLEMS, code)
}

/** One violated rule, for a URL parameter or for a body member by its JSON pointer (RFC 6901). */
export type FieldError =
  | { readonly parameter: string; readonly detail: string }
  | { readonly pointer: string; readonly detail: string }

interface ProblemExtras<Code extends ProblemCode> {
  readonly errors?: readonly FieldError[]
  /** Facts for the client's reaction, as the table names them. */
  readonly meta?: { readonly [Name in MetaMember<Code>]?: unknown }
  readonly headers?: Readonly<Record<string, string>>
}

/** An error answer thrown by a handler. It is not our failure and is not logged as one. */
export class Problem<Code extends ProblemCode = ProblemCode> extends Error {
  override name = 'Problem'
  readonly code: Code
  readonly extras: ProblemExtras<Code>

  constructor(code: Code, detail: string, extras: ProblemExtras<Code> = {}) {
    super(detail)
    this.code = code
    this.extras = extras
  }

  get status(): number {
    return PROBLEMS[this.code].status
  }
}

export const PROBLEM_MEDIA_TYPE = 'application/problem+json; charset=utf-8'

/** The document from RFC 9457 section 3. `about:blank` means: the title is the status's standard phrase. */
export function problemDocument(problem: Problem, requestId: string): object {
  const { status, code, message: detail, extras } = problem
  const { errors, meta } = extras
  return { type: 'about:blank', title: STATUS_CODES[status], status, detail, code, request_id: requestId, errors, meta }
}

/** A complete HTTP answer as text, for a raw socket: when there is no request object, and before an upgrade. */
export function problemResponse(problem: Problem, requestId: string, socket: object): string {
  const body = writeJson(problemDocument(problem, requestId))
  const headers = {
    ...securityHeaders(socket),
    ...problem.extras.headers,
    'X-Request-Id': requestId,
    'Content-Type': PROBLEM_MEDIA_TYPE,
    'Content-Length': Buffer.byteLength(body),
    Connection: problem.code === 'upgrade_required' ? 'Upgrade, close' : 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`
}

/** A validation problem, whose detail is the first error with its field. */
export function invalidRequest(errors: readonly [FieldError, ...FieldError[]]): Problem {
  const [first] = errors
  const field = 'parameter' in first ? first.parameter : first.pointer || 'body'
  return new Problem('invalid_request', `${shortened(field)}: ${first.detail}`, { errors: errors.map(withShortField) })
}

/** Longest field name that an answer repeats, in UTF-16 code units. Clients can send names with any length. */
const FIELD_CHARACTERS_MAX = 500

function withShortField(error: FieldError): FieldError {
  if ('parameter' in error) return { ...error, parameter: shortened(error.parameter) }
  return { ...error, pointer: shortened(error.pointer) }
}

function shortened(field: string): string {
  // Half a surrogate pair could not be sent as UTF-8.
  return field.length > FIELD_CHARACTERS_MAX
    ? `${field.slice(0, FIELD_CHARACTERS_MAX).replace(/\p{Surrogate}$/u, '')}…`
    : field
}
