/** Deliveries as rows with their money in transit, and owners that record their calls. */
import type { GateSettings } from '../../src/money/controls/gates.ts'
import { createDeliveries, type NewDelivery } from '../../src/money/deliveries/create.ts'
import type { Delivery } from '../../src/money/deliveries/model.ts'
import type { DeliveryOwner, DeliveryOwners } from '../../src/money/deliveries/owner.ts'
import type { DeliveryTables } from '../../src/money/deliveries/tables.ts'
import type { Reporter } from '../../src/money/deliveries/unknown-attempts.ts'
import { newId } from '../../src/platform/base/ids.ts'
import type { Db } from '../../src/platform/store/db.ts'
import { sql } from '../../src/platform/store/sql.ts'
import { OPEN_GATES } from './gates.ts'
import { credit, type Owner } from './ledger.ts'

/** The holder of the single token. */
export const OPERATOR: Reporter = { actor: 'operator', mayDecide: true }

/** An arbitrary address. */
export const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

/** A call to an owner: what happened, and the delivery at that time. */
export interface OwnerCall {
  readonly call: string
  readonly delivery: Delivery
}

/** Owners that record their calls, including those in rolled-back transactions, and charge no fee. */
export function recordingOwners(gates: GateSettings = OPEN_GATES): DeliveryOwners & { readonly calls: OwnerCall[] } {
  const calls: OwnerCall[] = []
  const owner: DeliveryOwner = {
    async settled(_, delivery) {
      calls.push({ call: 'settled', delivery })
      return { bucket: delivery.failsTo, fee: 0n }
    },
    async failed(_, delivery, { code, detail }) {
      calls.push({ call: `failed ${code}: ${detail}`, delivery })
      return 0n
    },
    waits: async (_, delivery, wait) =>
      void calls.push({
        call: wait === undefined ? 'waits no more' : `waits ${wait.waitingFor}: ${wait.detail}`,
        delivery,
      }),
  }
  return { orchestrations: owner, deposits: owner, gates: () => gates, calls }
}

/** Creates deliveries for this profile, with their amounts moved from outside into transit. Returns their ids. */
export async function addDeliveries(
  db: Db,
  { customerId, profileId, accountId }: Owner,
  count: number,
  changes: Partial<NewDelivery> = {},
): Promise<readonly string[]> {
  const deliveries = Array.from({ length: count }, (): NewDelivery => {
    const orchestrationId = newId()
    return {
      id: newId(),
      customerId,
      profileId,
      accountId,
      owner: { orchestrationId },
      asset: 'USDC',
      amount: 1_500_000n,
      destination: { crypto: { address: PAYEE, network: 'ETHEREUM' } },
      failsTo: 'available',
      groupId: orchestrationId,
      createdAt: new Date().toISOString(),
      metadata: {},
      ...changes,
    }
  })
  const total = deliveries.reduce((sum, { amount }) => sum + amount, 0n)
  await credit(db, profileId, deliveries[0]?.asset ?? 'USDC', total, 'in_transit')
  await db.transaction((transaction) => createDeliveries(transaction, deliveries))
  return deliveries.map(({ id }) => id)
}

/** Deliveries' rows, by id. */
export async function rowsOf(db: Db, ids: readonly string[]) {
  const tables = db.tables<DeliveryTables>()
  const rows = await tables.selectFrom('deliveries').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

export async function attemptsOf(db: Db, id: string) {
  const attempts = db.tables<DeliveryTables>().selectFrom('delivery_attempts').selectAll()
  return await attempts.where('delivery_id', '=', id).orderBy('attempt').execute()
}

/** A delivery's entry in the customer's statement. */
export async function transferOf(db: Db, id: string) {
  const { rows } = await sql<{ status: string; type: string; fee: string; crypto_tx_hash: string | null }>`
    select status, type, fee, crypto_tx_hash from transfers where id = ${id}
  `.execute(db.tables())
  return rows[0]
}

/**
 * Advances deliveries' time by moving their due and start times back by this many seconds. Whatever this makes due is
 * due now, because work never becomes due in the past.
 */
export async function letPass(db: Db, ids: readonly string[], seconds: number): Promise<void> {
  const due = sql`next_attempt_at - ${seconds} * interval '1 second'`
  await sql`
    update deliveries set
      next_attempt_at =
        case when next_attempt_at is not null then greatest(${due}, least(next_attempt_at, clock_timestamp())) end,
      first_attempt_at = first_attempt_at - ${seconds} * interval '1 second'
    where id = any(${[...ids]}::uuid[])
  `.execute(db.tables())
}
