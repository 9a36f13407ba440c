import { describe, expect, it } from 'vitest'
import { createRandomStream } from '../../../../src/streaming/sources/simulator/random.ts'

function draws(seed: number, name: string, limit: number, count: number): number[] {
  const random = createRandomStream(seed, name)
  return Array.from({ length: count }, () => random.below(limit))
}

describe('the seeded random stream', () => {
  it('the seeded random stream gives the same integers for the same seed and name, on every machine', () => {
    expect(draws(1, 'BTCUSD/traders', 1_000_000, 6)).toEqual(draws(1, 'BTCUSD/traders', 1_000_000, 6))
    expect(draws(1, 'BTCUSD/traders', 1_000_000, 6)).toMatchInlineSnapshot(`
      [
        213555,
        181926,
        671970,
        606530,
        759367,
        678461,
      ]
    `)
  })

  it('the seeded random stream gives other integers for another seed or another name', () => {
    const first = draws(1, 'a', 2 ** 32, 20)
    for (const other of [draws(2, 'a', 2 ** 32, 20), draws(1, 'b', 2 ** 32, 20), draws(11, 'a', 2 ** 32, 20)]) {
      expect(other.filter((value, index) => value === first[index])).toEqual([])
    }
  })

  it.each([1, 2, 7, 100, 2 ** 32, 2 ** 40, Number.MAX_SAFE_INTEGER])(
    'the seeded random stream stays below %d and fills the range',
    (limit) => {
      const values = draws(3, 'range', limit, 20_000)
      expect(values.every((value) => Number.isInteger(value) && value >= 0 && value < limit)).toBe(true)
      // Each tenth of the range gets a tenth of the draws: 2000, with a standard deviation of 42.
      if (limit < 100) return
      const tenths = new Array<number>(10).fill(0)
      for (const value of values) tenths[Math.floor((value / limit) * 10)]!++
      expect(Math.min(...tenths)).toBeGreaterThan(1750)
      expect(Math.max(...tenths)).toBeLessThan(2250)
    },
  )

  it('the seeded random stream hits a chance as often as its probability', () => {
    const random = createRandomStream(4, 'chance')
    let hits = 0
    for (let index = 0; index < 30_000; index++) if (random.chance(1, 3)) hits++
    expect(Math.abs(hits - 10_000)).toBeLessThan(400)
  })

  it.each([0, -1, 1.5, 2 ** 53])('the seeded random stream refuses the limit %d', (limit) => {
    expect(() => createRandomStream(1, 'limit').below(limit)).toThrow('positive integer')
  })
})
