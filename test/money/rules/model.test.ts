import { describe, expect, it } from 'vitest'
import { RULE_STATUSES, type RuleStatus, stepTo } from '../../../src/money/rules/model.ts'

describe('the status of a rule', () => {
  const steps: readonly (readonly [RuleStatus, readonly RuleStatus[]])[] = [
    ['PENDING', ['ACTIVE', 'REJECTED', 'DELETED']],
    ['ACTIVE', ['DELETED']],
    ['REJECTED', []],
    ['DELETED', []],
  ]

  it.each(steps)("a rule's status has the documented steps from %s", (present, next) => {
    for (const wanted of RULE_STATUSES) {
      const expected = wanted === present ? 'unchanged' : next.includes(wanted) ? 'step' : 'impossible'
      expect(stepTo(present, wanted), wanted).toBe(expected)
    }
  })
})
