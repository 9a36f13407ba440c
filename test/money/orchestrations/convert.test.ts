/** The step `convert`: what it makes of the ledger, the statement, the orchestration and its work. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStoreIdentity } from '../../../src/money/controls/store-identity.ts'
import type { Delivery } from '../../../src/money/deliveries/model.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { ORCHESTRATION_DELIVERIES } from '../../../src/money/orchestrations/delivery-results.ts'
import { releaseOrchestration } from '../../../src/money/orchestrations/operator-actions.ts'
import { type Claim, ClaimLost, claimWork } from '../../../src/money/orchestrations/queue.ts'
import type { NewOrchestration } from '../../../src/money/orchestrations/start.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OPEN_GATES, reviewPayments } from '../../support/gates.ts'
import { addAssets, addOwner, balanceOf, type Owner } from '../../support/ledger.ts'
import {
  bookOf,
  convertSettings,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
} from '../../support/orchestrations.ts'
import { openTestStore } from '../../support/test-store.ts'

const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7'

let db: Db
let owner: Owner
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, ORCHESTRATED_ASSETS)
})
afterAll(() => db?.close())

async function claim(): Promise<readonly Claim[]> {
  return await claimWork(db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
}

/** One new orchestration of a new owner after one attempt; all others have been finished before. */
async function attempt(
  changes: (owner: Owner) => Partial<NewOrchestration> = () => ({}),
  settings: Parameters<typeof convertSettings>[0] = {},
  before: (id: string) => Promise<unknown> = async () => undefined,
) {
  owner = await addOwner(db)
  const [id = ''] = await startAll(db, [newOrchestration(owner, changes(owner))])
  await before(id)
  await again(settings)
  return await orchestrationRow(db, id)
}

/** Another attempt at all that is due. */
async function again(settings: Parameters<typeof convertSettings>[0] = {}) {
  const claims = await claim()
  return await db.transaction((transaction) => convertBatch(transaction, claims, convertSettings(settings)))
}

async function run(statement: ReturnType<typeof sql>): Promise<void> {
  await statement.execute(db.tables())
}

async function entriesOf(groupId: string) {
  const { rows } = await sql<Record<string, unknown>>`
    select id, profile_id, account_id, type, direction, asset, amount, fee, status from transfers
    where group_id = ${groupId} order by created_at, type, direction desc, asset
  `.execute(db.tables())
  return rows
}

async function auditOf(id: unknown) {
  const { rows } = await sql<{ actor: string; action: string; detail: unknown }>`
    select actor, action, detail from audit where subject = ${id} order by id
  `.execute(db.tables())
  return rows
}

async function serviceSum(bucket: string, asset: string): Promise<string> {
  const { rows } = await sql<{ sum: string }>`
    select coalesce(sum(case when credit_bucket = ${bucket} then amount else 0 end
      - case when debit_bucket = ${bucket} then amount else 0 end), 0) as sum
    from postings where asset = ${asset} and ${bucket} in (credit_bucket, debit_bucket)
  `.execute(db.tables())
  return rows[0]?.sum as string
}

describe('a conversion into a profile', () => {
  it('a conversion at par into a profile converts the amount the destination can represent, and leaves the rest available', async () => {
    const row = await attempt(() => ({ destinationAsset: 'USD', sourceAmount: 12_345_678n, metadata: { note: 'x' } }))
    expect(row).toMatchObject({
      status: 'COMPLETED',
      step: null,
      fee_amount: '0',
      converted_amount: '12340000',
      destination_amount: '1234',
      price: '1',
      price_source: 'par',
      kind: null,
    })
    expect(await balanceOf(db, owner.profileId, 'USDC')).toMatchObject({ available: 5_678n, in_transit: 0n })
    expect(await balanceOf(db, owner.profileId, 'USD')).toMatchObject({ available: 1_234n })
    const own = { profile_id: owner.profileId, account_id: owner.accountId, type: 'CONVERSION', status: 'COMPLETED' }
    expect(await entriesOf(row.id as string)).toEqual([
      { ...own, id: row.source_transfer_id, direction: 'DEBIT', asset: 'USDC', amount: '12340000', fee: '0' },
      { ...own, id: row.destination_transfer_id, direction: 'CREDIT', asset: 'USD', amount: '1234', fee: '0' },
    ])
    expect(await auditOf(row.id)).toMatchObject([{ actor: 'worker', action: 'orchestration.complete' }])
  })

  it('a conversion into a profile charges the fee on the source amount', async () => {
    const row = await attempt(() => ({ sourceAmount: 1_000_001n }), { feeBps: 25 })
    expect(row).toMatchObject({ fee_amount: '2500', converted_amount: '997501', destination_amount: '997501' })
    expect((await entriesOf(row.id as string))[0]).toMatchObject({ direction: 'DEBIT', amount: '997501', fee: '2500' })
    expect(await serviceSum('fees', 'USDC')).toBe('2500')
    expect(await balanceOf(db, owner.profileId, 'USDC')).toMatchObject({ available: 0n, in_transit: 0n })
  })

  it('a conversion into a profile at a market pays the price of the book', async () => {
    const bitcoin = { sourceAsset: 'BTC', sourceAmount: 10_000_000n, destinationAsset: 'USD' }
    const row = await attempt(() => bitcoin, { book: () => bookOf(10n ** 18n) })
    expect(row).toMatchObject({
      status: 'COMPLETED',
      destination_amount: '500000',
      price: '50000',
      price_source: 'BTCUSD',
    })
    expect(await balanceOf(db, owner.profileId, 'USD')).toMatchObject({ available: 500_000n })
  })

  it('a conversion into a profile of another account shows the amounts that left the one and arrived at the other', async () => {
    const other = await addOwner(db)
    const row = await attempt(() => ({ destination: { profile: { profile_id: other.profileId } } }))
    const own = { profile_id: owner.profileId, account_id: owner.accountId, amount: '5000000', fee: '0' }
    const theirs = { ...own, profile_id: other.profileId, account_id: other.accountId, id: row.destination_transfer_id }
    expect(await entriesOf(row.id as string)).toMatchObject([
      { ...own, id: row.source_transfer_id, type: 'CONVERSION', direction: 'DEBIT', asset: 'USDC' },
      { ...own, type: 'CONVERSION', direction: 'CREDIT', asset: 'USDG' },
      { ...own, type: 'INTERNAL_TRANSFER', direction: 'DEBIT', asset: 'USDG' },
      { ...theirs, type: 'INTERNAL_TRANSFER', direction: 'CREDIT', asset: 'USDG' },
    ])
    expect(await balanceOf(db, other.profileId, 'USDG')).toMatchObject({ available: 5_000_000n })
    expect(await balanceOf(db, owner.profileId, 'USDG')).toMatchObject({ available: 0n, in_transit: 0n })
  })

  it('a conversion into a profile of the same asset moves it, without the fee', async () => {
    const other = await addOwner(db)
    const destination = { profile: { profile_id: other.profileId } }
    const row = await attempt(() => ({ destinationAsset: 'USDC', destination }), { feeBps: 100 })
    expect(row).toMatchObject({ status: 'COMPLETED', converted_amount: '4950000', destination_amount: '4950000' })
    expect(await entriesOf(row.id as string)).toMatchObject([
      { type: 'INTERNAL_TRANSFER', direction: 'DEBIT', amount: '4950000', fee: '50000', profile_id: owner.profileId },
      { type: 'INTERNAL_TRANSFER', direction: 'CREDIT', amount: '4950000', fee: '0', profile_id: other.profileId },
    ])
    expect(await balanceOf(db, other.profileId, 'USDC')).toMatchObject({ available: 4_950_000n })
  })
})

describe('a conversion whose destination is outside', () => {
  it.each([
    ['USDG', [{ type: 'CONVERSION' }, { type: 'CONVERSION' }]],
    ['USDC', []],
  ])('a conversion with an outside destination hands %s over to a delivery', async (destinationAsset, entries) => {
    const destination = { crypto: { address: ADDRESS, network: 'ETHEREUM' } } as const
    const row = await attempt(() => ({ destinationAsset, destination, metadata: { a: 'b' } }), { feeBps: 100 })
    expect(row).toMatchObject({ status: 'PROCESSING', step: 'deliver', kind: null, destination_amount: '4950000' })
    const { rows } = await sql`select * from deliveries where orchestration_id = ${row.id}`.execute(db.tables())
    expect(rows).toMatchObject([
      {
        id: row.destination_transfer_id,
        asset: destinationAsset,
        amount: '4950000',
        destination,
        fails_to: 'available',
        metadata: { a: 'b' },
        status: 'WAITING',
      },
    ])
    const shown = await entriesOf(row.id as string)
    expect(shown).toMatchObject([...entries, { type: 'CRYPTO_WITHDRAWAL', status: 'PENDING', direction: 'DEBIT' }])
    // The statement adds up: what was charged shows where the source asset leaves.
    const left = shown.find(({ direction, asset }) => direction === 'DEBIT' && asset === 'USDC')
    expect(left).toMatchObject({ fee: '50000' })
    expect(await balanceOf(db, owner.profileId, destinationAsset)).toMatchObject({
      available: 0n,
      in_transit: 4_950_000n,
    })
    expect(await auditOf(row.id)).toMatchObject([{ action: 'orchestration.deliver' }])
  })

  it('a conversion with an outside destination waits with HOLD when the payment is above review_above.payments', async () => {
    const destination = { crypto: { address: ADDRESS, network: 'ETHEREUM' } } as const
    const gates = reviewPayments(new Map([['USDG', 4_949_999n]]))
    const detail = 'the amount is above review_above.payments'
    const row = await attempt(() => ({ destination }), { feeBps: 100, gates })
    const hold = { waiting_for: 'HOLD', waiting_detail: detail }
    expect(row).toMatchObject({ status: 'PROCESSING', step: 'deliver', ...hold, destination_amount: '4950000' })
    const { rows } = await sql`select * from deliveries where orchestration_id = ${row.id}`.execute(db.tables())
    expect(rows).toMatchObject([{ status: 'WAITING', opened_gates: [], gates: [{ code: 'REVIEW', detail }], ...hold }])
    expect(await auditOf(row.id)).toMatchObject([
      { action: 'orchestration.deliver', detail: { waiting_for: 'HOLD', detail } },
    ])
    await pass(row.id, 7 * 86_400)
    const { updated_at: version } = await orchestrationRow(db, row.id as string)
    const release = { gates: ['REVIEW' as const], version: version as string, reason: 'checked' }
    const released = await db.transaction((transaction) =>
      releaseOrchestration(transaction, 'operator', row.id as string, release, gates),
    )
    expect(JSON.parse(released)).not.toHaveProperty('waiting_for')
    // A day from its creation, the review not counted.
    expect(Date.parse(JSON.parse(released).expires_at) - Date.now()).toBeGreaterThan(86_000_000)
    const inside = await attempt(() => ({}), { feeBps: 100, gates })
    expect(inside).toMatchObject({ status: 'COMPLETED', waiting_for: null })
    const small = await attempt(() => ({ destination }), { feeBps: 101, gates })
    expect(small).toMatchObject({ step: 'deliver', waiting_for: null, destination_amount: '4949500' })
  })

  it('a conversion to an address of this service fails, and the amount is available again', async () => {
    const key = sql`insert into address_pool (family, address) values ('evm', ${ADDRESS})`
    const destination = { crypto: { address: ADDRESS, network: 'BASE' } } as const
    const row = await attempt(
      () => ({ destination }),
      {},
      () => run(key),
    )
    expect(row).toMatchObject({ status: 'FAILED', fail_code: 'OWN_ADDRESS', destination_amount: null, kind: null })
    expect(await balanceOf(db, owner.profileId, 'USDC')).toMatchObject({ available: 5_000_000n, in_transit: 0n })
    expect(await entriesOf(row.id as string)).toEqual([])
    expect(await auditOf(row.id)).toMatchObject([
      { action: 'orchestration.fail', detail: { fail_code: 'OWN_ADDRESS' } },
    ])
    await run(sql`delete from address_pool`)
  })
})

describe('the result of a delivery', () => {
  const destination = { crypto: { address: ADDRESS, network: 'ETHEREUM' } } as const
  const deliveryOf = (id: unknown): Delivery => ({
    id: newId(),
    ...owner,
    owner: { orchestrationId: id as string },
    asset: 'USDG',
    amount: 5_000_000n,
    destination,
    failsTo: 'available',
    status: 'SETTLED',
    attempt: 1,
    reference: 'r',
    late: false,
  })

  it('the result of a delivery ends the orchestration, or shows that the operator has to decide', async () => {
    const { id } = await attempt(() => ({ destination }))
    const tell = (work: (transaction: Transaction<object>) => Promise<unknown>) => db.transaction(work)
    const { settled, failed, waits } = ORCHESTRATION_DELIVERIES
    await tell((transaction) => waits(transaction, deliveryOf(id), { waitingFor: 'OPERATOR', detail: 'unknown' }))
    expect(await orchestrationRow(db, id as string)).toMatchObject({
      waiting_for: 'OPERATOR',
      waiting_detail: 'unknown',
    })
    await tell((transaction) => waits(transaction, deliveryOf(id), undefined))
    expect(await orchestrationRow(db, id as string)).toMatchObject({ step: 'deliver', waiting_for: null })
    await tell((transaction) => failed(transaction, deliveryOf(id), { code: 'REFUSED', detail: 'closed' }))
    const refused = await orchestrationRow(db, id as string)
    expect(refused).toMatchObject({ status: 'FAILED', step: null, fail_code: 'REFUSED', fail_detail: 'closed' })
    // What it was converted into stays to be seen, and a retry sends that.
    expect(refused).toMatchObject({ destination_amount: '5000000', price: '1' })
    await tell((transaction) => settled(transaction, { ...deliveryOf(id), late: true }))
    expect(await orchestrationRow(db, id as string)).toMatchObject({ status: 'COMPLETED', fail_code: null })
    expect((await auditOf(id)).map(({ action }) => action)).toEqual([
      'orchestration.deliver',
      'orchestration.wait',
      'orchestration.continue',
      'orchestration.fail',
      'orchestration.complete',
    ])
  })
})

describe('what can never be converted', () => {
  it('an impossible conversion fails, and the amount is available again', async () => {
    const row = await attempt(() => ({ destinationAsset: 'USD', sourceAmount: 9_999n }))
    expect(row).toMatchObject({ status: 'FAILED', fail_code: 'NOT_CONVERTIBLE' })
    expect(await balanceOf(db, owner.profileId, 'USDC')).toMatchObject({ available: 9_999n, in_transit: 0n })
  })
})

/** Makes all that waits due, and moves its times by this number of seconds into the past. */
async function pass(id: unknown, seconds: number): Promise<void> {
  await run(sql`
    update orchestrations set waiting_since = waiting_since - make_interval(secs => ${seconds}),
      expires_at = expires_at - make_interval(secs => ${seconds}) where id = ${id}
  `)
  await run(sql`update orchestration_queue set next_attempt_at = clock_timestamp() where orchestration_id = ${id}`)
}

describe('an orchestration that waits', () => {
  const bitcoin = { sourceAsset: 'BTC', sourceAmount: 10_000_000n, destinationAsset: 'USD' }

  it('a waiting orchestration waits for a price until it expires, the later tried the longer it waits', async () => {
    const row = await attempt(() => bitcoin)
    expect(row).toMatchObject({ status: 'PROCESSING', step: 'convert', waiting_for: 'PRICE', kind: 'convert' })
    const secondsAfter = (milliseconds: number, { next_attempt_at }: Record<string, unknown>) =>
      Math.round((Date.parse(next_attempt_at as string) - milliseconds) / 1000)
    expect(secondsAfter(Date.now(), row)).toBeLessThanOrEqual(1)
    await pass(row.id, 3_600)
    const tried = Date.now()
    await again()
    const later = await orchestrationRow(db, row.id as string)
    expect(secondsAfter(tried, later)).toBeGreaterThan(20)
    // It waits for the same, so its state does not change.
    expect(later.updated_at).toBe(row.updated_at)
    expect(await auditOf(row.id)).toMatchObject([{ action: 'orchestration.wait', detail: { waiting_for: 'PRICE' } }])
    await pass(row.id, 86_400)
    await again()
    expect(await orchestrationRow(db, row.id as string)).toMatchObject({
      status: 'FAILED',
      fail_code: 'EXPIRED',
      waiting_for: null,
      waiting_since: null,
    })
    expect(await balanceOf(db, owner.profileId, 'BTC')).toMatchObject({ available: 10_000_000n, in_transit: 0n })
  })

  it('a waiting orchestration continues with a price, and shows that it waits no more', async () => {
    const row = await attempt(() => bitcoin)
    await pass(row.id, 1)
    await again({ book: () => bookOf(10n ** 18n) })
    expect(await orchestrationRow(db, row.id as string)).toMatchObject({ status: 'COMPLETED', waiting_for: null })
  })

  it('a waiting orchestration does not expire while it is paused', async () => {
    const row = await attempt(
      () => ({}),
      {},
      () => run(sql`update controls set paused_assets = '{USDG}'`),
    )
    expect(row).toMatchObject({ status: 'PROCESSING', waiting_for: 'PAUSED', kind: 'convert' })
    await pass(row.id, 7 * 86_400)
    await again()
    expect(await orchestrationRow(db, row.id as string)).toMatchObject({ status: 'PROCESSING', waiting_for: 'PAUSED' })
    await run(sql`update controls set paused_assets = '{}'`)
    await pass(row.id, 0)
    await again()
    const done = await orchestrationRow(db, row.id as string)
    expect(done).toMatchObject({ status: 'COMPLETED' })
    // A day from its creation, the pause not counted.
    const left = Date.parse(done.expires_at as string) - Date.now()
    expect(left).toBeGreaterThan(86_000_000)
    expect(left).toBeLessThan(86_460_000)
  })

  it.each([
    ['a restored store', sql`'another store'`],
    ['a store whose log is behind the note of its process', sql`store_identity()`],
  ])('a waiting orchestration does not expire in %s, which may have lost its payment', async (_, identity) => {
    const row = await attempt(() => bitcoin)
    await run(sql`update store_origin set identity = ${identity}`)
    const { present } = await readStoreIdentity(db.tables())
    await pass(row.id, 2 * 86_400)
    await again({ gates: { ...OPEN_GATES, seenStore: { identity: present, position: 'FFFFFFFF/0' } } })
    const waiting = { status: 'PROCESSING', step: 'convert', waiting_for: 'PAUSED' }
    expect(await orchestrationRow(db, row.id as string)).toMatchObject(waiting)
    expect(await balanceOf(db, owner.profileId, 'BTC')).toMatchObject({ available: 0n, in_transit: 10_000_000n })
    await run(sql`update store_origin set identity = null`)
    await pass(row.id, 60)
    await again()
    const expired = { status: 'FAILED', fail_code: 'EXPIRED' }
    expect(await orchestrationRow(db, row.id as string)).toMatchObject(expired)
  })

  it('a waiting orchestration is on hold until its account is enabled again', async () => {
    const row = await attempt(
      () => ({}),
      {},
      () => run(sql`update accounts set admin_disabled = true where id = ${owner.accountId}`),
    )
    const hold = { waiting_for: 'HOLD', waiting_detail: expect.stringContaining('DISABLED'), kind: 'convert' }
    expect(row).toMatchObject(hold)
    await run(sql`update accounts set admin_disabled = false where id = ${owner.accountId}`)
    await pass(row.id, 60)
    await again()
    expect(await orchestrationRow(db, row.id as string)).toMatchObject({ status: 'COMPLETED' })
  })

  it('a waiting orchestration is on hold until a receivable is repaid', async () => {
    const row = await attempt(
      () => ({}),
      {},
      () => run(sql`insert into balances (profile_id, asset, receivable) values (${owner.profileId}, 'USD', 1)`),
    )
    expect(row).toMatchObject({ waiting_for: 'HOLD', kind: 'convert' })
    await run(sql`update balances set receivable = 0 where profile_id = ${owner.profileId}`)
    await pass(row.id, 0)
    await again()
    expect(await orchestrationRow(db, row.id as string)).toMatchObject({ status: 'COMPLETED' })
  })
})

describe('a claim', () => {
  it('a claim that is lost before the transaction begins is passed over', async () => {
    owner = await addOwner(db)
    const ids = await startAll(db, [newOrchestration(owner), newOrchestration(owner)])
    const claims = await claim()
    await run(sql`update orchestration_queue set attempt = attempt + 1 where orchestration_id = ${ids[0]}`)
    await db.transaction((transaction) => convertBatch(transaction, claims, convertSettings()))
    const rows = await Promise.all(ids.map((id) => orchestrationRow(db, id)))
    expect(rows.map(({ status }) => status)).toEqual(['PROCESSING', 'COMPLETED'])
    await run(sql`update orchestration_queue set next_attempt_at = clock_timestamp()`)
    await again()
  })

  it('a claim that is lost while its work is done undoes all of it', async () => {
    owner = await addOwner(db)
    const [id = ''] = await startAll(db, [newOrchestration(owner)])
    const claims = await claim()
    const lost = db.transaction(async (transaction) => {
      // Another worker claims it when the gates have been read: the claim ended.
      const settings = convertSettings()
      const stolen = { ...settings, pricing: { ...settings.pricing } }
      await sql`create function pg_temp.steal() returns trigger language plpgsql as $$
        begin update orchestration_queue set attempt = attempt + 1; return null; end $$`.execute(transaction)
      await sql`create trigger steal after insert on conversions execute function pg_temp.steal()`.execute(transaction)
      return await convertBatch(transaction, claims, stolen)
    })
    await expect(lost).rejects.toBeInstanceOf(ClaimLost)
    expect(await orchestrationRow(db, id)).toMatchObject({ status: 'PROCESSING', step: 'convert' })
    expect(await balanceOf(db, owner.profileId, 'USDC')).toMatchObject({ available: 0n, in_transit: 5_000_000n })
    expect(await entriesOf(id)).toEqual([])
  })

  it('a claim leaves unknown kinds, and work that is not due', async () => {
    owner = await addOwner(db)
    const ids = await startAll(db, [newOrchestration(owner), newOrchestration(owner)])
    await run(sql`delete from orchestration_queue where not orchestration_id = any(${[...ids]}::uuid[])`)
    await run(sql`update orchestration_queue set kind = 'of-next-year' where orchestration_id = ${ids[0]}`)
    await run(sql`
      update orchestration_queue set next_attempt_at = clock_timestamp() + interval '1 hour'
      where orchestration_id = ${ids[1]}
    `)
    expect(await claim()).toEqual([])
    await run(sql`update orchestration_queue set next_attempt_at = '2001-01-01' where orchestration_id = ${ids[1]}`)
    expect((await claim()).map(({ orchestrationId }) => orchestrationId)).toEqual([ids[1]])
    expect(await orchestrationRow(db, ids[0] as string)).toMatchObject({ kind: 'of-next-year', attempt: '0' })
  })
})
