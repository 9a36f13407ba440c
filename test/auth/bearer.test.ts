import { describe, expect, it } from 'vitest'
import { bearerTokenOf } from '../../src/auth/bearer.ts'

describe('the token of an Authorization header', () => {
  it.each([
    ['Bearer abc.def', 'abc.def'],
    ['bearer   abc  ', 'abc'],
    [`Bearer ${'x'.repeat(16_384)}`, 'x'.repeat(16_384)],
  ])('is found in %s', (header, token) => {
    expect(bearerTokenOf(header)).toBe(token)
  })

  it.each(['', 'Bearer', 'Bearer ', 'Bearer a b', 'Basic abc', 'Bearer \u00e9', `Bearer ${'x'.repeat(17_000)}`])(
    'is not found in %s',
    (header) => {
      expect(bearerTokenOf(header)).toBeUndefined()
    },
  )

  it('costs next to nothing to miss in a header of a megabyte', () => {
    const headers = [
      `Bearer ${'x'.repeat(1_000_000)}`,
      `Bearer ${' '.repeat(1_000_000)}`,
      `Bearer x${' '.repeat(999_999)}!`,
    ]
    const before = process.cpuUsage()
    for (let count = 0; count < 1_000; count++) for (const header of headers) bearerTokenOf(header)
    const { user, system } = process.cpuUsage(before)
    // Reading them takes more than three seconds.
    expect((user + system) / 1_000).toBeLessThan(300)
  })
})
