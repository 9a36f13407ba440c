/**
 * Two versions of the program beside each other: this one, and a newer one with kinds of work and states that this one
 * does not know. Work in every state, as an older process left it, is finished by those who know it; the rest is left as
 * it is.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { giveUpOverdue } from '../../../src/money/deliveries/hand-out.ts'
import { claimDeliveries, reportSettled } from '../../../src/money/deliveries/reports.ts'
import { takeDue } from '../../../src/money/deliveries/webhook-store.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { WAITING_REASONS } from '../../../src/money/orchestrations/model.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { CONVERT_KIND } from '../../../src/money/orchestrations/start.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addDeliveries, letPass, PAYEE, rowsOf } from '../../support/deliveries.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { addAssets, addOwner, type Owner } from '../../support/ledger.ts'
import {
  convertSettings,
  createRunner,
  newOrchestration,
  ORCHESTRATED_ASSETS,
  orchestrationRow,
  startAll,
  statusesOf,
  violationsOf,
} from '../../support/orchestrations.ts'
import { openTestStore } from '../../support/test-store.ts'

/** A kind of work, a step, and states that only the newer version knows. */
const NEW_KIND = 'screen'
const NEW_STATE = 'SCREENING'
const OUTSIDE = { crypto: { address: PAYEE, network: 'ETHEREUM' } } as const
const DAY_SECONDS = 86_400

let db: Db
let owner: Owner
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, ORCHESTRATED_ASSETS)
  // As the schema of the newer version has it.
  for (const [table, constraint] of [
    ['orchestrations', 'orchestrations_step'],
    ['orchestrations', 'orchestrations_waiting_for'],
    ['deliveries', 'deliveries_status'],
    ['deliveries', 'deliveries_channel'],
    ['deliveries', 'deliveries_due'],
  ]) {
    await sql.raw(`alter table ${table} drop constraint ${constraint}`).execute(db.tables())
  }
})
afterAll(() => db?.close())
beforeEach(async () => {
  owner = await addOwner(db)
})

/** The newer worker: it knows the new kind, whose orchestrations it hands on to the step that both know. */
async function workAsNewer(): Promise<void> {
  for (;;) {
    const claims = await claimWork(
      db,
      {
        kinds: [CONVERT_KIND, NEW_KIND],
        limit: 5,
        claimSeconds: 60,
      },
      ALL_DUE,
    )
    if (claims.length === 0) return
    const ids = claims.map(({ orchestrationId }) => orchestrationId)
    await sql`update orchestrations set step = 'convert' where id = any(${ids}::uuid[]) and step = ${NEW_KIND}`.execute(
      db.tables(),
    )
    await transactionWithRetries(db, (transaction) => convertBatch(transaction, claims, convertSettings()))
  }
}

/** Orchestrations, each in one of the states in which an older process may leave them. */
async function startInEveryState() {
  const start = async (set: ReturnType<typeof sql>, queued: ReturnType<typeof sql>) => {
    const [id] = (await startAll(db, [newOrchestration(owner)])) as [string]
    await sql`update orchestrations set ${set} where id = ${id}`.execute(db.tables())
    await sql`update orchestration_queue set ${queued} where orchestration_id = ${id}`.execute(db.tables())
    return id
  }
  const same = sql`updated_at = updated_at`
  const due = sql`next_attempt_at = clock_timestamp()`
  const waitingFor = (reason: string) =>
    sql`waiting_for = ${reason}, waiting_detail = 'as an older process saw it', waiting_since = created_at`
  const known = [await start(same, due), await start(same, sql`attempt = 7, next_attempt_at = clock_timestamp()`)]
  // OPERATOR is of deliveries; nothing else waits for it.
  const reasons = WAITING_REASONS.filter((reason) => reason !== 'OPERATOR')
  for (const reason of reasons) known.push(await start(waitingFor(reason), due))
  // A newer version may wait for other things.
  known.push(await start(waitingFor('RISK'), due))
  const claimed = await start(same, sql`attempt = 1, next_attempt_at = clock_timestamp() + interval '1 hour'`)
  const held = await start(waitingFor('HOLD'), due)
  await sql`delete from orchestration_queue where orchestration_id = ${held}`.execute(db.tables())
  const screened = await start(sql`step = ${NEW_KIND}`, sql`kind = ${NEW_KIND}, next_attempt_at = clock_timestamp()`)
  return { known, claimed, held, screened }
}

describe('orchestrations in every state', () => {
  it('orchestrations in every state are finished by this version, which leaves states that only a newer one knows', async () => {
    const { known, claimed, held, screened } = await startInEveryState()
    const left = [claimed, held, screened]
    const before = await Promise.all(left.map((id) => orchestrationRow(db, id)))
    const { runner, lines } = createRunner(db)
    runner.start()
    await expect.poll(() => statusesOf(db, known)).toEqual({ COMPLETED: known.length })
    await runner.stop()
    expect(await Promise.all(left.map((id) => orchestrationRow(db, id)))).toEqual(before)
    expect(lines).toEqual([])
    await workAsNewer()
    expect(await statusesOf(db, [screened])).toEqual({ COMPLETED: 1 })
    expect(await violationsOf(db)).toEqual([])
  })

  it('orchestrations in every state are finished once by both versions beside each other', async () => {
    const all = await Promise.all([startInEveryState(), startInEveryState(), startInEveryState()])
    const finished = all.flatMap(({ known, screened }) => [...known, screened])
    const { runner } = createRunner(db)
    runner.start()
    await expect
      .poll(async () => {
        await workAsNewer()
        return await statusesOf(db, finished)
      })
      .toEqual({ COMPLETED: finished.length })
    await runner.stop()
    expect(
      await statusesOf(
        db,
        all.flatMap(({ claimed, held }) => [claimed, held]),
      ),
    ).toEqual({ PROCESSING: 6 })
    expect(await violationsOf(db)).toEqual([])
  })
})

describe('deliveries in every state', () => {
  /** Of as many orchestrations; WAITING. */
  async function newDeliveries(count: number): Promise<string[]> {
    const starts = Array.from({ length: count }, () => newOrchestration(owner, { destination: OUTSIDE }))
    const ids = await startAll(db, starts)
    const { runner } = createRunner(db)
    runner.start()
    const made = () =>
      sql<{ id: string }>`
        select id from deliveries where orchestration_id = any(${[...ids]}::uuid[]) order by id
      `.execute(db.tables())
    await expect.poll(async () => (await made()).rows.length).toBe(count)
    const { rows } = await made()
    await runner.stop()
    return rows.map(({ id }) => id)
  }

  const change = (id: string, set: ReturnType<typeof sql>) =>
    sql`update deliveries set ${set} where id = ${id}`.execute(db.tables())
  const claim = () => {
    const request = { executor: 'treasury', limit: 100, lease_seconds: 60 }
    return transactionWithRetries(db, (transaction) =>
      claimDeliveries(transaction, DELIVERY_OWNERS, 'operator', request, false, ALL_DUE),
    )
  }
  const settle = (id: string, attempt: number) =>
    transactionWithRetries(db, (transaction) =>
      reportSettled(transaction, DELIVERY_OWNERS, 'operator', id, { reference: `payment of ${id}`, attempt }),
    )

  it('deliveries in every state are finished by this version, which leaves states that only a newer one knows', async () => {
    const ids = await newDeliveries(8)
    const [waiting = '', claimed = '', paused = '', sent = '', unknown = '', settled = '', state = '', channel = ''] =
      ids
    await claim()
    await settle(settled, 1)
    await change(waiting, sql`status = 'WAITING', attempt = 0, channel = null, next_attempt_at = clock_timestamp()`)
    await change(paused, sql`waiting_for = 'PAUSED', next_attempt_at = clock_timestamp()`)
    await change(sent, sql`status = 'SENT', next_attempt_at = null`)
    await change(unknown, sql`status = 'NEEDS_OPERATOR', next_attempt_at = null`)
    await change(state, sql`status = ${NEW_STATE}, next_attempt_at = clock_timestamp()`)
    await change(channel, sql`channel = 'carrier', next_attempt_at = clock_timestamp()`)
    await sql`delete from delivery_attempts where delivery_id = ${waiting}`.execute(db.tables())
    await letPass(db, [claimed], 61)
    const before = await rowsOf(db, [state, channel, settled])
    const handedOut = (await claim()).map(({ text }) => JSON.parse(text).id)
    expect(handedOut.sort()).toEqual([waiting, claimed, paused].sort())
    for (const [id, { attempt }] of await rowsOf(db, [waiting, claimed, paused, sent, unknown]))
      await settle(id, attempt)
    expect(await rowsOf(db, [state, channel, settled])).toEqual(before)
    // Of a state that it does not know, nothing is reported to it either.
    await expect(settle(state, 1)).rejects.toMatchObject({ code: 'invalid_state' })
    const finished = await rowsOf(db, [waiting, claimed, paused, sent, unknown, settled])
    expect([...finished.values()].map(({ status }) => status)).toEqual(Array(6).fill('SETTLED'))
    await change(state, sql`status = 'CLAIMED'`)
    await change(channel, sql`channel = 'manual'`)
    for (const [id, { attempt }] of await rowsOf(db, [state, channel])) await settle(id, attempt)
    expect(await violationsOf(db)).toEqual([])
  })

  it('deliveries in every state of the webhook are neither sent nor given up in a state that this version does not know', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await change(id, sql`status = ${NEW_STATE}, channel = 'webhook', first_attempt_at = clock_timestamp()`)
    await letPass(db, [id], 2 * DAY_SECONDS)
    const before = await rowsOf(db, [id])
    expect(await db.transaction((transaction) => takeDue(transaction, DELIVERY_OWNERS, 10, ALL_DUE))).toEqual([])
    await db.transaction((transaction) => giveUpOverdue(transaction, DELIVERY_OWNERS, 10))
    expect(await rowsOf(db, [id])).toEqual(before)
  })
})
