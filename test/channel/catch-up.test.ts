import { describe, expect, test } from 'vitest'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { CatchUp, type Merged } from '../../src/channel/catch-up.ts'
import type { Message } from '../../src/channel/frame.ts'
import { Replica } from '../../src/channel/replica.ts'
import { ASK, BID, type LevelChange } from '../../src/market/event.ts'
import { testMarket } from '../support/stream-simulation.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { commitOf } from './bus-conformance.ts'

const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })

function follow(depth = 0) {
  const bus = createMemoryBus()
  const replica = new Replica({ market: testMarket('AAAUSD', depth), bus, executionsKept: 5 })
  let version = 0
  return {
    replica,
    catchUp: new CatchUp(replica, new VirtualClock()),
    commit(...changes: readonly LevelChange[]): number {
      bus.publish({ ...commitOf('AAAUSD', ++version), changes, executions: [] })
      return version
    },
  }
}

function payload(message: Message): { type: string; time: string; bids: object[]; asks: object[] } {
  const bytes = message.map((frame) => {
    const length = frame.readUInt8(1)
    return frame.subarray(length < 126 ? 2 : length === 126 ? 4 : 10)
  })
  return JSON.parse(Buffer.concat(bytes).toString('utf8')).payload
}

function messageOf(merged: Merged): Message {
  if (typeof merged === 'string') throw new Error(`no message but ${merged}`)
  return merged.message
}

function manyBids(count: number, amount: number): LevelChange[] {
  return Array.from({ length: count }, (_, index) => bid(100_000 - index, amount))
}

describe('the merged UPDATE', () => {
  test('leads from any version to now, stamped now', () => {
    const { catchUp, commit } = follow()
    commit(bid(100, 1), { side: ASK, price: 200, amount: 1 })
    commit(bid(101, 5))
    commit(bid(100, 2), bid(101, 0))
    commit({ side: ASK, price: 200, amount: 0 })
    expect(payload(messageOf(catchUp.merged(1)))).toMatchObject({
      type: 'UPDATE',
      time: '2026-01-01T00:00:00.004Z',
      bids: [{ price: '1.00', amount: '0.0002' }],
      asks: [{ price: '2.00', amount: '0' }],
    })
    expect(payload(messageOf(catchUp.merged(2))).bids).toEqual([
      { price: '1.01', amount: '0' },
      { price: '1.00', amount: '0.0002' },
    ])
    expect(catchUp.merged(4)).toBe('nothing')
  })

  test('is nothing when all came back to what it was', () => {
    const { catchUp, commit } = follow()
    const version = commit(bid(100, 1))
    commit(bid(100, 2))
    commit(bid(100, 1))
    expect(catchUp.merged(version)).toBe('nothing')
  })

  test('is made once for all who hold the version, and anew at the next', () => {
    const { catchUp, commit } = follow()
    const version = commit(bid(100, 1))
    commit(bid(100, 2))
    const merged = catchUp.merged(version)
    expect(catchUp.merged(version)).toBe(merged)
    expect(catchUp.merged(0)).not.toBe(merged)
    commit(bid(100, 3))
    expect(payload(messageOf(catchUp.merged(version))).bids).toEqual([{ price: '1.00', amount: '0.0003' }])
  })

  test('is refused when the journal does not reach back', () => {
    const { catchUp, commit } = follow()
    const version = commit(bid(100, 1))
    for (let amount = 2; amount < 6_000; amount++) commit(bid(100, amount))
    expect(catchUp.merged(version)).toBe('too-old')
    expect(catchUp.merged(5_998)).not.toBe('too-old')
  })
})

describe('the top', () => {
  test('is shared while nothing is committed, and stamped with the last commit', () => {
    const { catchUp, commit } = follow()
    commit(bid(100, 1))
    const top = catchUp.top()
    expect(catchUp.top()).toBe(top)
    commit(bid(90, 1))
    expect(payload(catchUp.top())).toMatchObject({ timestamp: '2026-01-01T00:00:00.002999999Z', asks: [] })
    expect(payload(catchUp.top()).bids).toEqual(payload(top).bids)
  })
})

describe('the snapshot of a small book', () => {
  test('is shared within a version and made anew for the next', () => {
    const { catchUp, commit } = follow()
    commit(bid(100, 1))
    const first = catchUp.snapshot(0)
    expect(first?.version).toBe(1)
    expect(catchUp.snapshot(0)).toBe(first)
    commit(bid(100, 2))
    const second = catchUp.snapshot(0)
    expect(second?.version).toBe(2)
    expect(payload(second?.message as Message)).toMatchObject({
      type: 'SNAPSHOT',
      time: '2026-01-01T00:00:00.002Z',
      bids: [{ price: '1.00', amount: '0.0002' }],
    })
  })
})

describe('the snapshot of a large book', () => {
  const COUNT = 9_000

  function large() {
    const market = follow()
    market.commit(...manyBids(COUNT, 5))
    expect(market.catchUp.snapshot(0)).toBeUndefined()
    expect(market.catchUp.encoding).toBe(true)
    return market
  }

  test('is made slice by slice, of the version at which it was asked for', () => {
    const { catchUp, commit } = large()
    catchUp.encode(0)
    commit(bid(100_000, 77))
    expect(catchUp.snapshot(0)).toBeUndefined()
    catchUp.encode(0)
    expect(catchUp.encoding).toBe(true)
    catchUp.encode(0)
    expect(catchUp.encoding).toBe(false)
    const snapshot = catchUp.snapshot(0)
    expect(snapshot?.version).toBe(1)
    const { bids, time } = payload(snapshot?.message as Message)
    expect(time).toBe('2026-01-01T00:00:00.001Z')
    expect(bids).toHaveLength(COUNT)
    expect(bids[0]).toEqual({ price: '1000.00', amount: '0.0005' })
    expect(bids[COUNT - 1]).toEqual({ price: '910.01', amount: '0.0005' })
    expect(payload(messageOf(catchUp.merged(1))).bids).toEqual([{ price: '1000.00', amount: '0.0077' }])
    catchUp.encode(0)
  })

  test('stays useful while the completion is short, is given to nobody who was sent something later', () => {
    const { catchUp, commit } = large()
    catchUp.encode(Number.POSITIVE_INFINITY)
    const snapshot = catchUp.snapshot(0)
    expect(snapshot).toBeDefined()
    commit(...manyBids(COUNT / 4, 6))
    expect(catchUp.snapshot(0)).toBe(snapshot)
    expect(catchUp.snapshot(1)).toBeUndefined()
    expect(catchUp.encoding).toBe(true)
    catchUp.encode(Number.POSITIVE_INFINITY)
    expect(catchUp.snapshot(1)?.version).toBe(2)
    commit(...manyBids(COUNT / 4 + 1, 7))
    expect(catchUp.snapshot(0)).toBeUndefined()
    catchUp.encode(Number.POSITIVE_INFINITY)
    expect(catchUp.snapshot(0)?.version).toBe(3)
  })

  test('is given to those who waited for it whatever moved meanwhile, at that version only', () => {
    const { catchUp, commit } = large()
    commit(...manyBids(COUNT, 6))
    catchUp.encode(Number.POSITIVE_INFINITY)
    const snapshot = catchUp.snapshot(0)
    expect(snapshot?.version).toBe(1)
    expect(catchUp.snapshot(0)).toBe(snapshot)
    commit(bid(1, 1))
    expect(catchUp.snapshot(0)).toBeUndefined()
  })

  test('is no use once the journal does not reach back to it', () => {
    const { catchUp, commit } = large()
    catchUp.encode(Number.POSITIVE_INFINITY)
    expect(catchUp.snapshot(0)).toBeDefined()
    for (let round = 0; round < 5; round++) commit(...manyBids(COUNT, 10 + round))
    commit(...manyBids(COUNT, 5))
    expect(catchUp.merged(1)).toBe('too-old')
    expect(catchUp.snapshot(0)).toBeUndefined()
    catchUp.encode(Number.POSITIVE_INFINITY)
    expect(catchUp.snapshot(0)?.version).toBe(7)
  })
})
