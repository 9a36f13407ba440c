/** Converts account rows to API documents. Pure. */
import { RawJson } from '../../platform/http/raw-json.ts'
import { type AccountMember, type AccountType, type ReviewStatus, type SummaryStatus, summaryStatus } from './model.ts'

/** A stored account. */
export interface AccountRow {
  readonly id: string
  readonly customer_id: string
  readonly identity_id: string
  readonly ref_id: string | null
  readonly description: string | null
  readonly metadata: string
  readonly members: readonly AccountMember[]
  readonly type: AccountType
  readonly review_status: ReviewStatus
  readonly admin_disabled: boolean
  readonly user_disabled: boolean
  readonly profile_id: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** The members every account has. Members without a value are omitted. Must be written with `writeJson`. */
interface AccountItem {
  readonly id: string
  readonly identity_id: string
  readonly description?: string
  readonly admin_disabled: boolean
  readonly user_disabled: boolean
  readonly metadata: RawJson
  readonly ref_id?: string
  readonly members: readonly AccountMember[]
  readonly created_at: string
  readonly updated_at: string
  readonly profile_id?: string
}

export interface AccountDocument extends AccountItem {
  readonly summary_status: SummaryStatus
  readonly type: AccountType
}

/** An account in the operator API. */
export interface ReviewedAccountDocument extends AccountDocument {
  readonly customer_id: string
}

function accountItem(row: AccountRow): AccountItem {
  return {
    id: row.id,
    identity_id: row.identity_id,
    ...present('description', row.description),
    admin_disabled: row.admin_disabled,
    user_disabled: row.user_disabled,
    metadata: new RawJson(row.metadata),
    ...present('ref_id', row.ref_id),
    // jsonb does not keep the order of an object's members.
    members: row.members.map(({ identity_id, roles, id }) => ({ identity_id, roles, id })),
    created_at: row.created_at,
    updated_at: row.updated_at,
    ...present('profile_id', row.profile_id),
  }
}

export function accountDocument(row: AccountRow): AccountDocument {
  return { ...accountItem(row), summary_status: summaryStatus(row), type: row.type }
}

export function reviewedAccountDocument(row: AccountRow): ReviewedAccountDocument {
  return { ...accountDocument(row), customer_id: row.customer_id }
}

function present<Name extends string>(name: Name, value: string | null): { readonly [Member in Name]?: string } {
  return (value === null ? {} : { [name]: value }) as { readonly [Member in Name]?: string }
}
