/**
 * All code locks the records of a payment in one order: the delivery, then what it is for, then balances. Two
 * transactions that meet wait for each other in turn, never in a circle. The embedded store has one session.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { GateSettings } from '../../../src/money/controls/gates.ts'
import { reportFailed } from '../../../src/money/deliveries/reports.ts'
import { holdDeposit } from '../../../src/money/deposits/operator-actions.ts'
import { lockBalances } from '../../../src/money/ledger/ledger.ts'
import { cancelOrchestration } from '../../../src/money/orchestrations/cancel.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { failUnconverted } from '../../../src/money/orchestrations/fail-unconverted.ts'
import { releaseOrchestration, retryOrchestration } from '../../../src/money/orchestrations/operator-actions.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addDeliveries, OPERATOR, PAYEE } from '../../support/deliveries.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { OPEN_GATES, reviewPayments } from '../../support/gates.ts'
import { addAssets, addOwner, balanceOf, credit, type Owner } from '../../support/ledger.ts'
import {
  convertSettings,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
} from '../../support/orchestrations.ts'
import { openTestStore } from '../../support/test-store.ts'

type Work = (transaction: Transaction<unknown>) => Promise<unknown>

/** Releases an orchestration from its review, with the version that it has when the work begins. */
function releaseNow(id: string, settings: GateSettings): Work {
  return async (transaction) => {
    const { rows } = await sql<{ updated_at: string }>`select updated_at from orchestrations where id = ${id}`.execute(
      transaction,
    )
    const release = { gates: ['REVIEW' as const], version: rows[0]?.updated_at ?? '', reason: 'checked' }
    return await releaseOrchestration(transaction, 'operator', id, release, settings)
  }
}

describe.skipIf(inject('engine') === 'embedded')('transactions that meet at one payment (needs PostgreSQL)', () => {
  let db: Db
  let owner: Owner
  beforeAll(async () => {
    db = await openTestStore({ log: captureLog().log })
    await addAssets(db, ORCHESTRATED_ASSETS)
    owner = await addOwner(db)
  })
  afterAll(() => db?.close())

  /** The first one takes what it takes first, the second comes as far as it can, and the first one continues. */
  async function meet([takeFirst, goOn]: readonly [Work, Work], second: Work): Promise<void> {
    const [taken, met] = [signal(), signal()]
    const limits = { statementMillisecondsMax: 60_000 }
    const going = db.transaction(async (transaction) => {
      await takeFirst(transaction)
      taken.give()
      await met.given
      await goOn(transaction)
    }, limits)
    await taken.given
    let pid = 0
    const coming = db.transaction(async (transaction) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction)
      pid = rows[0]?.pid ?? 0
      await second(transaction)
    }, limits)
    const waits = async () => {
      const { rows } = await sql<{ is: boolean }>`
        select cardinality(pg_blocking_pids(${pid}::integer)) > 0 as is
      `.execute(db.tables())
      return rows[0]?.is
    }
    await Promise.race([expect.poll(waits).toBe(true), coming])
    met.give()
    await Promise.all([going, coming])
  }

  /** An orchestration whose payment waits. */
  async function converted(): Promise<string> {
    const destination = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
    const [id = ''] = await startAll(db, [newOrchestration(owner, { destination })])
    const request = { kinds: ['convert'], limit: 1, claimSeconds: 60 }
    const claims = await claimWork(db, request, ALL_DUE)
    await db.transaction((transaction) => convertBatch(transaction, claims, convertSettings()))
    return id
  }

  it("an executor's claim and the customer's cancellation of one payment do not deadlock", async () => {
    const id = await converted()
    const deliveries = sql`select from deliveries where orchestration_id = ${id} for update skip locked`
    await meet(
      [
        (transaction) => deliveries.execute(transaction),
        (transaction) => sql`select from orchestrations where id = ${id} for update`.execute(transaction),
      ],
      (transaction) => cancelOrchestration(transaction, DELIVERY_OWNERS, { ...owner, actor: 'client:1' }, id),
    )
    expect(await orchestrationRow(db, id)).toMatchObject({ status: 'FAILED', fail_code: 'CANCELLED' })
  })

  it("a worker's conversion and the customer's cancellation do not deadlock, and the customer's request is to be repeated", async () => {
    const destination = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
    const [id = ''] = await startAll(db, [newOrchestration(owner, { destination })])
    const claims = await claimWork(db, { kinds: ['convert'], limit: 1, claimSeconds: 60 }, ALL_DUE)
    const cancel: Work = (transaction) =>
      cancelOrchestration(transaction, DELIVERY_OWNERS, { ...owner, actor: 'client:1' }, id)
    const convert: Work = (transaction) => convertBatch(transaction, claims, convertSettings())
    await expect(meet([convert, async () => undefined], cancel)).rejects.toMatchObject({ code: 'invalid_state' })
    await db.transaction(cancel)
    expect(await orchestrationRow(db, id)).toMatchObject({ status: 'FAILED', fail_code: 'CANCELLED' })
  })

  it("a worker's conversion and the operator's release do not deadlock, and the operator's request is to be repeated", async () => {
    const destination = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
    const [id = ''] = await startAll(db, [newOrchestration(owner, { destination })])
    await sql`
      update orchestrations set waiting_for = 'HOLD', waiting_since = created_at where id = ${id}
    `.execute(db.tables())
    const claims = await claimWork(db, { kinds: ['convert'], limit: 1, claimSeconds: 60 }, ALL_DUE)
    const gates = reviewPayments(new Map([['USDG', 1n]]))
    const settings = convertSettings({ gates })
    const convert: Work = (transaction) => convertBatch(transaction, claims, settings)
    const release = releaseNow(id, gates)
    await expect(meet([convert, async () => undefined], release)).rejects.toMatchObject({ code: 'invalid_state' })
    await db.transaction(release)
    expect(await orchestrationRow(db, id)).toMatchObject({ step: 'deliver', waiting_for: null })
  })

  it("an executor's claim and the operator's release of one payment do not deadlock", async () => {
    const id = await converted()
    await sql`
      update orchestrations set waiting_for = 'HOLD', waiting_since = created_at,
        gates = '[{"code": "REVIEW", "detail": "above"}]' where id = ${id}
    `.execute(db.tables())
    await meet(
      [
        (transaction) =>
          sql`select from deliveries where orchestration_id = ${id} for update skip locked`.execute(transaction),
        (transaction) => sql`select from orchestrations where id = ${id} for update`.execute(transaction),
      ],
      releaseNow(id, OPEN_GATES),
    )
    expect(await orchestrationRow(db, id)).toMatchObject({ step: 'deliver', waiting_for: null })
  })

  it('the return of a deposit fails while the deposit is dealt with', async () => {
    const depositId = newId()
    const [id = ''] = await addDeliveries(db, owner, 1, { owner: { depositId } })
    await sql`
      insert into deposits (id, customer_id, profile_id, asset, amount, status, secondary_status, disposition, network,
        bank_reference, delivery_id, occurred_at, created_at, updated_at)
      values (${depositId}, ${owner.customerId}, ${owner.profileId}, 'USDC', 1500000, 'COMPLETED', 'RETURNED', 'NO_RULE',
        'WIRE', ${depositId}, ${id}, now(), now(), now())
    `.execute(db.tables())
    await meet(
      [
        (transaction) => sql`select from deposits where id = ${depositId} for update`.execute(transaction),
        (transaction) => lockBalances(transaction, [{ profileId: owner.profileId, asset: 'USDC' }]),
      ],
      (transaction) =>
        reportFailed(transaction, DELIVERY_OWNERS, OPERATOR, id, { reason: 'the account is closed', attempt: 0 }),
    )
    const { rows } = await sql`select secondary_status from deposits where id = ${depositId}`.execute(db.tables())
    expect(rows).toEqual([{ secondary_status: null }])
  })

  it('a hold of a deposit takes no other money while a retry of its orchestration reserves its own', async () => {
    const holder = await addOwner(db)
    const { customerId, profileId } = holder
    const [id = ''] = await startAll(db, [newOrchestration(holder)])
    const row = { id, profile_id: profileId, source_asset: 'USDC', source_amount: '5000000' }
    const expired = { action: 'orchestration.fail', failCode: 'EXPIRED', failDetail: 'no price' } as const
    await db.transaction((transaction) => failUnconverted(transaction, row, expired, 'worker'))
    const depositId = newId()
    await sql`
      insert into deposits (id, customer_id, profile_id, asset, amount, status, disposition, network, bank_reference,
        orchestration_id, occurred_at, created_at, updated_at)
      values (${depositId}, ${customerId}, ${profileId}, 'USDC', 5000000, 'COMPLETED', 'ORCHESTRATED', 'WIRE',
        ${depositId}, ${id}, now(), now(), now())
    `.execute(db.tables())
    await credit(db, profileId, 'USDC', 5_000_000n)
    const retry: Work = (transaction) =>
      retryOrchestration(transaction, 'operator', id, { convertSecondsMax: 60 }, undefined)
    const hold: Work = (transaction) => holdDeposit(transaction, 'operator', depositId, 'to be checked')
    await expect(meet([retry, async () => undefined], hold)).rejects.toMatchObject({ code: 'invalid_state' })
    const balance = await balanceOf(db, profileId, 'USDC')
    expect(balance).toMatchObject({ available: 5_000_000n, in_transit: 5_000_000n, held: 0n })
  })
})

/** A promise and what settles it. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}
