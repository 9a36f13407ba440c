/** Customers cancel their orchestrations: before the conversion, after it, and while workers and executors are at work. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimDeliveries } from '../../../src/money/deliveries/reports.ts'
import { convertBatch } from '../../../src/money/orchestrations/convert.ts'
import { claimWork } from '../../../src/money/orchestrations/queue.ts'
import { transactionWithRetries } from '../../../src/platform/store/retry.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { ALL_DUE } from '../../support/all-due.ts'
import { DELIVERY_OWNERS } from '../../support/delivery-owners.ts'
import { addAssets, balanceOf, credit } from '../../support/ledger.ts'
import { convertSettings, ORCHESTRATED_ASSETS, violationsOf } from '../../support/orchestrations.ts'
import { type RestAnswer, type RestCustomer, RestNode } from '../../support/rest.ts'
import { ETHEREUM_ADDRESS, newAccount, type TestAccount } from '../../support/rules.ts'

const ORCHESTRATIONS = '/v2/orchestration/orchestrations'
const OUTSIDE = { crypto: { address: ETHEREUM_ADDRESS, network: 'ETHEREUM' } }
const RACES = process.env.TIDEGATE_LONG === '1' ? 200 : 20
const CANCELLED = { status: 'FAILED', fail_reason: { code: 'CANCELLED', detail: 'cancelled by the customer' } }

let node: RestNode
let customer: RestCustomer
let alice: TestAccount
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
  await addAssets(node.db, ORCHESTRATED_ASSETS)
  customer = await node.newCustomer()
})
afterAll(() => node?.close())
beforeEach(async () => {
  alice = await newAccount(customer)
  await credit(node.db, alice.profileId, 'USDC', 10_000_000n)
})

let refs = 0

async function start(changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const answer = await customer.call('POST', ORCHESTRATIONS, {
    ref_id: `cancelled ${++refs}`,
    source: { profile: { profile_id: alice.profileId } },
    source_asset: 'USDC',
    source_amount: '2.5',
    destination_asset: 'USDG',
    destination: OUTSIDE,
    ...changes,
  })
  expect(answer.status, answer.text).toBe(200)
  return answer.body.id
}

const cancel = (id: string, by = customer) => by.call('POST', `${ORCHESTRATIONS}/${id}/cancel`)

/** Converts everything that waits, as the worker would. */
async function work(): Promise<void> {
  await sql`update orchestration_queue set next_attempt_at = clock_timestamp()`.execute(node.db.tables())
  const claims = await claimWork(node.db, { kinds: ['convert'], limit: 50, claimSeconds: 60 }, ALL_DUE)
  await transactionWithRetries(node.db, (transaction) => convertBatch(transaction, claims, convertSettings()))
}

async function claim(beforeCommit = () => undefined): Promise<readonly string[]> {
  const request = { executor: 'treasury', limit: 100, lease_seconds: 3_600 }
  const claimed = await transactionWithRetries(node.db, async (transaction) => {
    const handedOut = await claimDeliveries(transaction, DELIVERY_OWNERS, 'operator', request, false, ALL_DUE)
    beforeCommit()
    return handedOut
  })
  return claimed.map(({ text }) => JSON.parse(text).orchestration_id)
}

const balance = (asset: string) => balanceOf(node.db, alice.profileId, asset)
const actionsOf = async (id: string) =>
  (await node.operator('GET', `/audit?subject=${id}&order=ASC`)).body.items.map(
    ({ actor, action }: { actor: string; action: string }) => `${actor} ${action}`,
  )
const disable = (admin_disabled: boolean) => node.operator('PATCH', `/accounts/${alice.accountId}`, { admin_disabled })
const pause = (paused: object) => node.operator('PATCH', '/controls', { paused })

describe('a cancelled orchestration', () => {
  it('a cancelled orchestration returns its source asset before the conversion, and no worker converts it', async () => {
    const id = await start()
    const cancelled = await cancel(id)
    expect(cancelled).toMatchObject({ status: 200, body: { id, ...CANCELLED } })
    expect(cancelled.body.waiting_for).toBeUndefined()
    expect(await balance('USDC')).toMatchObject({ available: 10_000_000n, in_transit: 0n })
    await work()
    expect((await customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body).toEqual(cancelled.body)
    const trail = [
      `client:${customer.clientId} orchestration.create`,
      `client:${customer.clientId} orchestration.cancel`,
    ]
    expect(await actionsOf(id)).toEqual(trail)
  })

  it('a cancelled orchestration returns its destination asset after the conversion, and nothing is paid', async () => {
    const id = await start()
    await work()
    const cancelled = await cancel(id)
    expect(cancelled).toMatchObject({ status: 200, body: { ...CANCELLED, destination_amount: '2.5' } })
    expect(cancelled.body.destination_transfer.status).toBe('FAILED')
    expect(await balance('USDC')).toMatchObject({ available: 7_500_000n, in_transit: 0n })
    expect(await balance('USDG')).toMatchObject({ available: 2_500_000n, in_transit: 0n })
    expect(await claim()).toEqual([])
    expect(await actionsOf(id)).toContain(`client:${customer.clientId} orchestration.cancel`)
  })

  it('a cancelled orchestration stays as it is when it is cancelled again', async () => {
    const id = await start()
    const first = await cancel(id)
    expect(await cancel(id.toUpperCase())).toMatchObject({ status: 200, body: first.body })
    expect(await actionsOf(id)).toHaveLength(2)
    expect(await balance('USDC')).toMatchObject({ available: 10_000_000n })
  })

  it('a cancelled orchestration is not retried by the operator', async () => {
    const id = await start()
    await cancel(id)
    const retried = await node.operator('POST', `/orchestrations/${id}/retry`)
    expect(retried.body).toMatchObject({ status: 409, code: 'invalid_state', detail: 'its customer has cancelled it' })
  })
})

describe('an orchestration is not cancelled', () => {
  it('an orchestration is not cancelled once its payment was handed out, also after the claim has ended', async () => {
    const id = await start()
    await work()
    expect(await claim()).toEqual([id])
    const handedOut = { status: 409, code: 'invalid_state', meta: { current: 'PROCESSING' } }
    expect((await cancel(id)).body).toMatchObject(handedOut)
    await sql`
      update deliveries set next_attempt_at = clock_timestamp() where orchestration_id = ${id}
    `.execute(node.db.tables())
    expect((await cancel(id)).body).toMatchObject(handedOut)
    expect(await balance('USDG')).toMatchObject({ available: 0n, in_transit: 2_500_000n })
  })

  it('an orchestration is not cancelled when it is final', async () => {
    const id = await start({ destination: undefined })
    await work()
    expect((await cancel(id)).body).toMatchObject({ status: 409, meta: { current: 'COMPLETED' } })
    const failed = await start()
    await sql`update orchestrations set expires_at = created_at where id = ${failed}`.execute(node.db.tables())
    await work()
    expect((await cancel(failed)).body).toMatchObject({ status: 409, meta: { current: 'FAILED' } })
  })

  it.each([
    ['before the conversion', async () => undefined],
    ['after the conversion', work],
  ])(
    'an orchestration is not cancelled while the operator holds its money, %s, though it does not show that it waits',
    async (_, prepare) => {
      const id = await start()
      await prepare()
      await disable(true)
      const held = await cancel(id)
      expect(held.body).toMatchObject({ status: 409, code: 'invalid_state', meta: { current: 'HOLD' } })
      expect(held.text).not.toContain('DISABLED')
      expect((await customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body.waiting_for).toBeUndefined()
      await disable(false)
      expect((await cancel(id)).status).toBe(200)
    },
  )

  it.each([
    ['before the conversion', async () => undefined],
    ['after the conversion', work],
  ])(
    'an orchestration is not cancelled in a restored store, which may have lost its payment, %s',
    async (_, prepare) => {
      const id = await start()
      await prepare()
      await sql`update store_origin set identity = 'another store'`.execute(node.db.tables())
      expect((await cancel(id)).body).toMatchObject({ status: 409, meta: { current: 'PAUSED' } })
      await sql`update store_origin set identity = null`.execute(node.db.tables())
      expect((await cancel(id)).status).toBe(200)
    },
  )

  it('an orchestration is not cancelled while its profile owes money', async () => {
    const id = await start()
    await sql`update balances set receivable = 1 where profile_id = ${alice.profileId} and asset = 'USDC'`.execute(
      node.db.tables(),
    )
    expect((await cancel(id)).body).toMatchObject({ status: 409, meta: { current: 'HOLD' } })
    await sql`update balances set receivable = 0 where profile_id = ${alice.profileId}`.execute(node.db.tables())
  })

  it.each([
    ['its asset', { assets: ['USDC'], networks: [], pairs: [], deliveries: false }, false],
    ['its network', { assets: [], networks: ['ETHEREUM'], pairs: [], deliveries: false }, false],
    ['deliveries', { assets: [], networks: [], pairs: [], deliveries: true }, true],
  ])('an orchestration is not cancelled while the operator pauses %s', async (_, paused, isConverted) => {
    const id = await start()
    if (isConverted) await work()
    await pause(paused)
    expect((await cancel(id)).body).toMatchObject({ status: 409, meta: { current: 'PAUSED' } })
    await pause({ assets: [], networks: [], pairs: [], deliveries: false })
    expect((await cancel(id)).status).toBe(200)
  })

  it('an orchestration is not cancelled by another customer, nor by a client without the scope', async () => {
    const id = await start()
    expect((await cancel(id, await node.newCustomer())).status).toBe(404)
    const reader = await node.newClient(customer.customerId, ['orchestration:read_orchestration'])
    expect((await cancel(id, reader)).body).toMatchObject({ status: 403, code: 'insufficient_scope' })
    expect((await cancel('no-id')).status).toBe(404)
    const body = await customer.call('POST', `${ORCHESTRATIONS}/${id}/cancel`, { reason: 'mistake' })
    expect(body.status).toBe(400)
    expect((await customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body.status).toBe('PROCESSING')
  })

  it('an orchestration is cancelled once a hold that the operator has opened is over, though it still shows HOLD', async () => {
    const id = await start()
    await disable(true)
    await work()
    await disable(false)
    expect((await customer.call('GET', `${ORCHESTRATIONS}/${id}`)).body.waiting_for).toBe('HOLD')
    expect((await cancel(id)).body).toMatchObject(CANCELLED)
  })
})

it(`each of ${RACES} orchestrations is either cancelled or paid, whoever comes first`, async () => {
  // Enough to pay for each: who comes first depends on the machine.
  await credit(node.db, alice.profileId, 'USDC', BigInt(RACES) * 500_000n)
  const before = (await balance('USDC')).available
  const sums = { unconverted: 0n, converted: 0n, paid: 0n }
  for (let race = 0; race < RACES; race++) {
    const id = await start({ source_amount: '0.5' })
    if (race % 2 === 1) await work()
    const cancelled: Promise<RestAnswer>[] = []
    const begin = () => void cancelled.push(cancel(id), cancel(id))
    const isLate = race % 4 > 1
    if (!isLate) begin()
    await work()
    // Whatever the machine's speed, some payments are first.
    const handedOut = await claim(isLate ? begin : undefined)
    const answers = await Promise.all(cancelled)
    const [row] = (
      await sql<{ status: string; is_converted: boolean; open: number }>`
        select status, destination_amount is not null as is_converted,
          (select count(*)::integer from orchestration_queue where orchestration_id = ${id}) as open
        from orchestrations where id = ${id}
      `.execute(node.db.tables())
    ).rows
    const isPaid = handedOut.includes(id)
    const texts = answers.map(({ text }) => text).join('\n')
    expect(row, texts).toMatchObject({ status: isPaid ? 'PROCESSING' : 'FAILED', open: 0 })
    expect(answers.some(({ status }) => status === 200)).toBe(!isPaid)
    sums[isPaid ? 'paid' : row?.is_converted ? 'converted' : 'unconverted'] += 500_000n
  }
  expect(await balance('USDC')).toMatchObject({ available: before - sums.converted - sums.paid, in_transit: 0n })
  expect(await balance('USDG')).toMatchObject({ available: sums.converted, in_transit: sums.paid })
  expect(await violationsOf(node.db)).toEqual([])
})
