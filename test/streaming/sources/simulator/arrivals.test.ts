import { describe, expect, it } from 'vitest'
import { type Arrival, createArrivals } from '../../../../src/streaming/sources/simulator/arrivals.ts'
import { createRandomStream } from '../../../../src/streaming/sources/simulator/random.ts'

const HOUR_SECONDS = 3600

function arrivalsOf(updatesPerSecond: number, seconds: number, seed = 1): Arrival[] {
  const next = createArrivals(updatesPerSecond, createRandomStream(seed, 'arrivals'))
  const arrivals: Arrival[] = []
  for (let arrival = next(); arrival.atMicroseconds < seconds * 1_000_000; arrival = next()) arrivals.push(arrival)
  return arrivals
}

describe('the schedule of a simulated market over a seeded hour', () => {
  it.each([2, 40, 500])(
    "a simulated market's schedule over a seeded hour has the mean rate, bursts of 50 times it, and quiet, at %d a second",
    (rate) => {
      const arrivals = arrivalsOf(rate, HOUR_SECONDS)
      const mean = rate / 10
      const windows = new Array<number>(HOUR_SECONDS * 10).fill(0)
      for (const { atMicroseconds } of arrivals) windows[Math.floor(atMicroseconds / 100_000)]!++
      const busiest = Math.max(...windows)
      const variance = windows.reduce((sum, count) => sum + (count - mean) ** 2, 0) / windows.length

      expect(arrivals.length / HOUR_SECONDS / rate).toBeGreaterThan(0.98)
      expect(arrivals.length / HOUR_SECONDS / rate).toBeLessThan(1.02)
      const minutes = new Array<number>(60).fill(0)
      for (const [index, count] of windows.entries()) minutes[Math.floor(index / 600)]! += count
      expect(Math.min(...minutes) / (60 * rate)).toBeGreaterThan(0.7)
      expect(Math.max(...minutes) / (60 * rate)).toBeLessThan(1.35)
      expect(busiest / mean).toBeGreaterThan(30)
      expect(busiest / mean).toBeLessThan(75)
      // A Poisson stream has a variance equal to its mean.
      expect(variance / mean).toBeGreaterThan(3)
      if (rate === 40) {
        // Poisson: e^-4 = 2 % of the windows empty; no silence of a second in an hour.
        expect(windows.filter((count) => count === 0).length / windows.length).toBeGreaterThan(0.4)
        let longest = 0
        arrivals.forEach(({ atMicroseconds }, index) => {
          longest = Math.max(longest, atMicroseconds - (arrivals[index - 1]?.atMicroseconds ?? 0))
        })
        expect(longest).toBeGreaterThan(1_000_000)
        expect(longest).toBeLessThan(5_000_000)
      }
    },
  )

  it("a simulated market's schedule never goes back and names clusters by their real size", () => {
    const arrivals = arrivalsOf(40, 600)
    const starts = arrivals.flatMap((arrival, index) => (arrival.startsCluster ? [index] : []))
    expect(
      arrivals.every((arrival, index) => index === 0 || arrival.atMicroseconds >= arrivals[index - 1]!.atMicroseconds),
    ).toBe(true)
    expect(starts.length).toBeGreaterThan(1000)
    starts.slice(0, -1).forEach((start, index) => {
      expect(starts[index + 1]! - start).toBe(arrivals[start]!.clusterSize)
    })
  })

  it("a simulated market's schedule follows from its random stream alone", () => {
    expect(arrivalsOf(40, 60, 7)).toEqual(arrivalsOf(40, 60, 7))
    expect(arrivalsOf(40, 60, 7)).not.toEqual(arrivalsOf(40, 60, 8))
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    "a simulated market's schedule refuses the rate %d",
    (rate) => {
      expect(() => createArrivals(rate, createRandomStream(1, 'rate'))).toThrow('rate must be positive')
    },
  )
})
