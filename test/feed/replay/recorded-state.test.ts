import { expect, it } from 'vitest'
import { RecordedState } from '../../../src/feed/replay/recorded-state.ts'

it('keeps the last book while it is lost, whatever updates follow', () => {
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
