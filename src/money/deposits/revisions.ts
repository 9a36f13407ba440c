/**
 * A deposit's revisions: its terms before each correction, and the present ones. A report with any revision's terms is
 * about the known payment and contradicts nothing. Read-only.
 */
import type { Transaction } from '../../platform/store/db.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { attribute } from './attribution.ts'
import { type DepositRow, type Known, termsOf } from './known.ts'
import { differingFields, type Report } from './report.ts'
import type { DecimalsOf } from './reported-terms.ts'

/** Members that name where a payment arrived, and so its profile. */
const PLACES: readonly string[] = ['crypto.address', 'fiat.memo_id']

/**
 * The reports in the same order. A report with a revision's terms gets its deposit's present asset and amount. If it
 * names another place, and the place belongs to the revision's profile, it also gets the present place.
 */
export async function asPresentTerms<Tables>(
  transaction: Transaction<Tables>,
  reports: readonly Report[],
  known: readonly (Known | undefined)[],
  decimalsOf: DecimalsOf,
): Promise<readonly Report[]> {
  const revised = reports.map((report, index) => {
    const deposit = known[index]?.deposit
    return deposit === undefined ? undefined : revisionOf(deposit, report, decimalsOf)
  })
  const elsewhere = revised.flatMap((each) => (each?.isElsewhere === true ? [each] : []))
  const found = await attribute(
    transaction,
    elsewhere.map(({ report }) => report),
  )
  const profileOf = new Map(elsewhere.map(({ report }, index) => [report, found[index]?.owner.profileId]))
  return reports.map((report, index) => {
    const each = revised[index]
    if (each === undefined) return report
    const profileId = profileOf.get(report)
    const isRevision = !each.isElsewhere || (profileId !== undefined && each.profiles.includes(profileId))
    return isRevision ? { ...report, ...each.present } : report
  })
}

interface Revised {
  readonly report: Report
  /** It names another place than the deposit. */
  readonly isElsewhere: boolean
  /** The profiles in the revisions with its asset and amount. */
  readonly profiles: readonly (string | null | undefined)[]
  /** The replacements for its own terms. */
  readonly present: Partial<Report>
}

/** The revisions that match a report, by asset and amount. Undefined when there is nothing to decide. */
function revisionOf(deposit: DepositRow, report: Report, decimalsOf: DecimalsOf): Revised | undefined {
  const { corrections, asset, amount, profile_id: profileId } = deposit
  const terms = termsOf(deposit)
  const differing = differingFields(terms, report)
  const decimals = decimalsOf(report.asset)
  if (differing.length === 0 || decimals === undefined || !isDecided(deposit)) return undefined
  const text = formatAmount(report.amount, decimals)
  const isPresent = asset === report.asset && terms.amount === report.amount
  const before = corrections.filter((each) => each.before.asset === report.asset && each.before.amount === text)
  const profiles = [...before.map((each) => each.before.profile_id), ...(isPresent ? [profileId] : [])]
  if (profiles.length === 0) return undefined
  const isElsewhere = differing.some((field) => PLACES.includes(field))
  const { address, memoId } = terms
  const place = isElsewhere ? { address, memoId } : {}
  return { report, isElsewhere, profiles, present: { asset, amount: BigInt(amount), ...place } }
}

/** Whether a person decided the deposit's terms or its profile. */
function isDecided(deposit: DepositRow): boolean {
  const { corrections, profile_id, deposit_address_id, fiat_instructions_id } = deposit
  return corrections.length > 0 || (profile_id !== null && deposit_address_id === null && fiat_instructions_id === null)
}
