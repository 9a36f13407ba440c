import { describe, expect, it } from 'vitest'
import { readBearerToken } from '../../../src/platform/http/bearer.ts'
import { Problem } from '../../../src/platform/http/problem.ts'

/** Code and challenge of the refusal. */
function refusal(header: string | undefined): readonly unknown[] {
  const read = readBearerToken(header)
  return read instanceof Problem ? [read.status, read.code, read.extras.headers?.['WWW-Authenticate']] : ['accepted']
}

describe('the token of an Authorization header', () => {
  it.each([
    ['Bearer abc.def', 'abc.def'],
    ['bearer   abc  ', 'abc'],
    [`Bearer ${'x'.repeat(16_384)}`, 'x'.repeat(16_384)],
  ])("an Authorization header's token is read from %s", (header, token) => {
    expect(readBearerToken(header)).toBe(token)
  })

  it.each([undefined, '', 'Basic abc', 'token', 'BearerX'])(
    "an Authorization header's token is required where the header is %s",
    (header) => {
      expect(refusal(header)).toEqual([401, 'unauthorized', 'Bearer'])
    },
  )

  it.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer \u00e9', `Bearer ${'x'.repeat(17_000)}`])(
    "an Authorization header's token is not valid in %s",
    (header) => {
      expect(refusal(header)).toEqual([401, 'invalid_token', 'Bearer error="invalid_token"'])
    },
  )

  it("an Authorization header's token costs next to nothing to reject in a header of a megabyte", () => {
    const headers = [
      `Bearer ${'x'.repeat(1_000_000)}`,
      `Bearer ${' '.repeat(1_000_000)}`,
      `Bearer x${' '.repeat(999_999)}!`,
    ]
    const before = process.cpuUsage()
    for (let count = 0; count < 1_000; count++) for (const header of headers) readBearerToken(header)
    const { user, system } = process.cpuUsage(before)
    // Scanning them takes more than three seconds.
    expect((user + system) / 1_000).toBeLessThan(300)
  })
})
