/**
 * Writes the moves of reported deposits: deposits and sightings, postings, transfers, orchestrations and audit rows. In
 * three messages to the store: everything that needs no answer, then postings and the customers' clocks under their
 * locks, then what has the clocks' times.
 */
import { writeAudits } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { keepDepositMode } from '../controls/deposit-mode.ts'
import { type LedgerAsset, refuseOtherDecimals } from '../ledger/assets.ts'
import { preparePostings } from '../ledger/ledger.ts'
import { type Completion, completionAudit } from '../orchestrations/at-once.ts'
import { conversionPostings, conversionTransfers } from '../orchestrations/movements.ts'
import { recordConversions } from '../orchestrations/pricing/price.ts'
import { type StartSettings, startOrchestrations } from '../orchestrations/start.ts'
import { changeTransfers, insertTransfers, type TransferChange } from '../transfers/store.ts'
import type { Owner } from './attribution.ts'
import { type Credit, creditPosting, orchestrationOf, unattributedPosting } from './credit.ts'
import { becomesCompleted, isChanged, isFirst, type Move } from './move.ts'
import { type DecimalsOf, replacedTerms } from './reported-terms.ts'
import { shownSecondaryStatus, transferIdOf, transferOf } from './transfer-entries.ts'
import { changeDeposits, insertDeposits, recordSightings } from './writes.ts'

const ACTIONS = {
  create: 'deposit.create',
  complete: 'deposit.complete',
  fail: 'deposit.fail',
  reopen: 'deposit.reopen',
} as const

export interface WriteSettings {
  /** The setting `rest.sandbox`. */
  readonly isSandbox: boolean
  readonly start: StartSettings
}

interface Writing {
  readonly moves: readonly Move[]
  readonly completions: readonly Completion[]
  readonly settings: WriteSettings
  readonly decimalsOf: DecimalsOf
}

/** Writes everything except refusals, and returns the creation time of new deposits. */
export async function writeMoves<Tables>(
  transaction: Transaction<Tables>,
  { moves, completions, settings, decimalsOf }: Writing,
): Promise<string | undefined> {
  const firsts = moves.filter(isFirst)
  const others = moves.filter((move) => !isFirst(move))
  const conversions = completions.flatMap(({ start, done }) => conversionPostings(start, done.amounts))
  const credited = moves.flatMap(({ credit }) => (credit === undefined ? [] : [creditPosting(credit, 'external')]))
  const unattributed = moves.filter((move) => move.owner === undefined && becomesCompleted(move))
  // In the order of all writers of these rows, with the locks on balances last.
  const [, createdAt, , , , , writePostings] = await Promise.all([
    firsts.length === 0 ? undefined : keepDepositMode(transaction, settings.isSandbox),
    insertDeposits(transaction, firsts),
    recordSightings(transaction, others),
    changeDeposits(
      transaction,
      others.filter(isChanged).map(({ after }) => after),
    ),
    writeAudits(transaction, [
      ...moves.flatMap((move) => auditOf(move, decimalsOf)),
      ...completions.map(completionAudit),
    ]),
    recordConversions(
      transaction,
      completions.map(({ done }) => done),
    ),
    preparePostings(transaction, [
      ...credited,
      ...conversions,
      ...unattributed.map(({ after }) => unattributedPosting(after)),
    ]),
  ])
  const symbols = new Set([
    ...moves.map(({ after }) => after.asset),
    ...completions.map(({ start }) => start.destinationAsset),
  ])
  const assets = [...symbols].flatMap((symbol) => {
    const decimals = decimalsOf(symbol)
    return decimals === undefined ? [] : [{ symbol, decimals }]
  })
  await showAndStart(transaction, { moves, completions, settings, assets }, writePostings)
  return createdAt
}

/** Writes the postings and the customers' transfers, and starts or completes the orchestrations. */
async function showAndStart<Tables>(
  transaction: Transaction<Tables>,
  {
    moves,
    completions,
    settings: { start },
    assets,
  }: Omit<Writing, 'decimalsOf'> & { readonly assets: readonly LedgerAsset[] },
  writePostings: () => Promise<void>,
): Promise<void> {
  const owned = moves.flatMap((move) => (move.owner === undefined ? [] : [{ ...move, owner: move.owner }]))
  const appearing = owned.filter(({ before, after }) => before?.profile_id !== after.profile_id)
  const starting = owned.filter(({ credit }) => credit?.wanted !== undefined)
  const [, times] = await Promise.all([
    writePostings(),
    nextCreationTimes(
      transaction,
      [...appearing, ...starting].map(({ owner }) => owner.customerId),
    ),
  ])
  const timeOf = ({ customerId }: Pick<Owner, 'customerId'>) => times.get(customerId) as string
  const entries = appearing.map((move) => transferOfMove(move, timeOf(move.owner)))
  const converted = completions.flatMap(({ start: own, done }) =>
    conversionTransfers(own, done.amounts, done.ids, timeOf(own)),
  )
  const results = new Map(completions.map(({ start: own, done }) => [own.id, { done }]))
  const starts = starting.flatMap(({ credit }) => {
    const own = orchestrationOf(credit as Credit)
    return own === undefined ? [] : [{ ...own, ...results.get(own.id), createdAt: timeOf(own) }]
  })
  await Promise.all([
    insertTransfers(transaction, [...entries, ...converted]),
    changeTransfers(transaction, moves.flatMap(transferChangeOf)),
    startOrchestrations(transaction, starts, start),
    refuseOtherDecimals(transaction, assets),
  ])
}

function transferOfMove({ after, arrived, owner }: Move & { readonly owner: Owner }, createdAt: string) {
  const shown = { ...after, memo_id: after.memo_id ?? arrived.memo ?? null }
  return transferOf(shown, owner, arrived.address?.metadata ?? {}, createdAt)
}

/**
 * The change to the deposit's previous transfer. When the deposit now belongs to another profile, that transfer becomes
 * FAILED.
 */
function transferChangeOf(move: Move): readonly TransferChange[] {
  const { before, after, isReplacing } = move
  if (before === undefined || before.profile_id === null || !isChanged(move)) return []
  const id = transferIdOf(before)
  if (before.profile_id !== after.profile_id) return [{ id, status: 'FAILED' }]
  const { status, secondary_status, disposition, confirmations } = after
  const change = {
    id,
    ...(status === before.status ? {} : { status }),
    ...(secondary_status === null ? {} : { secondaryStatus: shownSecondaryStatus(secondary_status) }),
    ...(disposition === null ? {} : { disposition }),
    ...(confirmations === null ? {} : { confirmations }),
  }
  return [isReplacing ? { ...transferOfMove(move as Move & { owner: Owner }, before.created_at), ...change } : change]
}

function auditOf({ report, before, after, effect, isReplacing }: Move, decimalsOf: DecimalsOf) {
  if (!(effect in ACTIONS)) return []
  const { source, externalId: external_id, status, reportedBy: actor } = report
  const disposition = status === 'COMPLETED' ? (after.disposition ?? undefined) : undefined
  const orchestration_id = after.orchestration_id ?? undefined
  const replaced = isReplacing && before !== undefined ? { replaced: replacedTerms(before, after, decimalsOf) } : {}
  return [
    {
      actor,
      action: ACTIONS[effect as keyof typeof ACTIONS],
      subject: after.id,
      detail: { source, external_id, status, disposition, orchestration_id, ...replaced },
    },
  ]
}
