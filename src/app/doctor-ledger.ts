/**
 * The checks of `tidegate doctor` on the ledger: balances that are not the sum of their postings, and decimals of assets
 * that the configuration would change. They change nothing.
 */

import type { Clock } from '../base/clock.ts'
import type { Config } from '../config/settings.ts'
import { decimalsFaults } from '../ledger/assets.ts'
import { LedgerComparison } from '../ledger/comparison.ts'
import type { LedgerState } from '../ledger/upkeep.ts'
import type { Db } from '../store/db.ts'
import { bad, type Finding, ok } from './doctor-finding.ts'

const NAME = 'ledger'
/** Longest duration of the comparison. */
const COMPARISON_MILLISECONDS_MAX = 30_000
const NEXT = 'docs/ledger.md; pause deliveries until it is understood'

/** Compares the ledger of a store that this command has opened. */
export async function examineLedger(db: Db, { assets }: Config, clock: Clock): Promise<Finding[]> {
  const faults = await decimalsFaults(db.tables(), assets)
  const comparison = new LedgerComparison(db)
  const end = clock.monotonicMilliseconds() + COMPARISON_MILLISECONDS_MAX
  let isComplete = false
  while (!isComplete && clock.monotonicMilliseconds() < end) isComplete = !(await comparison.step())
  const { differences, balances } = comparison
  const compared = isComplete ? `${balances} balances compared` : `${balances} balances compared in 30 s, not all`
  const ledger =
    differences.length === 0
      ? ok(NAME, `${compared}, each is the sum of its postings`)
      : bad(NAME, differenceText(differences.length, differences[0]), NEXT)
  return [ledger, ...faults.map((fault) => bad(NAME, `assets: ${fault}`, 'restore the decimals'))]
}

/** The last comparison of the running service. */
export function ledgerFinding({ differences, balances, compared_at }: LedgerState): Finding {
  if (differences.length > 0) return bad(NAME, differenceText(differences.length, differences[0]), NEXT)
  if (compared_at === undefined) return ok(NAME, 'the first comparison of balances is not complete yet')
  return ok(NAME, `${balances} balances were the sums of their postings at ${compared_at}`)
}

function differenceText(
  count: number,
  first?: { readonly account: string; readonly asset: string; readonly kept: unknown; readonly recomputed: unknown },
): string {
  const example =
    first === undefined
      ? ''
      : `, such as ${first.account} in ${first.asset}: ${first.kept} stored, ${first.recomputed} posted`
  return `${count} balances are not the sum of their postings${example}`
}
