/** Which limit stops a movement, and when it opens. */
import { expect, it } from 'vitest'
import { exceededLimit, type HourlyUse, type Limit, useOf } from '../../../src/money/limits/model.ts'

const day = (scope: Limit['scope'], amount: bigint): Limit => ({ scope, asset: 'USDC', window: 'day', amount })
const [CUSTOMER, DESTINATION] = [day('customer', 100n), day('destination', 100n)]
const MOVEMENT: Limit = { ...CUSTOMER, window: 'movement', amount: 50n }
/** Not in the order of the hours. */
const USE: HourlyUse = new Map([
  [7, 30n],
  [5, 20n],
  [6, 50n],
])
const LATER: HourlyUse = new Map([[9, 100n]])

it.each<[string, bigint, readonly Limit[], Partial<Record<Limit['scope'], HourlyUse>>, object | undefined]>([
  ['equal to what is left', 50n, [CUSTOMER], { customer: new Map([[5, 50n]]) }, undefined],
  ['equal to the first release', 20n, [CUSTOMER], { customer: USE }, { limit: CUSTOMER, opensAt: 30 }],
  ['above the first release', 21n, [CUSTOMER], { customer: USE }, { limit: CUSTOMER, opensAt: 31 }],
  ['equal to the whole limit', 100n, [CUSTOMER], { customer: USE }, { limit: CUSTOMER, opensAt: 32 }],
  ['above the whole limit', 101n, [CUSTOMER], { customer: USE }, { limit: CUSTOMER, opensAt: undefined }],
  ['equal to the limit of a movement', 50n, [MOVEMENT], { customer: USE }, undefined],
  [
    'above the limit of a movement',
    51n,
    [CUSTOMER, MOVEMENT],
    { customer: USE },
    { limit: MOVEMENT, opensAt: undefined },
  ],
  [
    'above two, the second opening last',
    10n,
    [CUSTOMER, DESTINATION],
    { customer: USE, destination: LATER },
    { limit: DESTINATION, opensAt: 34 },
  ],
  [
    'above two, the first opening last',
    10n,
    [CUSTOMER, DESTINATION],
    { customer: LATER, destination: USE },
    { limit: CUSTOMER, opensAt: 34 },
  ],
])(
  'a movement that is %s is stopped by the right limit until the right hour',
  (_what, amount, limits, use, expected) => {
    const exceeded = exceededLimit(amount, limits, (scope) => use[scope] ?? new Map())
    if (expected === undefined) expect(exceeded).toBeUndefined()
    else expect(exceeded).toMatchObject(expected)
  },
)

it('a limit that was lowered below its use has nothing left, and shows its next release', () => {
  expect(useOf({ ...CUSTOMER, amount: 60n }, USE)).toEqual({ used: 100n, available: 0n, nextRelease: 30 })
})
