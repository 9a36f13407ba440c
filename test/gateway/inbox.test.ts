import { expect, test } from 'vitest'
import { Inbox } from '../../src/gateway/inbox.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

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

test('rest fills the bucket up to the burst and no further', () => {
  const clock = new VirtualClock()
  const inbox = new Inbox(clock, 50, 3)
  for (let count = 0; count < 10; count++) inbox.put(message('x'))
  for (let count = 0; count < 3; count++) inbox.take()
  clock.advance(3_600_000)
  const taken = Array.from({ length: 5 }, () => inbox.take())
  expect(taken.filter((each) => each !== undefined && 'data' in each)).toHaveLength(3)
})

test('cleared, it is empty', () => {
  const inbox = new Inbox(new VirtualClock(), 1, 1)
  inbox.put(message('x'))
  inbox.clear()
  expect(inbox.isEmpty).toBe(true)
})
