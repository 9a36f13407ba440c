import { expect, test } from 'vitest'
import type { Continuation, MarketState } from '../../../src/streaming/sequencing/bus.ts'
import { ExecutionLog } from '../../../src/streaming/sequencing/execution-log.ts'
import { BASE, EXTENDED, textFrame } from '../../../src/streaming/sequencing/frame.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { commitOf } from './bus-conformance.ts'

interface LogWith {
  readonly log: ExecutionLog
  readonly append: (count: number, milliseconds?: number) => void
  /** Appends a commit with a miss at this place of its executions. */
  readonly miss: (count: number, missedAt: number) => void
}

/** An execution has its number as its amount, misses counted. */
function logWith(kept: number): LogWith {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), kept)
  let next = 1
  return {
    log,
    append(count, milliseconds = 0) {
      const executions = Array.from({ length: count }, () => ({ price: 100, amount: next++ }))
      log.append({ ...commitOf('AAAUSD', 1), milliseconds, executions }, 1)
    },
    miss(count, missedAt) {
      const amountAt = (place: number) => next + place + (place < missedAt ? 0 : 1)
      const executions = Array.from({ length: count }, (_, place) => ({ price: 100, amount: amountAt(place) }))
      log.append({ ...commitOf('AAAUSD', 1), milliseconds: 0, executions, missedAt }, 1)
      next += count + 1
    },
  }
}

function text(number: number, time = '1970-01-01T00:00:00.000Z'): string {
  const amount = (number / 10_000).toFixed(4)
  return `{"channel":"execution_data","payload":{"market":"AAAUSD","price":"1.00","amount":"${amount}","executed_at":"${time}"}}`
}

test('execution numbers rise from 1 without gaps, and the oldest are dropped', () => {
  const { log, append } = logWith(5)
  expect([log.firstNumber, log.lastNumber]).toEqual([1, 0])
  append(3)
  expect([log.firstNumber, log.lastNumber]).toEqual([1, 3])
  append(0)
  append(2)
  expect([log.firstNumber, log.lastNumber]).toEqual([1, 5])
  append(1)
  expect([log.firstNumber, log.lastNumber]).toEqual([2, 6])
  append(7)
  expect([log.firstNumber, log.lastNumber]).toEqual([9, 13])
})

test('each execution number gives its own execution, over many rounds of the ring', () => {
  const { log, append } = logWith(7)
  for (let round = 0; round < 30; round++) {
    append((round % 4) + 1)
    for (let number = log.firstNumber; number <= log.lastNumber; number++) {
      expect(log.frame(number, BASE, false)).toEqual(textFrame(text(number)))
    }
  }
})

test('the frame of an execution is encoded once, with the commit time where the source gives none', () => {
  const { log, append } = logWith(3)
  append(1, 86_400_001)
  append(1, 86_400_002)
  expect(log.frame(1, BASE, false)).toEqual(textFrame(text(1, '1970-01-02T00:00:00.001Z')))
  expect(log.frame(2, BASE, false)).toEqual(textFrame(text(2, '1970-01-02T00:00:00.002Z')))
  expect(log.frame(1, BASE, false)).toBe(log.frame(1, BASE, false))
})

test('a miss takes a number wherever it is among the executions of a commit, and everything before it is dropped', () => {
  for (const missedAt of [0, 1, 2, 3]) {
    const { log, append, miss } = logWith(10)
    append(4)
    expect(log.missNumber).toBe(0)
    miss(3, missedAt)
    expect([log.missNumber, log.firstNumber, log.lastNumber]).toEqual([5 + missedAt, 6 + missedAt, 8])
    append(1)
    for (let number = log.firstNumber; number <= 9; number++)
      expect(log.frame(number, BASE, false)).toEqual(textFrame(text(number)))
  }
})

test('a miss is dropped like an execution, and may come alone', () => {
  const { log, append, miss } = logWith(3)
  miss(0, 0)
  expect([log.missNumber, log.firstNumber, log.lastNumber]).toEqual([1, 2, 1])
  append(2)
  expect([log.firstNumber, log.lastNumber]).toEqual([2, 3])
  append(2)
  expect([log.missNumber, log.firstNumber, log.lastNumber]).toEqual([1, 3, 5])
  for (const number of [3, 4, 5]) expect(log.frame(number, BASE, false)).toEqual(textFrame(text(number)))
})

test('a cursor from before a miss cannot be resumed, but one after it can', () => {
  const { log, append, miss } = logWith(10)
  append(3)
  const cursorOf = (number: number) =>
    (JSON.parse(log.frame(number, EXTENDED, true).subarray(4).toString()) as { stream: { cursor: string } }).stream
      .cursor
  const before = cursorOf(3)
  expect(log.resumable(before)).toBe(3)
  miss(2, 0)
  expect(log.resumable(before)).toBeUndefined()
  expect(log.resumable(cursorOf(5))).toBe(5)
})

test('a kept frame of an execution keeps only its own memory', () => {
  const { log, append } = logWith(5)
  append(1)
  for (const frame of [log.frame(1, BASE, false), log.frame(1, EXTENDED, false)]) {
    expect(frame.buffer.byteLength).toBe(frame.length)
  }
})

/** A log with executions of three epochs, each of which continues the one before; ids are those of the venue. */
function continuedLog(lastContinues: Partial<Continuation> = {}): ExecutionLog {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), 100)
  const append = (epoch: string, ids: readonly string[], continues?: Continuation) =>
    log.append(
      {
        ...commitOf('AAAUSD', 1),
        epoch,
        executions: ids.map((id) => ({ price: 100, amount: 1, id, venue: 'kraken' })),
        ...(continues === undefined ? {} : { continues }),
      },
      1,
    )
  append('a', ['1', '2'])
  append('b', ['3'], { epoch: 'a', executionNumber: 2 })
  append('c', ['4', '5'], { epoch: 'b', executionNumber: 1, ...lastContinues })
  return log
}

const cursorsOf = (log: ExecutionLog, number: number) => {
  const frame = log.frame(number, EXTENDED, false)
  const { cursor, prev } = JSON.parse(frame.subarray(frame.indexOf('{')).toString()).stream
  return [prev, cursor]
}

test('an epoch that continues another exactly is joined: its cursors follow those of the one before', () => {
  const log = continuedLog()
  expect([log.firstNumber, log.lastNumber, log.missNumber]).toEqual([1, 5, 0])
  const chain = [1, 2, 3, 4, 5].map((number) => cursorsOf(log, number))
  for (let place = 1; place < chain.length; place++) expect(chain[place]?.[0]).toBe(chain[place - 1]?.[1])
  expect(chain.map(([, cursor]) => log.resumable(cursor))).toEqual([1, 2, 3, 4, 5])
  expect(log.lastOf('kraken', 3).map(({ id }) => id)).toEqual(['3', '4', '5'])
  expect(log.lastOf('okx', 3)).toEqual([])
})

test('a cursor behind the end at which an epoch was continued names nothing, because its executions are not known here', () => {
  const log = continuedLog()
  const [, cursor = ''] = cursorsOf(log, 2)
  expect([log.resumable(cursor), log.numberOf(cursor)]).toEqual([2, 2])
  const behind = cursor.replace(/2$/, '3')
  expect([log.resumable(behind), log.numberOf(behind)]).toEqual([undefined, undefined])
})

test.each([{ executionNumber: 0 }, { executionNumber: 2 }, { epoch: 'a' }])(
  'an epoch that continues another position (%j) begins with a miss',
  (continues) => {
    const log = continuedLog(continues)
    expect([log.firstNumber, log.lastNumber, log.missNumber]).toEqual([5, 6, 4])
    expect(log.resumable(cursorsOf(log, 5)[1])).toBe(5)
  },
)

test('an execution keeps its identifier when a later epoch does not continue its own', () => {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), 100)
  const executions = [{ price: 100, amount: 1 }]
  const ids: string[] = []
  for (const epoch of ['a', 'b', 'c']) {
    log.append({ ...commitOf('AAAUSD', 1), epoch, executions }, 1)
    ids.push(log.idOf(log.lastNumber))
  }
  expect([1, 3, 5].map((number) => log.idOf(number))).toEqual(ids)
})

test('an execution keeps its identifier when a later epoch is followed from a higher number on', () => {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), 100)
  const execution = { price: 100, amount: 1 }
  log.append({ ...commitOf('AAAUSD', 1), epoch: 'a', executions: [execution] }, 1)
  const id = log.idOf(1)
  const executions = [{ execution, version: 8, commitMilliseconds: 90 }]
  const state = { epoch: 'b', version: 9, milliseconds: 99, executionNumber: 20, executions }
  log.continueFrom(state as unknown as MarketState, 9)
  expect([log.idOf(1), log.idOf(log.lastNumber).split('.')[1]]).toEqual([id, '20'])
})

test('the executions within an epoch and before it are those of the log, and none when some are not kept', () => {
  const log = continuedLog()
  const idsOf = (entries: ReturnType<ExecutionLog['since']>) => entries.map(({ execution }) => execution.id)
  expect([0, 1, 2].map((number) => idsOf(log.since(number)))).toEqual([['4', '5'], ['5'], []])
  expect([0, 1, 3, 4].map((count) => idsOf(log.beforeEpoch(count)))).toEqual([[], ['3'], ['1', '2', '3'], []])
})

test('a cursor is resumed exactly when every execution after it is kept', () => {
  const { log, append } = logWith(5)
  append(1)
  const [, first = ''] = cursorsOf(log, 1)
  append(5)
  expect(log.firstNumber).toBe(2)
  expect(log.resumable(first)).toBe(1)
  append(1)
  expect(log.resumable(first)).toBeUndefined()
})

test('the number at a version is that of the last execution by then, and unknown once a later one is dropped or missed', () => {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), 3)
  const append = (version: number, count: number, missedAt?: number) => {
    const executions = Array.from({ length: count }, () => ({ price: 100, amount: 1 }))
    log.append({ ...commitOf('AAAUSD', version), executions, ...(missedAt === undefined ? {} : { missedAt }) }, version)
  }
  const numbers = (...versions: number[]) => versions.map((version) => log.numberAt(version))
  append(1, 2)
  append(3, 1)
  expect(numbers(0, 1, 2, 3, 9)).toEqual([0, 2, 2, 3, 3])
  append(4, 1)
  expect(numbers(0, 1, 3, 4)).toEqual([undefined, 2, 3, 4])
  append(5, 2)
  expect(numbers(2, 3, 4, 5)).toEqual([undefined, 3, 4, 6])
  append(6, 0, 0)
  expect(numbers(5, 6)).toEqual([undefined, 7])
  append(7, 1)
  expect(numbers(5, 6, 7)).toEqual([undefined, 7, 8])
})

test('every execution committed after the newest dropped or missed one is kept', () => {
  const { log, append } = logWith(2)
  const commit = commitOf('AAAUSD', 1)
  append(1, 10)
  append(1, 20)
  expect(log.droppedMilliseconds).toBe(0)
  append(1, 30)
  expect(log.droppedMilliseconds).toBe(10)
  log.append({ ...commit, milliseconds: 40, executions: [], missedAt: 0 }, 1)
  append(1, 50)
  append(1, 60)
  expect(log.droppedMilliseconds).toBe(40)
  append(1, 70)
  expect(log.droppedMilliseconds).toBe(50)
  const executions = [{ execution: { price: 100, amount: 1 }, version: 8, commitMilliseconds: 90 }]
  const state = { epoch: commit.epoch, version: 9, milliseconds: 99, executionNumber: 20, executions }
  log.continueFrom(state as unknown as MarketState, 9)
  expect([log.firstNumber, log.droppedMilliseconds]).toEqual([20, 90])
})
