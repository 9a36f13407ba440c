import { expect, it } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import { RecordedState } from '../../../src/streaming/recordings/recorded-state.ts'

it('the recorded state keeps the last book while it is lost, whatever updates follow', () => {
  const state = new RecordedState('not yet')
  expect(state.eventsByTick()).toEqual([[{ type: 'lost', reason: 'not yet' }]])
  const level = { side: 0, price: 100, amount: 1 } as const
  const change = { type: 'update', changes: [{ ...level, amount: 2 }], executions: [] } as const
  state.apply([change])
  expect(state.levels()).toEqual([])
  state.apply([{ type: 'snapshot', levels: [level] }, { type: 'lost', reason: 'gone' }, change])
  expect(state.eventsByTick()).toEqual([[{ type: 'snapshot', levels: [level] }], [{ type: 'lost', reason: 'gone' }]])
  state.apply([{ type: 'snapshot', levels: [level] }, change, { type: 'missed', reason: 'a number' }])
  expect(state.eventsByTick()).toEqual([[{ type: 'snapshot', levels: [{ ...level, amount: 2 }] }]])
})

it("the recorded state has the last commit's origin and the last instrument state, and its keyframe restores both", () => {
  const commit = (version: number) => ({ epoch: 'one', version, milliseconds: version, nanoseconds: 0 })
  const instrument = { state: 'HALTED', reason: 'volatility' } as const
  const state = new RecordedState('not yet')
  const follow = (version: number, facts: object) =>
    state.follow({ market: 0, atMilliseconds: version, events: [], commit: commit(version), ...facts })
  follow(1, { origin: 'run.7', instrument })
  follow(2, { origin: 'run.8' })
  const restored = new RecordedState('')
  for (const { content, ...facts } of state.keyframe()) {
    const events = content instanceof Book ? [] : content
    restored.follow({ market: 0, atMilliseconds: 3, events, ...facts })
  }
  for (const each of [state, restored]) expect([each.origin, each.instrument]).toEqual(['run.8', instrument])
  follow(3, { instrument: null })
  expect([state.origin, state.instrument]).toEqual([undefined, undefined])
})
