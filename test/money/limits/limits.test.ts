/** Limits on what leaves a customer's profiles: refused requests, waiting movements, and what gives use back. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureLedgerAssets } from '../../../src/money/ledger/assets.ts'
import { readLimitGate } from '../../../src/money/limits/gate.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import type { RestNode } from '../../support/rest.ts'
import { type LimitRow, LimitsStage, payee } from './limits-stage.ts'

const DAY: LimitRow = { scope: 'customer', asset: 'USDC', window: 'day', amount: '100' }
const MOVEMENT: LimitRow = { scope: 'customer', asset: 'USDC', window: 'movement', amount: '60' }
const OF_DESTINATION: LimitRow = { scope: 'destination', asset: 'USDC', window: 'day', amount: '70' }
const CONVERTED = { destination_asset: 'USDG' }

let node: RestNode
let stage: LimitsStage
beforeAll(async () => {
  node = await LimitsStage.openNode()
})
afterAll(() => node?.close())
beforeEach(async () => {
  stage = await LimitsStage.open(node)
})

async function paid(amount: string, changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const answer = await stage.pay(amount, changes)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.id
}

/** The time of an orchestration's or its payment's next attempt, in seconds from now. */
async function secondsUntilNext(id: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from next_attempt_at - clock_timestamp())::float8 as seconds from (
      select next_attempt_at from orchestration_queue where orchestration_id = ${id}
      union all select next_attempt_at from deliveries where orchestration_id = ${id}
    ) as next
  `.execute(node.db.tables())
  return rows[0]?.seconds ?? Number.NaN
}

describe('a request above a limit', () => {
  it('a request above the limit per movement is refused, and the amount at the limit passes', async () => {
    await stage.setLimits([MOVEMENT])
    const refused = await stage.pay('60.000001')
    expect([refused.status, refused.body.code, refused.body.meta]).toEqual([
      403,
      'limit_exceeded',
      { limit: '60', used: '0', available: '60' },
    ])
    await paid('60')
    await paid('60')
  })

  it('a request above the day’s limit is refused with the use and the next release', async () => {
    await stage.setLimits([DAY])
    const hour = await stage.hour()
    await paid('70')
    const { body } = await stage.pay('30.5')
    expect(body).toMatchObject({ code: 'limit_exceeded', meta: { limit: '100', used: '70', available: '30' } })
    const released = Date.parse(body.meta.next_release_at) / 3_600_000
    expect([hour + 25, (await stage.hour()) + 25]).toContain(released)
    await paid('30')
    expect(await stage.uses('customer')).toMatchObject([{ limit: '100', used: '100', available: '0' }])
  })

  it('a request that repeats an accepted one is answered with it, although the limit is reached', async () => {
    await stage.setLimits([DAY])
    const id = await paid('100', { ref_id: 'mine' })
    const again = await stage.pay('100', { ref_id: 'mine' })
    expect([again.status, again.body.code, again.body.meta.existing.id]).toEqual([409, 'already_exists', id])
  })

  it('a request within the limits is refused while another destination could still be paid', async () => {
    await stage.setLimits([DAY, OF_DESTINATION])
    await paid('70')
    expect((await stage.pay('1')).body.meta).toMatchObject({ limit: '70', used: '70', available: '0' })
    await paid('30', { destination: payee('2') })
    expect((await stage.pay('1', { destination: payee('3') })).body.meta).toMatchObject({ limit: '100', used: '100' })
    const used = (await stage.uses('destination')).filter(({ destination }: { destination?: object }) => destination)
    expect(used.map(({ used }: { used: string }) => used)).toEqual(['70', '30'])
  })

  it('an address counts as one destination in every notation', async () => {
    await stage.setLimits([OF_DESTINATION])
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    await paid('70', { destination: { crypto: { address, network: 'ETHEREUM' } } })
    const lower = { crypto: { address: address.toLowerCase(), network: 'ETHEREUM' } }
    expect((await stage.pay('1', { destination: lower })).body.code).toBe('limit_exceeded')
  })

  it('a movement inside the own profile has no limit, and one to another profile has', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }, DAY])
    await paid('500', { ...CONVERTED, destination: undefined })
    const destination = { profile: { profile_id: stage.bob.profileId } }
    expect((await stage.pay('101', { destination })).body.code).toBe('limit_exceeded')
    const id = await paid('100', { destination })
    await stage.work()
    expect((await stage.get(id)).status).toBe('COMPLETED')
    expect(await stage.uses('customer')).toMatchObject([{ used: '100' }, { used: '0' }])
  })
})

describe('the use of a limit', () => {
  it('the use of a limit is given back when the customer cancels, before and after the conversion', async () => {
    await stage.setLimits([DAY])
    const first = await paid('60')
    const second = await paid('40')
    await stage.cancel(first)
    expect(await stage.uses('customer')).toMatchObject([{ used: '40' }])
    await stage.work()
    await stage.cancel(second)
    expect(await stage.uses('customer')).toMatchObject([{ used: '0', available: '100' }])
  })

  it('the use of a limit is given back when the payment fails', async () => {
    await stage.setLimits([DAY])
    const id = await paid('100')
    await stage.work()
    expect(await stage.claim()).toContain(id)
    await stage.fail(id)
    expect(await stage.uses('customer')).toMatchObject([{ used: '0' }])
  })

  it('the use of a limit is released 24 hours after the end of its hour, not before', async () => {
    await stage.setLimits([DAY])
    await paid('100')
    await stage.pass(24)
    expect((await stage.pay('1')).body.code).toBe('limit_exceeded')
    await stage.pass(1)
    await paid('100')
  })

  it('the use of a limit is shown by the operator’s call with the customer’s own limits', async () => {
    const { body } = await stage.setLimits([MOVEMENT, DAY])
    expect(body.limits).toEqual([DAY, MOVEMENT])
    await paid('25.5')
    const customer = `customer_id=${stage.customer.customerId}`
    const shown = (await node.operator('GET', `/limits?${customer}`)).body
    expect(shown.use).toEqual((await stage.customer.call('GET', '/v2/transfer/limits')).body.items)
    expect(shown.use).toMatchObject([
      { window: 'day', used: '25.5' },
      { window: 'movement', used: '0' },
    ])
    const { items } = (await node.operator('GET', `/audit?subject=${stage.customer.customerId}`)).body
    expect(items).toContainEqual(expect.objectContaining({ action: 'limits.replace' }))
  })
})

describe('a movement that waits for a limit', () => {
  it('a converted payment above the limit waits, and continues when the window releases enough', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }])
    const first = await paid('80', CONVERTED)
    const second = await paid('30', CONVERTED)
    await stage.work()
    expect(await stage.get(second)).toMatchObject({ status: 'PROCESSING', waiting_for: 'LIMIT' })
    expect(await stage.claim()).toEqual([first])
    expect((await stage.get(second)).waiting_for).toBe('LIMIT')
    expect(await secondsUntilNext(second)).toBeGreaterThan(60)
    await stage.pass(25)
    expect(await stage.claim()).toEqual([second])
    expect((await stage.get(second)).waiting_for).toBeUndefined()
    expect(await stage.uses('customer')).toMatchObject([{ used: '30' }])
  })

  it('a waiting payment is due at once when another movement’s use is given back', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }])
    const first = await paid('80', CONVERTED)
    const second = await paid('30', CONVERTED)
    await stage.work()
    await stage.claim()
    expect(await secondsUntilNext(second)).toBeGreaterThan(60)
    await stage.fail(first)
    expect(await secondsUntilNext(second)).toBeLessThanOrEqual(0)
    expect(await stage.claim()).toEqual([second])
  })

  it('a waiting payment is due at once when the operator raises the limit', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }])
    const id = await paid('200', CONVERTED)
    await stage.work()
    expect(await stage.claim()).toEqual([])
    await stage.setLimits([{ ...DAY, asset: 'USDG', amount: '200' }])
    expect(await stage.claim()).toEqual([id])
  })

  it('a payment above the limit per movement says so to the operator, and can be cancelled', async () => {
    await stage.setLimits([{ ...MOVEMENT, asset: 'USDG' }])
    const id = await paid('61', CONVERTED)
    await stage.work()
    await stage.pass(100)
    expect(await stage.claim()).toEqual([])
    const { body } = await node.operator('GET', `/orchestrations/${id}`)
    expect(body.waiting_for).toBe('LIMIT')
    expect(body.waiting_detail).toBe(
      'the amount is above the limit in USDG per customer and movement: waiting does not help: cancel it, release it or raise the limit',
    )
    expect((await stage.cancel(id)).body).toMatchObject({ status: 'FAILED', fail_reason: { code: 'CANCELLED' } })
  })

  it('a released payment passes the limit and is counted all the same', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }])
    const id = await paid('150', CONVERTED)
    await stage.work()
    expect(await stage.claim()).toEqual([])
    await stage.release(id)
    expect(await stage.claim()).toEqual([id])
    expect(await stage.uses('customer')).toMatchObject([{ used: '150', available: '0' }])
  })

  it('a converting movement to another profile waits unconverted until the window releases enough', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDG' }])
    const destination = { profile: { profile_id: stage.bob.profileId } }
    const first = await paid('100', { ...CONVERTED, destination })
    const second = await paid('1', { ...CONVERTED, destination })
    await stage.work()
    expect([(await stage.get(first)).status, await stage.get(second)]).toMatchObject([
      'COMPLETED',
      { status: 'PROCESSING', waiting_for: 'LIMIT' },
    ])
    expect((await stage.get(second)).destination_amount).toBeUndefined()
    expect(await secondsUntilNext(second)).toBeGreaterThan(60)
    await stage.pass(25)
    await stage.work()
    expect((await stage.get(second)).status).toBe('COMPLETED')
  })

  it('a payment that was made before its limit is counted when it is handed out', async () => {
    const first = await paid('60')
    const second = await paid('60')
    await stage.work()
    await stage.setLimits([DAY])
    const claimed = await stage.claim()
    expect([[first], [second]]).toContainEqual(claimed)
    expect(await stage.uses('customer')).toMatchObject([{ used: '60' }])
  })
})

describe('limits by default', () => {
  it('limits by default apply to every customer, and the customer’s own replace them', async () => {
    const { config } = node.live
    const defaults = [{ scope: 'customer', asset: 'USDC', window: 'movement', amount: '10' }] as const
    node.live.config = { ...config, 'limits.defaults': defaults }
    try {
      expect((await stage.pay('11')).body.code).toBe('limit_exceeded')
      await stage.setLimits([{ ...defaults[0], amount: '11' }])
      await paid('11')
      await stage.setLimits([])
      expect((await stage.pay('11')).body.code).toBe('limit_exceeded')
    } finally {
      node.live.config = config
    }
  })

  it('nothing is read for a movement when its customer has no limit and there is none by default', async () => {
    const subject = {
      owner: { orchestrationId: '00000000-0000-0000-0000-000000000000' },
      customerId: stage.customer.customerId,
      profileId: stage.alice.profileId,
      sourceAsset: 'USDC',
      asset: 'USDC',
      networks: [],
      destination: { profile: { profile_id: stage.bob.profileId } },
      amount: 1n,
      isDelivery: false,
      openedGates: [],
      hasLimits: false,
    }
    const limits = [{ scope: 'customer', asset: 'BTC', window: 'day', amount: 1n }] as const
    await node.db.transaction(async (transaction) => {
      expect(readLimitGate(transaction, [subject], { limits })).toBeUndefined()
    })
  })
})

describe('the operator’s limits for a customer', () => {
  it.each([
    ['an unknown asset', [{ ...DAY, asset: 'XYZ' }], '/limits/0/asset'],
    ['too many decimals', [{ ...DAY, amount: '0.0000001' }], '/limits/0/amount'],
    ['the same limit twice', [DAY, { ...DAY, amount: '1' }], '/limits/1'],
    ['an unknown window', [{ ...DAY, window: 'week' as 'day' }], '/limits/0/window'],
  ])('limits with %s are refused', async (_what, limits, pointer) => {
    const { status, body } = await stage.setLimits(limits)
    expect([status, body.errors.map((error: { pointer: string }) => error.pointer)]).toEqual([400, [pointer]])
  })

  it('limits of an unknown customer are 404', async () => {
    const id = '00000000-0000-0000-0000-000000000000'
    expect((await node.operator('GET', `/limits?customer_id=${id}`)).status).toBe(404)
    expect((await node.operator('PUT', '/limits', { customer_id: id, limits: [] })).status).toBe(404)
  })

  it('the decimals of an asset with a limit cannot change: the limit would be another amount', async () => {
    await stage.setLimits([{ ...DAY, asset: 'USDP' }])
    const faults = await node.db.transaction((transaction) =>
      ensureLedgerAssets(transaction, [{ symbol: 'USDP', decimals: 4 }]),
    )
    expect(faults).toEqual(['USDP has 4 decimals, but its amounts in the ledger have 6. Decimals cannot change'])
  })

  it('a limit of zero stops everything', async () => {
    await stage.setLimits([{ ...DAY, amount: '0' }])
    expect((await stage.pay('0.000001')).body.meta).toEqual({ limit: '0', used: '0', available: '0' })
  })
})
