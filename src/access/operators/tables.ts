/**
 * This module's tables, as the query builder sees them. They are defined by the migrations `operators` and
 * `change-requests`.
 *
 * All transactions lock in one order, so they never wait in a circle: rows in `operators`, several by id, then the
 * setup link, the sessions and the tokens that belong to a locked operator row. The built-in operator's row stands for
 * the first admin's link. Other operators' ended sessions are deleted last, and only where no other transaction has
 * locked them. Change requests are locked by id, and no other rows with them.
 */
import type { FourEyesKind, OperatorCallId, OperatorRole } from '../../contract/operator-calls.ts'
import type { Generated } from '../../platform/store/sql.ts'
import type { SeenRecord } from './seen-records.ts'

interface OperatorsTable {
  id: string
  name: string
  role: OperatorRole
  /** False: the operator with the token from `operator.token`. */
  is_person: Generated<boolean>
  enabled: Generated<boolean>
  /** As `passwords` writes it. Null: not set up. */
  password: string | null
  /** As `totp-secrets` writes it. */
  totp_secret: string | null
  /** The last time step whose code was used, a bigint as text. */
  totp_step: string | null
  /** The outside issuer at which the operator signs in. Null together with `issuer_subject`. */
  issuer: string | null
  issuer_subject: string | null
  /** Names of operators who issued the setup link or the subject, and of those who issued theirs. */
  issuers: Generated<string[]>
  last_login_at: string | null
  created_at: Generated<string>
}

interface OperatorTokensTable {
  id: string
  operator_id: string
  name: string
  role: OperatorRole
  hash: Uint8Array
  /** As for an operator, for the token itself. */
  issuers: Generated<string[]>
  /** The sources that a machine's token is bound to. Null: none. */
  sources: string[] | null
  assets: string[] | null
  last_used_at: string | null
  created_at: Generated<string>
}

/** Failed attempts to sign in with an operator's name, between two logins. */
export interface FailedLogins {
  readonly count: number
  readonly last_at: string
}

interface OperatorSessionsTable {
  hash: Uint8Array
  operator_id: string
  used_at: string
  expires_at: string
  /** Failed attempts with the operator's name before the login that opened the session. Null: none. */
  failed_logins: FailedLogins | null
  /** For the secret that only the page has. Null: a session from an earlier version, which has ended. */
  page_hash: Uint8Array | null
}

interface OperatorSetupLinksTable {
  hash: Uint8Array
  /** Null: the first admin's link. */
  operator_id: string | null
  name: string | null
  password: string | null
  totp_secret: string | null
  /** For the first admin's link. */
  issuers: Generated<string[]>
  expires_at: string
}

/** PENDING until a second operator decides. FAILED: confirmed, and refused when it was carried out. */
export const CHANGE_REQUEST_STATUSES = ['PENDING', 'CONFIRMED', 'DECLINED', 'FAILED', 'EXPIRED'] as const
export type ChangeRequestStatus = (typeof CHANGE_REQUEST_STATUSES)[number]

interface ChangeRequestsTable {
  id: string
  kind: FourEyesKind
  call: OperatorCallId
  params: Readonly<Record<string, string>>
  body: Readonly<Record<string, unknown>>
  /** The changed record's id, or the only one's name. */
  subject: string
  /** Why it was requested. Empty: by an earlier version. */
  comment: Generated<string>
  /** As the first operator saw it. Null: it did not exist, or an earlier version requested the change. */
  record: SeenRecord | null
  /** The issuers of the credentials with which it was requested. */
  issuers: Generated<string[]>
  /** The API token with which it was requested. Null: a session, the single token, or an earlier version. */
  token_id: string | null
  /** For the secret that its requester has, valid once the request is confirmed. Null: it issues none. */
  credential_hash: Buffer | null
  /** Operator names. */
  requested_by: string
  decided_by: string | null
  decided_at: string | null
  status: ChangeRequestStatus
  /** Null while a confirmed change may not have been carried out yet. */
  carried_out_at: string | null
  /** Why it failed. */
  detail: string | null
  expires_at: string
  created_at: Generated<string>
}

export interface OperatorTables {
  change_requests: ChangeRequestsTable
  operators: OperatorsTable
  operator_tokens: OperatorTokensTable
  operator_sessions: OperatorSessionsTable
  operator_setup_links: OperatorSetupLinksTable
}
