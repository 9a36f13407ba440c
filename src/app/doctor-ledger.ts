/**
 * The checks of `tidegate doctor` on the ledger: balances that are not the sum of their postings, and decimals of assets
 * that the configuration would change. They change nothing.
 */

import type { Config } from '../config/settings.ts'
import { decimalsFaults } from '../ledger/assets.ts'
import { LedgerComparison } from '../ledger/comparison.ts'
import type { LedgerState } from '../ledger/upkeep.ts'
import type { Db } from '../store/db.ts'
import { bad, type Finding, ok, warn } from './doctor-finding.ts'

const NAME = 'ledger'
const OVERDUE_NEXT = 'see the log of the service for what stops it'
const NEXT = 'docs/ledger.md; pause deliveries until it is understood'

/**
 * Compares the whole ledger of a store that this command has opened.
 *
 * @param onProgress called after each step with the number of balances compared so far
 */
export async function examineLedger(
  db: Db,
  { assets }: Config,
  onProgress: (balances: number) => void = () => undefined,
): Promise<Finding[]> {
  const faults = await decimalsFaults(db.tables(), assets)
  const comparison = new LedgerComparison(db)
  while (await comparison.step()) onProgress(comparison.balances)
  const { differences, balances } = comparison
  const ledger =
    differences.length === 0
      ? ok(NAME, `${balances} balances compared, each is the sum of its postings`)
      : bad(NAME, differenceText(differences.length, differences[0]), NEXT)
  return [ledger, ...faults.map((fault) => bad(NAME, `assets: ${fault}`, 'restore the decimals'))]
}

/** The last comparison of the running service. */
export function ledgerFinding({ differences, balances, compared_at, overdue }: LedgerState): Finding {
  if (differences.length > 0) return bad(NAME, differenceText(differences.length, differences[0]), NEXT)
  if (overdue) {
    const last = compared_at === undefined ? 'none since the start' : `the last one at ${compared_at}`
    return warn(NAME, `no comparison of balances was completed for an hour: ${last}`, OVERDUE_NEXT)
  }
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
