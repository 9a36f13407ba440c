import { describe, expect, it } from 'vitest'
import { base32, matchingStep, totpAddress } from '../../../src/access/operators/totp.ts'
import { codeOfStep } from './operator-node.ts'

const SECRET = Buffer.from('12345678901234567890')

describe('one-time codes', () => {
  // RFC 6238, appendix B, its codes of eight digits shortened to six.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('one-time codes are those of RFC 6238 at %d s', (seconds, code) => {
    const step = Math.floor(seconds / 30)
    expect([matchingStep(SECRET, code, seconds * 1000), codeOfStep(SECRET, step)]).toEqual([step, code])
  })

  it('one-time codes are accepted one step early or late, and no more', () => {
    const now = 1_234_567_890_000
    const current = Math.floor(now / 30_000)
    const accepted = [-2, -1, 0, 1, 2].map((offset) => matchingStep(SECRET, codeOfStep(SECRET, current + offset), now))
    expect(accepted).toEqual([undefined, current - 1, current, current + 1, undefined])
    for (const code of ['', '12345', '1234567', 'abcdef']) expect(matchingStep(SECRET, code, now)).toBeUndefined()
  })

  it('one-time codes have a secret in base32 (RFC 4648, section 10)', () => {
    const vectors = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((text) => base32(Buffer.from(text)))
    expect(vectors).toEqual(['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'])
    expect(totpAddress(SECRET, 'a@b')).toBe(
      'otpauth://totp/Tidegate:a%40b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Tidegate',
    )
  })
})
