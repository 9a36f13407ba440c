/**
 * The operator's actions on one deposit: hold, release, reject, reverse and assign. Each is a step of `transitions` on the
 * locked row, with its postings, the customer's transfer and one audit row in the caller's transaction. An action whose
 * state the deposit already has changes nothing.
 */
import { newId } from '../base/ids.ts'
import { receivingAddressWithId } from '../deposit-instructions/address-owner.ts'
import { Problem } from '../http/problem.ts'
import { lockBalances, post } from '../ledger/ledger.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import { stopForReversal } from '../orchestrations/reverse.ts'
import { startOrchestrations } from '../orchestrations/start.ts'
import { writeAudit } from '../store/audit.ts'
import { nextCreationTimes } from '../store/creation-time.ts'
import type { Transaction } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { changeTransfers, insertTransfers } from '../transfers/store.ts'
import { type Arrived, type Owner, ownersOf } from './attribution.ts'
import {
  type Creditable,
  type CreditPosting,
  creditPosting,
  decideCredits,
  orchestrationOf,
  secondaryAfter,
} from './credit.ts'
import { type DepositRow, lockDeposits } from './known.ts'
import type { DepositSettings } from './record.ts'
import { noDeposit } from './store.ts'
import type { DepositsTable, DepositTables } from './tables.ts'
import { shownSecondaryStatus, transferOf } from './transfer-entries.ts'
import { actionEffect, type DepositAction, type DepositSecondaryStatus, isHeldBack, stateName } from './transitions.ts'

/** Holds the money: a credited deposit's at once, while it is still available; a pending one's when it is credited. */
export async function holdDeposit<Tables>(transaction: Transaction<Tables>, actor: string, id: string): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const step = stepOf('hold', deposit)
  if (step === undefined) return
  await setSecondary(transaction, deposit, step, {})
  await audit(transaction, actor, 'deposit.hold', id, { status: deposit.status })
  if (deposit.status === 'COMPLETED') await takeFromAvailable(transaction, deposit, 'held')
}

/** Gives held money to its profile. The rules of a deposit that was held before it was credited run now. */
export async function releaseDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  settings: DepositSettings,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const step = stepOf('release', deposit)
  if (step === undefined) return
  const owner = await ownerOf(transaction, deposit)
  if (deposit.status !== 'COMPLETED' || owner === undefined) {
    await setSecondary(transaction, deposit, step, {})
    await audit(transaction, actor, 'deposit.release', id, { status: deposit.status })
    return
  }
  // Rules run once: a deposit that was held after it was credited keeps its disposition.
  const isUndecided = deposit.disposition === 'HELD' || deposit.disposition === 'REVIEW'
  const creditable = await creditableOf(transaction, deposit, owner, {
    runsRules: isUndecided && !deposit.skips_rules,
    isHeldBack: false,
    isReviewed: true,
  })
  const [decided] = await decideCredits(transaction, [creditable], settings)
  const credit = decided as CreditPosting['credit']
  const disposition = isUndecided ? credit.disposition : deposit.disposition
  const { ruleId: rule_id, orchestrationId: orchestration_id } = credit
  const handled = isUndecided ? { disposition, rule_id, orchestration_id } : {}
  await setSecondary(transaction, deposit, step, handled)
  await audit(transaction, actor, 'deposit.release', id, { status: deposit.status, disposition, orchestration_id })
  await post(transaction, [creditPosting({ deposit: creditable, credit, from: 'held' })])
  await start(transaction, creditable, credit, settings, () => Promise.resolve())
}

/** Rejects a held deposit: from then on it can only be returned or reversed. */
export async function rejectDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  reason: string,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const step = stepOf('reject', deposit)
  if (step === undefined) return
  await setSecondary(transaction, deposit, step, { reason })
  await audit(transaction, actor, 'deposit.reject', id, { reason })
}

/**
 * Reverses a deposit that its bank has taken back, which the customer sees as a debit. The profile owes what it no longer has available. An orchestration that
 * has not converted the deposit fails.
 */
export async function reverseDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  reason: string,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const step = stepOf('reverse', deposit)
  if (step === undefined) return
  await setSecondary(transaction, deposit, step, { reason })
  await audit(transaction, actor, 'deposit.reverse', id, { reason })
  await takeBack(transaction, deposit)
  const owner = await ownerOf(transaction, deposit)
  if (owner !== undefined) await showReversal(transaction, deposit, owner)
}

/** Assigns an unattributed deposit to a profile; rules run only with `runsRules`. */
export async function assignDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  { profileId, runsRules }: { readonly profileId: string; readonly runsRules: boolean },
  settings: DepositSettings,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const owner = (await ownersOf(transaction, [profileId])).get(profileId)
  if (owner === undefined) {
    const detail = 'there is no profile with this id'
    throw new Problem('not_found', `/profile_id: ${detail}`, { errors: [{ pointer: '/profile_id', detail }] })
  }
  if (deposit.profile_id === profileId) return
  if (deposit.profile_id !== null) {
    const meta = { current: stateOf(deposit), profile_id: deposit.profile_id }
    throw new Problem('invalid_state', 'the deposit belongs to another profile', { meta })
  }
  if (deposit.status === 'FAILED' || deposit.secondary_status === 'REVERSED') {
    throw invalidState(deposit, 'cannot be assigned')
  }
  const change = { customer_id: owner.customerId, profile_id: owner.profileId, account_id: owner.accountId }
  const detail = { profile_id: profileId, run_rules: runsRules }
  if (deposit.status === 'PENDING') {
    await update(transaction, id, { ...change, skips_rules: !runsRules })
    await show(transaction, { ...deposit, ...change }, owner)
    await audit(transaction, actor, 'deposit.assign', id, detail)
    return
  }
  const creditable = await creditableOf(transaction, deposit, owner, {
    runsRules,
    isHeldBack: isHeldBack(deposit.secondary_status),
    isReviewed: false,
  })
  const [decided] = await decideCredits(transaction, [creditable], settings)
  const credit = decided as CreditPosting['credit']
  const { disposition, ruleId: rule_id, orchestrationId: orchestration_id } = credit
  const secondary_status = secondaryAfter(credit, deposit.secondary_status)
  const handled = { ...change, skips_rules: !runsRules, secondary_status, disposition, rule_id, orchestration_id }
  await update(transaction, id, handled)
  await audit(transaction, actor, 'deposit.assign', id, { ...detail, disposition, orchestration_id })
  await post(transaction, [creditPosting({ deposit: creditable, credit, from: 'unattributed' })])
  await start(transaction, creditable, credit, settings, (createdAt) =>
    insertTransfers(transaction, [transferOf({ ...deposit, ...handled }, owner, {}, createdAt)]),
  )
}

/** The deposit, locked until the transaction ends. */
export async function lockDeposit<Tables>(transaction: Transaction<Tables>, id: string): Promise<DepositRow> {
  return (await lockDeposits(transaction, [id])).get(id) ?? noDeposit()
}

/** The next secondary status; undefined when the deposit already has it; 409 when the action is not possible. */
export function stepOf(
  action: DepositAction,
  deposit: DepositRow,
): { readonly next: DepositSecondaryStatus | null } | undefined {
  const effect = actionEffect(action, { status: deposit.status, secondary: deposit.secondary_status })
  if (effect.kind === 'impossible') throw invalidState(deposit, `${action} is not possible`)
  return effect.kind === 'unchanged' ? undefined : { next: effect.secondary }
}

/**
 * Moves the money of a credited deposit out of `available` of its profile; 409 when it is no longer available, or when the
 * deposit has no profile.
 */
export async function takeFromAvailable<Tables>(
  transaction: Transaction<Tables>,
  deposit: DepositRow,
  bucket: 'held' | 'in_transit',
): Promise<void> {
  const { id: groupId, profile_id: profileId, asset } = deposit
  if (profileId === null) throw invalidState(deposit, 'it belongs to no profile: assign it first', 'UNATTRIBUTED')
  const amount = BigInt(deposit.amount)
  await refuseOrchestrated(transaction, deposit)
  const balances = await lockBalances(transaction, [{ profileId, asset }])
  if (balances({ profileId, asset }).available < amount) {
    throw invalidState(deposit, 'its money is no longer available to its profile')
  }
  const debit = { bucket: 'available', profileId } as const
  await post(transaction, [{ asset, amount, debit, credit: { bucket, profileId }, groupId }])
}

/** Sets the secondary status of the deposit and of the customer's transfer. */
export async function setSecondary<Tables>(
  transaction: Transaction<Tables>,
  deposit: DepositRow,
  { next }: { readonly next: DepositSecondaryStatus | null },
  changes: Partial<DepositsTable>,
): Promise<void> {
  await update(transaction, deposit.id, { ...changes, secondary_status: next })
  const { disposition } = changes
  const shown = { secondaryStatus: shownSecondaryStatus(next), ...(disposition ? { disposition } : {}) }
  await changeTransfers(transaction, [{ id: deposit.id, ...shown }])
}

function stateOf({ status, secondary_status: secondary }: DepositRow): string {
  return stateName({ status, secondary })
}

function invalidState(deposit: DepositRow, detail: string, current = stateOf(deposit)): Problem {
  return new Problem('invalid_state', `the deposit is ${current}: ${detail}`, { meta: { current } })
}

async function update<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  changes: Partial<DepositsTable>,
): Promise<void> {
  const ours = transaction as unknown as Transaction<DepositTables>
  const updated_at = sql<string>`greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')`
  await ours
    .updateTable('deposits')
    .set({ ...changes, updated_at })
    .where('id', '=', id)
    .execute()
}

async function audit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  action: string,
  subject: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await writeAudit(transaction, { actor, action, subject, detail })
}

async function ownerOf<Tables>(transaction: Transaction<Tables>, deposit: DepositRow): Promise<Owner | undefined> {
  const { profile_id } = deposit
  return profile_id === null ? undefined : (await ownersOf(transaction, [profile_id])).get(profile_id)
}

async function creditableOf<Tables>(
  transaction: Transaction<Tables>,
  deposit: DepositRow,
  owner: Owner,
  how: Pick<Creditable, 'runsRules' | 'isHeldBack' | 'isReviewed'>,
): Promise<Creditable> {
  const { id, asset, amount, network, occurred_at, deposit_address_id, fiat_instructions_id } = deposit
  const arrived: Arrived = {
    address: deposit_address_id === null ? undefined : await receivingAddressWithId(transaction, deposit_address_id),
    fiatInstructionsId: fiat_instructions_id ?? undefined,
  }
  return { depositId: id, asset, amount: BigInt(amount), network, occurredAt: occurred_at, owner, arrived, ...how }
}

/** @param show writes the customer's transfer, before the orchestration; receives the creation time of both */
async function start<Tables>(
  transaction: Transaction<Tables>,
  creditable: Creditable,
  credit: CreditPosting['credit'],
  settings: DepositSettings,
  show: (createdAt: string) => Promise<void>,
): Promise<void> {
  const createdAt = await creationTime(transaction, creditable.owner)
  await show(createdAt)
  const started = orchestrationOf(creditable, credit)
  await startOrchestrations(transaction, started === undefined ? [] : [{ ...started, createdAt }], settings.start)
}

async function show<Tables>(transaction: Transaction<Tables>, deposit: DepositRow, owner: Owner): Promise<void> {
  await insertTransfers(transaction, [transferOf(deposit, owner, {}, await creationTime(transaction, owner))])
}

/** A debit of the whole amount, in the group of the deposit. What the profile no longer has, it owes. */
async function showReversal<Tables>(
  transaction: Transaction<Tables>,
  deposit: DepositRow,
  owner: Owner,
): Promise<void> {
  const credit = { ...deposit, secondary_status: null, disposition: null }
  const entry = transferOf(credit, owner, {}, await creationTime(transaction, owner))
  await insertTransfers(transaction, [{ ...entry, id: newId(), direction: 'DEBIT' }])
}

async function creationTime<Tables>(transaction: Transaction<Tables>, { customerId }: Owner): Promise<string> {
  return (await nextCreationTimes(transaction, [customerId])).get(customerId) as string
}

/** 409 while an orchestration that has not failed has the money of the deposit. */
async function refuseOrchestrated<Tables>(transaction: Transaction<Tables>, deposit: DepositRow): Promise<void> {
  if (deposit.orchestration_id === null) return
  const { rows } = await sql<{ readonly status: string }>`
    select status from orchestrations where id = ${deposit.orchestration_id}
  `.execute(transaction)
  if (rows[0]?.status !== 'FAILED') throw invalidState(deposit, 'its orchestration has the money')
}

/** Posts the reversal: out of `unattributed` or `held`, or out of `available`, and the rest as owed by the profile. */
async function takeBack<Tables>(transaction: Transaction<Tables>, deposit: DepositRow): Promise<void> {
  const { id: groupId, profile_id: profileId, asset, secondary_status } = deposit
  const amount = BigInt(deposit.amount)
  const toExternal = (debit: LedgerAccount, part: MinorUnits): readonly Posting[] =>
    part === 0n ? [] : [{ asset, amount: part, debit, credit: { bucket: 'external' }, groupId }]
  if (profileId === null) {
    await post(transaction, toExternal({ bucket: 'unattributed' }, amount))
    return
  }
  if (isHeldBack(secondary_status)) {
    await post(transaction, toExternal({ bucket: 'held', profileId }, amount))
    return
  }
  await stopForReversal(transaction, groupId)
  const balances = await lockBalances(transaction, [{ profileId, asset }])
  const { available } = balances({ profileId, asset })
  const taken = available < amount ? available : amount
  await post(transaction, [
    ...toExternal({ bucket: 'available', profileId }, taken),
    ...toExternal({ bucket: 'receivable', profileId }, amount - taken),
  ])
}
