import { describe, expect, it } from 'vitest'
import {
  type ReviewStatus,
  replaceMembers,
  reviewAfter,
  SUMMARY_STATUSES,
  summaryStatus,
} from '../../../src/money/accounts/model.ts'

const account = (review_status: ReviewStatus, admin_disabled = false, user_disabled = false) => ({
  review_status,
  admin_disabled,
  user_disabled,
})

describe('the review of an account', () => {
  /** Every valid step; the test expects all others to be refused. */
  const STEPS: Record<ReviewStatus, readonly string[]> = {
    PENDING: ['PENDING', 'APPROVED', 'DENIED', 'ERROR'],
    APPROVED: ['APPROVED', 'ERROR'],
    ERROR: ['ERROR', 'APPROVED', 'DENIED'],
    DENIED: ['DENIED'],
  }

  for (const [from, allowed] of Object.entries(STEPS) as [ReviewStatus, readonly string[]][]) {
    it.each(SUMMARY_STATUSES)(`the review of an account in ${from} allows a step to %s`, (wanted) => {
      expect(reviewAfter(account(from), wanted)).toBe(allowed.includes(wanted) ? wanted : undefined)
    })

    it(`the review of an account in ${from} continues in the background while it is disabled`, () => {
      for (const wanted of SUMMARY_STATUSES) {
        const after = reviewAfter(account(from, true), wanted)
        expect(after).toBe(wanted === 'DISABLED' ? from : reviewAfter(account(from), wanted))
      }
    })
  }

  it('the shown status of an account is its review, unless one of the flags overrides it', () => {
    expect(summaryStatus(account('APPROVED'))).toBe('APPROVED')
    expect(summaryStatus(account('APPROVED', true))).toBe('DISABLED')
    expect(summaryStatus(account('DENIED', false, true))).toBe('DISABLED')
    expect(summaryStatus(account('ERROR', true, true))).toBe('DISABLED')
  })
})

it('members that remain keep their ids, whatever their roles are now', () => {
  let made = 0
  const newId = () => `new ${++made}`
  const first = replaceMembers(
    [],
    [
      { identity_id: 'a', roles: [] },
      { identity_id: 'b', roles: [] },
    ],
    newId,
  )
  expect(first.map(({ id }) => id)).toEqual(['new 1', 'new 2'])
  const second = replaceMembers(
    first,
    [
      { identity_id: 'c', roles: [] },
      { identity_id: 'b', roles: ['AUTHORIZED_USER'] },
    ],
    newId,
  )
  expect(second).toEqual([
    { id: 'new 3', identity_id: 'c', roles: [] },
    { id: 'new 2', identity_id: 'b', roles: ['AUTHORIZED_USER'] },
  ])
})
