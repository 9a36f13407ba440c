import { describe, expect, test } from 'vitest'
import { ASK, BID, type LevelChange } from '../../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import type { Conflated } from '../../../src/streaming/sequencing/conflated-updates.ts'
import { BASE, type Message } from '../../../src/streaming/sequencing/frame.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { NONE, ViewFeed } from '../../../src/streaming/sequencing/view-feed.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { commitOf } from './bus-conformance.ts'

const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })

function follow(depth = 0) {
  const bus = createMemoryBus()
  const replica = new Replica({ market: testMarket('AAAUSD', depth), bus, executionsKept: 5 })
  let version = 0
  return {
    replica,
    feed: new ViewFeed({ replica, view: replica.view, clock: new VirtualClock() }),
    commit(...changes: readonly LevelChange[]): number {
      bus.publish({ ...commitOf('AAAUSD', ++version), changes, executions: [] })
      return version
    },
    setLive(live: boolean): void {
      bus.publish({ type: 'status', market: 'AAAUSD', epoch: commitOf('AAAUSD', 1).epoch, version, live, reason: '' })
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

function messageOf(conflated: Conflated): Message {
  if (typeof conflated === 'string') throw new Error(`no message but ${conflated}`)
  return conflated.message
}

function manyBids(count: number, amount: number): LevelChange[] {
  return Array.from({ length: count }, (_, index) => bid(100_000 - index, amount))
}

describe('the conflated UPDATE', () => {
  test('the conflated UPDATE leads from any version to the current one and has its time', () => {
    const { feed, commit } = follow()
    commit(bid(100, 1), { side: ASK, price: 200, amount: 1 })
    commit(bid(101, 5))
    commit(bid(100, 2), bid(101, 0))
    commit({ side: ASK, price: 200, amount: 0 })
    expect(payload(messageOf(feed.conflated(BASE, 1, NONE)))).toMatchObject({
      type: 'UPDATE',
      time: '2026-01-01T00:00:00.004Z',
      bids: [{ price: '1.00', amount: '0.0002' }],
      asks: [{ price: '2.00', amount: '0' }],
    })
    expect(payload(messageOf(feed.conflated(BASE, 2, NONE))).bids).toEqual([
      { price: '1.01', amount: '0' },
      { price: '1.00', amount: '0.0002' },
    ])
    expect(feed.conflated(BASE, 4, NONE)).toBe('nothing')
  })

  test('the conflated UPDATE is omitted when every change was undone', () => {
    const { feed, commit } = follow()
    const version = commit(bid(100, 1))
    commit(bid(100, 2))
    commit(bid(100, 1))
    expect(feed.conflated(BASE, version, NONE)).toBe('nothing')
  })

  test('the conflated UPDATE is encoded once per version held, and again at the next version', () => {
    const { feed, commit } = follow()
    const version = commit(bid(100, 1))
    commit(bid(100, 2))
    const conflated = feed.conflated(BASE, version, NONE)
    expect(feed.conflated(BASE, version, NONE)).toBe(conflated)
    expect(feed.conflated(BASE, 0, NONE)).not.toBe(conflated)
    commit(bid(100, 3))
    expect(payload(messageOf(feed.conflated(BASE, version, NONE))).bids).toEqual([{ price: '1.00', amount: '0.0003' }])
  })

  test('the conflated UPDATE is refused when the journal does not reach back', () => {
    const { feed, commit } = follow()
    const version = commit(bid(100, 1))
    for (let amount = 2; amount < 6_000; amount++) commit(bid(100, amount))
    expect(feed.conflated(BASE, version, NONE)).toBe('too-old')
    expect(feed.conflated(BASE, 5_998, NONE)).not.toBe('too-old')
  })
})

describe('the snapshot of a small book', () => {
  test("a small book's snapshot is shared within a version and encoded again for the next", () => {
    const { feed, commit } = follow()
    commit(bid(100, 1))
    const first = feed.snapshot(BASE, 0)
    expect(first?.version).toBe(1)
    expect(feed.snapshot(BASE, 0)).toBe(first)
    commit(bid(100, 2))
    const second = feed.snapshot(BASE, 0)
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
    expect(market.feed.snapshot(BASE, 0)).toBeUndefined()
    expect(market.feed.isWorking).toBe(true)
    return market
  }

  test("a large book's snapshot is encoded in slices, of the version at which it was requested", () => {
    const { feed, commit } = large()
    feed.work(0)
    commit(bid(100_000, 77))
    expect(feed.snapshot(BASE, 0)).toBeUndefined()
    feed.work(0)
    expect(feed.isWorking).toBe(true)
    feed.work(0)
    expect(feed.isWorking).toBe(false)
    const snapshot = feed.snapshot(BASE, 0)
    expect(snapshot?.version).toBe(1)
    const { bids, time } = payload(snapshot?.message as Message)
    expect(time).toBe('2026-01-01T00:00:00.001Z')
    expect(bids).toHaveLength(COUNT)
    expect(bids[0]).toEqual({ price: '1000.00', amount: '0.0005' })
    expect(bids[COUNT - 1]).toEqual({ price: '910.01', amount: '0.0005' })
    expect(payload(messageOf(feed.conflated(BASE, 1, NONE))).bids).toEqual([{ price: '1000.00', amount: '0.0077' }])
    feed.work(0)
  })

  test("a large book's snapshot is reused while its completion is short, but not for a subscriber with later data", () => {
    const { feed, commit } = large()
    feed.work(Number.POSITIVE_INFINITY)
    const snapshot = feed.snapshot(BASE, 0)
    expect(snapshot).toBeDefined()
    commit(...manyBids(COUNT / 4, 6))
    expect(feed.snapshot(BASE, 0)).toBe(snapshot)
    expect(feed.snapshot(BASE, 1)).toBeUndefined()
    expect(feed.isWorking).toBe(true)
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 1)?.version).toBe(2)
    commit(...manyBids(COUNT / 4 + 1, 7))
    expect(feed.snapshot(BASE, 0)).toBeUndefined()
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 0)?.version).toBe(3)
  })

  test("a large book's snapshot is given to waiting subscribers whatever changed meanwhile, at that version only", () => {
    const { feed, commit } = large()
    commit(...manyBids(COUNT, 6))
    feed.work(Number.POSITIVE_INFINITY)
    const snapshot = feed.snapshot(BASE, 0)
    expect(snapshot?.version).toBe(1)
    expect(feed.snapshot(BASE, 0)).toBe(snapshot)
    commit(bid(1, 1))
    expect(feed.snapshot(BASE, 0)).toBeUndefined()
  })

  test("a large book's snapshot is not used once the journal no longer reaches back to it", () => {
    const { feed, commit } = large()
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 0)).toBeDefined()
    for (let round = 0; round < 5; round++) commit(...manyBids(COUNT, 10 + round))
    commit(...manyBids(COUNT, 5))
    expect(feed.conflated(BASE, 1, NONE)).toBe('too-old')
    expect(feed.snapshot(BASE, 0)).toBeUndefined()
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 0)?.version).toBe(7)
  })

  test('the snapshot of a large book is not used once the market was withdrawn and is live again', () => {
    const { feed, commit, setLive } = large()
    setLive(true)
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 0)?.version).toBe(1)
    setLive(false)
    commit(...manyBids(COUNT, 0))
    commit(...manyBids(COUNT, 5))
    setLive(true)
    expect(feed.conflated(BASE, 1, NONE)).toBe('nothing')
    expect(feed.snapshot(BASE, 0)).toBeUndefined()
    feed.work(Number.POSITIVE_INFINITY)
    expect(feed.snapshot(BASE, 0)?.version).toBe(3)
  })
})
