/** Starting orchestrations, and ending that of a deposit that is reversed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failUnconverted } from '../../../src/money/orchestrations/fail-unconverted.ts'
import { stopForReversal } from '../../../src/money/orchestrations/reverse.ts'
import { type NewOrchestration, startOrchestrations } from '../../../src/money/orchestrations/start.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { addAssets, addOwner, balanceOf, credit, type Owner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'

let db: Db
let owner: Owner
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, { USDC: 6, USD: 2 })
  owner = await addOwner(db)
})
afterAll(() => db?.close())

function orchestration(changes: Partial<NewOrchestration> = {}): NewOrchestration {
  return {
    ...owner,
    id: newId(),
    identityId: 'alice "the \\ first"',
    refId: null,
    ruleId: newId(),
    depositId: newId(),
    retryOf: null,
    sourceAsset: 'USDC',
    sourceAmount: 5_000_000n,
    destinationAsset: 'USD',
    source: { crypto: { network: 'ETHEREUM' } },
    destination: { fiat: { fiat_account_id: 'account, {7}', memo: 'a "memo"\\' } },
    metadata: { note: 'ü, "x"' },
    createdAt: '2026-11-22T10:00:00.123Z',
    ...changes,
  }
}

async function start(...starts: readonly NewOrchestration[]): Promise<void> {
  for (const { sourceAmount } of starts) await credit(db, owner.profileId, 'USDC', sourceAmount, 'in_transit')
  await db.transaction((transaction) => startOrchestrations(transaction, starts, { convertSecondsMax: 60 }))
}

async function rowOf(id: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await sql<Record<string, unknown>>`
    select orchestrations.*, kind from orchestrations left join orchestration_queue on orchestration_id = id
    where id = ${id}
  `.execute(db.tables())
  return rows[0]
}

describe('starting orchestrations', () => {
  it('starting orchestrations writes each as it was given, PROCESSING and due', async () => {
    const starts = [orchestration(), orchestration({ depositId: null, ruleId: null, refId: 'mine' })]
    await start(...starts)
    for (const { id, source, destination, metadata, refId, depositId } of starts) {
      expect(await rowOf(id)).toMatchObject({
        id,
        ref_id: refId,
        deposit_id: depositId,
        source_transfer_id: depositId,
        identity_id: 'alice "the \\ first"',
        source_amount: '5000000',
        source,
        destination,
        metadata,
        status: 'PROCESSING',
        step: 'convert',
        waiting_for: null,
        kind: 'convert',
        created_at: '2026-11-22T10:00:00.123Z',
        expires_at: '2026-11-22T10:01:00.123Z',
      })
    }
  })
})

describe('the reversal of a deposit', () => {
  it("a deposit's reversal ends its orchestration before the conversion and makes the money available", async () => {
    const started = orchestration()
    const before = await balanceOf(db, owner.profileId, 'USDC')
    await start(started)
    await db.transaction((transaction) => stopForReversal(transaction, started.id))
    expect(await rowOf(started.id)).toMatchObject({ status: 'FAILED', step: null, fail_code: 'REVERSED', kind: null })
    const after = await balanceOf(db, owner.profileId, 'USDC')
    expect(after).toEqual({ ...before, available: before.available + started.sourceAmount })
    // A second one finds nothing to end.
    await db.transaction((transaction) => stopForReversal(transaction, started.id))
    expect(await balanceOf(db, owner.profileId, 'USDC')).toEqual(after)
  })

  it("a deposit's reversal ends a retry that has its money, and none that has what a conversion has made", async () => {
    const failed = orchestration()
    await start(failed)
    const { id, sourceAmount } = failed
    const row = { id, profile_id: owner.profileId, source_asset: 'USDC', source_amount: String(sourceAmount) }
    const expired = { action: 'orchestration.fail', failCode: 'EXPIRED', failDetail: 'no price' } as const
    await db.transaction((transaction) => failUnconverted(transaction, row, expired, 'worker'))
    const before = await balanceOf(db, owner.profileId, 'USDC')
    const retry = orchestration({ depositId: null, retryOf: id })
    await start(retry)
    await db.transaction((transaction) => stopForReversal(transaction, id))
    expect(await rowOf(retry.id)).toMatchObject({ status: 'FAILED', fail_code: 'REVERSED', kind: null })
    const after = await balanceOf(db, owner.profileId, 'USDC')
    expect(after).toEqual({ ...before, available: before.available + sourceAmount })
    const converted = orchestration({ depositId: null, retryOf: retry.id, sourceAsset: 'USD' })
    await start(converted)
    await db.transaction((transaction) => stopForReversal(transaction, id))
    expect(await rowOf(converted.id)).toMatchObject({ status: 'PROCESSING', step: 'convert' })
  })

  it("a deposit's reversal leaves a converted orchestration", async () => {
    const started = orchestration()
    await start(started)
    await sql`update orchestrations set step = 'deliver' where id = ${started.id}`.execute(db.tables())
    await db.transaction((transaction) => stopForReversal(transaction, started.id))
    expect(await rowOf(started.id)).toMatchObject({ status: 'PROCESSING', step: 'deliver' })
  })
})
