import { expect, it } from 'vitest'
import { nearest } from '../../../src/platform/base/nearest.ts'

it('the nearest word is found, and none when no word is near', () => {
  const keys = ['http.port', 'http.host', 'operator.port']
  expect(nearest('http.prt', keys)).toBe('http.port')
  expect(nearest('HTTP.PORT', keys)).toBe('http.port')
  expect(nearest('htp.hosts', keys)).toBe('http.host')
  expect(nearest('zebra', keys)).toBeUndefined()
  expect(nearest('ab', ['abcd', 'abcde'])).toBe('abcd')
  expect(nearest('', [])).toBeUndefined()
})
