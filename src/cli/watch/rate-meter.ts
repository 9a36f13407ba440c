/** Counts events per second, over the last two seconds. The caller passes the time. Pure. */

const BUCKET_MILLISECONDS = 100
const BUCKETS = 20
/** The rate is computed over at least this time, so a first message is not a high rate. */
const BUCKETS_MIN = 10

export class RateMeter {
  readonly #counts = new Array<number>(BUCKETS).fill(0)
  #bucket: number | undefined
  #firstBucket = 0

  count(nowMilliseconds: number): void {
    this.#advance(nowMilliseconds)
    const index = (this.#bucket ?? 0) % BUCKETS
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  perSecond(nowMilliseconds: number): number {
    this.#advance(nowMilliseconds)
    const sum = this.#counts.reduce((total, count) => total + count, 0)
    const buckets = Math.min(BUCKETS, Math.max(BUCKETS_MIN, (this.#bucket ?? 0) - this.#firstBucket + 1))
    return Math.round((sum * 1000) / (buckets * BUCKET_MILLISECONDS))
  }

  /** Clears the buckets whose time has passed. */
  #advance(nowMilliseconds: number): void {
    const bucket = Math.floor(nowMilliseconds / BUCKET_MILLISECONDS)
    if (this.#bucket === undefined) this.#firstBucket = this.#bucket = bucket
    const passed = Math.min(BUCKETS, bucket - this.#bucket)
    for (let step = 1; step <= passed; step++) this.#counts[(this.#bucket + step) % BUCKETS] = 0
    this.#bucket = bucket
  }
}
