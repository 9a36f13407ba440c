/**
 * This module's tables, as the query builder sees them. They are defined by the migrations `auth`, `token-life`,
 * `directory-changes`, `key-encryption`, `publish-markets`, `receipt-keys`, `secret-uses`, `notices` and `plans`.
 */
import type { Generated } from '../../platform/store/sql.ts'

interface CustomersTable {
  id: string
  name: string
  enabled: boolean
  /** The allow-list entry. */
  streaming: boolean
  /** Mail addresses for notices. */
  security_contacts: Generated<string[]>
  plan: Generated<string>
  created_at: Generated<string>
}

interface ClientsTable {
  id: string
  customer_id: string
  name: string
  scopes: string[]
  /** Symbols of the markets it may publish. */
  publish_markets: Generated<string[]>
  enabled: boolean
  /** A whole second: tokens issued before it are revoked. */
  tokens_valid_from: string | null
  /** Null: none of its own. */
  plan: Generated<string | null>
  created_at: Generated<string>
}

/** Null in a bound: there is none. */
interface PlansTable {
  name: string
  markets: string[] | null
  channels: string[] | null
  depth_max: number | null
  interval_ms_min: number | null
  connections_max: number | null
  subscriptions_max: number | null
  rest_rate_per_second: number | null
  created_at: Generated<string>
}

interface ClientSecretsTable {
  id: string
  client_id: string
  /** Null once the secret is deleted. The row stays, so deleting it again is no error. */
  hash: Uint8Array | null
  /** Up to a minute late. Null: it has not been used, or not since uses are noted. */
  last_used_at: Generated<string | null>
  created_at: Generated<string>
}

interface AuthorityTable {
  /** Always true: there is one row. */
  single: boolean
  issuer: string
  /** 32 random bytes, or their encrypted form as text, as `encryption-key` writes it. */
  pepper: Uint8Array
  /** The id of the key that encrypts new signing keys. Null: they are stored unencrypted. */
  encryption_key_id: string | null
  created_at: Generated<string>
}

interface SigningKeysTable {
  id: string
  /**
   * The key pair as a JWK (RFC 7517), private part included, or `{encrypted}` with its encrypted form. Null once the
   * key is retired or revoked.
   */
  private_jwk: Record<string, string> | null
  signs_from: string
  /** When its successor starts to sign. Null for the newest. */
  signs_until: string | null
  retired_at: string | null
  revoked_at: string | null
  created_at: Generated<string>
}

interface ReceiptKeysTable {
  id: string
  /** The public part as a JWK (RFC 7517). */
  public_jwk: Record<string, string>
  /** As in `signing_keys`. Null once another key signs. */
  private_jwk: Record<string, string> | null
  created_at: Generated<string>
}

interface RevokedTokensTable {
  token_id: string
  client_id: string
  /** When the token itself expires. */
  expires_at: string
  /** When it was issued. Null in rows from earlier versions. */
  issued_at: string | null
  created_at: Generated<string>
}

interface DirectoryVersionTable {
  /** Always true: there is one row. */
  single: boolean
  /** The last change's version. */
  version: string
}

interface DirectoryChangesTable {
  version: string
  kind: string
  /** Null where the kind names more than one record. */
  record_id: string | null
}

export interface AuthTables {
  customers: CustomersTable
  clients: ClientsTable
  plans: PlansTable
  client_secrets: ClientSecretsTable
  authority: AuthorityTable
  signing_keys: SigningKeysTable
  receipt_keys: ReceiptKeysTable
  revoked_tokens: RevokedTokensTable
  directory_version: DirectoryVersionTable
  directory_changes: DirectoryChangesTable
}
