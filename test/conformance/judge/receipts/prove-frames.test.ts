/** Receipts of sessions whose plan changes while they are connected, and what they prove. */
import { describe, expect, test } from 'vitest'
import type { Plan } from '../../../../src/access/clients/plans/plan.ts'
import { BID } from '../../../../src/streaming/market/event.ts'
import { deepBook } from '../../../streaming/gateway/live-stream.ts'
import { PlannedStream } from '../../../streaming/gateway/planned-stream.ts'
import { newReceiptIssuer, proofOf, signerOf } from '../../../support/receipts.ts'

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

describe('receipts of a book that does not change while there are trades', () => {
  function start() {
    const stream = new PlannedStream({ depth: 50, receipts: signerOf(issuer) })
    stream.snapshot(deepBook(60, 10))
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const book = { type: 'market_data', params: { market: 'AAAUSD' } }
    const trades = { type: 'execution_data', params: { market: 'AAAUSD' } }
    const lines = client.ask({ type: 'subscribe', channels: [book, trades, { type: 'heartbeat' }] })
    const trade = (seconds: number): void => {
      for (let second = 0; second < seconds; second++) {
        stream.update([], [{ price: 9_999_999, amount: second + 1 }])
        stream.clock.advance(1_000)
        lines.push(...client.read())
      }
    }
    const ask = (type: string) => lines.push(...client.ask({ type, channels: [book] }))
    return { stream, lines, trade, ask }
  }

  test('a book that is subscribed again is brought its receipts again, and their executions count as signed', () => {
    const { lines, trade, ask } = start()
    trade(6)
    ask('unsubscribe')
    ask('subscribe')
    trade(3)
    const proof = proofOf(lines, issuer)
    expect(proof.findings).toEqual([])
    expect(proof.executions.covered).toBeGreaterThan(6)
  })

  test.each([
    ['before its next message', 0],
    ['after some seconds at the other depth', 3],
  ])('a depth that a plan changes and restores %s leaves all receipts provable', (_when, seconds) => {
    const { stream, lines, trade } = start()
    trade(6)
    stream.plan({ depthMax: 10 })
    trade(seconds)
    stream.plan({})
    trade(3)
    const proof = proofOf(lines, issuer)
    expect(proof.findings).toEqual([])
    expect(proof.executions.covered).toBeGreaterThan(6)
  })
})
