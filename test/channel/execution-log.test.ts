import { expect, test } from 'vitest'
import { ExecutionLog } from '../../src/channel/execution-log.ts'
import { textFrame } from '../../src/channel/frame.ts'
import { testMarket } from '../support/stream-simulation.ts'
import { commitOf } from './bus-conformance.ts'

function logWith(kept: number): { log: ExecutionLog; append: (count: number, milliseconds?: number) => void } {
  const log = new ExecutionLog(testMarket('AAAUSD', 0), kept)
  let next = 1
  return {
    log,
    append(count, milliseconds = 0) {
      const executions = Array.from({ length: count }, () => ({ price: 100, amount: next++ }))
      log.append({ ...commitOf('AAAUSD', 1), milliseconds, executions })
    },
  }
}

function text(number: number, time = '1970-01-01T00:00:00.000Z'): string {
  const amount = (number / 10_000).toFixed(4)
  return `{"channel":"execution_data","payload":{"market":"AAAUSD","price":"1.00","amount":"${amount}","executed_at":"${time}"}}`
}

test('numbers rise from 1 without gaps; the oldest fall out', () => {
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

test('each number gives its own execution, over many rounds of the ring', () => {
  const { log, append } = logWith(7)
  for (let round = 0; round < 30; round++) {
    append((round % 4) + 1)
    for (let number = log.firstNumber; number <= log.lastNumber; number++) {
      expect(log.frame(number)).toEqual(textFrame(text(number)))
    }
  }
})

test('a frame is made once, with the commit time where the source gives none', () => {
  const { log, append } = logWith(3)
  append(1, 86_400_001)
  append(1, 86_400_002)
  expect(log.frame(1)).toEqual(textFrame(text(1, '1970-01-02T00:00:00.001Z')))
  expect(log.frame(2)).toEqual(textFrame(text(2, '1970-01-02T00:00:00.002Z')))
  expect(log.frame(1)).toBe(log.frame(1))
})
