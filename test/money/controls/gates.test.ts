/** The gates: each of them closes by itself, and names itself. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keepDepositMode } from '../../../src/money/controls/deposit-mode.ts'
import { readGates } from '../../../src/money/controls/gates.ts'
import type { GateFinding, GateSubject } from '../../../src/money/gates/model.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OPEN_GATES } from '../../support/gates.ts'
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

function subjectOf({ customerId, profileId }: Owner): GateSubject {
  return {
    owner: { orchestrationId: newId() },
    customerId,
    profileId,
    sourceAsset: 'USDC',
    asset: 'USD',
    networks: ['ETHEREUM'],
    destination: undefined,
    amount: undefined,
    isDelivery: false,
    openedGates: [],
  }
}

/** The findings after a change that is rolled back. */
async function findingsAfter(change: ReturnType<typeof sql>, subject: Partial<GateSubject> = {}) {
  const rollback = new Error('rolled back')
  let findings: readonly GateFinding[] | undefined
  const work = db.transaction(async (transaction) => {
    await change.execute(transaction)
    ;[findings] = await readGates(transaction, [{ ...subjectOf(owner), ...subject }], OPEN_GATES)
    throw rollback
  })
  await expect(work).rejects.toBe(rollback)
  return findings?.map(({ code, detail }) => ({ code, detail }))
}

const NOTHING = sql`select 1`

describe('gates', () => {
  it('gates are open for an ordinary profile', async () => {
    expect(await findingsAfter(NOTHING)).toEqual([])
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
    expect(await findingsAfter(change)).toEqual([{ code, detail }])
  })

  it("gates stay open for an account that is not reviewed yet, another asset, and the pair's other direction", async () => {
    expect(await findingsAfter(sql`update accounts set review_status = 'PENDING'`)).toEqual([])
    expect(await findingsAfter(sql`update controls set paused_assets = '{BTC}'`)).toEqual([])
    expect(await findingsAfter(sql`update controls set paused_pairs = '{USD/USDC}'`)).toEqual([])
  })

  it('gates stop deliveries alone when deliveries are paused', async () => {
    const paused = sql`update controls set deliveries_paused = true`
    expect(await findingsAfter(paused)).toEqual([])
    const findings = await findingsAfter(paused, { isDelivery: true })
    expect(findings).toEqual([{ code: 'PAUSED', detail: 'deliveries are paused' }])
  })

  it('gates answer each of many subjects, in their order', async () => {
    const blocked = await addOwner(db)
    await sql`update accounts set admin_disabled = true where profile_id = ${blocked.profileId}`.execute(db.tables())
    const subjects = [blocked, owner, blocked].map(subjectOf)
    const findings = await db.transaction((transaction) => readGates(transaction, subjects, OPEN_GATES))
    expect(findings.map((each) => each.map(({ code }) => code))).toEqual([['ACCOUNT_BLOCKED'], [], ['ACCOUNT_BLOCKED']])
  })

  it.each([
    ['real', false],
    ['sandbox', true],
  ])('gates let nothing move in a process for %s deposits whose store has the others', async (_, isSandbox) => {
    const settings = { ...OPEN_GATES, destinations: { ...OPEN_GATES.destinations, isSandbox } }
    const read = (hasSandboxDeposits: boolean) =>
      db.transaction(async (transaction) => {
        await sql`delete from deposit_mode`.execute(transaction)
        await keepDepositMode(transaction, hasSandboxDeposits)
        return await readGates(transaction, [subjectOf(owner)], settings)
      })
    const extras = { headers: { 'retry-after': '60' } }
    await expect(read(!isSandbox)).rejects.toMatchObject({ code: 'unavailable', extras })
    expect(await read(isSandbox)).toEqual([[]])
    await sql`delete from deposit_mode`.execute(db.tables())
  })

  it('gates that are closed together are all found, without those that a release has opened', async () => {
    const change = sql`with disabled as (update customers set enabled = false),
      blocked as (update accounts set admin_disabled = true) update controls set paused_assets = '{USD}'`
    const codes = async (subject: Partial<GateSubject>) =>
      (await findingsAfter(change, subject))?.map(({ code }) => code)
    expect(await codes({})).toEqual(['CUSTOMER_DISABLED', 'ACCOUNT_BLOCKED', 'PAUSED'])
    expect(await codes({ openedGates: ['ACCOUNT_BLOCKED', 'REVIEW'] })).toEqual(['CUSTOMER_DISABLED', 'PAUSED'])
  })
})
