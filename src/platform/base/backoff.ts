/**
 * Backoff with jitter: the delay before the next attempt after consecutive failures. Delays use the limits' unit. Pure.
 */

export interface BackoffLimits {
  /** Delay after the first failure, before jitter. */
  readonly first: number
  /** Longest delay, before jitter. */
  readonly longest: number
}

/** Range for the random factor. The upper limit is excluded. */
export type Jitter = readonly [least: number, most: number]

/** Doubling this often exceeds every limit in use. The result stays a finite number. */
const DOUBLINGS_MAX = 30

/**
 * Delay after consecutive failures: `first` after one, doubled after each further one, at most `longest`.
 * @param failures 1 or more
 */
export function backoff({ first, longest }: BackoffLimits, failures: number): number {
  return Math.min(longest, first * 2 ** Math.min(failures - 1, DOUBLINGS_MAX))
}

/**
 * The same delay multiplied by a random factor, so clients with a common failure do not return together.
 * @param random a number in [0, 1)
 */
export function jitteredBackoff(
  limits: BackoffLimits,
  [least, most]: Jitter,
  failures: number,
  random: () => number,
): number {
  return backoff(limits, failures) * (least + (most - least) * random())
}
