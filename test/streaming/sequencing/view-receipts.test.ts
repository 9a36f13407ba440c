/** One view's receipts: when one is made, what its hashes are of, where its windows begin and end, and which are kept. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { ASK, BID, type Execution, type LevelChange } from '../../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Cursors } from '../../../src/streaming/sequencing/cursor.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { ViewReceipts } from '../../../src/streaming/sequencing/view-receipts.ts'
import { newReceiptIssuer, partsOf, signerOf } from '../../support/receipts.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const EPOCH = 'epoch-1'
const level = (side: typeof BID | typeof ASK, price: number, amount: number): LevelChange => ({ side, price, amount })
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

function start({ depth = 5, executionsKept = 10 } = {}) {
  const clock = new VirtualClock()
  const bus = createMemoryBus()
  const market = testMarket('AAAUSD', depth)
  const replica = new Replica({ market, bus, executionsKept })
  const { view } = replica
  const cursors = new Cursors('AAAUSD', 'market_data', depth)
  const signer = signerOf(newReceiptIssuer())(clock)
  const levels = () => view.levels()
  const receipts = new ViewReceipts({ signer, replica, view, cursors, levels, levelOf: (each) => each })
  replica.listen({
    onCommit: ({ changes, startsOver }) => receipts.note(changes, startsOver),
    onStatus: () => undefined,
  })
  let version = 0
  let executionNumber = 0
  const commit = (changes: readonly LevelChange[], executions: readonly Execution[] = [], more: object = {}) => {
    version += 1
    executionNumber += executions.length
    const instant = { milliseconds: version, nanoseconds: 7 }
    const common = {
      type: 'commit',
      market: 'AAAUSD',
      epoch: EPOCH,
      version,
      executionNumber,
      receivedMilliseconds: version,
    } as const
    bus.publish({ ...common, ...instant, changes, executions, ...more })
  }
  commit([level(BID, 100, 10), level(ASK, 200, 20)], [], { beginsBook: true })
  bus.publish({ type: 'status', market: 'AAAUSD', epoch: EPOCH, version: 1, live: true, reason: '' })
  receipts.begin()
  return {
    receipts,
    commit,
    /** A whole book two versions later, in place of commits that the link has lost. */
    repair(levels: readonly LevelChange[]) {
      version += 2
      const instant = { milliseconds: version, nanoseconds: 7, receivedMilliseconds: version }
      const book = { levels, hasBook: true, isWithdrawn: false, live: true, reason: '' }
      const common = {
        type: 'state',
        market: 'AAAUSD',
        epoch: EPOCH,
        version,
        executionNumber,
        executions: [],
      } as const
      bus.publish({ ...common, ...instant, ...book })
    },
    /** What a process does by itself that hears nothing of the market's sequencer for too long. */
    withdrawHere: () =>
      bus.publish({ type: 'withdrawal', market: 'AAAUSD', milliseconds: version + 1, nanoseconds: 0 }),
    /** Ends a second, and returns the claims of the receipts since version 0. */
    second(number: number, isFinished = true) {
      receipts.endSecond(number, { milliseconds: view.changeVersion, nanoseconds: 7 }, true)
      if (isFinished) while (receipts.isWorking) receipts.work()
      return receipts.since(0, [0, replica.version]).map(({ text }) => partsOf(text).payload as Record<string, never>)
    },
    cursor: (at: number) => cursors.token({ id: EPOCH, base: 0 }, at),
    executionCursor: (at: number) => new Cursors('AAAUSD', 'execution_data', 0).token({ id: EPOCH, base: 0 }, at),
  }
}

test('a receipt hashes the whole view, its UPDATEs and its executions as records of netstrings', () => {
  const { commit, second, cursor, executionCursor } = start()
  commit([level(BID, 99, 5)])
  const trade = { price: 150, amount: 3, id: 'trade-é', side: 'buy', venue: 'kraken' } as const
  commit([level(ASK, 200, 0), level(ASK, 201, 1)], [trade, { price: 151, amount: 4 }])
  const [claims] = second(1)
  const [first, last] = [executionCursor(1), executionCursor(2)]
  const time = '1970-01-01T00:00:00.003Z'
  expect(claims).toEqual({
    iss: 'https://service.test',
    market: 'AAAUSD',
    depth: 5,
    price_decimals: 2,
    amount_decimals: 4,
    cursor: cursor(3),
    time: '1970-01-01T00:00:00.003000007Z',
    book: sha256('1:b,4:1.00,6:0.0010,1:b,4:0.99,6:0.0005,1:a,4:2.01,6:0.0001,'),
    updates: {
      after: cursor(1),
      count: 2,
      sha256: sha256(
        `1:u,10:${cursor(2)},24:1970-01-01T00:00:00.002Z,1:b,4:0.99,6:0.0005,` +
          `1:u,10:${cursor(3)},24:${time},1:a,4:2.00,1:0,1:a,4:2.01,6:0.0001,`,
      ),
    },
    executions: {
      after: executionCursor(0),
      count: 2,
      sha256: sha256(
        `1:e,10:${first},24:${time},8:trade-é,3:buy,6:kraken,4:1.50,6:0.0003,` +
          `1:e,10:${last},24:${time},10:${last},0:,0:,4:1.51,6:0.0004,`,
      ),
    },
    origin: expect.stringMatching(/^[\w-]{8}\.12$/),
  })
})

test('a receipt’s windows begin where the one before it ended, and no receipt is made while nothing changes', () => {
  const { commit, second, cursor, executionCursor } = start()
  expect(second(1)).toHaveLength(1)
  expect(second(2)).toHaveLength(1)
  commit([level(BID, 99, 5)])
  expect(second(3)).toHaveLength(2)
  commit([], [{ price: 150, amount: 3 }])
  const [one, two, three] = second(4) as [Record<string, never>, Record<string, never>, Record<string, never>]
  const empty = sha256('')
  expect([one.cursor, two.cursor, three.cursor]).toEqual([cursor(1), cursor(2), cursor(2)])
  expect([one.updates, two.updates, three.updates]).toMatchObject([
    { after: cursor(1), count: 0, sha256: empty },
    { after: cursor(1), count: 1 },
    { after: cursor(2), count: 0, sha256: empty },
  ])
  expect([two.executions, three.executions]).toMatchObject([
    { after: executionCursor(0), count: 0, sha256: empty },
    { after: executionCursor(0), count: 1 },
  ])
  expect(three.book).toBe(two.book)
  commit([], [{ price: 150, amount: 4 }])
  expect(second(5).at(-1)?.executions).toMatchObject({ after: executionCursor(1), count: 1 })
})

test('an unfinished receipt is about its own second, and the next one begins only after it', () => {
  const { receipts, commit, second, cursor } = start()
  second(1, false)
  commit([level(BID, 99, 5)])
  expect(second(2, false)).toEqual([])
  while (receipts.isWorking) receipts.work()
  const [one, two] = second(3) as [Record<string, never>, Record<string, never>]
  expect(one).toMatchObject({ cursor: cursor(1), book: sha256('1:b,4:1.00,6:0.0010,1:a,4:2.00,6:0.0020,') })
  expect(two).toMatchObject({ cursor: cursor(2), updates: { after: cursor(1), count: 1 } })
})

test.each([
  [100, 1],
  [101, 10],
  [0, 10],
])('a view with the depth %i gets a receipt every %i seconds at most', (depth, seconds) => {
  const { commit, second } = start({ depth })
  let before = 0
  const made: number[] = []
  for (let number = 1; number <= 30; number++) {
    commit([level(BID, 99, number)])
    const last = second(number).at(-1)?.cursor as unknown as string
    if (Number(last?.split('.')[1]) !== before) made.push(number)
    before = Number(last?.split('.')[1])
  }
  expect(made.slice(1).every((number, index) => number - (made[index] as number) >= (index === 0 ? 1 : seconds))).toBe(
    true,
  )
  expect(made.length).toBe(seconds === 1 ? 30 : 4)
})

test('the windows begin again with a book that starts over, and with executions that were missed or not kept', () => {
  const { commit, second, cursor, executionCursor } = start({ executionsKept: 2 })
  const trade = { price: 150, amount: 3 }
  second(1)
  commit([level(BID, 99, 5)], [trade])
  commit([], [], { book: [level(BID, 98, 1)] })
  commit([level(BID, 97, 1)], [trade, trade, trade])
  const [, restarted] = second(2)
  expect(restarted).toMatchObject({
    updates: { after: cursor(3), count: 1 },
    executions: { after: executionCursor(2), count: 2 },
  })
  commit([level(BID, 96, 1)], [trade], { missedAt: 1 })
  commit([], [trade])
  const [, , missed] = second(3)
  expect(missed).toMatchObject({ executions: { after: executionCursor(6), count: 1 } })
})

test.each([
  ['changes the view', [level(BID, 100, 10), level(BID, 98, 7), level(ASK, 200, 20)], 4, 2],
  ['leaves the view as it was', [level(BID, 100, 10), level(BID, 99, 5), level(ASK, 200, 20)], 5, 1],
] as const)(
  'no window includes a repair that %s, whose commits other processes may have sent',
  (_how, levels, after, count) => {
    const { commit, repair, second, cursor } = start()
    commit([level(BID, 99, 5)])
    repair(levels)
    commit([level(BID, 99, 6)])
    commit([level(BID, 99, 7)])
    const [claims] = second(1)
    expect([claims?.cursor, claims?.updates]).toMatchObject([cursor(6), { after: cursor(after), count }])
  },
)

test('the last eight receipts are kept, and those of later or earlier books are not given to a client that holds another one', () => {
  const { receipts, commit, second } = start()
  for (let number = 1; number <= 10; number++) {
    commit([level(BID, 99, number)])
    second(number)
  }
  const versions = receipts.since(0, [0, 100]).map(({ version }) => version)
  expect(versions).toEqual([4, 5, 6, 7, 8, 9, 10, 11])
  expect(receipts.since(6, [0, 8]).map(({ version }) => version)).toEqual([6, 7, 8])
  expect(receipts.since(0, [7, 8]).map(({ version }) => version)).toEqual([7, 8])
})

test('receipts end a minute after the last subscriber has left, and begin again with the next one', () => {
  const { receipts, commit } = start()
  const endSecond = (number: number) => {
    receipts.endSecond(number, { milliseconds: 1, nanoseconds: 0 }, false)
    while (receipts.isWorking) receipts.work()
  }
  for (let number = 1; number <= 60; number++) endSecond(number)
  expect(receipts.isActive).toBe(true)
  endSecond(61)
  expect(receipts.isActive).toBe(false)
  const before = receipts.since(0, [0, 100]).length
  commit([level(BID, 99, 5)])
  endSecond(62)
  expect(receipts.since(0, [0, 100])).toHaveLength(before)
  receipts.begin()
  expect(receipts.isActive).toBe(true)
})

test('a book that this process withdrew by itself has no receipt, because no recording has its epoch', () => {
  const { commit, second, cursor, withdrawHere } = start()
  commit([level(BID, 99, 5)])
  second(1)
  withdrawHere()
  expect(second(2).map((claims) => claims.cursor)).toEqual([cursor(2)])
  commit([], [], { beginsBook: true, book: [level(BID, 98, 5)] })
  expect(second(3)).toMatchObject([{ cursor: cursor(2) }, { cursor: cursor(3), updates: { count: 0 } }])
})
