/**
 * A bucket per key, for a bounded number of keys. Beyond it the least recently used bucket is dropped: it is the first
 * to be full, and a full bucket is the same as a new one. It interprets no key.
 */

export interface Bucket {
  /** Milliseconds until it is as new, or 0 when it is. */
  readonly fullInMilliseconds: number
}

export interface KeyLimits {
  readonly keysMax: number
  /**
   * Keys per holder. Its further keys share one bucket, so invented keys bring no new buckets, and one holder cannot
   * displace other holders' buckets.
   */
  readonly keysPerHolderMax?: number
}

/** Full buckets dropped before a new one is made, which releases a flood's memory: at most 0.1 ms. */
const DROPPED_AT_ONCE_MAX = 1_000

export class KeyedBuckets<B extends Bucket> {
  readonly #newBucket: () => B
  readonly #limits: KeyLimits
  /** By key, the least recently used first. */
  readonly #entries = new Map<string, { readonly bucket: B; readonly holder: string }>()
  /** The number of keys by holder, where that is limited. */
  readonly #holders = new Map<string, number>()

  constructor(newBucket: () => B, limits: KeyLimits) {
    this.#newBucket = newBucket
    this.#limits = limits
  }

  /** The number of buckets kept. */
  get size(): number {
    return this.#entries.size
  }

  get(key: string): B | undefined {
    return this.#entries.get(key)?.bucket
  }

  /** The key's bucket, a new one if there is none, as the most recently used. */
  use(key: string, holder = ''): B {
    const present = this.#entries.get(key)
    if (present !== undefined) return this.#moveToEnd(key, present)
    this.#drop()
    const { keysPerHolderMax } = this.#limits
    const count = this.#holders.get(holder) ?? 0
    // The bucket shared by further keys has the holder as its key, and counts as one of its keys.
    const place = keysPerHolderMax === undefined || count < keysPerHolderMax - 1 ? key : holder
    const shared = this.#entries.get(place)
    if (shared !== undefined) return this.#moveToEnd(place, shared)
    if (keysPerHolderMax !== undefined) this.#holders.set(holder, count + 1)
    return this.#moveToEnd(place, { bucket: this.#newBucket(), holder })
  }

  #moveToEnd(key: string, entry: { readonly bucket: B; readonly holder: string }): B {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.bucket
  }

  #drop(): void {
    let dropped = 0
    for (const [key, { bucket, holder }] of this.#entries) {
      const isFull = bucket.fullInMilliseconds === 0
      if (dropped === DROPPED_AT_ONCE_MAX || (!isFull && this.#entries.size < this.#limits.keysMax)) return
      this.#entries.delete(key)
      dropped++
      const left = (this.#holders.get(holder) ?? 0) - 1
      if (left > 0) this.#holders.set(holder, left)
      else this.#holders.delete(holder)
    }
  }
}
