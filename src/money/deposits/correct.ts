/**
 * Corrects a deposit that was reported or assigned wrongly. One transaction reverses the whole credit and credits the
 * new terms under the same id. Money the profile no longer has becomes a debt, and the new credit repays it first.
 * Started orchestrations stay as they are, but the gates stop them while a debt is left. The new credit runs no rule
 * unless the request says so. A deposit without a credit only gets the new terms.
 */
import type { Static } from 'typebox'
import { isFiat } from '../../contract/assets.ts'
import type { CryptoNetwork } from '../../contract/crypto-networks.ts'
import { newId } from '../../platform/base/ids.ts'
import { invalidRequest } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import { formatAmount, parseAmount } from '../ledger/amounts.ts'
import { readDecimals, refuseOtherDecimals } from '../ledger/assets.ts'
import { type BalanceKey, lockBalances, post } from '../ledger/ledger.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { startOrchestrations } from '../orchestrations/start.ts'
import { changeTransfers, insertTransfers, type NewTransfer } from '../transfers/store.ts'
import { type Arrived, attribute, NOWHERE, type Owner, ownersOf } from './attribution.ts'
import {
  creditColumns,
  creditedOnly,
  creditPosting,
  decideCredits,
  orchestrationOf,
  ownerColumns,
  unattributedPosting,
} from './credit.ts'
import { type DepositRow, termsOf } from './known.ts'
import { heldBy, invalidState, lockDeposit, requiredOwner, reversalOf, reversalTransfer } from './operator-actions.ts'
import type { DepositSettings } from './record.ts'
import type { CorrectBody } from './schemas.ts'
import type { Correction, DepositValues } from './tables.ts'
import { transferIdOf, transferOf } from './transfer-entries.ts'
import { changeDeposits } from './writes.ts'

/** The most corrections for one deposit: every report about its payment is compared with all of them. */
const CORRECTIONS_MAX = 20

/** The deposit's new terms. */
interface Terms {
  readonly asset: string
  readonly amount: MinorUnits
  /** Undefined: it still belongs to no profile. */
  readonly owner: Owner | undefined
  /** The asset's decimals. */
  readonly decimals: number
  /** The previous amount, as decimal text. */
  readonly amountBefore: string
}

/** A deposit before and after its correction. */
interface Corrected {
  readonly before: DepositRow
  readonly after: DepositValues
  readonly owner: Owner | undefined
  readonly arrived: Arrived
}

/**
 * Does nothing when the deposit already has these terms and is not reversed. Throws 409 when it was returned, or was
 * corrected CORRECTIONS_MAX times.
 */
export async function correctDeposit<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  id: string,
  body: Static<typeof CorrectBody>,
  settings: DepositSettings,
): Promise<void> {
  const before = await lockDeposit(transaction, id)
  const terms = await readTerms(transaction, before, body, settings)
  if (before.secondary_status === 'RETURNED') throw invalidState(before, 'its money was sent back')
  const isSame =
    terms.asset === before.asset &&
    String(terms.amount) === before.amount &&
    (terms.owner?.profileId ?? null) === before.profile_id
  if (isSame && before.secondary_status !== 'REVERSED') return
  if (before.corrections.length >= CORRECTIONS_MAX) {
    const most = `it was corrected ${CORRECTIONS_MAX} times, the most for one deposit`
    // A report of the same payment is known, so it credits nothing either.
    throw invalidState(before, `${most}: its terms can no longer change, and once reversed it is not credited again`)
  }
  const corrected = await correctedBy(transaction, before, terms, body)
  const credited =
    before.status === 'COMPLETED'
      ? await replaceCredit(transaction, corrected, settings)
      : await changeUncredited(transaction, corrected)
  await refuseOtherDecimals(transaction, [{ symbol: terms.asset, decimals: terms.decimals }])
  const { asset, profile_id, disposition, orchestration_id, corrections } = credited
  const { before: was, reason } = corrections.at(-1) as Correction
  const amount = formatAmount(terms.amount, terms.decimals)
  const handled = { profile_id, run_rules: body.run_rules === true, disposition, orchestration_id }
  const detail = { reason, before: was, asset, amount, ...handled }
  await writeAudit(transaction, { actor, action: 'deposit.correct', subject: id, detail })
}

/** The corrected terms. Throws 400 or 404 when they are invalid. */
async function readTerms<Tables>(
  transaction: Transaction<Tables>,
  { asset: assetBefore, amount: unitsBefore, network, tx_hash, profile_id }: DepositRow,
  body: Static<typeof CorrectBody>,
  { conversions: { assets } }: DepositSettings,
): Promise<Terms> {
  if (body.amount === undefined && body.asset === undefined && body.profile_id === undefined) {
    throw invalidRequest([{ pointer: '', detail: 'must have at least one of amount, asset, profile_id' }])
  }
  const decimalsBefore = (await readDecimals(transaction)).get(assetBefore) as number
  const amountBefore = formatAmount(BigInt(unitsBefore), decimalsBefore)
  const asset = assets.find(({ symbol }) => symbol === body.asset)
  if (body.asset !== undefined && asset === undefined) {
    const detail = `must be one of ${assets.map(({ symbol }) => symbol).join(', ')}`
    throw invalidRequest([{ pointer: '/asset', detail }])
  }
  if (asset !== undefined) {
    const isCarried = tx_hash === null ? isFiat(asset) : asset.networks.includes(network as CryptoNetwork)
    if (!isCarried) throw invalidRequest([{ pointer: '/asset', detail: `is not carried by ${network}` }])
  }
  const decimals = asset?.decimals ?? decimalsBefore
  const amount = parseAmount(body.amount ?? amountBefore, decimals)
  if (typeof amount === 'string') throw invalidRequest([{ pointer: '/amount', detail: amount }])
  const profileId = body.profile_id ?? profile_id
  const owner = profileId === null ? undefined : await requiredOwner(transaction, profileId)
  return { asset: body.asset ?? assetBefore, amount, decimals, owner, amountBefore }
}

async function correctedBy<Tables>(
  transaction: Transaction<Tables>,
  before: DepositRow,
  { asset, amount, owner, amountBefore }: Terms,
  { run_rules: runsRules = false, reason }: Static<typeof CorrectBody>,
): Promise<Corrected> {
  const [found] = await attribute(transaction, [termsOf(before)])
  // The rules for an address or memo belong to the profile for which it was created.
  const arrived = found !== undefined && found.owner.profileId === owner?.profileId ? found : NOWHERE
  const { profile_id, secondary_status, orchestration_id } = before
  const was = {
    asset: before.asset,
    amount: amountBefore,
    ...(profile_id === null ? {} : { profile_id }),
    ...(secondary_status === null ? {} : { secondary_status }),
    ...(orchestration_id === null ? {} : { orchestration_id }),
  }
  const after: DepositValues = {
    ...before,
    asset,
    amount: String(amount),
    ...(owner === undefined ? {} : ownerColumns(owner)),
    // New terms are reviewed and screened again. What a person has held or rejected stays so.
    secondary_status: secondary_status === 'REVERSED' || isHeldByGatesAlone(before) ? null : secondary_status,
    deposit_address_id: arrived.address?.id ?? null,
    fiat_instructions_id: arrived.fiatInstructionsId ?? null,
    skips_rules: !runsRules,
    delivery_id: null,
    returned_from: null,
    reason,
    opened_gates: [],
    corrections: [...before.corrections, { at: await now(transaction), before: was, reason }],
  }
  return { before, after, owner, arrived }
}

/** Whether only REVIEW or SCREENING, and no person, holds it. */
function isHeldByGatesAlone(deposit: DepositRow): boolean {
  return deposit.secondary_status === 'HELD' && !heldBy(deposit).some(({ code }) => code === 'OPERATOR_HOLD')
}

async function now<Tables>(transaction: Transaction<Tables>): Promise<string> {
  const { rows } = await sql<{ readonly now: string }>`
    select date_trunc('milliseconds', clock_timestamp()) as now
  `.execute(transaction)
  return (rows[0] as { readonly now: string }).now
}

/**
 * Nothing is in the ledger, so only the terms change. The same profile's transfer changes with them, and another
 * profile gets a new transfer.
 */
async function changeUncredited<Tables>(
  transaction: Transaction<Tables>,
  { before, after, owner, arrived }: Corrected,
): Promise<DepositValues> {
  const isMoved = before.profile_id !== after.profile_id
  const changed = { ...after, transfer_id: isMoved ? newTransferId(before) : after.transfer_id }
  await changeDeposits(transaction, [changed])
  if (owner === undefined) return changed
  const createdAt = (await nextCreationTimes(transaction, [owner.customerId])).get(owner.customerId) as string
  const entry = transferOf(changed, owner, arrived.address?.metadata ?? {}, createdAt)
  if (!isMoved) {
    await changeTransfers(transaction, [entry])
    return changed
  }
  if (before.profile_id !== null) await changeTransfers(transaction, [{ id: transferIdOf(before), status: 'FAILED' }])
  await insertTransfers(transaction, [entry])
  return changed
}

/** Reverses the credit, unless it is already reversed, and credits the new terms. */
async function replaceCredit<Tables>(
  transaction: Transaction<Tables>,
  { before, after: values, owner, arrived }: Corrected,
  settings: DepositSettings,
): Promise<DepositValues> {
  // Ids sort by creation time, so a list shows the reversal before the new credit.
  const reversalId = newId()
  const deposit = { ...values, transfer_id: owner === undefined ? values.transfer_id : newTransferId(before) }
  const [decided] = owner === undefined ? [] : await decideCredits(transaction, [{ deposit, owner, arrived }], settings)
  const ownerBefore =
    before.profile_id === null ? undefined : (await ownersOf(transaction, [before.profile_id])).values().next().value
  const isReversed = before.secondary_status === 'REVERSED'
  const keys = [ownerBefore, owner].flatMap((each, index): readonly BalanceKey[] =>
    each === undefined ? [] : [{ profileId: each.profileId, asset: index === 0 ? before.asset : deposit.asset }],
  )
  const balances = await lockBalances(transaction, keys)
  const reversal = isReversed ? { postings: [], owed: 0n } : reversalOf(before, balances)
  // The debt is not posted yet, so the gates did not see it.
  const isOwing = reversal.owed > 0n && owner?.profileId === before.profile_id && decided?.bucket === 'in_transit'
  const credit = isOwing ? creditedOnly(decided, 'RECEIVABLE', decided.ruleId) : decided
  const after = { ...deposit, ...creditColumns(credit) }
  await changeDeposits(transaction, [after])
  const credited = credit === undefined ? unattributedPosting(after) : creditPosting(credit, 'external')
  await post(transaction, [...reversal.postings, credited])
  const owners = [ownerBefore, owner].flatMap((each) => each ?? [])
  const times = await nextCreationTimes(
    transaction,
    owners.map(({ customerId }) => customerId),
  )
  const timeOf = ({ customerId }: Owner) => times.get(customerId) as string
  const entries: NewTransfer[] = []
  if (ownerBefore !== undefined && !isReversed) {
    await changeTransfers(transaction, [{ id: transferIdOf(before), secondaryStatus: 'REVERSED' }])
    entries.push({ ...reversalTransfer(before, ownerBefore, timeOf(ownerBefore)), id: reversalId })
  }
  if (owner !== undefined) {
    entries.push(transferOf(after, owner, arrived.address?.metadata ?? {}, timeOf(owner)))
  }
  await insertTransfers(transaction, entries)
  const started = credit === undefined ? undefined : orchestrationOf(credit)
  const starts = started === undefined || owner === undefined ? [] : [{ ...started, createdAt: timeOf(owner) }]
  await startOrchestrations(transaction, starts, settings.start)
  return after
}

/** A new transfer id. A deposit's first transfer has the deposit's id. */
function newTransferId({ profile_id, transfer_id }: DepositRow): string | null {
  return profile_id === null ? transfer_id : newId()
}
