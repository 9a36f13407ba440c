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
import { bad, type Finding, ok, reasonOf } from './doctor-finding.ts'
import { callOperator, type OperatorApi } from './operator-client.ts'

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

/** The result of the running service. */
export async function askLedger(api: OperatorApi): Promise<Finding> {
  try {
    const state = (await callOperator(api, { method: 'GET', path: '/ledger' })) as LedgerState
    if (state.differences.length > 0) {
      return bad(NAME, differenceText(state.differences.length, state.differences[0]), NEXT)
    }
    if (state.compared_at === undefined) return ok(NAME, 'the first comparison of balances is not complete yet')
    return ok(NAME, `${state.balances} balances were the sums of their postings at ${state.compared_at}`)
  } catch (error) {
    return bad(NAME, `cannot be read: ${reasonOf(error)}`, 'see the log of the service')
  }
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
