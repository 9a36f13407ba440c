/**
 * One simulated market's schedule, in simulated microseconds: clusters of events with quiet periods between them, as in
 * recorded feeds, unlike an even or a Poisson stream. It keeps the requested mean rate and never reads a clock.
 * Deterministic.
 */
import { assert } from '../../../platform/base/assert.ts'
import type { RandomStream } from './random.ts'

/** One event in the schedule. */
export interface Arrival {
  /** Since the market's start; never decreases. */
  readonly atMicroseconds: number
  /** Events in this event's cluster. */
  readonly clusterSize: number
  readonly startsCluster: boolean
}

/**
 * Recorded feeds reach 45 to 52 times their mean rate over 100 ms. Events inside a cluster arrive at this multiple of
 * the mean rate.
 */
const BURST_FACTOR = 50
/** The longest cluster: about 100 ms at the burst rate. */
const BURSTS_PER_SECOND = 10
/**
 * Out of 100 clusters that reach one octave of sizes, this many reach the next. With 50, every octave would have the
 * same share of events; slightly more favours the large ones.
 */
const NEXT_OCTAVE_PERCENT = 55
/**
 * Quiet periods become longer while the market is ahead of its mean rate and shorter while it is slower, by their own
 * length for each 10 s of events. Without this, a large cluster almost doubles the rate for a quarter of a minute.
 */
const BALANCE_SECONDS = 10
const QUIET_STRETCH_MIN = 0.5
const QUIET_STRETCH_MAX = 3

/** Creates one market's schedule with a mean of `updatesPerSecond` events per second. */
export function createArrivals(updatesPerSecond: number, random: RandomStream): () => Arrival {
  assert(Number.isFinite(updatesPerSecond) && updatesPerSecond > 0, `a rate must be positive, not ${updatesPerSecond}`)
  const octaves = sizeOctaves(Math.max(1, Math.floor((BURST_FACTOR * updatesPerSecond) / BURSTS_PER_SECOND)))
  const meanMicroseconds = 1_000_000 / updatesPerSecond
  const stepMicroseconds = Math.round(meanMicroseconds / BURST_FACTOR)
  const meanSize = meanOf(octaves)
  const quietMicroseconds = Math.round(meanSize * meanMicroseconds - (meanSize - 1) * stepMicroseconds)
  let atMicroseconds = 0
  let clusterSize = 0
  let left = 0
  let emitted = 0
  return () => {
    const startsCluster = left === 0
    if (startsCluster) {
      const aheadSeconds = emitted / updatesPerSecond - atMicroseconds / 1_000_000
      const stretch = Math.min(QUIET_STRETCH_MAX, Math.max(QUIET_STRETCH_MIN, 1 + aheadSeconds / BALANCE_SECONDS))
      atMicroseconds += drawQuiet(quietMicroseconds * stretch, random)
      clusterSize = drawSize(octaves, random)
      left = clusterSize
    } else {
      atMicroseconds += random.below(2 * stepMicroseconds + 1)
    }
    left--
    emitted++
    return { atMicroseconds, clusterSize, startsCluster }
  }
}

/** A range of cluster sizes, both ends included. */
interface Octave {
  readonly smallest: number
  readonly largest: number
}

/** The sizes 1 to `largest`, split into ranges. Each range ends at twice the size where the one before ends. */
function sizeOctaves(largest: number): readonly Octave[] {
  const octaves: Octave[] = []
  for (let end = largest; end >= 1; end >>>= 1) octaves.unshift({ smallest: (end >>> 1) + 1, largest: end })
  return octaves
}

function drawSize(octaves: readonly Octave[], random: RandomStream): number {
  let index = 0
  while (index < octaves.length - 1 && random.chance(NEXT_OCTAVE_PERCENT, 100)) index++
  const { smallest, largest } = octaves[index]!
  return smallest + random.below(largest - smallest + 1)
}

function meanOf(octaves: readonly Octave[]): number {
  let mean = 0
  let reach = 1
  octaves.forEach(({ smallest, largest }, index) => {
    const next = index === octaves.length - 1 ? 0 : (reach * NEXT_OCTAVE_PERCENT) / 100
    mean += ((reach - next) * (smallest + largest)) / 2
    reach = next
  })
  return mean
}

/**
 * The time between two clusters. Compared with an exponential distribution with the same mean, the product of three
 * uniform draws (mean 1/8) has more short and more long waits, and a maximum of eight means.
 */
function drawQuiet(meanMicroseconds: number, random: RandomStream): number {
  const parts = 1024
  const product = (1 + random.below(parts)) * (1 + random.below(parts)) * (1 + random.below(parts))
  return Math.round((8 * meanMicroseconds * product) / parts ** 3)
}
