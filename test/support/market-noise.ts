/** Random but plausible market data for simulations: a book that is never crossed after a complete message. */
import {
  ASK,
  type Attribution,
  BID,
  type Execution,
  type LevelChange,
  type LevelVenues,
  type MarketEvent,
  type VenueShare,
} from '../../src/streaming/market/event.ts'
import { Random } from './random.ts'

export interface NoiseOptions {
  /** The approximate number of levels per side. */
  readonly levels: number
  /** The maximum number of levels changed by one message. */
  readonly changesMax: number
  /** Present where events name venues: one for every level, or two that divide each level. */
  readonly venues?: 'one' | 'two'
}

const VENUES_SEED = 4_711

export class MarketNoise {
  readonly #random: Random
  readonly #options: NoiseOptions
  #middle = 100_000
  #nextAmount = 1
  #prices: [Set<number>, Set<number>] = [new Set(), new Set()]
  /** Its own generator, so that a seed's books are the same with venues and without. */
  readonly #division = new Random(VENUES_SEED)
  /** With two venues: their shares of each level, by side and price. */
  readonly #shares = new Map<string, LevelVenues>()

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
    this.#shares.clear()
    const attribution = this.#attribute(levels, 'all')
    return { type: 'snapshot', levels, ...(attribution === undefined ? {} : { attribution }) }
  }

  update(): MarketEvent {
    const changes: LevelChange[] = []
    if (this.#random.chance(0.1)) changes.push(...this.#moveMiddle())
    for (let count = this.#random.integer(this.#options.changesMax) + 1; count > 0; count--)
      changes.push(this.#change())
    const executions: Execution[] = []
    while (this.#random.chance(0.3)) executions.push({ price: this.#middle, amount: this.#nextAmount++ })
    const attribution = this.#attribute(changes, 'some')
    return { type: 'update', changes, executions, ...(attribution === undefined ? {} : { attribution }) }
  }

  /** An event's statement about venues. Besides its levels it sometimes has one that keeps its amount. */
  #attribute(levels: readonly LevelChange[], type: 'all' | 'some'): Attribution | undefined {
    if (this.#options.venues === undefined) return undefined
    if (this.#options.venues === 'one') return type === 'all' ? { type: 'only', venue: 'one' } : undefined
    const attributed = levels.map(({ side, price, amount }) => ({ side, price, venues: this.#divide(Number(amount)) }))
    const known = [...this.#shares.values()]
    const other = known.length > 0 && this.#division.chance(0.3) ? this.#division.pick(known) : undefined
    for (const level of attributed) this.#shares.set(`${level.side} ${level.price}`, level)
    if (other !== undefined && type === 'some') {
      const now = this.#shares.get(`${other.side} ${other.price}`) as LevelVenues
      const amount = now.venues.reduce((sum, [, part]) => sum + Number(part), 0)
      attributed.push({ ...now, venues: this.#divide(amount) })
    }
    for (const level of attributed) this.#shares.set(`${level.side} ${level.price}`, level)
    // Where a price changed twice in one message, the last change counts.
    const byPrice = new Map(attributed.map((level) => [`${level.side} ${level.price}`, level]))
    return { type, levels: [...byPrice.values()] }
  }

  #divide(amount: number): VenueShare[] {
    const first = this.#division.integer(amount + 1)
    const shares: VenueShare[] = [
      ['one', first],
      ['two', amount - first],
    ]
    return shares.filter(([, part]) => part !== 0)
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
