/**
 * An orchestration rule's model and state machine. Pure.
 *
 * A rule starts as ACTIVE, or as PENDING if the operator must approve it. STEPS are its only transitions: REJECTED and
 * DELETED are final. Its source gets deposit instructions when it becomes ACTIVE. Its terms never change otherwise.
 */
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import type { BankDetails } from '../../contract/bank-details.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import type { MovementDestination } from '../gates/model.ts'

export const RULE_STATUSES = ['ACTIVE', 'DELETED', 'PENDING', 'REJECTED'] as const

export type RuleStatus = (typeof RULE_STATUSES)[number]

/** The transitions from each state. */
const STEPS: Readonly<Record<RuleStatus, readonly RuleStatus[]>> = {
  PENDING: ['ACTIVE', 'REJECTED', 'DELETED'],
  ACTIVE: ['DELETED'],
  REJECTED: [],
  DELETED: [],
}

/** The effect of requesting the state `wanted`: a transition, nothing because the rule already has it, or an error. */
export function stepTo(present: RuleStatus, wanted: RuleStatus): 'step' | 'unchanged' | 'impossible' {
  if (present === wanted) return 'unchanged'
  return STEPS[present].includes(wanted) ? 'step' : 'impossible'
}

/**
 * The deposits that a rule matches: exactly one member. Deposit instructions are present once the rule has been ACTIVE.
 */
export type RuleSource =
  | { readonly crypto: { readonly network: CryptoNetwork; readonly address_id?: string; readonly address?: string } }
  | {
      readonly fiat: {
        readonly network: FiatNetwork
        /** Required for WIRE, absent for CUBIX. */
        readonly account_type?: FiatAccountType
        readonly deposit_instructions_id?: string
        readonly memo_id?: string
      }
    }
  | { readonly profile: { readonly profile_id: string } }

export type RuleDestination = MovementDestination

/** The members in each form of a source, in answer order. */
export const SOURCE_FORMS = {
  crypto: ['address_id', 'address', 'network'],
  fiat: ['deposit_instructions_id', 'network', 'account_type', 'memo_id'],
  profile: ['profile_id'],
} as const

/** The members in each form of a destination, in answer order. */
export const DESTINATION_FORMS = {
  crypto: ['address', 'network', 'memo'],
  fiat: ['fiat_account_id', 'memo'],
  profile: ['profile_id'],
} as const

/** A source or destination with its members in the order of `forms`, because jsonb does not keep member order. */
export function inOrder<Terms extends RuleSource | RuleDestination>(
  terms: Terms,
  forms: Readonly<Record<string, readonly string[]>>,
): Terms {
  const ordered = Object.entries(terms).map(([form, members]: [string, Readonly<Record<string, unknown>>]) => [
    form,
    Object.fromEntries((forms[form] ?? []).flatMap((name) => (name in members ? [[name, members[name]]] : []))),
  ])
  return Object.fromEntries(ordered) as Terms
}

/** A rule in the customer's API. */
export interface RuleDocument {
  readonly id: string
  readonly ref_id: string
  readonly nickname?: string
  readonly profile_id: string
  readonly identity_id?: string
  readonly account_id?: string
  readonly status: RuleStatus
  /** Why the operator rejected it. */
  readonly reject_reason?: string
  readonly source_asset: string
  readonly destination_asset: string
  readonly source: RuleSource & { readonly fiat?: { readonly bank?: BankDetails } }
  readonly destination: RuleDestination
  readonly created_at: string
}

/** A rule in the operator API. */
export interface OperatorRuleDocument extends RuleDocument {
  readonly customer_id: string
}
