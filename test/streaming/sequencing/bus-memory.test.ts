import { expect, test } from 'vitest'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { commitOf, describeBus } from './bus-conformance.ts'

describeBus('the bus of one process', async () => ({
  bus: createMemoryBus(),
  settled: () => Promise.resolve(),
  close: () => Promise.resolve(),
}))

test('the bus in memory calls every listener with each message in order before publishing returns', () => {
  const bus = createMemoryBus()
  const seen: string[] = []
  bus.subscribe('AAAUSD', () => seen.push('first'))
  const end = bus.subscribe('AAAUSD', () => {
    seen.push('second')
    end()
  })
  bus.subscribe('AAAUSD', () => seen.push('third'))
  bus.publish(commitOf('AAAUSD', 1))
  expect(seen).toEqual(['first', 'second', 'third'])
  bus.publish(commitOf('AAAUSD', 2))
  expect(seen).toEqual(['first', 'second', 'third', 'first', 'third'])
})

test('an error thrown by a listener of the bus in memory is not swallowed', () => {
  const bus = createMemoryBus()
  bus.subscribe('AAAUSD', () => {
    throw new Error('a reader that broke')
  })
  expect(() => bus.publish(commitOf('AAAUSD', 1))).toThrow('a reader that broke')
})
