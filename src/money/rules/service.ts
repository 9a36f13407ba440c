/**
 * Creates rules and makes their state transitions. Every write runs in the caller's transaction and writes one audit
 * row. Deposit instructions are created in the same transaction, so a rule is never ACTIVE without them. A request for
 * the current state changes nothing and writes no row.
 */
import { newId } from '../../platform/base/ids.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profileForWrite, refuseOtherAccount, type WritableProfile } from '../accounts/profiles.ts'
import type { AddressSupply } from '../deposit-instructions/allocation.ts'
import { insertDepositAddress } from '../deposit-instructions/deposit-addresses.ts'
import { insertFiatInstructions, refuseWithoutBank } from '../deposit-instructions/fiat-instructions.ts'
import type { DestinationPolicy } from '../destinations/standing.ts'
import { destinationOf } from './destination.ts'
import { type RuleSource, type RuleStatus, stepTo } from './model.ts'
import { unlessRepeated } from './repeated.ts'
import type { NewRuleBody } from './schemas.ts'
import {
  type InstructedSource,
  insertRule,
  lockRule,
  noRule,
  type RuleRow,
  type RuleTables,
  ruleDocument,
  ruleWithRefId,
  setStatus,
} from './store.ts'

/** The actor in the audit trail, and the customer. */
interface Writer {
  readonly customerId: string
  readonly actor: string
}

/** Creates a rule with checked terms. Throws 409 when the `ref_id` was used before. */
export async function createRule(
  transaction: Transaction<RuleTables>,
  supply: AddressSupply,
  { customerId, actor }: Writer,
  body: NewRuleBody,
  { status, destinations }: { readonly status: 'ACTIVE' | 'PENDING'; readonly destinations: DestinationPolicy },
): Promise<RuleRow> {
  const refuseRepeated = async () => {
    const existing = await ruleWithRefId(transaction, customerId, body.ref_id)
    if (existing === undefined) return
    const meta = { existing: ruleDocument(existing, supply.banks()) }
    throw new Problem('already_exists', 'ref_id: a rule with this ref_id exists', { meta })
  }
  const { profile, source, destination } = await unlessRepeated(refuseRepeated, () =>
    placesOf(transaction, supply, customerId, body, destinations),
  )
  // This customer's other creations wait here until this transaction ends, so none uses the same ref_id afterwards.
  const addresses = status === 'ACTIVE' ? addressesFor(source) : 0
  const creation = await supply.quotas.begin(transaction, customerId, { rules: 1, addresses })
  const { createdAt } = creation
  await refuseRepeated()
  creation.admit()
  const { ref_id, nickname = null, source_asset, destination_asset } = body
  const rule = {
    id: newId(),
    customer_id: customerId,
    ref_id,
    nickname,
    profile_id: profile.id,
    account_id: profile.account?.id ?? null,
    identity_id: body.identity_id ?? profile.account?.identityId ?? null,
    status,
    source_asset,
    destination_asset,
    destination,
    created_at: createdAt,
  }
  const instructed =
    status === 'ACTIVE'
      ? await instruct(transaction, supply, profile, createdAt, { source, identity_id: rule.identity_id })
      : { source, depositAddressId: null, fiatInstructionsId: null }
  const row = await insertRule(transaction, rule, instructed)
  const { id, profile_id } = rule
  const detail = { customer_id: customerId, ref_id, profile_id, status, source_asset, destination_asset }
  await writeAudit(transaction, { actor, action: 'rule.create', subject: id, detail })
  return row
}

/** @param customerId the rule's owner. Absent: any customer. */
export async function deleteRule(
  transaction: Transaction<RuleTables>,
  actor: string,
  id: string,
  customerId?: string,
): Promise<RuleRow> {
  const rule = (await lockRule(transaction, id, customerId)) ?? noRule()
  if (hasState(rule, 'DELETED')) return rule
  await writeAudit(transaction, { actor, action: 'rule.delete', subject: id, detail: { from: rule.status } })
  return await setStatus(transaction, id, { status: 'DELETED' })
}

/** Makes a PENDING rule ACTIVE and creates its deposit instructions. Nothing changes if that fails. */
export async function approveRule(
  transaction: Transaction<RuleTables>,
  supply: AddressSupply,
  actor: string,
  id: string,
): Promise<RuleRow> {
  const rule = (await lockRule(transaction, id)) ?? noRule()
  if (hasState(rule, 'ACTIVE')) return rule
  const profile = await profileForWrite(
    transaction,
    rule.customer_id,
    rule.profile_id,
    '/profile_id',
    supply.needsAccountApproval(),
  )
  const records = { addresses: addressesFor(rule.source) }
  const creation = await supply.quotas.beginForOperator(transaction, rule.customer_id, records)
  creation.admit()
  const instructed = await instruct(transaction, supply, profile, creation.createdAt, rule)
  await writeAudit(transaction, { actor, action: 'rule.approve', subject: id, detail: {} })
  return await setStatus(transaction, id, { status: 'ACTIVE', instructed })
}

export async function rejectRule(
  transaction: Transaction<RuleTables>,
  actor: string,
  id: string,
  reason: string,
): Promise<RuleRow> {
  const rule = (await lockRule(transaction, id)) ?? noRule()
  if (hasState(rule, 'REJECTED')) return rule
  await writeAudit(transaction, { actor, action: 'rule.reject', subject: id, detail: { reason } })
  return await setStatus(transaction, id, { status: 'REJECTED', rejectReason: reason })
}

/** Whether a rule already has the requested state. Throws 409 when there is no transition to it. */
function hasState({ status: current }: RuleRow, wanted: RuleStatus): boolean {
  const step = stepTo(current, wanted)
  if (step !== 'impossible') return step === 'unchanged'
  throw new Problem('invalid_state', `the rule is ${current} and cannot become ${wanted}`, { meta: { current } })
}

/** The rule's profile, source and destination. Throws when one of them cannot be used now. */
async function placesOf(
  transaction: Transaction<RuleTables>,
  supply: AddressSupply,
  customerId: string,
  body: NewRuleBody,
  destinations: DestinationPolicy,
) {
  const needsApproval = supply.needsAccountApproval()
  const profile = await profileForWrite(transaction, customerId, body.profile_id, '/profile_id', needsApproval)
  await refuseOtherAccount(transaction, profile, body.account_id)
  if (body.source.fiat !== undefined) refuseWithoutBank(supply.banks(), body.source.fiat, '/source/fiat')
  const source = await sourceOf(transaction, profile, body)
  return { profile, source, destination: await destinationOf(transaction, profile, body.destination, destinations) }
}

/** The source without deposit instructions. */
async function sourceOf(
  transaction: Transaction<RuleTables>,
  { id, customerId }: WritableProfile,
  { source }: NewRuleBody,
): Promise<RuleSource> {
  const { crypto, fiat, profile } = source
  if (crypto !== undefined) return { crypto }
  if (fiat !== undefined) return { fiat }
  const pointer = '/source/profile/profile_id'
  const named = await profileForWrite(transaction, customerId, profile?.profile_id ?? '', pointer)
  // Deposits are credited to the rule's `profile_id`, even after the rule was deleted.
  if (named.id !== id) throw invalidRequest([{ pointer, detail: 'must be the rule’s profile_id' }])
  return { profile: { profile_id: id } }
}

/** How many deposit addresses a rule with this source needs. */
function addressesFor(source: RuleSource): number {
  return 'crypto' in source ? 1 : 0
}

/** Creates the rule's deposit instructions: an address or a memo. A profile source needs none. */
async function instruct(
  transaction: Transaction<RuleTables>,
  supply: AddressSupply,
  profile: WritableProfile,
  createdAt: string,
  { source, identity_id }: { readonly source: RuleSource; readonly identity_id: string | null },
): Promise<InstructedSource> {
  if ('crypto' in source) {
    const { network } = source.crypto
    const wanted = { crypto_network: network, ...(identity_id === null ? {} : { identity_id }) }
    const { id: address_id, address } = await insertDepositAddress(transaction, supply, profile, createdAt, wanted)
    return {
      source: { crypto: { address_id, address, network } },
      depositAddressId: address_id,
      fiatInstructionsId: null,
    }
  }
  if ('fiat' in source) {
    refuseWithoutBank(supply.banks(), source.fiat, '/source/fiat')
    const wanted = { ...source.fiat, identity_id }
    const { id, memoId } = await insertFiatInstructions(transaction, profile, createdAt, wanted)
    const fiat = { ...source.fiat, deposit_instructions_id: id, memo_id: memoId }
    return { source: { fiat }, depositAddressId: null, fiatInstructionsId: id }
  }
  return { source, depositAddressId: null, fiatInstructionsId: null }
}
