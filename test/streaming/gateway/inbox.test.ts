import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { Inbox } from '../../../src/streaming/gateway/inbox.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function message(text: string) {
  return { data: Buffer.from(text), isBinary: false }
}

test('an empty inbox has nothing and costs no token', () => {
  const inbox = new Inbox(new VirtualClock(), 1, 1)
  expect(inbox.isEmpty).toBe(true)
  for (let count = 0; count < 10; count++) expect(inbox.take()).toBeUndefined()
  const one = message('one')
  inbox.put(one)
  expect(inbox.isEmpty).toBe(false)
  expect(inbox.take()).toBe(one)
})

test('messages come in order: a burst at once, then at the pace, with the wait named', () => {
  const clock = new VirtualClock()
  const inbox = new Inbox(clock, 4, 2)
  const messages = ['a', 'b', 'c', 'd'].map(message)
  for (const each of messages) inbox.put(each)
  expect(inbox.take()).toBe(messages[0])
  expect(inbox.take()).toBe(messages[1])
  expect(inbox.take()).toEqual({ waitMilliseconds: 250 })
  clock.advance(100)
  expect(inbox.take()).toEqual({ waitMilliseconds: 150 })
  clock.advance(150)
  expect(inbox.take()).toBe(messages[2])
  expect(inbox.take()).toEqual({ waitMilliseconds: 250 })
  clock.advance(250)
  expect(inbox.take()).toBe(messages[3])
})

test('an idle period fills the bucket up to the burst and no further', () => {
  const clock = new VirtualClock()
  const inbox = new Inbox(clock, 50, 3)
  for (let count = 0; count < 10; count++) inbox.put(message('x'))
  for (let count = 0; count < 3; count++) inbox.take()
  clock.advance(3_600_000)
  const taken = Array.from({ length: 5 }, () => inbox.take())
  expect(taken.filter((each) => each !== undefined && 'data' in each)).toHaveLength(3)
})

test('the entries of a message cost rate, which has to come back before the next, and no more than a burst is owed', () => {
  const clock = new VirtualClock()
  const inbox = new Inbox(clock, 50, 100)
  for (const text of ['a', 'b', 'c', 'd']) inbox.put(message(text))
  inbox.take()
  inbox.charge(20 * 50)
  // 79 of 100 are left.
  inbox.take()
  inbox.charge(78 * 50)
  expect(inbox.take()).toEqual({ waitMilliseconds: 20 })
  clock.advance(20)
  expect(inbox.take()).toEqual(message('c'))
  inbox.charge(1_000_000 * 50)
  expect(inbox.take()).toEqual({ waitMilliseconds: 2_020 })
})

test('ten thousand messages come out as they went in, in order', () => {
  const inbox = new Inbox(new VirtualClock(), 1, 1_000_000)
  const put: { data: Buffer; isBinary: boolean }[] = []
  const texts = Array.from({ length: 10_000 }, (_, index) => 'é'.repeat(index % 7) + index)
  for (let next = 0, round = 0; next < texts.length; round++) {
    for (let count = 0; count < 30 + (round % 40) && next < texts.length; count++) {
      const one = { data: Buffer.from(texts[next] as string), isBinary: next % 5 === 0 }
      put.push(one)
      inbox.put(one)
      next++
    }
    for (let count = 0; count < 25 && !inbox.isEmpty; count++) expect(inbox.take()).toEqual(put.shift())
  }
  while (!inbox.isEmpty) expect(inbox.take()).toEqual(put.shift())
  expect(put).toEqual([])
  expect(inbox.take()).toBeUndefined()
})

test('one read full of the shortest messages holds about a tenth of a megabyte', () => {
  const inboxes = Array.from({ length: 20 }, () => new Inbox(new VirtualClock(), 1, 1))
  const read = Buffer.alloc(65_536)
  const before = held()
  for (const inbox of inboxes) {
    // As the parser hands them over: views into the read.
    for (let at = 0; at + 7 <= read.length; at += 7) inbox.put({ data: read.subarray(at + 6, at + 7), isBinary: false })
  }
  expect((held() - before) / inboxes.length).toBeLessThan(200_000)
  expect(inboxes.some(({ isEmpty }) => isEmpty)).toBe(false)
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function held(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('a cleared inbox is empty', () => {
  const inbox = new Inbox(new VirtualClock(), 1, 1)
  inbox.put(message('x'))
  inbox.clear()
  expect(inbox.isEmpty).toBe(true)
})
