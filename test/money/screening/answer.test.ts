/** What a hook's answer decides. */
import { expect, it } from 'vitest'
import { answerOf } from '../../../src/money/screening/answer.ts'

const answered = (status: number, body: unknown) => {
  const { kind, ...rest } = answerOf({ kind: 'answered', status, body: JSON.stringify(body) }, 'q')
  return kind === 'decided' ? rest : kind
}
const ALLOW = { id: 'q', decision: 'ALLOW' }
const ALLOWED = { decision: 'ALLOW', reason: null }

it.each<[string, number, unknown, unknown]>([
  ['199', 199, ALLOW, 'unanswered'],
  ['200', 200, ALLOW, ALLOWED],
  ['299', 299, ALLOW, ALLOWED],
  ['300', 300, ALLOW, 'unanswered'],
  ['another id', 202, { ...ALLOW, id: 'Q' }, 'unanswered'],
  ['a decision in lower case', 202, { ...ALLOW, decision: 'allow' }, 'unanswered'],
  ['a list', 202, [ALLOW], 'unanswered'],
  ['an empty reason', 202, { ...ALLOW, reason: '' }, ALLOWED],
  ['a reason that is no text', 202, { ...ALLOW, reason: 7 }, ALLOWED],
  ['a reason', 202, { ...ALLOW, decision: 'REJECT', reason: 'listed' }, { decision: 'REJECT', reason: 'listed' }],
  [
    'a reason that cannot be stored',
    202,
    { ...ALLOW, reason: `\0\ud800${'x'.repeat(497)}😀` },
    { decision: 'ALLOW', reason: `\uFFFD\uFFFD${'x'.repeat(497)}\uFFFD` },
  ],
])('a screening answer with %s decides what it says, or nothing', (_what, status, body, expected) => {
  expect(answered(status, body)).toEqual(expected)
})
