/** The gates: each of them closes by itself, and names itself. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GateSubject, readGates } from '../../../src/money/controls/gates.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addAssets, addOwner, type Owner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'

let db: Db
let owner: Owner
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, { USDC: 6 })
  owner = await addOwner(db)
})
afterAll(() => db?.close())

/** The finding after a change that is rolled back. */
async function findingAfter(change: ReturnType<typeof sql>, subject: Partial<GateSubject> = {}) {
  const rollback = new Error('rolled back')
  let finding: Awaited<ReturnType<typeof readGates>>[number]
  const ordinary: GateSubject = {
    profileId: owner.profileId,
    assets: ['USDC', 'USD'],
    pair: ['USDC', 'USD'],
    networks: ['ETHEREUM'],
    isDelivery: false,
  }
  const work = db.transaction(async (transaction) => {
    await change.execute(transaction)
    finding = (await readGates(transaction, [{ ...ordinary, ...subject }]))[0]
    throw rollback
  })
  await expect(work).rejects.toBe(rollback)
  return finding
}

const NOTHING = sql`select 1`

describe('gates', () => {
  it('gates are open for an ordinary profile', async () => {
    expect(await findingAfter(NOTHING)).toBeUndefined()
  })

  it.each([
    ['CUSTOMER_DISABLED', sql`update customers set enabled = false`, 'the customer is disabled'],
    ['ACCOUNT_BLOCKED', sql`update accounts set user_disabled = true`, 'the profile’s account is DISABLED'],
    ['ACCOUNT_BLOCKED', sql`update accounts set review_status = 'DENIED'`, 'the profile’s account is DENIED'],
    ['ACCOUNT_BLOCKED', sql`update accounts set review_status = 'ERROR'`, 'the profile’s account is ERROR'],
    [
      'RECEIVABLE',
      sql`insert into balances (profile_id, asset, receivable) select id, 'USDC', 1 from profiles`,
      'the profile owes money since a deposit was reversed',
    ],
    ['PAUSED', sql`update controls set paused_assets = '{BTC,USDC}'`, 'the asset USDC is paused'],
    ['PAUSED', sql`update controls set paused_networks = '{ETHEREUM}'`, 'the network ETHEREUM is paused'],
    ['PAUSED', sql`update controls set paused_pairs = '{USDC/USD}'`, 'the pair USDC/USD is paused'],
  ])('gates close with %s', async (code, change, detail) => {
    expect(await findingAfter(change)).toEqual({ code, detail })
  })

  it("gates stay open for an account that is not reviewed yet, another asset, and the pair's other direction", async () => {
    expect(await findingAfter(sql`update accounts set review_status = 'PENDING'`)).toBeUndefined()
    expect(await findingAfter(sql`update controls set paused_assets = '{BTC}'`)).toBeUndefined()
    expect(await findingAfter(sql`update controls set paused_pairs = '{USD/USDC}'`)).toBeUndefined()
  })

  it('gates stop deliveries alone when deliveries are paused', async () => {
    const paused = sql`update controls set deliveries_paused = true`
    expect(await findingAfter(paused)).toBeUndefined()
    const finding = await findingAfter(paused, { isDelivery: true })
    expect(finding).toEqual({ code: 'PAUSED', detail: 'deliveries are paused' })
  })

  it('gates answer each of many subjects, in their order', async () => {
    const blocked = await addOwner(db)
    await sql`update accounts set admin_disabled = true where profile_id = ${blocked.profileId}`.execute(db.tables())
    const subject = { assets: ['USDC'], networks: [], isDelivery: false }
    const profiles = [blocked, owner, blocked].map(({ profileId }) => ({ ...subject, profileId }))
    const findings = await db.transaction((transaction) => readGates(transaction, profiles))
    expect(findings.map((finding) => finding?.code)).toEqual(['ACCOUNT_BLOCKED', undefined, 'ACCOUNT_BLOCKED'])
  })
})
