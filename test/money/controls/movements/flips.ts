/** Gates that close and open between rounds, in the store and in the model. */
import type { Db } from '../../../../src/platform/store/db.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import type { Random } from '../../../support/random.ts'
import type { Party } from './model.ts'
import type { World } from './world.ts'

/** Changes some parties' flags and what is paused. Each gate is open most of the time. */
export async function closeAndOpen(world: World, db: Db, random: Random): Promise<void> {
  for (const party of world.parties) {
    party.isEnabled = random.chance(0.9)
    party.isBlocked = random.chance(0.2)
    party.isApproved = random.chance(0.85)
    party.isOwing = random.chance(0.2)
    party.isPayeeUsable = random.chance(0.85)
    await store(party, db)
  }
  world.circumstances.pausedAssets = random.chance(0.2) ? [random.pick(['USDC', 'USDG'])] : []
  world.circumstances.areDeliveriesPaused = random.chance(0.15)
  await storePauses(world, db)
}

/** Opens every gate, also those for which a release or an answer was needed. */
export async function openAll(world: World, db: Db): Promise<void> {
  for (const party of world.parties) {
    Object.assign(party, { isEnabled: true, isBlocked: false, isApproved: true, isOwing: false, isPayeeUsable: true })
    await store(party, db)
  }
  Object.assign(world.circumstances, { pausedAssets: [], areDeliveriesPaused: false, reviewAbove: 1n << 62n })
  await storePauses(world, db)
}

async function store(party: Party, db: Db): Promise<void> {
  const { customerId, accountId, profileId } = party
  const status = party.isApproved ? 'APPROVED' : 'PENDING'
  const owed = party.isOwing
    ? sql`select ${profileId}::uuid, 'BTC', 1`
    : sql`select ${profileId}::uuid, 'BTC', 1 where false`
  for (const statement of [
    sql`update customers set enabled = ${party.isEnabled} where id = ${customerId}`,
    sql`
      with changed as (
        update accounts set admin_disabled = ${party.isBlocked}, review_status = ${status},
          updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
        where id = ${accountId} and (admin_disabled, review_status) is distinct from (${party.isBlocked}, ${status})
        returning id
      )
      insert into audit (actor, action, subject, detail) select 'operator', 'account.review', id, '{}' from changed
    `,
    sql`update destinations set status = ${party.isPayeeUsable ? 'ACTIVE' : 'PENDING'} where customer_id = ${customerId}`,
    sql`delete from balances where profile_id = ${profileId} and asset = 'BTC'`,
    sql`insert into balances (profile_id, asset, receivable) ${owed}`,
  ]) {
    await statement.execute(db.tables())
  }
}

async function storePauses({ circumstances: { pausedAssets, areDeliveriesPaused } }: World, db: Db): Promise<void> {
  await sql`
    update controls set paused_assets = ${[...pausedAssets]}::text[], deliveries_paused = ${areDeliveriesPaused}
    where id = 1
  `.execute(db.tables())
}
