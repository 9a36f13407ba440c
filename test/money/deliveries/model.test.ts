/** The states of a delivery: each pair of state and event, against the table as it is documented. */
import { expect, it } from 'vitest'
import { DELIVERY_STATUSES, stepAfter } from '../../../src/money/deliveries/model.ts'

const EVENTS = ['claim', 'accept', 'settle', 'settle_unclaimed', 'settle_late', 'fail', 'give_up'] as const

const EXPECTED = {
  'WAITING claim': 'CLAIMED',
  'WAITING settle_unclaimed': 'SETTLED',
  'WAITING fail': 'FAILED',
  'WAITING give_up': 'NEEDS_OPERATOR',
  'CLAIMED claim': 'CLAIMED',
  'CLAIMED accept': 'SENT',
  'CLAIMED settle': 'SETTLED',
  'CLAIMED fail': 'FAILED',
  'CLAIMED give_up': 'NEEDS_OPERATOR',
  'SENT settle': 'SETTLED',
  'SENT fail': 'FAILED',
  'NEEDS_OPERATOR settle': 'SETTLED',
  'NEEDS_OPERATOR fail': 'FAILED',
  'FAILED settle_late': 'SETTLED',
}

it('the delivery model has these steps and no others', () => {
  const steps = DELIVERY_STATUSES.flatMap((status) =>
    EVENTS.flatMap((event) => {
      const after = stepAfter(status, event)
      return after === undefined ? [] : [[`${status} ${event}`, after]]
    }),
  )
  expect(Object.fromEntries(steps)).toEqual(EXPECTED)
})
