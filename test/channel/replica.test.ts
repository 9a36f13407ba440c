import { describe, expect, test } from 'vitest'
import type { Commit } from '../../src/channel/bus.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import { Replica, type ViewCommit } from '../../src/channel/replica.ts'
import { ASK, BID, type LevelChange } from '../../src/market/event.ts'
import { testMarket } from '../support/stream-simulation.ts'
import { commitOf } from './bus-conformance.ts'

const bid = (price: number, amount: number): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number): LevelChange => ({ side: ASK, price, amount })

function follow(depth = 2) {
  const bus = createMemoryBus()
  const replica = new Replica({ market: testMarket('AAAUSD', depth), bus, executionsKept: 5 })
  const seen: (ViewCommit | boolean)[] = []
  const end = replica.listen({ onCommit: (commit) => seen.push(commit), onStatus: (live) => seen.push(live) })
  let version = 0
  return {
    bus,
    replica,
    seen,
    end,
    commit(changes: readonly LevelChange[], more: Partial<Commit> = {}): ViewCommit {
      version += 1
      bus.publish({ ...commitOf('AAAUSD', version), changes, executions: [], ...more })
      return seen.at(-1) as ViewCommit
    },
    status: (live: boolean, reason: string) => bus.publish({ type: 'status', market: 'AAAUSD', live, reason }),
  }
}

describe('a replica', () => {
  test('tells what a commit means for the published depth, levels at its edge included', () => {
    const market = follow(2)
    expect(market.commit([bid(100, 1), bid(99, 2), bid(98, 3), ask(200, 4)])).toEqual({
      changes: [bid(100, 1), bid(99, 2), ask(200, 4)],
      topChanged: true,
      changesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(97, 9)])).toEqual({
      changes: [],
      topChanged: false,
      changesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(100, 0)])).toEqual({
      changes: [bid(100, 0), bid(98, 3)],
      topChanged: true,
      changesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(99, 5)]).topChanged).toBe(true)
    expect(market.commit([bid(98, 5)]).topChanged).toBe(false)
    expect(market.replica.view.levels()).toEqual([bid(99, 5), bid(98, 5), ask(200, 4)])
  })

  test('knows version, instant, arrival and top of the last commit', () => {
    const { replica, commit } = follow()
    expect([replica.version, replica.topNumber]).toEqual([0, 0])
    commit([ask(200, 4)], { milliseconds: 5, nanoseconds: 6, receivedMilliseconds: 4.5 })
    expect(replica.version).toBe(1)
    expect(replica.instant).toEqual({ milliseconds: 5, nanoseconds: 6 })
    expect(replica.receivedMilliseconds).toBe(4.5)
    expect(replica.top).toEqual({ bid: undefined, ask: ask(200, 4) })
    commit([bid(100, 1)])
    expect(replica.top).toEqual({ bid: bid(100, 1), ask: ask(200, 4) })
    expect(replica.topNumber).toBe(2)
    commit([])
    expect([replica.version, replica.topNumber]).toEqual([3, 2])
    commit([ask(200, 0)])
    expect(replica.top.ask).toBeUndefined()
  })

  test('a top that comes back has moved twice', () => {
    const { replica, commit } = follow()
    commit([bid(100, 1)])
    commit([bid(101, 1)])
    commit([bid(101, 0)])
    expect(replica.topNumber).toBe(3)
  })

  test('counts executions into its log', () => {
    const { replica, commit } = follow()
    const executions = [1, 2, 3].map((amount) => ({ price: 1, amount }))
    expect(commit([], { executions }).executionCount).toBe(3)
    expect(commit([], { executions }).executionCount).toBe(3)
    expect([replica.executions.firstNumber, replica.executions.lastNumber]).toEqual([2, 6])
    expect(commit([], { executions, missedAt: 1 }).executionCount).toBe(4)
    expect([replica.executions.firstNumber, replica.executions.lastNumber]).toEqual([9, 10])
  })

  test('has a book from the first live status on, also when the sources are lost', () => {
    const { replica, commit, status, seen } = follow()
    expect([replica.hasBook, replica.live, replica.reason]).toEqual([false, false, 'waiting for the first snapshot'])
    status(false, 'refused')
    commit([])
    expect([replica.hasBook, replica.live, replica.reason]).toEqual([false, false, 'refused'])
    status(true, '')
    expect([replica.hasBook, replica.live, replica.reason]).toEqual([true, true, ''])
    status(false, 'gone')
    expect([replica.hasBook, replica.live, replica.reason]).toEqual([true, false, 'gone'])
    expect(seen.filter((each) => typeof each === 'boolean')).toEqual([false, true, false])
  })

  test('knows since which version it is live, and that its book is withdrawn until it is live again', () => {
    const { replica, commit, status } = follow()
    commit([bid(100, 1)])
    status(true, '')
    commit([bid(100, 2)])
    status(true, '')
    expect([replica.liveVersion, replica.isWithdrawn]).toEqual([1, false])
    status(false, 'gone')
    expect(replica.isWithdrawn).toBe(false)
    expect(commit([bid(100, 0)], { withdraws: true })).toMatchObject({ changes: [bid(100, 0)], topChanged: true })
    expect([replica.liveVersion, replica.isWithdrawn]).toEqual([1, true])
    commit([bid(101, 1)])
    status(true, '')
    expect([replica.liveVersion, replica.isWithdrawn]).toEqual([4, false])
  })

  test('reports a crossed book', () => {
    const { replica, commit } = follow()
    commit([bid(100, 1), ask(200, 1)])
    expect(replica.isCrossed).toBe(false)
    commit([bid(200, 1)])
    expect(replica.isCrossed).toBe(true)
  })

  test('crashes on a gap, a repetition and another epoch', () => {
    for (const [version, epoch] of [
      [3, 'e1'],
      [1, 'e1'],
      [2, 'e2'],
    ] as const) {
      const { bus, commit, replica } = follow()
      commit([bid(100, 1)])
      expect(() => bus.publish({ ...commitOf('AAAUSD', version), epoch })).toThrow()
      expect(replica.version).toBe(1)
    }
  })

  test('does not call a removed listener, and follows nothing once stopped', () => {
    const { replica, commit, seen, end } = follow()
    commit([bid(100, 1)])
    end()
    commit([bid(100, 2)])
    expect(seen).toHaveLength(1)
    expect(replica.version).toBe(2)
    replica.stop()
    commit([bid(100, 3)])
    expect(replica.version).toBe(2)
  })
})
