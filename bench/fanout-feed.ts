/**
 * The input for the fan-out benchmark: prepared commits for one market, published directly to the bus, each an UPDATE
 * with two levels near the best price. The bid's amount encodes the publishing time, so that a client can compute the
 * latency.
 */
import { ASK, BID, type LevelChange, type MarketDefinition } from '../src/streaming/market/event.ts'
import type { Bus } from '../src/streaming/sequencing/bus.ts'

const MID = 9_700_000
/** The price tick size. */
const GRID = 10
/** A change's mean distance from the best price in levels: two thirds are in the best ten. */
const MEAN_DISTANCE = 9
/** Keeps every timestamp at the same number of digits. The client takes the difference modulo this. */
const STAMP_MODULUS = 1_000_000_000_000

export function benchMarket(index: number): MarketDefinition {
  const baseAsset = `M${String(index).padStart(3, '0')}`
  return { symbol: `${baseAsset}USD`, baseAsset, quoteAsset: 'USD', priceDecimals: 2, amountDecimals: 8, depth: 0 }
}

/** A monotonic time as an amount with 13 digits. */
export function stamp(microseconds: number): number {
  return STAMP_MODULUS + (microseconds % STAMP_MODULUS)
}

export class Feed {
  readonly market: MarketDefinition
  readonly #bus: Bus
  readonly #slots: number
  readonly #random: () => number
  #version = 0
  #milliseconds = 0
  #lastStamp = 0

  /** `levels` in the whole book, half of them per side. */
  constructor(bus: Bus, index: number, levels: number) {
    this.market = benchMarket(index)
    this.#bus = bus
    this.#slots = levels / 2
    this.#random = createRandom(index + 1)
  }

  publishBook(): void {
    const slots = Array.from({ length: this.#slots }, (_, slot) => slot)
    this.#publish([
      ...slots.map((slot) => ({ side: BID, price: MID - (slot + 1) * GRID, amount: STAMP_MODULUS + slot }) as const),
      ...slots.map((slot) => ({ side: ASK, price: MID + (slot + 1) * GRID, amount: STAMP_MODULUS + slot }) as const),
    ])
    this.#bus.publish({
      type: 'status',
      market: this.market.symbol,
      epoch: 'bench',
      version: 1,
      live: true,
      reason: '',
    })
  }

  publishUpdate(eventMicroseconds: number): void {
    // Updates at the same time must still differ, because a commit changes levels.
    this.#lastStamp = Math.max(stamp(eventMicroseconds), this.#lastStamp + 1)
    this.#publish([
      { side: BID, price: MID - (this.#slot() + 1) * GRID, amount: this.#lastStamp },
      { side: ASK, price: MID + (this.#slot() + 1) * GRID, amount: this.#lastStamp },
    ])
  }

  #slot(): number {
    return Math.min(this.#slots - 1, Math.floor(-Math.log(1 - this.#random()) * MEAN_DISTANCE))
  }

  #publish(changes: readonly LevelChange[]): void {
    const now = Date.now()
    this.#version += 1
    this.#milliseconds = Math.max(now, this.#milliseconds + 1)
    this.#bus.publish({
      type: 'commit',
      market: this.market.symbol,
      epoch: 'bench',
      version: this.#version,
      milliseconds: this.#milliseconds,
      nanoseconds: 0,
      receivedMilliseconds: now,
      changes,
      executions: [],
      executionNumber: 0,
    })
  }
}

/** Mulberry32: small, seeded, sufficient to distribute changes. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
