/** What an executor's answer to a webhook means for the payment. */
import { describe, expect, it } from 'vitest'
import { outcomeOf } from '../../../src/money/deliveries/webhook-answer.ts'

describe('an answer', () => {
  const answered = (status: number, body: unknown) =>
    outcomeOf({ kind: 'answered', status, body: typeof body === 'string' ? body : JSON.stringify(body) })

  it('a webhook answer refuses with REFUSED in a success, and with nothing else', () => {
    const refusal = { status: 'REFUSED', code: 'closed_account', detail: 'gone' }
    expect(answered(200, refusal)).toEqual({ kind: 'refused', detail: 'closed_account: gone' })
    expect(answered(202, { status: 'REFUSED' }).kind).toBe('refused')
    for (const status of [199, 301, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503]) {
      expect(answered(status, refusal).kind, String(status)).toBe('unknown')
    }
  })

  it('a webhook answer settles with SETTLED and a reference', () => {
    expect(answered(200, { status: 'SETTLED', reference: 'r1' })).toEqual({ kind: 'settled', reference: 'r1' })
    for (const reference of [undefined, '', 7, 'x'.repeat(201), '\0', '\ud800']) {
      expect(answered(200, { status: 'SETTLED', reference }).kind).toBe('accepted')
    }
  })

  it('a webhook answer is an acceptance when it is any other success', () => {
    for (const body of [
      '',
      'ok',
      '[]',
      'null',
      '"REFUSED"',
      { status: 'refused' },
      { status: 'ACCEPTED' },
      { state: 1 },
    ]) {
      expect(answered(200, body).kind, JSON.stringify(body)).toBe('accepted')
    }
  })

  it('a webhook answer is shown without characters that cannot be stored', () => {
    const detail = `\0${'x'.repeat(600)}`
    expect(answered(200, { status: 'REFUSED', detail })).toEqual({
      kind: 'refused',
      detail: `\uFFFD${'x'.repeat(499)}`,
    })
  })

  it('a webhook answer that did not arrive is unknown', () => {
    expect(outcomeOf({ kind: 'failed', reason: 'cut' })).toEqual({ kind: 'unknown', detail: 'cut' })
  })
})
