/**
 * Finds bank payments that may be a known payment under another name. They have the same network, asset and amount, and
 * are at most a week apart. Their references are nearly equal, or one source leaves the reference out. Payments to
 * different profiles are different. Reports with the same amount wait for each other, so if two arrive together the
 * second sees the first.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { lockNames } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { unnested } from '../../platform/store/unnested.ts'
import { areNear } from './bank-reference.ts'
import type { Report } from './report.ts'

/** `near`: it is held for a person. `ambiguous`: it may be the same payment or another one, so it is not recorded. */
export interface Similar {
  readonly kind: 'near' | 'ambiguous'
  readonly depositId: string
}

/** A report that would make money arrive. */
export interface Arriving {
  readonly report: Report
  readonly depositId: string
  /** Null when it is not known. */
  readonly profileId: string | null
}

interface Candidate {
  readonly id: string
  readonly bank_reference: string | null
  /**
   * The report's source has its own name for this payment. False where both have a reference, because the references
   * decide then.
   */
  readonly is_named: boolean
}

/** Payments more days apart are different, whatever their references. */
const DAYS_MAX = 7
const DAY_MILLISECONDS = 86_400_000
/** The most payments compared with one report, the newest first. */
const CANDIDATES_MAX = 1_000

/** Waits for other reports with these amounts. Must be called before `findSimilar`. */
export async function lockAmounts<Tables>(transaction: Transaction<Tables>, reports: readonly Report[]): Promise<void> {
  if (reports.length > 0) await lockNames(transaction, 'bank amount', reports.map(amountKey))
}

/** Each report's similar payment. All reports are about bank payments. Reports without a similar payment are absent. */
export async function findSimilar<Tables>(
  transaction: Transaction<Tables>,
  arriving: readonly Arriving[],
): Promise<ReadonlyMap<Report, Similar>> {
  const found = new Map<Report, Similar>()
  if (arriving.length === 0) return found
  const stored = await candidatesOf(transaction, arriving)
  for (const [index, { report, depositId, profileId }] of arriving.entries()) {
    const together = arriving.slice(0, index).flatMap((other): readonly Candidate[] => {
      if (amountKey(other.report) !== amountKey(report) || !isSameWeek(other.report, report)) return []
      if (found.get(other.report)?.kind === 'ambiguous') return []
      const { bankReference: bank_reference, source } = other.report
      if (other.profileId !== null && profileId !== null && other.profileId !== profileId) return []
      return [{ id: other.depositId, bank_reference, is_named: source === report.source }]
    })
    const candidates = [...together, ...stored.filter(({ number }) => number === index)].filter(
      ({ id }) => id !== depositId,
    )
    const similar = candidates.flatMap((candidate) => similarityOf(report, candidate) ?? [])
    const worst = similar.find(({ kind }) => kind === 'ambiguous') ?? similar[0]
    if (worst !== undefined) found.set(report, worst)
  }
  return found
}

function amountKey({ network, asset, amount }: Report): string {
  return `${network} ${asset} ${amount}`
}

function isSameWeek({ occurredAt }: Report, other: Report): boolean {
  return Math.abs(Date.parse(occurredAt) - Date.parse(other.occurredAt)) <= DAYS_MAX * DAY_MILLISECONDS
}

/** The store leaves out other profiles' payments, which are the most where many payments have the same amount. */
async function candidatesOf<Tables>(transaction: Transaction<Tables>, arriving: readonly Arriving[]) {
  const { rows } = await sql<Candidate & { readonly number: number }>`
    select wanted.number, known.id, known.bank_reference,
      case when wanted.bank_reference is null or known.bank_reference is null then exists (
        select from deposit_sightings where deposit_id = known.id and deposit_sightings.source = wanted.source
      ) else false end as is_named
    from ${unnested(arriving, [
      ['number', 'integer', (_, index) => index],
      ['source', 'text', ({ report }) => report.source],
      ['network', 'text', ({ report }) => report.network],
      ['asset', 'text', ({ report }) => report.asset],
      ['amount', 'numeric', ({ report }) => report.amount],
      ['occurred_at', 'timestamptz', ({ report }) => report.occurredAt],
      ['bank_reference', 'text', ({ report }) => report.bankReference],
      ['profile_id', 'uuid', ({ profileId }) => profileId],
    ])}
    cross join lateral (
      select id, profile_id, bank_reference, corrections from deposits
      where deposits.network = wanted.network and deposits.asset = wanted.asset and deposits.amount = wanted.amount
        and tx_hash is null and status <> 'FAILED'
        and deposits.occurred_at between wanted.occurred_at - make_interval(days => ${DAYS_MAX}::integer)
          and wanted.occurred_at + make_interval(days => ${DAYS_MAX}::integer)
      order by deposits.occurred_at desc limit ${CANDIDATES_MAX}
    ) as known
    where wanted.profile_id is null or known.profile_id is null or known.profile_id = wanted.profile_id
      -- A correction to another profile does not make it another payment.
      or known.corrections @> jsonb_build_array(
        jsonb_build_object('before', jsonb_build_object('profile_id', wanted.profile_id)))
  `.execute(transaction)
  return rows
}

function similarityOf({ bankReference }: Report, { id, bank_reference, is_named }: Candidate): Similar | undefined {
  if (bankReference === null || bank_reference === null) {
    return is_named ? undefined : { kind: 'ambiguous', depositId: id }
  }
  return areNear(bankReference, bank_reference) ? { kind: 'near', depositId: id } : undefined
}
