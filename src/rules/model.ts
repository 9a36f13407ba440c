/**
 * The model of an orchestration rule and its state machine. Pure.
 *
 * A rule is born ACTIVE, or PENDING where the operator has to approve it. From then on STEPS is all that can happen to
 * it: REJECTED and DELETED are final, and nothing else about a rule ever changes but that the deposit instructions of
 * its source appear when it becomes ACTIVE.
 */
import type { FiatAccountType, FiatNetwork } from '../contract/assets.ts'
import type { CryptoNetwork } from '../contract/crypto-networks.ts'

export const RULE_STATUSES = ['ACTIVE', 'DELETED', 'PENDING', 'REJECTED'] as const

export type RuleStatus = (typeof RULE_STATUSES)[number]

/** From each state to those that it can go to. */
const STEPS: Readonly<Record<RuleStatus, readonly RuleStatus[]>> = {
  PENDING: ['ACTIVE', 'REJECTED', 'DELETED'],
  ACTIVE: ['DELETED'],
  REJECTED: [],
  DELETED: [],
}

/** The effect of requesting the state `wanted`: a transition, nothing because the rule is in it already, or an error. */
export function stepTo(present: RuleStatus, wanted: RuleStatus): 'step' | 'unchanged' | 'impossible' {
  if (present === wanted) return 'unchanged'
  return STEPS[present].includes(wanted) ? 'step' : 'impossible'
}

/** What deposits a rule is about: exactly one member. What was made for it is there while the rule is or was ACTIVE. */
export type RuleSource =
  | { readonly crypto: { readonly network: CryptoNetwork; readonly address_id?: string; readonly address?: string } }
  | {
      readonly fiat: {
        readonly network: FiatNetwork
        /** Of WIRE always; CUBIX does without. */
        readonly account_type?: FiatAccountType
        readonly deposit_instructions_id?: string
        readonly memo_id?: string
      }
    }
  | { readonly profile: { readonly profile_id: string } }

/** Where the destination asset goes: exactly one member. */
export type RuleDestination =
  | { readonly crypto: { readonly address: string; readonly network: CryptoNetwork } }
  | { readonly fiat: { readonly fiat_account_id: string; readonly memo?: string } }
  | { readonly profile: { readonly profile_id: string } }

/** The members of each form of a source, in the order in which every answer shows them. */
export const SOURCE_FORMS = {
  crypto: ['address_id', 'address', 'network'],
  fiat: ['deposit_instructions_id', 'network', 'account_type', 'memo_id'],
  profile: ['profile_id'],
} as const

/** The same of a destination. */
export const DESTINATION_FORMS = {
  crypto: ['address', 'network'],
  fiat: ['fiat_account_id', 'memo'],
  profile: ['profile_id'],
} as const

/** A source or destination with its members in the order of `forms`: the store gives them in an order of its own. */
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

/** A rule as its customer sees it. */
export interface RuleDocument {
  readonly id: string
  readonly ref_id: string
  readonly nickname?: string
  readonly profile_id: string
  readonly identity_id?: string
  readonly account_id?: string
  readonly status: RuleStatus
  /** Why it was rejected. */
  readonly reject_reason?: string
  readonly source_asset: string
  readonly destination_asset: string
  readonly source: RuleSource
  readonly destination: RuleDestination
  readonly created_at: string
}

/** A rule as the operator sees it. */
export interface OperatorRuleDocument extends RuleDocument {
  readonly customer_id: string
}
