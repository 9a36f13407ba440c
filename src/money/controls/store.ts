/**
 * The controls in the store: one row with everything the operator has paused. Each change writes one audit row.
 * Deliveries also count as paused while the store is not the one a person has confirmed (`store-identity`). Resuming
 * them confirms it.
 */
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Kysely, Transaction } from '../../platform/store/db.ts'
import { forUpdate } from '../../platform/store/lock-order.ts'
import { sql } from '../../platform/store/sql.ts'
import { confirmStoreIdentity, isOtherStore, isStoreOther, readStoreIdentity } from './store-identity.ts'
import type { ControlsTables } from './tables.ts'

export interface Paused {
  readonly assets: readonly string[]
  readonly networks: readonly string[]
  /** SOURCE/DESTINATION. */
  readonly pairs: readonly string[]
  readonly deliveries: boolean
}

/** The controls in the operator API. */
export interface ControlsDocument {
  readonly paused: Paused
  /** Present when deliveries are paused because the store was restored or promoted. */
  readonly deliveries_paused_because?: 'store_restored'
  /** Absent: never changed. */
  readonly updated_at?: string
}

export async function readControls(db: Db): Promise<ControlsDocument> {
  return await readRow(db.tables<ControlsTables>())
}

/** Whether no delivery is handed out: a person has paused them, or the store was restored or promoted. */
export async function areDeliveriesPaused<Tables>(transaction: Transaction<Tables>): Promise<boolean> {
  const { rows } = await sql<{ readonly paused: boolean }>`
    select deliveries_paused or ${isStoreOther()} as paused from controls
  `.execute(transaction)
  return rows[0]?.paused === true
}

/** Replaces the given members and keeps the others. A change without effect writes no audit row. */
export async function changeControls<Tables>(
  transaction: Transaction<Tables>,
  actor: string,
  changes: Partial<Paused>,
): Promise<{ readonly document: ControlsDocument; readonly isChanged: boolean }> {
  // The caller's transaction type has the caller's tables. This folder's table is in the same store.
  const ours = transaction as unknown as Transaction<ControlsTables>
  const present = await lockControls(ours)
  const { deliveries_paused } = await ours.selectFrom('controls').select('deliveries_paused').executeTakeFirstOrThrow()
  // The document shows deliveries as paused in a restored store too. A person's pause is stored besides.
  const stored = { ...present.paused, deliveries: deliveries_paused }
  const wanted = {
    ...stored,
    ...changes,
    ...Object.fromEntries(
      (['assets', 'networks', 'pairs'] as const).flatMap((name) =>
        changes[name] === undefined ? [] : [[name, [...new Set(changes[name])].sort()]],
      ),
    ),
  }
  const isConfirmed = changes.deliveries === false && present.deliveries_paused_because !== undefined
  if (!isConfirmed && JSON.stringify(wanted) === JSON.stringify(stored)) return { document: present, isChanged: false }
  const confirmed = isConfirmed ? { confirmed_store: await confirmStoreIdentity(ours) } : {}
  await ours
    .updateTable('controls')
    .set({
      paused_assets: wanted.assets,
      paused_networks: wanted.networks,
      paused_pairs: wanted.pairs,
      deliveries_paused: wanted.deliveries,
      updated_at: sql<string>`date_trunc('milliseconds', clock_timestamp())`,
    })
    .execute()
  const document = await readRow(ours)
  const detail = { paused: document.paused, ...confirmed }
  await writeAudit(transaction, { actor, action: 'controls.change', subject: 'controls', detail })
  return { document, isChanged: true }
}

/** Locks the controls until the transaction ends and returns them. */
export async function lockControls(transaction: Transaction<ControlsTables>): Promise<ControlsDocument> {
  const row = transaction.selectFrom('controls').select('id')
  await row.modifyEnd(forUpdate(transaction, 'controls', ['controls'])).execute()
  return await readRow(transaction)
}

async function readRow(tables: Kysely<ControlsTables>): Promise<ControlsDocument> {
  const row = await tables.selectFrom('controls').selectAll().executeTakeFirstOrThrow()
  const { paused_assets: assets, paused_networks: networks, paused_pairs: pairs, updated_at } = row
  const isOther = isOtherStore(await readStoreIdentity(tables))
  return {
    paused: { assets, networks, pairs, deliveries: row.deliveries_paused || isOther },
    ...(isOther ? { deliveries_paused_because: 'store_restored' } : {}),
    ...(updated_at === null ? {} : { updated_at }),
  }
}
