/** Movements that are counted at the same time never pass a limit together. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RestNode } from '../../support/rest.ts'
import { type LimitRow, LimitsStage } from './limits-stage.ts'

const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 30 : 5
const DAY: LimitRow = { scope: 'customer', asset: 'USDC', window: 'day', amount: '50' }

let node: RestNode
beforeAll(async () => {
  node = await LimitsStage.openNode()
})
afterAll(() => node?.close())

describe('movements counted together', () => {
  it('requests sent together pass a limit only as often as its amount allows', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const stage = await LimitsStage.open(node)
      await stage.setLimits([DAY])
      const answers = await Promise.all(Array.from({ length: 20 }, () => stage.pay('10')))
      const counts = [200, 403].map((wanted) => answers.filter(({ status }) => status === wanted).length)
      expect(counts).toEqual([5, 15])
      expect(await stage.uses('customer')).toMatchObject([{ used: '50', available: '0' }])
    }
  })

  it('requests, conversions, hand-outs and cancellations at the same time never use more than a limit', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const stage = await LimitsStage.open(node)
      // Made before the limit, so they are counted when they are handed out.
      const early = await Promise.all(Array.from({ length: 6 }, () => stage.pay('10')))
      await stage.work()
      await stage.setLimits([DAY])
      const converting = { source_asset: 'USDC', destination_asset: 'USDC' }
      const [requested] = await Promise.all([
        Promise.all(Array.from({ length: 6 }, () => stage.pay('10', converting))),
        stage.claim(),
        stage.work(),
        stage.cancel(early[0]?.body.id),
        stage.claim(),
        stage.work(),
      ])
      const [{ used }] = await stage.uses('customer')
      expect(Number(used)).toBeLessThanOrEqual(50)
      expect(requested.filter(({ status }) => status !== 200 && status !== 403)).toEqual([])
      for (let turn = 0; turn < 3; turn++) {
        await stage.makeDue()
        await stage.work()
        await stage.claim()
      }
      // All that is not counted waits.
      expect(await stage.uses('customer')).toMatchObject([{ used: '50' }])
    }
  })
})
