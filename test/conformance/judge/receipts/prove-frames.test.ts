/** Receipts of sessions whose plan changes while they are connected, and what they prove. */
import { describe, expect, test } from 'vitest'
import type { Plan } from '../../../../src/access/clients/plans/plan.ts'
import { BID } from '../../../../src/streaming/market/event.ts'
import { newReceiptIssuer, proofOf, signerOf } from '../../../support/receipts.ts'
import { deepBook } from '../../../streaming/gateway/live-stream.ts'
import { PlannedStream } from '../../../streaming/gateway/planned-stream.ts'

const issuer = newReceiptIssuer()

/** What a session receives, one second and some changes per plan. */
function received(params: object, plans: readonly Omit<Plan, 'name'>[]): string[] {
  const stream = new PlannedStream({ depth: 50, receipts: signerOf(issuer) })
  stream.plan(plans[0] as Omit<Plan, 'name'>)
  stream.snapshot(deepBook(60, 10))
  const client = stream.connect({ subprotocol: 'tidegate.v1' })
  const book = { type: 'market_data', params: { market: 'AAAUSD', ...params } }
  const lines = client.ask({ type: 'subscribe', channels: [book, { type: 'heartbeat' }] })
  for (const [place, plan] of plans.entries()) {
    stream.plan(plan)
    for (let amount = 1; amount <= 6; amount++) {
      stream.update([{ side: BID, price: 9_999_999, amount: 10 * (place + 1) + amount }])
      stream.clock.advance(500)
      lines.push(...client.read())
    }
  }
  return lines
}

describe('receipts, when a plan changes during a session', () => {
  test.each<[string, object, readonly Omit<Plan, 'name'>[]]>([
    ['a depth that the client asked for', { depth: 50 }, [{}, { depthMax: 10 }]],
    ['a depth that the plan serves', {}, [{ depthMax: 10 }, { depthMax: 5 }]],
    ['a wider plan', { depth: 50 }, [{ depthMax: 10 }, {}]],
    ['all published levels', {}, [{}, { depthMax: 10 }, {}]],
  ])('every book of a session is proven when its depth changes from %s', (_name, params, plans) => {
    const proof = proofOf(received(params, plans), issuer)
    expect(proof.findings).toEqual([])
    const depths = new Set(proof.all.map(({ receipt }) => receipt.depth))
    expect(depths.size).toBeGreaterThan(1)
    expect(proof.books.covered).toBe(proof.all.length)
    expect(proof.all.length).toBeGreaterThan(2 * plans.length)
  })
})
