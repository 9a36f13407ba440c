/** How many things happened a second, over the last two seconds. Pure: the caller says what time it is. */

const BUCKET_MILLISECONDS = 100
const BUCKETS = 20
/** A first message alone is not ten a second: at least this much time counts. */
const BUCKETS_MIN = 10

export class RateMeter {
  readonly #counts = new Array<number>(BUCKETS).fill(0)
  #bucket: number | undefined
  #firstBucket = 0

  count(nowMilliseconds: number): void {
    this.#turn(nowMilliseconds)
    const index = (this.#bucket ?? 0) % BUCKETS
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  perSecond(nowMilliseconds: number): number {
    this.#turn(nowMilliseconds)
    const sum = this.#counts.reduce((total, count) => total + count, 0)
    const buckets = Math.min(BUCKETS, Math.max(BUCKETS_MIN, (this.#bucket ?? 0) - this.#firstBucket + 1))
    return Math.round((sum * 1000) / (buckets * BUCKET_MILLISECONDS))
  }

  /** Empties the buckets that time has passed over. */
  #turn(nowMilliseconds: number): void {
    const bucket = Math.floor(nowMilliseconds / BUCKET_MILLISECONDS)
    if (this.#bucket === undefined) this.#firstBucket = this.#bucket = bucket
    const passed = Math.min(BUCKETS, bucket - this.#bucket)
    for (let step = 1; step <= passed; step++) this.#counts[(this.#bucket + step) % BUCKETS] = 0
    this.#bucket = bucket
  }
}
