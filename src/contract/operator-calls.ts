/**
 * Every call in the operator API, by method and path below `/admin/v1`: the lowest role which may make it, and a summary.
 * The operator listener's guard, the API description and `GET /session` are made from this table. Pure.
 */

/**
 * What an operator may do. `viewer` reads. `reviewer` also decides on accounts and rules, and adds notes about them.
 * `treasurer` also moves money. `admin` may do everything. Reviewer and treasurer do not include each other.
 */
const PERSON_ROLES = ['viewer', 'reviewer', 'treasurer', 'admin'] as const
/** Machine roles, which have API tokens and never sign in. No other role includes them, and no call needs a second one. */
const MACHINE_ROLES = ['deposit_reporter', 'executor'] as const
export type MachineRole = (typeof MACHINE_ROLES)[number]
export const OPERATOR_ROLES = [...PERSON_ROLES, ...MACHINE_ROLES] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

/**
 * Call kinds for the setting `operator.four_eyes`: a second operator must confirm them. `deposits`: reports and
 * assignments, releases, retries, corrections and ledger entries. `operators`: new operators, roles, resets and API tokens.
 */
export const FOUR_EYES_KINDS = ['approvals', 'settlements', 'controls', 'deposits', 'operators'] as const
export type FourEyesKind = (typeof FOUR_EYES_KINDS)[number]

/** The credential that a call issues, by its member name. No other answer contains it. */
export type CallIssue = 'token' | 'setup_link'

export interface OperatorCallRow {
  /** The lowest role with which a person may make the call. */
  readonly role: Exclude<OperatorRole, MachineRole>
  /** Machines which may make it too, without a second person. */
  readonly machines?: readonly MachineRole[]
  readonly fourEyes?: FourEyesKind
  /** A body with this member needs a second person, whatever `operator.four_eyes` is. */
  readonly alwaysWith?: string
  /** Only a body with this member is under four eyes. */
  readonly onlyWith?: string
  /** Under four eyes, the answer to the request has the credential, which the confirmation makes valid. */
  readonly issues?: CallIssue
  /** The member that names the record: in the body, or in the query of the call that shows it. */
  readonly recordBy?: 'customer_id'
  readonly summary: string
}

export const OPERATOR_CALLS = {
  'GET /customers': { role: 'viewer', summary: 'List customers' },
  'POST /customers': { role: 'admin', summary: 'Create a customer' },
  'GET /customers/:id': { role: 'viewer', summary: 'Get a customer' },
  'PATCH /customers/:id': { role: 'admin', fourEyes: 'controls', onlyWith: 'plan', summary: 'Change a customer' },
  'GET /customers/:id/quotas': { role: 'viewer', summary: 'Show a customer’s used quotas' },
  'GET /customers/:id/profiles': { role: 'viewer', summary: 'List a customer’s profiles' },
  'POST /customers/:id/profiles': { role: 'admin', summary: 'Create a profile without an account' },
  'GET /customers/:id/clients': { role: 'viewer', summary: 'List a customer’s clients' },
  'POST /customers/:id/clients': { role: 'admin', summary: 'Create a client' },
  'PUT /customers/:id/security-contacts': {
    role: 'admin',
    fourEyes: 'controls',
    summary: 'Replace a customer’s security contacts',
  },
  'POST /customers/:id/security-contacts/test': {
    role: 'admin',
    summary: 'Send a test notice to a customer’s security contacts',
  },
  'GET /customers/:id/events': { role: 'viewer', summary: 'List a customer’s events' },
  'GET /customers/:id/webhook-endpoints': { role: 'viewer', summary: 'List a customer’s webhook endpoints' },
  'POST /customers/:id/webhook-endpoints': { role: 'admin', summary: 'Create a webhook endpoint for a customer' },
  'GET /webhook-endpoints/:id': { role: 'viewer', summary: 'Get a webhook endpoint' },
  'PATCH /webhook-endpoints/:id': { role: 'admin', summary: 'Change a webhook endpoint, or rotate its secret' },
  'DELETE /webhook-endpoints/:id': { role: 'admin', summary: 'Delete a webhook endpoint' },
  'POST /webhook-endpoints/:id/test': { role: 'admin', summary: 'Send a test event to a webhook endpoint' },
  'POST /webhook-endpoints/:id/replay': { role: 'admin', summary: 'Send the events after a sequence again' },
  'GET /webhook-endpoints/:id/deliveries': { role: 'viewer', summary: 'List the requests to a webhook endpoint' },
  'GET /notices': { role: 'viewer', summary: 'List the notices to security contacts' },
  'GET /notices/:id': { role: 'viewer', summary: 'Get a notice' },
  'GET /clients': { role: 'viewer', summary: 'List clients' },
  'GET /clients/:id': { role: 'viewer', summary: 'Get a client' },
  'PATCH /clients/:id': { role: 'admin', fourEyes: 'controls', onlyWith: 'plan', summary: 'Change a client' },
  'POST /clients/:id/revoke-tokens': { role: 'admin', summary: 'Revoke a client’s tokens' },
  'POST /clients/:id/secrets': { role: 'admin', summary: 'Create a client secret' },
  'DELETE /clients/:id/secrets/:secret': { role: 'admin', summary: 'Delete a client secret' },
  'GET /plans': { role: 'viewer', summary: 'List plans' },
  'POST /plans': { role: 'admin', fourEyes: 'controls', summary: 'Create a plan' },
  'GET /plans/:name': { role: 'viewer', summary: 'Get a plan' },
  'PATCH /plans/:name': { role: 'admin', fourEyes: 'controls', summary: 'Change a plan' },
  'DELETE /plans/:name': { role: 'admin', fourEyes: 'controls', summary: 'Delete a plan' },
  'GET /usage': { role: 'viewer', summary: 'List usage' },
  'GET /signing-keys': { role: 'viewer', summary: 'List the access-token signing keys' },
  'POST /signing-keys': { role: 'admin', summary: 'Create the next access-token signing key' },
  'DELETE /signing-keys/:id': { role: 'admin', summary: 'Revoke an access-token signing key' },
  'POST /signing-keys/encrypt': { role: 'admin', summary: 'Encrypt the keys in the store' },
  'GET /receipt-keys': { role: 'viewer', summary: 'List the receipt keys' },
  'POST /receipt-keys': { role: 'admin', summary: 'Create the next receipt key' },
  'GET /audit': { role: 'viewer', summary: 'List what was changed, when and by whom' },
  'GET /accounts': { role: 'viewer', summary: 'List all customers’ accounts' },
  'GET /accounts/:id': { role: 'viewer', summary: 'Get an account' },
  'PATCH /accounts/:id': { role: 'reviewer', fourEyes: 'approvals', summary: 'Review an account' },
  'GET /accounts/:id/notes': { role: 'viewer', summary: 'List the notes about an account' },
  'POST /accounts/:id/notes': { role: 'reviewer', summary: 'Add a note about an account' },
  'GET /rules': { role: 'viewer', summary: 'List all customers’ rules' },
  'GET /rules/:id': { role: 'viewer', summary: 'Get a rule' },
  'POST /rules/:id/approve': { role: 'reviewer', fourEyes: 'approvals', summary: 'Approve a rule' },
  'POST /rules/:id/reject': { role: 'reviewer', summary: 'Reject a rule' },
  'POST /rules/:id/delete': { role: 'reviewer', summary: 'Delete a rule' },
  'GET /rules/:id/notes': { role: 'viewer', summary: 'List the notes about a rule' },
  'POST /rules/:id/notes': { role: 'reviewer', summary: 'Add a note about a rule' },
  'GET /destinations': { role: 'viewer', summary: 'List all customers’ destinations' },
  'GET /destinations/:id': {
    role: 'viewer',
    summary: 'Get a destination, with full account numbers for a reviewer, treasurer or admin',
  },
  'POST /destinations/:id/approve': {
    role: 'reviewer',
    fourEyes: 'approvals',
    alwaysWith: 'usable_at',
    summary: 'Approve a destination, or change when it is usable',
  },
  'POST /destinations/:id/reject': { role: 'reviewer', summary: 'Reject a destination' },
  'GET /address-pool': { role: 'viewer', summary: 'Count the imported addresses' },
  'POST /address-pool': { role: 'admin', summary: 'Import addresses' },
  'GET /deposit-addresses': { role: 'viewer', summary: 'Show a deposit address’s owner' },
  'GET /profiles/:id/balances': { role: 'viewer', summary: 'List a profile’s balances' },
  'GET /profiles/:id/statement': { role: 'viewer', summary: 'Get a profile’s statement' },
  'GET /ledger': { role: 'viewer', summary: 'Show the last comparison between balances and postings' },
  'GET /ledger/entries': { role: 'viewer', summary: 'List ledger entries' },
  'POST /ledger/entries': {
    role: 'treasurer',
    fourEyes: 'deposits',
    summary: 'Book a hedge, funding, a withdrawal, fees, a cost or a debt',
  },
  'GET /ledger/entries/:id': { role: 'viewer', summary: 'Get a ledger entry' },
  'POST /ledger/entries/:id/reverse': { role: 'treasurer', fourEyes: 'deposits', summary: 'Reverse a ledger entry' },
  'GET /deposits': { role: 'viewer', machines: ['deposit_reporter'], summary: 'List deposits' },
  'POST /deposits': {
    role: 'treasurer',
    machines: ['deposit_reporter'],
    fourEyes: 'deposits',
    summary: 'Report deposits',
  },
  'GET /deposits/:id': { role: 'viewer', machines: ['deposit_reporter'], summary: 'Get a deposit' },
  'GET /deposits/:id/trace': {
    role: 'viewer',
    machines: ['deposit_reporter'],
    summary: 'Show a deposit’s full history',
  },
  'POST /deposits/:id/assign': {
    role: 'treasurer',
    fourEyes: 'deposits',
    summary: 'Assign an unattributed deposit to a profile',
  },
  'POST /deposits/:id/correct': { role: 'treasurer', fourEyes: 'deposits', summary: 'Correct a deposit’s terms' },
  'POST /deposits/:id/hold': { role: 'treasurer', summary: 'Hold a deposit' },
  'POST /deposits/:id/release': { role: 'treasurer', fourEyes: 'deposits', summary: 'Release a held deposit' },
  'POST /deposits/:id/reject': { role: 'treasurer', summary: 'Reject a held deposit' },
  'POST /deposits/:id/reverse': { role: 'treasurer', fourEyes: 'settlements', summary: 'Reverse a deposit' },
  'POST /deposits/:id/return': { role: 'treasurer', fourEyes: 'settlements', summary: 'Return a deposit' },
  'GET /orchestrations': { role: 'viewer', summary: 'List all customers’ orchestrations' },
  'GET /orchestrations/:id': { role: 'viewer', summary: 'Get an orchestration' },
  'GET /orchestrations/:id/price': { role: 'viewer', summary: 'Explain an orchestration’s price' },
  'POST /orchestrations/:id/retry': {
    role: 'treasurer',
    fourEyes: 'deposits',
    summary: 'Retry a failed orchestration',
  },
  'POST /orchestrations/:id/release': {
    role: 'treasurer',
    fourEyes: 'deposits',
    summary: 'Release a waiting orchestration',
  },
  'POST /orchestrations/:id/reject': { role: 'treasurer', summary: 'Reject a waiting orchestration' },
  'GET /desk': { role: 'viewer', summary: 'Show the operator’s own positions' },
  'GET /controls': { role: 'viewer', summary: 'Show what is paused' },
  'PATCH /controls': {
    role: 'treasurer',
    fourEyes: 'controls',
    summary: 'Pause or resume assets, networks, pairs or deliveries',
  },
  'GET /limits': { role: 'viewer', recordBy: 'customer_id', summary: 'Show a customer’s limits and their use' },
  'PUT /limits': {
    role: 'treasurer',
    fourEyes: 'controls',
    recordBy: 'customer_id',
    summary: 'Replace a customer’s own limits',
  },
  'GET /deliveries': { role: 'viewer', machines: ['executor'], summary: 'List deliveries' },
  'GET /deliveries/:id': { role: 'viewer', machines: ['executor'], summary: 'Get a delivery' },
  'POST /deliveries/claim': { role: 'treasurer', machines: ['executor'], summary: 'Claim deliveries to execute' },
  'POST /deliveries/:id/claim': {
    role: 'treasurer',
    machines: ['executor'],
    summary: 'Claim one delivery in the own name',
  },
  'POST /deliveries/:id/settle': {
    role: 'treasurer',
    machines: ['executor'],
    fourEyes: 'settlements',
    summary: 'Report a delivery as paid',
  },
  'POST /deliveries/:id/fail': {
    role: 'treasurer',
    machines: ['executor'],
    fourEyes: 'settlements',
    summary: 'Report a delivery as failed',
  },
  'GET /screening': { role: 'viewer', summary: 'List screenings of deposits and payments' },
  'GET /screening/:id': { role: 'viewer', summary: 'Get a screening' },
  'POST /screening/:id/decide': {
    role: 'reviewer',
    fourEyes: 'approvals',
    summary: 'Decide about a screened movement',
  },
  'GET /overview': { role: 'viewer', summary: 'Show this node’s state, with the last hour' },
  'GET /settings': { role: 'viewer', summary: 'List the settings in force, with each value’s origin' },
  'GET /doctor': { role: 'viewer', summary: 'Check this installation' },
  'GET /nodes': { role: 'viewer', summary: 'List the service’s nodes' },
  'GET /connections': { role: 'viewer', summary: 'List all nodes’ connections' },
  'GET /connections/:id': { role: 'viewer', summary: 'Show a connection with what its markets were sent' },
  'DELETE /connections/:id': { role: 'admin', summary: 'Close a connection' },
  'GET /markets': { role: 'viewer', summary: 'Show all markets’ state' },
  'GET /markets/:symbol/book': { role: 'viewer', summary: 'Show a market’s book' },
  'GET /markets/:symbol/candles': { role: 'viewer', summary: 'List a market’s candles' },
  'GET /markets/:symbol/trades': { role: 'viewer', summary: 'List a market’s last trades' },
  'GET /change-requests': { role: 'viewer', summary: 'List changes awaiting a second operator' },
  'GET /change-requests/:id': { role: 'viewer', summary: 'Get a requested change' },
  // Besides the requested call's role.
  'POST /change-requests/:id/confirm': { role: 'viewer', summary: 'Confirm and carry out a requested change' },
  'POST /change-requests/:id/decline': { role: 'viewer', summary: 'Decline or withdraw a requested change' },
  'GET /session': {
    role: 'viewer',
    machines: MACHINE_ROLES,
    summary: 'Show who is signed in, and what the role allows',
  },
  'POST /session/password': { role: 'viewer', summary: 'Change the own password' },
  'POST /session/authenticator': { role: 'viewer', summary: 'Begin to replace the own authenticator' },
  'DELETE /session': { role: 'viewer', summary: 'Sign out' },
  'GET /operators': { role: 'admin', summary: 'List operators' },
  'POST /operators': {
    role: 'admin',
    fourEyes: 'operators',
    issues: 'setup_link',
    summary: 'Create an operator',
  },
  'GET /operators/:name': { role: 'admin', summary: 'Get an operator' },
  'PATCH /operators/:name': {
    role: 'admin',
    fourEyes: 'operators',
    summary: 'Change an operator’s role or subject, or disable one',
  },
  'POST /operators/setup-link': { role: 'admin', summary: 'Create a new setup link for the first admin' },
  'POST /operators/:name/reset': {
    role: 'admin',
    fourEyes: 'operators',
    issues: 'setup_link',
    summary: 'Remove an operator’s password or subject, and create a setup link',
  },
  'POST /operators/:name/tokens': {
    role: 'admin',
    fourEyes: 'operators',
    issues: 'token',
    summary: 'Create an operator’s API token',
  },
  'DELETE /operators/:name/tokens/:id': { role: 'admin', summary: 'Revoke an operator’s API token' },
} as const satisfies Record<string, OperatorCallRow>

export type OperatorCallId = keyof typeof OPERATOR_CALLS

/** The calls with which people sign in, which need no credentials: method and path below `/admin/v1`, and what they do. */
export const LOGIN_CALLS = {
  'GET /login': 'Show how operators can sign in',
  'GET /login/openid': 'Begin a login at the outside issuer',
  'GET /login/openid/callback': 'Finish a login at the outside issuer',
  'POST /session': 'Sign in with a password and a one-time code',
  'POST /setup': 'Read a setup link, or choose a password with it',
  'POST /setup/confirm': 'Use a setup link up with the first one-time code, and sign in',
} as const satisfies Record<string, string>

export type LoginCallId = keyof typeof LOGIN_CALLS

/** Where the operator API is on the operator listener. */
export const OPERATOR_PREFIX = '/admin/v1'

/** Whether an operator's role `held` includes the role `needed`. */
export function includesRole(held: OperatorRole, needed: OperatorRole): boolean {
  if (isMachineRole(held) || isMachineRole(needed)) return held === needed
  return held === needed || held === 'admin' || needed === 'viewer'
}

/** The highest role that both roles include. Undefined: a machine's role and another one have none in common. */
export function commonRole(one: OperatorRole, other: OperatorRole): OperatorRole | undefined {
  if (includesRole(one, other)) return other
  if (includesRole(other, one)) return one
  return isMachineRole(one) || isMachineRole(other) ? undefined : 'viewer'
}

export function isMachineRole(role: string): role is MachineRole {
  return MACHINE_ROLES.some((machine) => machine === role)
}

/** Undefined: only another release, which recorded a request for it, has this call. */
export function callRowOf(call: string): OperatorCallRow | undefined {
  return Object.hasOwn(OPERATOR_CALLS, call) ? OPERATOR_CALLS[call as OperatorCallId] : undefined
}

export function mayCall(role: OperatorRole, call: OperatorCallId): boolean {
  const row = callRowOf(call)
  if (row === undefined) return false
  const { role: needed, machines = [] } = row
  return isMachineRole(role) ? machines.includes(role) : includesRole(role, needed)
}

/** The call that shows the record changed by `call`, or undefined when it creates one. */
export function recordCallOf(call: OperatorCallId): OperatorCallId | undefined {
  const [method, path = ''] = call.split(' ')
  const [record] = /^.*?\/:\w+/.exec(path) ?? (method === 'POST' ? [] : [path])
  const shown = `GET ${record}`
  return Object.hasOwn(OPERATOR_CALLS, shown) ? (shown as OperatorCallId) : undefined
}

/** The id in the member that names a call's record. Undefined: the path names it. */
export function recordIdIn(call: OperatorCallId, members: Readonly<Record<string, unknown>>): string | undefined {
  const row: OperatorCallRow = OPERATOR_CALLS[call]
  const id = row.recordBy === undefined ? undefined : members[row.recordBy]
  return typeof id === 'string' ? id : undefined
}

/** The calls that show the records changed under four eyes. */
export const RECORD_CALLS: ReadonlySet<OperatorCallId> = new Set(
  Object.entries(OPERATOR_CALLS).flatMap(([call, row]) => {
    const record = 'fourEyes' in row ? recordCallOf(call as OperatorCallId) : undefined
    return record === undefined ? [] : [record]
  }),
)

/** For the comment on a call under four eyes. */
export const COMMENT_CHARACTERS_MAX = 1_000
