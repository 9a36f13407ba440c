/** The worker: everything that is due is done once, by whichever of them, and one bad row stops no other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addAssets, addOwner, balanceOf } from '../../support/ledger.ts'
import {
  convertSettings,
  createRunner,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
  statusesOf,
} from '../../support/orchestrations.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let db: Db
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, ORCHESTRATED_ASSETS)
})
afterAll(() => db?.close())

/** Assets whose postings do not sum to what the balances hold. */
async function imbalances() {
  const { rows } = await sql`
    select profile_id, asset, available + in_transit as held, sum(amount) as posted from balances
    join (
      select credit_profile_id as profile_id, asset, amount from postings
      union all select debit_profile_id, asset, -amount from postings
    ) as movements using (profile_id, asset)
    group by profile_id, asset, available, in_transit having available + in_transit <> sum(amount)
  `.execute(db.tables())
  return rows
}

describe('workers', () => {
  it('workers do due work once, however many there are', async () => {
    const owners = await Promise.all([addOwner(db), addOwner(db), addOwner(db)])
    const first = createRunner(db)
    const second = createRunner(db)
    first.runner.start()
    second.runner.start()
    const ids: string[] = []
    for (let round = 0; round < 4; round++) {
      const starts = owners.flatMap((owner) =>
        ['USDG', 'USD', 'USDC'].flatMap((destinationAsset) => [
          newOrchestration(owner, { destinationAsset }),
          newOrchestration(owner, { destinationAsset, sourceAmount: 1_230_000n }),
        ]),
      )
      ids.push(...(await startAll(db, starts)))
    }
    await expect.poll(() => statusesOf(db, ids)).toEqual({ COMPLETED: ids.length })
    await Promise.all([first.runner.stop(), second.runner.stop()])
    const steps = Number(await first.countOf('completed')) + Number(await second.countOf('completed'))
    expect(steps).toBe(ids.length)
    for (const { profileId } of owners) {
      expect(await balanceOf(db, profileId, 'USDG')).toMatchObject({ available: 24_920_000n, in_transit: 0n })
      expect(await balanceOf(db, profileId, 'USD')).toMatchObject({ available: 2_492n, in_transit: 0n })
      expect(await balanceOf(db, profileId, 'USDC')).toMatchObject({ available: 24_920_000n, in_transit: 0n })
    }
    expect(await imbalances()).toEqual([])
  })

  it('workers do the others of a batch when one row cannot be done, and try that one again', async () => {
    const [owner, poor] = [await addOwner(db), await addOwner(db)]
    const starts = [owner, poor, owner, owner].map((each) => newOrchestration(each))
    const ids = await startAll(db, starts)
    // The money that was reserved for it is not there: what it posts is refused.
    await sql`update balances set in_transit = 0 where profile_id = ${poor.profileId}`.execute(db.tables())
    const { runner, lines, countOf } = createRunner(db)
    runner.start()
    await expect.poll(() => countOf('error')).toBeGreaterThan(0)
    await runner.stop()
    expect(await statusesOf(db, ids)).toEqual({ COMPLETED: 3, PROCESSING: 1 })
    const row = await orchestrationRow(db, ids[1] as string)
    expect(row).toMatchObject({ status: 'PROCESSING', step: 'convert', kind: 'convert' })
    expect(lines.join('')).toContain(`"orchestration_id":"${ids[1]}"`)
    await sql`update balances set in_transit = 5000000 where profile_id = ${poor.profileId}`.execute(db.tables())
    await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(db.tables())
    const later = createRunner(db)
    later.runner.start()
    await expect.poll(() => statusesOf(db, ids)).toEqual({ COMPLETED: 4 })
    await later.runner.stop()
  })

  it('workers give back their claims when they are stopped, after the batch in progress', async () => {
    const owner = await addOwner(db)
    const starts = ['USDG', 'USD', 'USDC'].map((destinationAsset) => newOrchestration(owner, { destinationAsset }))
    const ids = await startAll(db, starts)
    await new Promise<void>((resolve) => {
      const { runner } = createRunner(db, () => {
        void runner.stop().then(resolve)
        return convertSettings()
      })
      runner.start()
    })
    expect(await statusesOf(db, ids)).toEqual({ COMPLETED: 1, PROCESSING: 2 })
    const { rows } = await sql<{ due: number }>`
      select count(*)::integer as due from orchestration_queue where next_attempt_at <= clock_timestamp()
    `.execute(db.tables())
    expect(rows).toEqual([{ due: 2 }])
    await sql`delete from orchestration_queue`.execute(db.tables())
  })

  it('workers poll once a second, and every five seconds after a minute without work', async () => {
    const clock = new VirtualClock()
    const { runner } = createRunner(db, undefined, clock)
    runner.start()
    await expect.poll(() => clock.isDueIn(1_000)).toBe(true)
    clock.standStill(60_000)
    await expect.poll(() => clock.isDueIn(5_000)).toBe(true)
    const [id] = await startAll(db, [newOrchestration(await addOwner(db))])
    await expect.poll(() => statusesOf(db, [id as string])).toEqual({ COMPLETED: 1 })
    await expect.poll(() => clock.isDueIn(1_000)).toBe(true)
    await runner.stop()
  })
})
