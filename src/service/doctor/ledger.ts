/**
 * The doctor's checks on the ledger: balances that differ from the sum of their postings, transfers that misreport what
 * happened, changed postings, and asset decimals that the configuration would change. They change nothing.
 */
import { decimalsFaults } from '../../money/ledger/assets.ts'
import { LedgerComparison } from '../../money/ledger/comparison.ts'
import { TransferComparison } from '../../money/ledger/transfer-comparison.ts'
import type { LedgerState } from '../../money/ledger/upkeep.ts'
import { type LedgerStore, type Reading, readReading, SUMS_TABLES } from '../../money/ledger/verified-sums.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { sql } from '../../platform/store/sql.ts'
import type { Config } from '../config/settings.ts'
import { bad, type Finding, ok, warn } from './finding.ts'

const NAME = 'ledger'
/** For a statement about all segments. No request waits for it. */
const STATEMENT_MILLISECONDS_MAX = 60_000
const OVERDUE_NEXT = 'see the service’s log for the cause'
const NEXT = 'pause deliveries until the cause is known (docs/explanation/ledger.md)'

/**
 * Reads and compares the whole ledger of a store that this command has opened.
 * @param onProgress called after each step with the number of balances compared so far
 */
export async function examineLedger(
  db: Db,
  { assets }: Config,
  onProgress: (balances: number) => void = () => undefined,
): Promise<Finding[]> {
  const faults = await decimalsFaults(db.tables(), assets)
  const ledger = await readWholeLedger(db, async (store) => {
    const comparison = new LedgerComparison(store)
    while (await comparison.step()) onProgress(comparison.balances)
    const transfers = new TransferComparison(store)
    while (await transfers.step());
    const { changed } = await readReading(store)
    const differences = [...comparison.differences, ...transfers.differences]
    const detail = `${comparison.balances} balances compared, each equal to the sum of its postings`
    return faultOf(differences, changed) ?? ok(NAME, detail)
  })
  return [ledger, ...faults.map((fault) => bad(NAME, `assets: ${fault}`, 'restore the decimals'))]
}

/**
 * Runs `work` on sums from the first posting on. It writes to temporary tables in front of the service's, so nothing
 * changes.
 */
async function readWholeLedger<Result>(db: Db, work: (store: LedgerStore) => Promise<Result>): Promise<Result> {
  const run = async (transaction: Transaction<unknown>): Promise<Result> => {
    for (const table of SUMS_TABLES) {
      await sql`create temporary table copied (like ${sql.table(table)} including all) on commit drop`.execute(
        transaction,
      )
      // Segments read before have digests to compare with.
      if (table === 'ledger_segments') await sql`insert into copied table ledger_segments`.execute(transaction)
      await sql`alter table copied rename to ${sql.table(table)}`.execute(transaction)
    }
    await sql`
      insert into ledger_position (id, posting_id, generation, began_at) values (1, 0, 0, clock_timestamp())
    `.execute(transaction)
    const inside = { tables: () => transaction, transaction: (own: typeof run) => own(transaction) }
    return await work(inside as unknown as LedgerStore)
  }
  return await db.transaction<unknown, Result>(run, { statementMillisecondsMax: STATEMENT_MILLISECONDS_MAX })
}

/** The running service's last comparison. */
export function ledgerFinding(state: LedgerState): Finding {
  const { differences, balances, compared_at, overdue, changed_postings, postings_read_at: read } = state
  const fault = faultOf(differences, changed_postings)
  if (fault !== undefined) return fault
  if (overdue) {
    const last = compared_at === undefined ? 'none since the start' : `the last one at ${compared_at}`
    return warn(NAME, `no balance comparison was completed for an hour: ${last}`, OVERDUE_NEXT)
  }
  if (compared_at === undefined) return ok(NAME, 'the first balance comparison is not complete yet')
  return ok(
    NAME,
    `${balances} balances matched their postings at ${compared_at}, with every posting read since ${read}`,
  )
}

function faultOf(differences: LedgerState['differences'], changed: Reading['changed']): Finding | undefined {
  const [difference] = differences
  const [range] = changed
  if (difference !== undefined) {
    const { account, asset, kept, recomputed } = difference
    const example = `${account} in ${asset}: ${kept} stored, ${recomputed} by its postings or record`
    return bad(NAME, `${differences.length} balances or transfers are wrong, such as ${example}`, NEXT)
  }
  if (range === undefined) return undefined
  const ids = `${range.first_id} to ${range.last_id}`
  return bad(NAME, `postings within ${ids} were changed, added or removed after they had been read`, NEXT)
}
