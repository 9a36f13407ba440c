/**
 * `toEqual` for the inner loops of simulations and properties: a call of `expect` costs many times as much as comparing
 * two small values, so it is made for unequal ones only, and reports them.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

export function expectEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected)
}
