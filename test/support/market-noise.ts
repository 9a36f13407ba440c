/** Random but plausible market data for simulations: a book that is never crossed after a complete message. */
import { ASK, BID, type Execution, type LevelChange, type MarketEvent } from '../../src/market/event.ts'
import type { Random } from './random.ts'

export interface NoiseOptions {
  /** The approximate number of levels per side. */
  readonly levels: number
  /** The maximum number of levels changed by one message. */
  readonly changesMax: number
}

export class MarketNoise {
  readonly #random: Random
  readonly #options: NoiseOptions
  #middle = 100_000
  #nextAmount = 1
  #prices: [Set<number>, Set<number>] = [new Set(), new Set()]

  constructor(random: Random, options: NoiseOptions) {
    this.#random = random
    this.#options = options
  }

  snapshot(): MarketEvent {
    this.#prices = [new Set(), new Set()]
    this.#middle += this.#random.integer(201) - 100
    const levels: LevelChange[] = []
    for (let rank = 1; rank <= this.#options.levels; rank++) {
      if (this.#random.chance(0.9)) levels.push(this.#set(BID, this.#middle - rank))
      if (this.#random.chance(0.9)) levels.push(this.#set(ASK, this.#middle + rank))
    }
    return { type: 'snapshot', levels }
  }

  update(): MarketEvent {
    const changes: LevelChange[] = []
    if (this.#random.chance(0.1)) changes.push(...this.#moveMiddle())
    for (let count = this.#random.integer(this.#options.changesMax) + 1; count > 0; count--)
      changes.push(this.#change())
    const executions: Execution[] = []
    while (this.#random.chance(0.3)) executions.push({ price: this.#middle, amount: this.#nextAmount++ })
    return { type: 'update', changes, executions }
  }

  #change(): LevelChange {
    const side = this.#random.chance(0.5) ? BID : ASK
    // Squared: most changes are near the top.
    const distance = 1 + Math.floor(this.#random.next() ** 2 * this.#options.levels * 1.2)
    const price = side === BID ? this.#middle - distance : this.#middle + distance
    return this.#random.chance(0.35) ? this.#remove(side, price) : this.#set(side, price)
  }

  #moveMiddle(): LevelChange[] {
    this.#middle += this.#random.integer(11) - 5
    const crossing: LevelChange[] = []
    for (const price of this.#prices[BID]) if (price >= this.#middle) crossing.push(this.#remove(BID, price))
    for (const price of this.#prices[ASK]) if (price <= this.#middle) crossing.push(this.#remove(ASK, price))
    return crossing
  }

  #set(side: typeof BID | typeof ASK, price: number): LevelChange {
    this.#prices[side].add(price)
    return { side, price, amount: this.#random.chance(0.2) ? 7 : this.#nextAmount++ }
  }

  #remove(side: typeof BID | typeof ASK, price: number): LevelChange {
    this.#prices[side].delete(price)
    return { side, price, amount: 0 }
  }
}
