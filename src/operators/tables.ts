/** The tables of this module, as the query builder sees them; the migration `operators` defines them. */
import type { OperatorRole } from '../contract/operator-calls.ts'
import type { Generated } from '../store/sql.ts'

interface OperatorsTable {
  id: string
  name: string
  role: OperatorRole
  /** False: the operator that `operator.token` belongs to. */
  is_person: Generated<boolean>
  enabled: Generated<boolean>
  /** As `passwords` writes it; null: not set up. */
  password: string | null
  /** As `totp-secrets` writes it. */
  totp_secret: string | null
  /** The last time step whose code was used, a bigint as text. */
  totp_step: string | null
  issuer_subject: string | null
  last_login_at: string | null
  created_at: Generated<string>
}

interface OperatorTokensTable {
  id: string
  operator_id: string
  name: string
  role: OperatorRole
  hash: Uint8Array
  last_used_at: string | null
  created_at: Generated<string>
}

interface OperatorSessionsTable {
  hash: Uint8Array
  operator_id: string
  used_at: string
  expires_at: string
}

interface OperatorSetupLinksTable {
  hash: Uint8Array
  /** Null: the link of the first admin. */
  operator_id: string | null
  name: string | null
  password: string | null
  totp_secret: string | null
  expires_at: string
}

export interface OperatorTables {
  operators: OperatorsTable
  operator_tokens: OperatorTokensTable
  operator_sessions: OperatorSessionsTable
  operator_setup_links: OperatorSetupLinksTable
}
