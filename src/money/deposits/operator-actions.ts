/**
 * The operator's actions on one deposit: hold, release, reject, reverse and assign. Each runs on the locked row in the
 * caller's transaction, with its postings, the customer's transfer and one audit row. All except assign are steps in
 * `transitions`. An action whose result the deposit already has changes nothing.
 */
import { newId } from '../../platform/base/ids.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { receivingAddressWithId } from '../deposit-instructions/address-owner.ts'
import type { StoredGate } from '../gates/model.ts'
import { checkRelease, type Release, withOpened } from '../gates/release.ts'
import { type LockedBalances, lockBalances, post } from '../ledger/ledger.ts'
import type { LedgerAccount, MinorUnits, Posting } from '../ledger/posting.ts'
import { stopForReversal } from '../orchestrations/reverse.ts'
import { startOrchestrations } from '../orchestrations/start.ts'
import type { Applied } from '../screening/movements.ts'
import { changeTransfers, insertTransfers, type NewTransfer } from '../transfers/store.ts'
import { type Arrived, type Owner, ownersOf } from './attribution.ts'
import {
  type Credit,
  type Creditable,
  creditColumns,
  creditedOnly,
  creditPosting,
  decideCredits,
  orchestrationOf,
  ownerColumns,
} from './credit.ts'
import type { Disposition } from './dispositions.ts'
import { type DepositRow, lockDeposits } from './known.ts'
import type { DepositSettings } from './record.ts'
import { noDeposit } from './store.ts'
import type { DepositValues } from './tables.ts'
import { shownSecondaryStatus, transferIdOf, transferOf } from './transfer-entries.ts'
import {
  actionEffect,
  type DepositAction,
  type DepositSecondaryStatus,
  isHeldBack,
  operatorHold,
  stateName,
} from './transitions.ts'
import { changeDeposits } from './writes.ts'

/**
 * Holds the money. A credited deposit is held at once, while its money is still available. A pending one is held when
 * it is credited. A deposit that another gate holds is then held by both.
 */
export async function holdDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  reason: string,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const step = stepOf('hold', deposit)
  const closed = deposit.secondary_status === 'HELD' ? heldBy(deposit) : []
  if (closed.some(({ code }) => code === 'OPERATOR_HOLD')) return
  const next = step?.next ?? deposit.secondary_status
  await setSecondary(transaction, deposit, { next }, { reason, gates: [...closed, operatorHold(reason)] })
  await audit(transaction, actor, 'deposit.hold', id, { status: deposit.status, reason })
  if (deposit.status === 'COMPLETED' && step !== undefined) await takeFromAvailable(transaction, deposit, 'held')
}

/**
 * Opens the named gates of a held deposit. When no other gate holds it, its profile gets the money, and if the deposit
 * was held before it was credited, its rules run now. Throws 409 when the release saw another version or names a gate
 * that is not closed.
 */
export async function releaseDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  release: Release,
  settings: DepositSettings,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  if (stepOf('release', deposit) === undefined) return
  const closed = heldBy(deposit)
  checkRelease(release, { version: deposit.updated_at, closed, current: stateOf(deposit) })
  const { gates, reason } = release
  const isKept = closed.some(({ code }) => code === 'OPERATOR_HOLD') && !gates.includes('OPERATOR_HOLD')
  const opened = {
    ...deposit,
    secondary_status: isKept ? ('HELD' as const) : null,
    // A hold is a state of the deposit, so a later one closes its gate again.
    opened_gates: withOpened(deposit.opened_gates, release).filter((code) => code !== 'OPERATOR_HOLD'),
    reason: isKept ? deposit.reason : reason,
  }
  await continueHeld(transaction, actor, opened, { action: 'deposit.release', detail: { gates, reason } }, settings)
}

/**
 * Reads a held, locked deposit's gates again, and credits it when none is closed.
 *
 * @param deposit HELD while the operator's own hold stays
 */
async function continueHeld<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  deposit: DepositRow,
  { action, detail }: { readonly action: string; readonly detail: Readonly<Record<string, unknown>> },
  settings: DepositSettings,
): Promise<void> {
  const { id, status } = deposit
  const owner = await ownerOf(transaction, deposit)
  if (status !== 'COMPLETED' || owner === undefined) {
    const gates = deposit.secondary_status === null ? null : deposit.gates
    await setSecondary(transaction, deposit, { next: deposit.secondary_status }, { gates })
    await audit(transaction, actor, action, id, { ...detail, status })
    return
  }
  const creditable = await creditableOf(transaction, deposit, owner)
  // Rules run once: a deposit held after it was credited keeps its disposition.
  const { disposition } = deposit
  const isFirst = disposition === 'HELD' || disposition === 'REVIEW' || disposition === 'SCREENING'
  const isFree = !isFirst && deposit.secondary_status === null
  const credit = isFree
    ? creditedOnly(creditable, disposition as Disposition, deposit.rule_id)
    : ((await decideCredits(transaction, [creditable], settings))[0] as Credit)
  const columns = creditColumns(credit)
  const changed = isFirst ? columns : { gates: columns.gates ?? null }
  const next = credit.bucket === 'held' ? 'HELD' : null
  await setSecondary(transaction, deposit, { next }, changed)
  const { orchestration_id } = { ...deposit, ...changed }
  const shown = { status, disposition: isFirst ? columns.disposition : disposition, orchestration_id }
  const held = next === null ? {} : { held_by: credit.heldBy.map(({ code }) => code) }
  await audit(transaction, actor, action, id, { ...detail, ...shown, ...held })
  if (next !== null) return
  await post(transaction, [creditPosting(credit, 'held')])
  await start(transaction, credit, settings, () => Promise.resolve())
}

/** The gates that hold a deposit. The release before this one stored none. */
export function heldBy({ gates, disposition, reason }: DepositRow): readonly StoredGate[] {
  if (gates !== null) return gates
  return [disposition === 'REVIEW' ? { code: 'REVIEW', detail: '' } : operatorHold(reason)]
}

/** Continues a deposit that its screening has allowed, unless another gate holds it. */
export async function releaseScreened<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  settings: DepositSettings,
): Promise<Applied> {
  const deposit = await lockDeposit(transaction, id)
  if (deposit.status !== 'COMPLETED' || deposit.secondary_status !== 'HELD') return 'outdated'
  const closed = heldBy(deposit)
  if (!closed.some(({ code }) => code === 'SCREENING')) return 'applied'
  const isKept = closed.some(({ code }) => code === 'OPERATOR_HOLD')
  const allowed = { ...deposit, secondary_status: isKept ? ('HELD' as const) : null }
  const done = { action: 'deposit.release', detail: { gates: ['SCREENING'] } }
  await continueHeld(transaction, actor, allowed, done, settings)
  return 'applied'
}

/** Shows the operator why a deposit’s screening keeps it held. */
export async function keepScreened<Tables>(
  transaction: Transaction<Tables>,
  id: string,
  detail: string,
): Promise<Applied> {
  const deposit = await lockDeposit(transaction, id)
  if (deposit.status !== 'COMPLETED' || deposit.secondary_status !== 'HELD') return 'outdated'
  const gates = heldBy(deposit).map((gate) => (gate.code === 'SCREENING' ? { ...gate, detail } : gate))
  await setSecondary(transaction, deposit, { next: 'HELD' }, { gates })
  return 'applied'
}

/** Rejects a held deposit. From then on it can only be returned or reversed. */
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
 * Reverses a deposit that its bank has taken back. The customer sees the reversal as a debit. The profile owes the part
 * it no longer has available. An orchestration fails unless it has converted the deposit already.
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
  if (deposit.orchestration_id !== null) await stopForReversal(transaction, deposit.orchestration_id)
  const { profile_id: profileId, asset } = deposit
  const balances = await lockBalances(transaction, profileId === null ? [] : [{ profileId, asset }])
  await post(transaction, reversalOf(deposit, balances).postings)
  const owner = await ownerOf(transaction, deposit)
  if (owner === undefined) return
  await insertTransfers(transaction, [reversalTransfer(deposit, owner, await creationTime(transaction, owner))])
}

/** Assigns an unattributed deposit to a profile. Rules run only with `runsRules`. */
export async function assignDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  { profileId, runsRules }: { readonly profileId: string; readonly runsRules: boolean },
  settings: DepositSettings,
): Promise<void> {
  const deposit = await lockDeposit(transaction, id)
  const owner = await requiredOwner(transaction, profileId)
  if (deposit.profile_id === profileId) return
  if (deposit.profile_id !== null) {
    const meta = { current: stateOf(deposit), profile_id: deposit.profile_id }
    throw new Problem('invalid_state', 'the deposit belongs to another profile', { meta })
  }
  if (deposit.status === 'FAILED' || deposit.secondary_status === 'REVERSED') {
    throw invalidState(deposit, 'cannot be assigned')
  }
  const assigned = { ...deposit, ...ownerColumns(owner), skips_rules: !runsRules }
  const detail = { profile_id: profileId, run_rules: runsRules }
  if (deposit.status === 'PENDING') {
    await changeDeposits(transaction, [assigned])
    await insertTransfers(transaction, [transferOf(assigned, owner, {}, await creationTime(transaction, owner))])
    await audit(transaction, actor, 'deposit.assign', id, detail)
    return
  }
  const [decided] = await decideCredits(transaction, [await creditableOf(transaction, assigned, owner)], settings)
  const credit = decided as Credit
  const credited = { ...assigned, ...creditColumns(credit) }
  await changeDeposits(transaction, [credited])
  const { disposition, orchestration_id } = credited
  await audit(transaction, actor, 'deposit.assign', id, { ...detail, disposition, orchestration_id })
  await post(transaction, [creditPosting(credit, 'unattributed')])
  await start(transaction, credit, settings, (createdAt) =>
    insertTransfers(transaction, [transferOf(credited, owner, {}, createdAt)]),
  )
}

/** The owner by profile id. Throws 404 when there is no such profile. */
export async function requiredOwner<Tables>(transaction: Transaction<Tables>, profileId: string): Promise<Owner> {
  const owner = (await ownersOf(transaction, [profileId])).get(profileId)
  if (owner !== undefined) return owner
  const detail = 'there is no profile with this id'
  throw new Problem('not_found', `/profile_id: ${detail}`, { errors: [{ pointer: '/profile_id', detail }] })
}

/** The deposit, locked until the transaction ends. */
export async function lockDeposit<Tables>(transaction: Transaction<Tables>, id: string): Promise<DepositRow> {
  return (await lockDeposits(transaction, [id])).get(id) ?? noDeposit()
}

/** The next secondary status. Undefined when the deposit already has it. Throws 409 when the action is not possible. */
export function stepOf(
  action: DepositAction,
  deposit: DepositRow,
): { readonly next: DepositSecondaryStatus | null } | undefined {
  const effect = actionEffect(action, { status: deposit.status, secondary: deposit.secondary_status })
  if (effect.kind === 'impossible') throw invalidState(deposit, `${action} is not possible`)
  return effect.kind === 'unchanged' ? undefined : { next: effect.secondary }
}

/**
 * Moves a credited deposit's money out of its profile's `available`. Throws 409 when it is no longer available, when an
 * orchestration has it (also a retry, which reserves it under the balance's lock), or when the deposit has no profile.
 */
export async function takeFromAvailable<Tables>(
  transaction: Transaction<Tables>,
  deposit: DepositRow,
  bucket: 'held' | 'in_transit',
): Promise<void> {
  const { id: groupId, profile_id: profileId, asset } = deposit
  if (profileId === null) throw invalidState(deposit, 'it belongs to no profile: assign it first', 'UNATTRIBUTED')
  const amount = BigInt(deposit.amount)
  const balances = await lockBalances(transaction, [{ profileId, asset }])
  await refuseOrchestrated(transaction, deposit)
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
  changes: Partial<DepositValues>,
): Promise<void> {
  await changeDeposits(transaction, [{ ...deposit, ...changes, secondary_status: next }])
  const { disposition } = changes
  const shown = { secondaryStatus: shownSecondaryStatus(next), ...(disposition ? { disposition } : {}) }
  await changeTransfers(transaction, [{ id: transferIdOf(deposit), ...shown }])
}

function stateOf({ status, secondary_status: secondary }: DepositRow): string {
  return stateName({ status, secondary })
}

export function invalidState(deposit: DepositRow, detail: string, current = stateOf(deposit)): Problem {
  return new Problem('invalid_state', `the deposit is ${current}: ${detail}`, { meta: { current } })
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
  deposit: DepositValues,
  owner: Owner,
): Promise<Creditable> {
  const { deposit_address_id, fiat_instructions_id } = deposit
  const arrived: Arrived = {
    address: deposit_address_id === null ? undefined : await receivingAddressWithId(transaction, deposit_address_id),
    fiatInstructionsId: fiat_instructions_id ?? undefined,
  }
  return { deposit, owner, arrived }
}

/** @param show writes the customer's transfer before the orchestration, and receives the creation time of both */
async function start<Tables>(
  transaction: Transaction<Tables>,
  credit: Credit,
  settings: DepositSettings,
  show: (createdAt: string) => Promise<void>,
): Promise<void> {
  const createdAt = await creationTime(transaction, credit.owner)
  await show(createdAt)
  const started = orchestrationOf(credit)
  await startOrchestrations(transaction, started === undefined ? [] : [{ ...started, createdAt }], settings.start)
}

/** A debit for the whole amount, in the deposit's group. The profile owes the part it no longer has. */
export function reversalTransfer(deposit: DepositRow, owner: Owner, createdAt: string): NewTransfer {
  const entry = transferOf({ ...deposit, secondary_status: null, disposition: null }, owner, {}, createdAt)
  return { ...entry, id: newId(), direction: 'DEBIT' }
}

async function creationTime<Tables>(transaction: Transaction<Tables>, { customerId }: Owner): Promise<string> {
  return (await nextCreationTimes(transaction, [customerId])).get(customerId) as string
}

/** Throws 409 unless the deposit's orchestration and all its retries have failed. Else one of them has the money. */
async function refuseOrchestrated<Tables>(transaction: Transaction<Tables>, deposit: DepositRow): Promise<void> {
  if (deposit.orchestration_id === null) return
  const { rows } = await sql`
    with recursive tried as (select id, status from orchestrations where id = ${deposit.orchestration_id}
      union all select next.id, next.status from tried join orchestrations as next on next.retry_of = tried.id)
    select from tried where status <> 'FAILED'
  `.execute(transaction)
  if (rows.length > 0) throw invalidState(deposit, 'its orchestration has the money')
}

/**
 * The postings that take a credited deposit back: out of `unattributed`, `held` or `available`. The profile owes the
 * rest.
 *
 * @param balances including the balance for its profile and asset
 */
export function reversalOf(
  { id: groupId, profile_id: profileId, asset, amount: text, secondary_status }: DepositRow,
  balances: LockedBalances,
): { readonly postings: readonly Posting[]; readonly owed: MinorUnits } {
  const amount = BigInt(text)
  const toExternal = (debit: LedgerAccount, part: MinorUnits): readonly Posting[] =>
    part === 0n ? [] : [{ asset, amount: part, debit, credit: { bucket: 'external' }, groupId }]
  if (profileId === null) return { postings: toExternal({ bucket: 'unattributed' }, amount), owed: 0n }
  if (isHeldBack(secondary_status)) return { postings: toExternal({ bucket: 'held', profileId }, amount), owed: 0n }
  const { available } = balances({ profileId, asset })
  const taken = available < amount ? available : amount
  const owed = amount - taken
  const postings = [
    ...toExternal({ bucket: 'available', profileId }, taken),
    ...toExternal({ bucket: 'receivable', profileId }, owed),
  ]
  return { postings, owed }
}
