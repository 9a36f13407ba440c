/**
 * Reads the candidate rules for deposits in the transaction that credits them. It locks the rules until the transaction
 * ends, so a concurrent deletion takes effect after these deposits. `money/deposits/match` decides which rule applies.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { forShare } from '../../platform/store/lock-order.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import type { RuleDestination, RuleSource, RuleStatus } from './model.ts'

export interface CandidateRule {
  readonly id: string
  readonly status: RuleStatus
  readonly identityId: string | null
  readonly sourceAsset: string
  readonly destinationAsset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
}

/** A profile and an asset credited to it. */
export interface ProfileAsset {
  readonly customerId: string
  readonly profileId: string
  readonly asset: string
}

export interface ProfileRules {
  /** The oldest ACTIVE rule. */
  readonly active: CandidateRule | undefined
  /** Whether a PENDING or DELETED rule exists. */
  readonly hasInactive: boolean
}

/** The columns of a `CandidateRule`. */
const COLUMNS = sql`rules.id, rules.status, rules.identity_id as "identityId", rules.source_asset as "sourceAsset",
  rules.destination_asset as "destinationAsset", rules.source, rules.destination`

/** The rules that own these deposit addresses and fiat instructions, by the id of either. */
export async function lockRulesOfInstructions<Tables>(
  transaction: Transaction<Tables>,
  instructionIds: readonly string[],
): Promise<ReadonlyMap<string, CandidateRule>> {
  if (instructionIds.length === 0) return new Map()
  const { rows } = await sql<CandidateRule & { readonly instructionsId: string }>`
    select ${COLUMNS}, coalesce(deposit_address_id, fiat_instructions_id) as "instructionsId" from rules
    where deposit_address_id = any(${[...instructionIds]}::uuid[])
      or fiat_instructions_id = any(${[...instructionIds]}::uuid[])
    order by rules.id
    ${forShare(transaction, 'rule', instructionIds)}
  `.execute(transaction)
  return new Map(rows.map(({ instructionsId, ...rule }) => [instructionsId, rule]))
}

/** The rules whose source is the profile, for each profile and asset in the same order. */
export async function lockRulesOfProfiles<Tables>(
  transaction: Transaction<Tables>,
  wanted: readonly ProfileAsset[],
): Promise<readonly ProfileRules[]> {
  if (wanted.length === 0) return []
  const names = wanted.map(({ profileId, asset }) => `${profileId}/${asset}`)
  const { rows } = await sql<(CandidateRule | { readonly id: null }) & Pick<ProfileRules, 'hasInactive'>>`
    select active.*, exists (${ofProfile(sql`select`, sql`('PENDING', 'DELETED')`)}) as "hasInactive"
    from ${unnested(wanted, [
      ['number', 'integer', (_, index) => index],
      ['customer_id', 'uuid', ({ customerId }) => customerId],
      ['profile_id', 'uuid', ({ profileId }) => profileId],
      ['asset', 'text', ({ asset }) => asset],
    ])}
    left join lateral (
      ${ofProfile(sql`select ${COLUMNS}`, sql`('ACTIVE')`)} order by rules.created_at, rules.id limit 1
      ${forShare(transaction, 'rule', names)}
    ) as active on true
    order by wanted.number
  `.execute(transaction)
  return rows.map(({ hasInactive, ...rule }) => ({ active: rule.id === null ? undefined : rule, hasInactive }))
}

function ofProfile(select: RawBuilder<unknown>, statuses: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${select} from rules
    where rules.customer_id = wanted.customer_id and rules.profile_id = wanted.profile_id
      and rules.status in ${statuses} and rules.source_asset = wanted.asset and rules.source ? 'profile'`
}
