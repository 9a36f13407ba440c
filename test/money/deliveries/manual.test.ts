/** Executors that claim deliveries and report their results: each is paid once, and each result moves the money once. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { declineRequest, requestChange } from '../../../src/access/operators/change-requests.ts'
import type { OperatorTables } from '../../../src/access/operators/tables.ts'
import { keepDepositMode } from '../../../src/money/controls/deposit-mode.ts'
import { type NewDelivery, releaseDelivery } from '../../../src/money/deliveries/create.ts'
import { createDeliveryMetrics } from '../../../src/money/deliveries/metrics.ts'
import {
  type ClaimRequest,
  claimDeliveries,
  claimDelivery,
  type FailRequest,
  reportFailed,
  reportSettled,
  type SettleRequest,
} from '../../../src/money/deliveries/reports.ts'
import { SandboxExecutor } from '../../../src/money/deliveries/sandbox-executor.ts'
import { deliveryDocument, listDeliveries, lockDelivery } from '../../../src/money/deliveries/store.ts'
import type { GateCode } from '../../../src/money/gates/model.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { chargedFees } from '../../../src/platform/store/migrations/202611240350-charged-fees.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { captureLog } from '../../support/captured-log.ts'
import {
  addDeliveries,
  attemptsOf,
  letPass,
  OPERATOR,
  PAYEE,
  recordingOwners,
  rowsOf,
  transferOf,
} from '../../support/deliveries.ts'
import { reviewPayments } from '../../support/gates.ts'
import { addAssets, addOwner, balanceOf, type Owner } from '../../support/ledger.ts'
import { openTestStore } from '../../support/test-store.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const CLAIMED_AT_ONCE = process.env.TIDEGATE_LONG === '1' ? 1_000 : 200
const NOTHING = { available: 0n, in_transit: 0n, held: 0n, receivable: 0n }

let db: Db
let owner: Owner
let owners: ReturnType<typeof recordingOwners>
beforeAll(async () => {
  db = await openTestStore({ log: captureLog().log })
  await addAssets(db, { USDC: 6 })
})
afterAll(() => db?.close())
beforeEach(async () => {
  owner = await addOwner(db)
  owners = recordingOwners()
  await sql`update deliveries set next_attempt_at = null, status = 'FAILED' where next_attempt_at is not null`.execute(
    db.tables(),
  )
})

async function release(id: string, gates: readonly GateCode[]) {
  await db.transaction(async (transaction) =>
    releaseDelivery(transaction, await lockDelivery(transaction, id), gates, undefined),
  )
}

async function claim(changes: Partial<ClaimRequest> = {}, hasWebhook = false) {
  const request = { executor: 'treasury', limit: 100, lease_seconds: 60, ...changes }
  const claimed = await transactionWithRetries(db, (transaction) =>
    claimDeliveries(transaction, owners, 'operator', request, hasWebhook, ALL_DUE),
  )
  return claimed.map(({ text }) => JSON.parse(text))
}

function settle(id: string, request: SettleRequest) {
  return transactionWithRetries(db, (transaction) => reportSettled(transaction, owners, 'operator', id, request))
}

function fail(id: string, request: FailRequest) {
  return transactionWithRetries(db, (transaction) => reportFailed(transaction, owners, OPERATOR, id, request))
}

/** One delivery that is claimed, with attempt 1. */
async function claimedOne(changes: Partial<NewDelivery> = {}) {
  const [id = ''] = await addDeliveries(db, owner, 1, changes)
  await claim()
  return id
}

async function actionsOf(subject: string): Promise<readonly string[]> {
  const { rows } = await sql<{
    action: string
  }>`select action from audit where subject = ${subject} order by id`.execute(db.tables())
  return rows.map(({ action }) => action)
}

const inReview = () => metricOf('tidegate_deliveries_in_review')

async function metricOf(name: string): Promise<number | undefined> {
  const registry = createMetricsRegistry()
  createDeliveryMetrics(registry, db)
  return (await registry.getSingleMetric(name)?.get())?.values[0]?.value
}

const document = async (id: string) => JSON.parse((await deliveryDocument(db.tables(), id)).parts.join(''))
const balance = () => balanceOf(db, owner.profileId, 'USDC')
const calls = () => owners.calls.map(({ call }) => call)

describe('a claim', () => {
  it('a claim hands out due deliveries, the oldest first, each to one executor at a time', async () => {
    const ids = await addDeliveries(db, owner, 3)
    const first = await claim({ limit: 2 })
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(first[0]).toMatchObject({
      status: 'CLAIMED',
      attempt: 1,
      asset: 'USDC',
      amount: '1.5',
      destination: { crypto: { address: PAYEE, network: 'ETHEREUM' } },
      channel: 'manual',
      executor: 'treasury',
    })
    expect(Date.parse(first[0].lease_until)).toBeGreaterThan(Date.parse(first[0].updated_at) + 50_000)
    expect((await claim({ executor: 'other' })).map(({ id }) => id)).toEqual(ids.slice(2))
    expect(await claim()).toEqual([])
    expect(await actionsOf('other')).toEqual(['delivery.claim'])
  })

  it('a claim that has ended may be claimed again, with a higher attempt', async () => {
    const id = await claimedOne()
    await letPass(db, [id], 61)
    expect(await claim({ executor: 'other' })).toMatchObject([{ id, attempt: 2, executor: 'other' }])
    expect(await attemptsOf(db, id)).toMatchObject([
      { attempt: 1, executor: 'treasury', outcome: 'UNKNOWN' },
      { attempt: 2, executor: 'other', outcome: 'STARTED' },
    ])
  })

  it('a claim that has ended is not shown as a lease while a gate is closed, and further looks change nothing', async () => {
    const id = await claimedOne()
    expect((await document(id)).lease_until).toBeDefined()
    await letPass(db, [id], 61)
    await sql`update controls set deliveries_paused = true`.execute(db.tables())
    await claim()
    // `letPass` moves the time of the first attempt too.
    const shown = async () => ({ ...(await document(id)), first_attempt_at: undefined })
    const seen = await shown()
    await letPass(db, [id], 11)
    await claim()
    const seenAgain = await shown()
    await sql`update controls set deliveries_paused = false`.execute(db.tables())
    expect(seen).toMatchObject({ status: 'CLAIMED', waiting_for: 'PAUSED' })
    expect(seen.lease_until).toBeUndefined()
    expect(seenAgain).toEqual(seen)
  })

  it('a claim hands out no delivery that is sent to a webhook, unless it was claimed before', async () => {
    const id = await claimedOne()
    await addDeliveries(db, owner, 1)
    await letPass(db, [id], 61)
    expect(await claim({}, true)).toMatchObject([{ id, attempt: 2 }])
  })

  it(`a claim of ${CLAIMED_AT_ONCE} deliveries by two executors at once gives each to one of them`, async () => {
    const ids = await addDeliveries(db, owner, CLAIMED_AT_ONCE)
    const claimAll = async (executor: string) => {
      const claimed: string[] = []
      for (;;) {
        const items = await claim({ executor, limit: 7 })
        if (items.length === 0) return claimed
        for (const { id, attempt } of items) {
          claimed.push(id)
          await settle(id, { reference: `${executor} ${id}`, attempt })
        }
      }
    }
    const both = await Promise.all([claimAll('one'), claimAll('two')])
    expect(both.flat().sort()).toEqual([...ids].sort())
    const rows = [...(await rowsOf(db, ids)).values()]
    expect(rows.every(({ attempt, status }) => attempt === 1 && status === 'SETTLED')).toBe(true)
    expect(await balance()).toEqual(NOTHING)
  })
})

describe('a claim of one delivery', () => {
  const claimOne = (id: string, executor = 'ines', hasWebhook = false) =>
    transactionWithRetries(db, (transaction) =>
      claimDelivery(transaction, owners, { actor: `operator:${executor}`, executor }, id, 60, hasWebhook),
    )

  it('a claim of one delivery hands it out, due or not, in the name of its caller', async () => {
    const [other, id = ''] = await addDeliveries(db, owner, 2)
    await sql`update deliveries set next_attempt_at = clock_timestamp() + interval '1 day' where id = ${id}`.execute(
      db.tables(),
    )
    await claimOne(id)
    expect(await document(id)).toMatchObject({ status: 'CLAIMED', attempt: 1, executor: 'ines', channel: 'manual' })
    expect((await claim()).map((item) => item.id)).toEqual([other])
    expect(await actionsOf(id)).toEqual(['delivery.claim'])
  })

  it('a delivery reported as paid is not claimed again, after its lease too, until a second person has decided', async () => {
    const id = await claimedOne()
    await letPass(db, [id], 61)
    const ines = { name: 'ines', role: 'treasurer', actor: 'operator:ines', issuers: [] } as const
    const { document: request } = await db.transaction<OperatorTables, Awaited<ReturnType<typeof requestChange>>>(
      (transaction) => {
        const call = 'POST /deliveries/:id/settle'
        const change = { kind: 'settlements', call, params: { id }, subject: id, comment: 'paid' } as const
        const body = { reference: id, attempt: 1 }
        const kept = { record: null, credential_hash: null, encryptionKey: undefined }
        return requestChange(transaction, ines, { ...change, body }, kept, Date.now())
      },
    )
    const expectHeld = async () => {
      expect(await claim()).toEqual([])
      await expect(claimOne(id)).rejects.toMatchObject({ code: 'invalid_state' })
      // No alert names a missing executor.
      expect(await metricOf('tidegate_deliveries_due_seconds')).toBe(0)
    }
    await expectHeld()
    // Confirmed, and not carried out yet.
    await sql`update change_requests set status = 'CONFIRMED' where id = ${request.id}`.execute(db.tables())
    await expectHeld()
    await sql`update change_requests set status = 'PENDING' where id = ${request.id}`.execute(db.tables())
    await db.transaction<OperatorTables, unknown>((transaction) =>
      declineRequest(transaction, ines, request.id, Date.now()),
    )
    expect(await claim()).toMatchObject([{ id, attempt: 2 }])
  })

  it('a claim of one delivery changes nothing when its caller holds it, and is refused while another does', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await claimOne(id)
    const held = await document(id)
    await claimOne(id)
    expect(await document(id)).toEqual(held)
    expect(await actionsOf(id)).toHaveLength(1)
    const meta = { current: 'CLAIMED', attempt: 1 }
    await expect(claimOne(id, 'omar')).rejects.toMatchObject({ code: 'invalid_state', extras: { meta } })
    await letPass(db, [id], 61)
    await claimOne(id, 'omar')
    expect(await attemptsOf(db, id)).toMatchObject([
      { executor: 'ines', outcome: 'UNKNOWN' },
      { executor: 'omar', outcome: 'STARTED' },
    ])
  })

  it("a claim of one delivery is refused while a gate is closed, after its result, and for a webhook's delivery", async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await sql`update controls set deliveries_paused = true`.execute(db.tables())
    const meta = { current: 'PAUSED', attempt: 0 }
    await expect(claimOne(id)).rejects.toMatchObject({ code: 'invalid_state', extras: { meta } })
    await sql`update controls set deliveries_paused = false`.execute(db.tables())
    await expect(claimOne(id, 'ines', true)).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await document(id)).toMatchObject({ status: 'WAITING', attempt: 0, attempts: [] })
    await claimOne(id)
    await settle(id, { reference: id, attempt: 1 })
    await expect(claimOne(id)).rejects.toMatchObject({ extras: { meta: { current: 'SETTLED', attempt: 1 } } })
    await expect(claimOne(owner.profileId)).rejects.toMatchObject({ status: 404 })
  })

  it('a claim of one delivery is refused while an earlier attempt cannot be repeated because a gate is closed', async () => {
    const id = await claimedOne()
    await letPass(db, [id], 61)
    await sql`update controls set deliveries_paused = true`.execute(db.tables())
    await claim()
    const meta = { current: 'PAUSED', attempt: 1 }
    await expect(claimOne(id)).rejects.toMatchObject({ extras: { meta } })
    await sql`update controls set deliveries_paused = false`.execute(db.tables())
    await claimOne(id)
    expect(await document(id)).toMatchObject({ attempt: 2, executor: 'ines' })
    expect((await document(id)).waiting_for).toBeUndefined()
  })

  it('a claim of one delivery of two people at once is one attempt', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    const claims = await Promise.allSettled([claimOne(id, 'ines'), claimOne(id, 'omar')])
    expect(claims.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await attemptsOf(db, id)).toHaveLength(1)
  })
})

describe('gates', () => {
  it('gates are read before a delivery is handed out, and a stopped delivery does not stop others', async () => {
    const [blocked = ''] = await addDeliveries(db, owner, 1)
    await sql`update accounts set admin_disabled = true where id = ${owner.accountId}`.execute(db.tables())
    const [open = ''] = await addDeliveries(db, await addOwner(db), 1)
    expect((await claim({ limit: 1 })).map(({ id }) => id)).toEqual([open])
    const waits = 'waits HOLD: the profile’s account is DISABLED'
    expect(await document(blocked)).toMatchObject({ status: 'WAITING', attempt: 0, waiting_for: 'HOLD', attempts: [] })
    expect(calls()).toEqual([waits])
    await letPass(db, [blocked], 11)
    expect(await claim()).toEqual([])
    expect(calls()).toEqual([waits])
    await sql`update accounts set admin_disabled = false where id = ${owner.accountId}`.execute(db.tables())
    await letPass(db, [blocked], 11)
    expect((await claim()).map(({ id }) => id)).toEqual([blocked])
    expect(calls()).toEqual([waits, 'waits no more'])
  })

  it('gates are passed by deliveries that the operator released, unless something is paused', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await sql`update accounts set admin_disabled = true where id = ${owner.accountId}`.execute(db.tables())
    expect(await claim()).toEqual([])
    await sql`update controls set deliveries_paused = true`.execute(db.tables())
    await release(id, ['ACCOUNT_BLOCKED'])
    expect(await claim()).toEqual([])
    expect(calls().at(-1)).toBe('waits PAUSED: deliveries are paused')
    await sql`update controls set deliveries_paused = false`.execute(db.tables())
    await letPass(db, [id], 11)
    expect(await claim()).toMatchObject([{ id }])
  })

  it('gates hold a payment above review_above.payments until the operator releases it', async () => {
    owners = recordingOwners(reviewPayments(new Map([['USDC', 1_500_000n]])))
    const [large = ''] = await addDeliveries(db, owner, 1, { amount: 1_500_001n })
    const [small = ''] = await addDeliveries(db, owner, 1)
    expect(await claim()).toMatchObject([{ id: small }])
    expect(calls()).toEqual(['waits HOLD: the amount is above review_above.payments'])
    await letPass(db, [large], 11)
    expect(await claim()).toEqual([])
    expect(await document(large)).toMatchObject({ status: 'WAITING', waiting_for: 'HOLD', attempts: [] })
    expect(await inReview()).toBe(1)
    await release(large, ['REVIEW'])
    expect(await claim()).toMatchObject([{ id: large }])
    expect(await inReview()).toBe(0)
  })

  it('gates hold payments that were not handed out yet when review_above.payments is lowered, and no later attempt', async () => {
    const attempted = await claimedOne()
    const [waiting = ''] = await addDeliveries(db, owner, 1)
    owners = recordingOwners(reviewPayments(new Map([['USDC', 1n]])))
    await letPass(db, [attempted], 61)
    expect(await claim()).toMatchObject([{ id: attempted, attempt: 2 }])
    expect(await document(waiting)).toMatchObject({ waiting_for: 'HOLD', attempt: 0 })
    owners = recordingOwners()
    await letPass(db, [waiting], 11)
    expect(await claim()).toMatchObject([{ id: waiting, attempt: 1 }])
  })

  it('gates send a payment to an address of the service back to its profile', async () => {
    const address = '0x52908400098527886E0F7030069857D2E4169EE7'
    const destination = { crypto: { address, network: 'BASE' } } as const
    const attempted = await claimedOne({ destination })
    const [untouched = ''] = await addDeliveries(db, owner, 1, { destination })
    await sql`insert into address_pool (family, address) values ('evm', ${address}) on conflict do nothing`.execute(
      db.tables(),
    )
    await letPass(db, [attempted], 61)
    expect(await claim()).toEqual([])
    expect(await document(untouched)).toMatchObject({ status: 'FAILED', fail_reason: { code: 'OWN_ADDRESS' } })
    expect((await transferOf(db, untouched))?.status).toBe('FAILED')
    // It may have been paid before the address became one of the service.
    expect((await document(attempted)).status).toBe('NEEDS_OPERATOR')
    expect(await balance()).toEqual({ ...NOTHING, available: 1_500_000n, in_transit: 1_500_000n })
  })

  it('gates send payments of two searches to addresses of the service back in two transactions', async () => {
    const address = '0x52908400098527886E0F7030069857D2E4169EE7'
    const destination = { crypto: { address, network: 'BASE' } } as const
    const [first = ''] = await addDeliveries(db, owner, 1, { destination })
    const [second = ''] = await addDeliveries(db, await addOwner(db), 1, { destination })
    await sql`insert into address_pool (family, address) values ('evm', ${address}) on conflict do nothing`.execute(
      db.tables(),
    )
    for (const expected of ['WAITING', 'FAILED']) {
      expect(await claim({ limit: 1 })).toEqual([])
      expect((await document(first)).status).toBe('FAILED')
      expect((await document(second)).status).toBe(expected)
    }
  })
})

it('the executor of a sandbox settles and refuses payments of several profiles', async () => {
  const [paid = ''] = await addDeliveries(db, owner, 1)
  const [refused = ''] = await addDeliveries(db, await addOwner(db), 1, { amount: 11_040_000n })
  const executor = new SandboxExecutor({ db, clock: new VirtualClock(), log: captureLog().log, owners })
  await executor.start()
  const statuses = async () => [(await document(paid)).status, (await document(refused)).status]
  await expect.poll(statuses).toEqual(['SETTLED', 'FAILED'])
  await executor.stop()
})

it('the executor of a sandbox claims nothing once another process has real deposits in its store', async () => {
  const [unpaid = ''] = await addDeliveries(db, owner, 1)
  // The first deposit comes just before the executor's search.
  const late = new Proxy(db, {
    get: (target, name) =>
      name === 'transaction'
        ? async (...given: Parameters<Db['transaction']>) => {
            await target.transaction((transaction) => keepDepositMode(transaction, false))
            return await target.transaction(...given)
          }
        : Reflect.get(target, name).bind?.(target),
  }) as Db
  const { log, lines } = captureLog()
  const executor = new SandboxExecutor({ db: late, clock: new VirtualClock(), log, owners })
  await executor.start()
  await expect.poll(() => lines.join('')).toContain('rest.sandbox must be false: the store has real deposits')
  await executor.stop()
  expect(await document(unpaid)).toMatchObject({ status: 'WAITING', attempt: 0 })
  await sql`delete from deposit_mode`.execute(db.tables())
})

it('a process for real deposits hands out nothing once another process has sandbox deposits in its store', async () => {
  const [unbacked = ''] = await addDeliveries(db, owner, 1)
  await db.transaction((transaction) => keepDepositMode(transaction, true))
  await expect(claim()).rejects.toMatchObject({ code: 'unavailable' })
  expect(await document(unbacked)).toMatchObject({ status: 'WAITING', attempt: 0 })
  await sql`delete from deposit_mode`.execute(db.tables())
})

describe('a settlement', () => {
  it('a settlement takes the money out of transit, once, however often it is reported', async () => {
    const reference = `0x${'ab'.repeat(32)}`
    const id = await claimedOne()
    const request = { reference, attempt: 1, fee: '0.25' }
    expect(await settle(id, request)).toBe('settled')
    expect(await settle(id, request)).toBe('unchanged')
    await expect(settle(id, { ...request, attempt: 0 })).rejects.toMatchObject({ code: 'invalid_state' })
    expect(await document(id)).toMatchObject({
      status: 'SETTLED',
      reference,
      fee: '0.25',
      late: false,
      attempts: [{ attempt: 1, outcome: 'SETTLED' }],
    })
    // The cost is the operator's: the customer was charged nothing.
    const shown = { status: 'COMPLETED', type: 'CRYPTO_WITHDRAWAL', fee: '0', crypto_tx_hash: reference }
    expect(await transferOf(db, id)).toEqual(shown)
    // As earlier releases left it.
    await sql`update transfers set fee = 250000 where id = ${id}`.execute(db.tables())
    await sql.raw(chargedFees.text).execute(db.tables())
    expect(await transferOf(db, id)).toEqual(shown)
    expect(await balance()).toEqual(NOTHING)
    expect(calls()).toEqual(['settled'])
    expect(await actionsOf(id)).toEqual(['delivery.settle'])
  })

  it('a settlement names the present attempt of its delivery', async () => {
    const id = await claimedOne()
    await letPass(db, [id], 61)
    await claim()
    const meta = { current: 'CLAIMED', attempt: 2 }
    await expect(settle(id, { reference: id, attempt: 1 })).rejects.toMatchObject({ status: 409, extras: { meta } })
    await expect(fail(id, { reason: 'closed', attempt: 1 })).rejects.toMatchObject({ status: 409, extras: { meta } })
    expect(await settle(id, { reference: id, attempt: 2 })).toBe('settled')
  })

  it('a settlement has a reference that no other delivery has', async () => {
    const [one, other] = [await claimedOne(), await claimedOne()]
    await settle(one, { reference: `only ${one}`, attempt: 1 })
    const again = settle(other, { reference: `only ${one}`, attempt: 1 })
    await expect(again).rejects.toMatchObject({ code: 'already_exists', extras: { meta: { existing: { id: one } } } })
    await expect(settle(one, { reference: 'another', attempt: 1 })).rejects.toMatchObject({ status: 409 })
  })

  it('a settlement needs no claim while deliveries are paused: a restored store does not know what it handed out', async () => {
    const pauses = [
      (isOn: boolean) => sql`update controls set deliveries_paused = ${isOn}`,
      (isOn: boolean) => sql`update store_origin set identity = ${isOn ? 'another store' : null}`,
    ]
    for (const pause of pauses) {
      const [paid = '', unpaid = ''] = await addDeliveries(db, owner, 2)
      const report = { reference: `paid ${paid}`, attempt: 0 }
      const before = await balance()
      await expect(settle(paid, report)).rejects.toMatchObject({ code: 'invalid_state' })
      await pause(true).execute(db.tables())
      expect(await claim()).toEqual([])
      await expect(settle(paid, { ...report, attempt: 1 })).rejects.toMatchObject({ code: 'invalid_state' })
      expect([await settle(paid, report), await settle(paid, report)]).toEqual(['settled', 'unchanged'])
      await pause(false).execute(db.tables())
      expect(await document(paid)).toMatchObject({ status: 'SETTLED', ...report, attempts: [] })
      expect(await balance()).toEqual({ ...before, in_transit: before.in_transit - 1_500_000n })
      await expect(settle(unpaid, { reference: unpaid, attempt: 0 })).rejects.toMatchObject({ code: 'invalid_state' })
      await letPass(db, [unpaid], 11)
      expect((await claim()).map(({ id }) => id)).toEqual([unpaid])
    }
  })

  it('a settlement names an attempt, and its fee is an amount', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    const early = settle(id, { reference: id, attempt: 0 })
    await expect(early).rejects.toMatchObject({ status: 409, extras: { meta: { current: 'WAITING', attempt: 0 } } })
    await claim()
    for (const fee of ['-1', '1e3', '0.1234567', '']) {
      await expect(settle(id, { reference: id, attempt: 1, fee }), fee).rejects.toMatchObject({ status: 400 })
    }
    expect(await settle(id, { reference: id, attempt: 1, fee: '0' })).toBe('settled')
  })
})

describe('the first payment to a destination', () => {
  const payee = (address: string, memo?: string) => ({
    destination: { fiat: { fiat_account_id: address, ...(memo === undefined ? {} : { memo }) } },
  })
  const isFirst = async (id: string) => (await document(id)).first_to_destination === true

  it('the first payment to a destination is marked until one of this customer to exactly that destination was settled', async () => {
    const id = await claimedOne(payee('DE89370400440532013000'))
    const [next = ''] = await addDeliveries(db, owner, 1, payee('DE89370400440532013000'))
    const [alike = ''] = await addDeliveries(db, owner, 1, payee('DE89370400440532013001'))
    const [memo = ''] = await addDeliveries(db, owner, 1, payee('DE89370400440532013000', 'invoice 7'))
    const [other = ''] = await addDeliveries(db, await addOwner(db), 1, payee('DE89370400440532013000'))
    expect(await Promise.all([id, next, alike, memo, other].map(isFirst))).toEqual([true, true, true, true, true])
    await settle(id, { reference: id, attempt: 1 })
    expect(await Promise.all([id, next, alike, memo, other].map(isFirst))).toEqual([false, false, true, true, true])
  })

  it('the first payment to a destination stays marked after one that failed', async () => {
    const id = await claimedOne(payee('DE02120300000000202051'))
    await fail(id, { reason: 'closed', attempt: 1 })
    const [next = ''] = await addDeliveries(db, owner, 1, payee('DE02120300000000202051'))
    expect(await isFirst(next)).toBe(true)
  })
})

describe('a failure', () => {
  it('a failed delivery gives the money back, once', async () => {
    const id = await claimedOne()
    await fail(id, { reason: 'the account is closed', attempt: 1 })
    await fail(id, { reason: 'the account is closed', attempt: 1 })
    await expect(fail(id, { reason: 'an old report', attempt: 0 })).rejects.toMatchObject({ code: 'invalid_state' })
    const fail_reason = { code: 'OPERATOR_FAILED', detail: 'the account is closed' }
    expect(await document(id)).toMatchObject({ status: 'FAILED', fail_reason, attempts: [{ outcome: 'FAILED' }] })
    expect((await transferOf(db, id))?.status).toBe('FAILED')
    expect(await balance()).toEqual({ ...NOTHING, available: 1_500_000n })
    expect(calls()).toEqual(['failed OPERATOR_FAILED: the account is closed'])
    expect(await actionsOf(id)).toEqual(['delivery.fail'])
  })

  it('a delivery can fail before anything was handed out, and not after it was paid', async () => {
    const [id = ''] = await addDeliveries(db, owner, 1)
    await fail(id, { reason: 'not wanted', attempt: 0 })
    const paid = await claimedOne()
    await settle(paid, { reference: paid, attempt: 1 })
    const meta = { current: 'SETTLED', attempt: 1 }
    await expect(fail(paid, { reason: 'no', attempt: 1 })).rejects.toMatchObject({ status: 409, extras: { meta } })
  })

  it("a failed delivery repays the profile's debt with the returned money", async () => {
    const id = await claimedOne()
    await db.transaction((transaction) =>
      sql`update balances set receivable = 400000 where profile_id = ${owner.profileId}`.execute(transaction),
    )
    await fail(id, { reason: 'closed', attempt: 1 })
    expect(await balance()).toEqual({ ...NOTHING, available: 1_100_000n })
  })

  it('a failed return gives the money back to the held amount', async () => {
    const depositId = '018f0000-0000-7000-8000-0000000000bb'
    const id = await claimedOne({ failsTo: 'held', owner: { depositId } })
    await fail(id, { reason: 'closed', attempt: 1 })
    expect(await balance()).toEqual({ ...NOTHING, held: 1_500_000n })
    expect(owners.calls[0]?.delivery.owner).toEqual({ depositId })
    await settle(id, { reference: id, attempt: 1, late: true })
    expect(await balance()).toEqual(NOTHING)
  })
})

describe('a late settlement', () => {
  it('a late settlement is refused unless it is declared as late', async () => {
    const id = await claimedOne()
    await fail(id, { reason: 'closed', attempt: 1 })
    const meta = { current: 'FAILED', attempt: 1 }
    await expect(settle(id, { reference: id, attempt: 1 })).rejects.toMatchObject({ status: 409, extras: { meta } })
    expect(await balance()).toEqual({ ...NOTHING, available: 1_500_000n })
  })

  it('a late settlement names any attempt that was made, and no other', async () => {
    const id = await claimedOne()
    await letPass(db, [id], 61)
    await claim({ executor: 'other' })
    await fail(id, { reason: 'closed', attempt: 2, earlier_attempts: 'not_paid' })
    for (const attempt of [0, 3]) {
      const unknown = settle(id, { reference: id, attempt, late: true })
      await expect(unknown, `attempt ${attempt}`).rejects.toMatchObject({ code: 'invalid_state' })
    }
    expect(await settle(id, { reference: id, attempt: 1, late: true })).toBe('settled-late')
    expect(await settle(id, { reference: id, attempt: 1, late: true })).toBe('unchanged')
    expect(await attemptsOf(db, id)).toMatchObject([
      { outcome: 'SETTLED', detail: null },
      { outcome: 'FAILED', detail: 'closed' },
    ])
    await expect(settle(id, { reference: 'other', attempt: 1, late: true })).rejects.toMatchObject({ status: 409 })
    expect(await balance()).toEqual(NOTHING)
  })

  it('a late settlement takes the money again, and the profile owes the part that it no longer has', async () => {
    const id = await claimedOne()
    await fail(id, { reason: 'closed', attempt: 1 })
    // It spent a part of what came back.
    await db.transaction((transaction) =>
      sql`update balances set available = 500000 where profile_id = ${owner.profileId}`.execute(transaction),
    )
    expect(await settle(id, { reference: id, attempt: 1, late: true })).toBe('settled-late')
    expect(await settle(id, { reference: id, attempt: 1, late: true })).toBe('unchanged')
    expect(await balance()).toEqual({ ...NOTHING, receivable: 1_000_000n })
    expect(await document(id)).toMatchObject({ status: 'SETTLED', late: true })
    expect((await transferOf(db, id))?.status).toBe('COMPLETED')
    expect(owners.calls.at(-1)).toMatchObject({ call: 'settled', delivery: { late: true } })
  })
})

it('the metrics show how many deliveries are in each state, and how long the oldest waits, at the first look', async () => {
  const [id = ''] = await addDeliveries(db, owner, 2)
  await sql`update deliveries set created_at = created_at - interval '1 hour' where id = ${id}`.execute(db.tables())
  const registry = createMetricsRegistry()
  createDeliveryMetrics(registry, db)
  const text = await registry.metrics()
  const sampleOf = (name: string) => Number(text.split(`${name}{status="WAITING"} `)[1]?.split('\n')[0])
  expect(sampleOf('tidegate_deliveries_open')).toBe(2)
  expect(sampleOf('tidegate_deliveries_oldest_seconds')).toBeGreaterThanOrEqual(3_600)
})

it('the metrics show how long a delivery waits for an executor after its claim ended without a result', async () => {
  const dueSeconds = () => metricOf('tidegate_deliveries_due_seconds')
  expect(await dueSeconds()).toBe(0)
  const id = await claimedOne()
  expect(await dueSeconds()).toBe(0)
  await sql`update deliveries set next_attempt_at = next_attempt_at - interval '2 hours' where id = ${id}`.execute(
    db.tables(),
  )
  expect(await dueSeconds()).toBeGreaterThanOrEqual(7_000)
  await settle(id, { reference: id, attempt: 1 })
  expect(await dueSeconds()).toBe(0)
})

describe('the list', () => {
  it('the list of deliveries has filters, and items like the single record', async () => {
    const id = await claimedOne({ metadata: { order: '7' } })
    const page = async (filters: Parameters<typeof listDeliveries>[2]) => {
      const { itemTexts } = await listDeliveries(db, { limit: 100, order: 'DESC' }, filters)
      return JSON.parse(`[${itemTexts.join('')}]`)
    }
    const { attempts, first_to_destination: _, ...single } = await document(id)
    expect(attempts).toHaveLength(1)
    const filter = { profile_id: owner.profileId }
    expect(await page({ ...filter, status: 'CLAIMED', executor: 'treasury' })).toEqual([single])
    expect(await page({ orchestration_id: single.orchestration_id })).toEqual([single])
    expect(await page({ ...filter, status: 'SENT' })).toEqual([])
    expect(await page({ profile_id: 'none' })).toEqual([])
    expect(single.metadata).toEqual({ order: '7' })
  })

  it('the list of deliveries has no delivery with another id', async () => {
    await expect(document(owner.profileId)).rejects.toMatchObject({ status: 404 })
  })
})
