/**
 * Reads the candidate rules of deposits in the transaction that credits them, and locks them until it ends: a concurrent
 * deletion takes effect after these deposits. `deposits/match` decides which rule applies.
 */
import type { Transaction } from '../store/db.ts'
import { forShare } from '../store/lock-order.ts'
import { type RawBuilder, sql } from '../store/sql.ts'
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

interface CandidateRow {
  readonly id: string
  readonly status: RuleStatus
  readonly identity_id: string | null
  readonly source_asset: string
  readonly destination_asset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
}

/** A profile and an asset that was credited to it. */
export interface ProfileAsset {
  readonly customerId: string
  readonly profileId: string
  readonly asset: string
}

export interface ProfileRules {
  /** The oldest that is ACTIVE. */
  readonly active: CandidateRule | undefined
  /** Whether there is one that is PENDING or DELETED. */
  readonly hasInactive: boolean
}

const COLUMNS = sql`rules.id, rules.status, rules.identity_id, rules.source_asset, rules.destination_asset, rules.source,
  rules.destination`

/** The rules that these deposit addresses and fiat instructions were made for, by the id of either. */
export async function lockRulesOfInstructions<Tables>(
  transaction: Transaction<Tables>,
  instructionIds: readonly string[],
): Promise<ReadonlyMap<string, CandidateRule>> {
  if (instructionIds.length === 0) return new Map()
  const { rows } = await sql<CandidateRow & { readonly instructions_id: string }>`
    select ${COLUMNS}, coalesce(deposit_address_id, fiat_instructions_id) as instructions_id from rules
    where deposit_address_id = any(${[...instructionIds]}::uuid[])
      or fiat_instructions_id = any(${[...instructionIds]}::uuid[])
    order by rules.id
    ${forShare(transaction, 'rule', instructionIds)}
  `.execute(transaction)
  return new Map(rows.map((row) => [row.instructions_id, ruleOf(row)]))
}

/** Of each profile and asset, in the same order, the rules whose source is the profile. */
export async function lockRulesOfProfiles<Tables>(
  transaction: Transaction<Tables>,
  wanted: readonly ProfileAsset[],
): Promise<readonly ProfileRules[]> {
  if (wanted.length === 0) return []
  const names = wanted.map(({ profileId, asset }) => `${profileId}/${asset}`)
  const { rows } = await sql<
    { readonly has_inactive: boolean } & { readonly [Name in keyof CandidateRow]: CandidateRow[Name] | null }
  >`
    select active.*, exists (${ofProfile(sql`select`, sql`('PENDING', 'DELETED')`)}) as has_inactive
    from unnest(
      ${wanted.map(({ customerId }) => customerId)}::uuid[],
      ${wanted.map(({ profileId }) => profileId)}::uuid[],
      ${wanted.map(({ asset }) => asset)}::text[]
    ) with ordinality as wanted (customer_id, profile_id, asset, number)
    left join lateral (
      ${ofProfile(sql`select ${COLUMNS}`, sql`('ACTIVE')`)} order by rules.created_at, rules.id limit 1
      ${forShare(transaction, 'rule', names)}
    ) as active on true
    order by wanted.number
  `.execute(transaction)
  return rows.map((row) => ({
    active: row.id === null ? undefined : ruleOf(row as CandidateRow),
    hasInactive: row.has_inactive,
  }))
}

function ofProfile(select: RawBuilder<unknown>, statuses: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${select} from rules
    where rules.customer_id = wanted.customer_id and rules.profile_id = wanted.profile_id
      and rules.status in ${statuses} and rules.source_asset = wanted.asset and rules.source ? 'profile'`
}

function ruleOf(row: CandidateRow): CandidateRule {
  const { id, status, source, destination } = row
  return {
    id,
    status,
    identityId: row.identity_id,
    sourceAsset: row.source_asset,
    destinationAsset: row.destination_asset,
    source,
    destination,
  }
}
