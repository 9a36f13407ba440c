/** Time ranges as slices: each millisecond of a range is in exactly one slice, none outside it, and slices are few. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ChangeSlice, slicesAt, slicesOf } from '../../src/accounts/change-slices.ts'
import { propertySettings } from '../support/property.ts'

const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
const textOf = (milliseconds: number) => new Date(milliseconds).toISOString()
const nameOf = ({ level, slice }: ChangeSlice) => `${level}:${slice}`

const anyTime = fc.oneof(
  fc.integer({ min: EARLIEST, max: LATEST }),
  fc.integer({ min: Date.parse('2026-01-01T00:00:00Z'), max: Date.parse('2027-01-01T00:00:00Z') }),
  // Close to the boundaries of slices.
  fc
    .tuple(fc.nat(8), fc.integer({ min: -2, max: 5 }), fc.integer({ min: -2, max: 2 }))
    .map(([level, slice, beside]) => Math.max(EARLIEST, slice * 32 ** level + beside)),
)

function countOf(slices: readonly ChangeSlice[], time: number): number {
  const names = new Set(slicesAt(textOf(time)).map(nameOf))
  return slices.filter((slice) => names.has(nameOf(slice))).length
}

describe('time slices', () => {
  it('cover a range exactly: they have the same total length, and each is inside it', () => {
    fc.assert(
      fc.property(anyTime, anyTime, (one, other) => {
        const [from, until] = [Math.min(one, other), Math.max(one, other)]
        const slices = slicesOf({ from: textOf(from), until: textOf(until), isEmpty: false })
        const parts = slices
          .map(({ level, slice }) => ({ first: slice * 32 ** level, last: (slice + 1) * 32 ** level - 1 }))
          .sort((left, right) => left.first - right.first)
        // End to end, from one end of the range to the other: without overlap, gap or excess.
        let next = from
        for (const { first, last } of parts) {
          expect(first).toBe(next)
          next = last + 1
        }
        expect(next).toBe(until + 1)
        expect(slices.length).toBeLessThanOrEqual(568)
      }),
      propertySettings(300),
    )
  })

  it('contain a time exactly once if it is in the range, also with open ends', () => {
    fc.assert(
      fc.property(
        fc.option(anyTime, { nil: undefined }),
        fc.option(anyTime, { nil: undefined }),
        anyTime,
        (one, other, time) => {
          const isTurned = one !== undefined && other !== undefined && one > other
          const [from, until] = isTurned ? [other, one] : [one, other]
          const slices = slicesOf({
            ...(from === undefined ? {} : { from: textOf(from) }),
            ...(until === undefined ? {} : { until: textOf(until) }),
            isEmpty: false,
          })
          const times = [time, EARLIEST, LATEST]
          for (const end of [from, until]) if (end !== undefined) times.push(end - 1, end, end + 1)
          for (const at of times.filter((at) => at >= EARLIEST && at <= LATEST)) {
            const isIn = at >= (from ?? EARLIEST) && at <= (until ?? LATEST)
            expect(countOf(slices, at), textOf(at)).toBe(isIn ? 1 : 0)
          }
          if (from === undefined || until === undefined) expect(slices.length).toBeLessThanOrEqual(289)
        },
      ),
      propertySettings(300),
    )
  })

  it('are one for a millisecond, ten for all time and none for an empty range', () => {
    const time = '2026-11-20T12:00:00.001Z'
    expect(slicesOf({ from: time, until: time, isEmpty: false })).toEqual([{ level: 0, slice: Date.parse(time) }])
    expect(slicesOf({ isEmpty: false })).toHaveLength(10)
    expect(slicesOf({ from: time, isEmpty: true })).toEqual([])
  })

  it('are as many as documented in the worst case', () => {
    const top = 32 ** 9
    // At each level 31 of 32 slices are used: at one end all but the first, at the other all but the last.
    const from = textOf(1 - top)
    const until = textOf(7 * top - 2)
    const lowest = slicesOf({ from, isEmpty: false })
    const highest = slicesOf({ until, isEmpty: false })
    const both = slicesOf({ from, until, isEmpty: false })
    expect([lowest.length, highest.length, both.length]).toEqual([31 * 9 + 8, 31 * 9 + 8, 62 * 9 + 6])
  })
})
