import { describe, expect, test } from 'vitest'
import { ASK, BID, type Execution, type LevelChange } from '../../../src/streaming/market/event.ts'
import type { Commit, KeptExecution, MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Cursors } from '../../../src/streaming/sequencing/cursor.ts'
import { Replica, type ViewCommit } from '../../../src/streaming/sequencing/replica.ts'
import { ViewFeed } from '../../../src/streaming/sequencing/view-feed.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
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
    status: (live: boolean, reason: string) =>
      bus.publish({ type: 'status', market: 'AAAUSD', epoch: 'e1', version, live, reason }),
  }
}

const trades = (...ids: readonly string[]): Execution[] => ids.map((id) => ({ price: 1, amount: 1, id }))

const kept = (version: number, ...ids: readonly string[]): KeptExecution[] =>
  trades(...ids).map((execution) => ({ execution, version, commitMilliseconds: version }))

function stateOf(version: number, more: Partial<MarketState>): MarketState {
  return {
    type: 'state',
    market: 'AAAUSD',
    epoch: 'e1',
    version,
    milliseconds: 1_767_225_800_000 + version,
    nanoseconds: 1,
    receivedMilliseconds: 1.5,
    levels: [],
    hasBook: true,
    isWithdrawn: false,
    live: false,
    reason: 'gone',
    executionNumber: 0,
    executions: [],
    ...more,
  }
}

/** The executions that are kept. */
function idsOf({ executions }: Replica): (string | undefined)[] {
  const ids: (string | undefined)[] = []
  for (let number = executions.firstNumber; number <= executions.lastNumber; number++) {
    ids.push(executions.at(number).execution.id)
  }
  return ids
}

describe('a replica', () => {
  test("a replica reports a commit's changes for the published depth, levels at its edge included", () => {
    const market = follow(2)
    expect(market.commit([bid(100, 1), bid(99, 2), bid(98, 3), ask(200, 4)])).toEqual({
      changes: [bid(100, 1), bid(99, 2), ask(200, 4)],
      topChanged: true,
      changesAt: new Map(),
      attributedChangesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(97, 9)])).toEqual({
      changes: [],
      topChanged: false,
      changesAt: new Map(),
      attributedChangesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(100, 0)])).toEqual({
      changes: [bid(100, 0), bid(98, 3)],
      topChanged: true,
      changesAt: new Map(),
      attributedChangesAt: new Map(),
      executionCount: 0,
      startsOver: false,
    })
    expect(market.commit([bid(99, 5)]).topChanged).toBe(true)
    expect(market.commit([bid(98, 5)]).topChanged).toBe(false)
    expect(market.replica.view.levels()).toEqual([bid(99, 5), bid(98, 5), ask(200, 4)])
  })

  test('a replica knows version, instant, arrival and top of the last commit', () => {
    const { replica, commit } = follow()
    expect([replica.version, replica.topChanges.number]).toEqual([0, 0])
    commit([ask(200, 4)], { milliseconds: 5, nanoseconds: 6, receivedMilliseconds: 4.5 })
    expect(replica.version).toBe(1)
    expect(replica.instant).toEqual({ milliseconds: 5, nanoseconds: 6 })
    expect(replica.receivedMilliseconds).toBe(4.5)
    expect(replica.top).toEqual({ bid: undefined, ask: ask(200, 4) })
    commit([bid(100, 1)])
    expect(replica.top).toEqual({ bid: bid(100, 1), ask: ask(200, 4) })
    expect(replica.topChanges.number).toBe(2)
    commit([])
    expect([replica.version, replica.topChanges.number]).toEqual([3, 2])
    commit([ask(200, 0)])
    expect(replica.top.ask).toBeUndefined()
  })

  test('a top that leaves a replica and comes back has moved twice', () => {
    const { replica, commit } = follow()
    commit([bid(100, 1)])
    commit([bid(101, 1)])
    commit([bid(101, 0)])
    expect(replica.topChanges.number).toBe(3)
  })

  test('a replica counts executions into its log', () => {
    const { replica, commit } = follow()
    const executions = [1, 2, 3].map((amount) => ({ price: 1, amount }))
    expect(commit([], { executions }).executionCount).toBe(3)
    expect(commit([], { executions }).executionCount).toBe(3)
    expect([replica.executions.firstNumber, replica.executions.lastNumber]).toEqual([2, 6])
    expect(commit([], { executions, missedAt: 1 }).executionCount).toBe(4)
    expect([replica.executions.firstNumber, replica.executions.lastNumber]).toEqual([9, 10])
  })

  test('a replica has a book from the first live status on, also when the sources are lost', () => {
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

  test('a replica knows since which version it is live, and that its book is withdrawn until it is live again', () => {
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

  test('a replica reports a crossed book', () => {
    const { replica, commit } = follow()
    commit([bid(100, 1), ask(200, 1)])
    expect(replica.isCrossed).toBe(false)
    commit([bid(200, 1)])
    expect(replica.isCrossed).toBe(true)
  })

  test('a replica crashes on a gap, a repetition and another epoch', () => {
    for (const [version, epoch] of [
      [3, 'e1'],
      [1, 'e1'],
      [2, 'e2'],
      [1, 'e0'],
    ] as const) {
      const { bus, commit, replica } = follow()
      commit([bid(100, 1)])
      expect(() => bus.publish({ ...commitOf('AAAUSD', version), epoch })).toThrow()
      expect(replica.version).toBe(1)
    }
  })

  test('a replica applies a state inside an epoch as one commit: the difference, and the executions it lacks', () => {
    const { bus, replica, commit, status, seen } = follow(3)
    commit([bid(100, 1), bid(99, 2), ask(200, 4)], { executions: trades('a') })
    status(true, '')
    const state = stateOf(6, { levels: [bid(100, 1), bid(98, 7)], executionNumber: 3, executions: kept(4, 'b', 'c') })
    bus.publish(state)
    expect(seen.at(-2)).toEqual({
      changes: [bid(99, 0), bid(98, 7), ask(200, 0)],
      topChanged: true,
      changesAt: new Map(),
      attributedChangesAt: new Map(),
      executionCount: 2,
      startsOver: false,
    })
    expect([replica.version, replica.view.changesSince(1)]).toEqual([6, [bid(99, 0), bid(98, 7), ask(200, 0)]])
    expect(idsOf(replica)).toEqual(['a', 'b', 'c'])
    expect([1, 2, 5, 6].map((version) => replica.hadBook(version))).toEqual([true, false, false, true])
    expect(replica.state('e1', 1)).toEqual(state)
    expect(() => bus.publish(stateOf(6, {}))).toThrow('not later')
  })

  test('a replica counts executions that a state does not have as a miss', () => {
    const { bus, replica, commit, seen } = follow()
    commit([], { executions: trades('a') })
    bus.publish(stateOf(6, { executionNumber: 4, executions: kept(4, 'd') }))
    expect(seen.at(-2)).toMatchObject({ executionCount: 3 })
    expect([replica.executions.missNumber, idsOf(replica)]).toEqual([3, ['d']])
  })

  test('an execution that came with a state has its version’s number, also in an epoch that was followed late', () => {
    const { bus, replica, commit } = follow()
    commit([bid(100, 1)])
    const later = (version: number, more: Partial<MarketState>) =>
      bus.publish({ ...stateOf(version, more), epoch: 'e2' })
    later(100, {})
    later(110, { executionNumber: 1, executions: kept(105, 'a') })
    const { executions, publication } = replica
    expect(publication.executionSeq(executions.at(executions.lastNumber).version)).toBe(4 * 105 - 3)
  })

  test.each([90, 2_999, 2_990])(
    'an execution at version %i of an epoch that was followed from a later version on has this version’s number',
    (version) => {
      const { bus, replica, commit } = follow()
      commit([bid(100, 1)], { executions: trades('a') })
      commit([], { instrument: { state: 'OPEN', reason: '' } })
      for (let count = 0; count < 5; count++) commit([bid(1, 1)])
      const continues = { epoch: 'e1', executionNumber: 1 }
      bus.publish({ ...stateOf(3_000, { continues, executionNumber: 1, executions: kept(version, 'b') }), epoch: 'e2' })
      expect(idsOf(replica)).toEqual(['a', 'b'])
      const { executions, publication } = replica
      expect(publication.executionSeq(executions.at(executions.lastNumber).version)).toBe(4 * version - 3)
      // Before this position there are also executions of the epoch before.
      expect(publication.resumable(`${publication.epochText}.${4 * version}`)).toBeUndefined()
      const position = `${publication.epochText}.12000`
      expect(publication.resumable(position)).toEqual({ seq: 12_000, version: replica.version, hasBook: true })
    },
  )

  test('a replica keeps the book of an epoch until the next one has a book, and starts over with that', () => {
    const { bus, replica, commit, status, seen } = follow()
    commit([bid(100, 1)], { executions: trades('a') })
    status(true, '')
    status(false, 'gone')
    bus.publish({ ...commitOf('AAAUSD', 1), epoch: 'e2', changes: [], executions: trades('b') })
    expect(seen.at(-1)).toMatchObject({ changes: [], startsOver: false, executionCount: 2 })
    expect([replica.version, replica.epoch.id, idsOf(replica)]).toEqual([2, 'e1', ['b']])
    expect(replica.view.levels()).toEqual([bid(100, 1)])
    expect(replica.state('e2', 1)).toMatchObject({ epoch: 'e2', version: 1, hasBook: false, levels: [] })
    const top = replica.topChanges.number
    const book = [bid(100, 1), ask(200, 1)]
    bus.publish({ ...commitOf('AAAUSD', 2), epoch: 'e2', changes: book, executions: [], beginsBook: true })
    expect(seen.at(-1)).toMatchObject({ changes: [], startsOver: true, topChanged: true })
    expect([replica.version, replica.epoch, replica.view.levels()]).toEqual([3, { id: 'e2', base: 1 }, book])
    expect([replica.topChanges.number, replica.topChanges.version, replica.view.changesSince(2)]).toEqual([
      top + 1,
      3,
      'too-old',
    ])
  })

  test('a top that is the same in the next epoch counts as changed, because its cursor is of that epoch', () => {
    const { bus, replica, commit } = follow()
    commit([bid(100, 1)])
    bus.publish({ ...commitOf('AAAUSD', 1), epoch: 'e2', changes: [bid(100, 1)], executions: [], beginsBook: true })
    expect([replica.topChanges.number, replica.topChanges.version]).toEqual([2, 2])
  })

  test('a replica resumes cursors of another process, except for versions that it was never at', () => {
    const first = follow()
    const later = follow()
    first.commit([bid(100, 1)])
    first.commit([bid(100, 2)])
    first.commit([bid(100, 3)])
    later.bus.publish(stateOf(3, { levels: [bid(100, 3)], live: true, reason: '' }))
    for (const { bus } of [first, later])
      bus.publish({ ...commitOf('AAAUSD', 4), changes: [bid(100, 4)], executions: [] })
    const cursors = new Cursors('AAAUSD', 'market_data', 2)
    const feed = new ViewFeed({ replica: later.replica, view: later.replica.view, clock: new VirtualClock() })
    const resumed = [1, 2, 3, 4].map((version) => feed.resumable(cursors.token(first.replica.epoch, version)))
    expect(resumed).toEqual([undefined, undefined, 3, 4])
    expect(later.replica.view.changesSince(3)).toEqual([bid(100, 4)])
  })

  test('no cursor names a version whose book a replica never had: an ended epoch’s last one, or one without a book', () => {
    const laterOnes = [
      stateOf(3, { hasBook: false, executionNumber: 1, executions: kept(3, 'a') }),
      { ...commitOf('AAAUSD', 1), epoch: 'e2', changes: [], executions: [] },
    ]
    for (const later of laterOnes) {
      const { bus, replica, commit } = follow()
      commit([bid(100, 1)])
      bus.publish({ type: 'status', market: 'AAAUSD', epoch: 'e1', version: 1, live: true, reason: '' })
      bus.publish(later)
      expect(replica.version).toBeGreaterThan(1)
      expect([replica.view.levels(), replica.epoch.id]).toEqual([[bid(100, 1)], 'e1'])
      expect(replica.state('', 0)).toMatchObject({ epoch: later.epoch, hasBook: false, levels: [] })
      const views = [replica.view, replica.openView(1), replica.attributed.open(1, replica.version, 1)]
      expect(views.map(({ version, changeVersion }) => [version, changeVersion])).toEqual(
        views.map(() => [replica.version, 1]),
      )
      const feed = new ViewFeed({ replica, view: replica.view, clock: new VirtualClock() })
      const cursors = new Cursors('AAAUSD', 'market_data', 2)
      const resumed = [1, 2, 3].map((version) => feed.resumable(cursors.token(replica.epoch, version)))
      expect(resumed).toEqual([1, undefined, undefined])
      const book = [bid(100, 3)]
      bus.publish({ ...stateOf(5, { levels: book, live: true, reason: '' }), epoch: 'e3' })
      expect([replica.view.levels(), replica.view.changeVersion]).toEqual([book, replica.version])
      expect(replica.state('', 0)).toMatchObject({ epoch: 'e3', version: 5, hasBook: true, levels: book })
    }
  })

  test('a withdrawn book is of an epoch of its own, and the next state starts over', () => {
    const { bus, replica, commit, status, seen } = follow()
    commit([bid(100, 1)], { executions: trades('a') })
    status(true, '')
    status(false, 'gone')
    bus.publish({ type: 'withdrawal', market: 'AAAUSD', milliseconds: 1_767_225_700_000, nanoseconds: 0 })
    expect(seen.at(-1)).toMatchObject({ startsOver: true, topChanged: true, executionCount: 0 })
    expect([replica.isWithdrawn, replica.view.levels(), replica.version]).toEqual([true, [], 2])
    expect(replica.epoch.id).toBe('e1 withdrawn 1767225700000')
    bus.publish(
      stateOf(2, { levels: [bid(100, 1)], executionNumber: 2, executions: kept(2, 'b'), live: true, reason: '' }),
    )
    expect(seen.at(-2)).toMatchObject({ startsOver: true, executionCount: 1 })
    expect([replica.isWithdrawn, replica.live, replica.version]).toEqual([false, true, 3])
    expect([replica.epoch, idsOf(replica)]).toEqual([{ id: 'e1', base: 1 }, ['a', 'b']])
  })

  test('a replica knows from a state that its book is withdrawn, until a later state has one', () => {
    const { bus, replica, commit, status } = follow()
    commit([bid(100, 1)])
    status(true, '')
    status(false, 'gone')
    bus.publish(stateOf(3, { levels: [], live: false, reason: 'gone', isWithdrawn: true }))
    expect([replica.isWithdrawn, replica.view.levels()]).toEqual([true, []])
    bus.publish(stateOf(4, { levels: [bid(101, 1)], live: false, reason: 'gone' }))
    expect([replica.isWithdrawn, replica.view.levels()]).toEqual([false, [bid(101, 1)]])
  })

  test('a replica does not call a removed listener, and follows nothing once stopped', () => {
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
