/**
 * One simulated market's traders: makers quote around a drifting fair price, takers send market orders, and others take
 * quotes that the fair price has moved away from. It owns the matching book. Every `step` is one decision and always
 * changes the book. Everything follows from the random stream. All values are integers, so no fraction becomes a price
 * or an amount.
 *
 * As in recorded feeds, most changes are near the best prices. The resting orders are limited: every price range holds
 * a fixed number, and orders far from the current price are cancelled.
 */
import { assert } from '../../../platform/base/assert.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../../market/event.ts'
import type { Arrival } from './arrivals.ts'
import { MatchingBook, type Trade } from './matching.ts'
import type { RandomStream } from './random.ts'

/** One decision's effect. */
export interface Step {
  readonly trades: readonly Trade[]
  readonly changes: readonly LevelChange[]
}

/** Starting prices, in whole units of the quote asset. */
const START_PRICES: Readonly<Record<string, number>> = { BTC: 60_000, ETH: 3_000, SOL: 150 }
const START_PRICE_OTHERS = 100
/** Up to this many fraction digits, prices and summed amounts stay safe integers. */
const DECIMALS_MAX = 8
/** The tick is chosen so that the starting price has at most this many ticks. */
const START_TICKS_MAX = 10_000_000
/** Distance between quotes as a part of the price (30 cents at 60,000). Most are on this grid, some between. */
const GRID_PARTS = 200_000
/** Makers quote this many grid cells deep. */
const GRID_CELLS = 640
/** Orders in a full grid cell: it can only lose orders, an empty one only gain (see `#adjust`). */
const CELL_ORDERS_MAX = 2
/** Beyond this many levels per side the worst are cancelled: they remain from earlier prices. */
const LEVELS_MAX = 1_200
/** An average order's value, in whole units of the quote asset. */
const ORDER_VALUE = 8_000

/** The fair price is kept in this fraction of a tick, so that coarse markets drift too. */
const FAIR_PARTS = 65_536
/**
 * Each event moves it by up to 1/150,000 over the rate's root, so a typical move per second is the same at any rate.
 */
const WANDER_PARTS = 150_000
/** Clusters from this size begin with a jump, up to 1/20,000, and have a trend. */
const SHOCK_SIZE = 16
const SHOCK_PARTS = 20_000
/**
 * Once per simulated minute the fair price moves this part of its distance back towards the start: half in about 6
 * hours.
 */
const REVERSION_PARTS = 512
/** Largest distance from the start, as a part of the starting price. */
const RANGE_PARTS = 5

/** Decisions in percent, tuned so that a seeded hour has the same figures as recorded feeds (see the test). */
const TAKE_PERCENT = 4
const TAKE_IN_BURST_PERCENT = 5
const REPLACE_PERCENT = 25
const NEAR_PERCENT = 70
/** Near is within this many grid cells from the fair price. */
const NEAR_CELLS = 15
const SWEEP_LEVELS_MAX = 6
/** Takers do not trade against a side with fewer levels. */
const LEVELS_MIN = 4 * SWEEP_LEVELS_MAX

/** One step in the price grid on one side, between two prices, both included. `worst` is the price on the grid. */
interface Cell {
  readonly side: Side
  readonly best: number
  readonly worst: number
}

export class Traders {
  readonly book = new MatchingBook()
  readonly #random: RandomStream
  readonly #tick: number
  readonly #startTicks: number
  readonly #gridTicks: number
  readonly #averageAmount: number
  readonly #wander: number
  readonly #reversionEvents: number
  /** In fractions of a tick, and in whole ticks. */
  #fair: number
  #fairTicks: number
  #eventsToReversion: number
  #trend: Side = BID

  /** Opens the market: the book is full when the constructor returns. */
  constructor(market: MarketDefinition, updatesPerSecond: number, random: RandomStream) {
    assertDecimals(market)
    const startPrice = START_PRICES[market.baseAsset] ?? START_PRICE_OTHERS
    const start = startPrice * 10 ** market.priceDecimals
    let tick = 1
    while (start / tick > START_TICKS_MAX) tick *= 10
    this.#random = random
    this.#tick = tick
    this.#startTicks = start / tick
    this.#gridTicks = Math.max(1, quotient(this.#startTicks, GRID_PARTS))
    this.#averageAmount = Math.max(16, quotient(ORDER_VALUE * 10 ** market.amountDecimals, startPrice))
    this.#fair = this.#startTicks * FAIR_PARTS
    this.#fairTicks = this.#startTicks
    this.#wander = quotient(this.#fair, WANDER_PARTS * Math.max(1, Math.floor(Math.sqrt(updatesPerSecond))))
    this.#reversionEvents = Math.max(1, Math.floor(updatesPerSecond * 60))
    this.#eventsToReversion = this.#reversionEvents
    for (const side of [BID, ASK] as const) {
      for (let steps = 0; steps < this.#cellCount(side); steps++) this.#quote(this.#cell(side, steps))
    }
  }

  /** The price at which the market started. */
  get startPrice(): number {
    return this.#startTicks * this.#tick
  }

  /** The first trades after an auction, at one price: all orders at the best ask are taken. */
  open(): Step {
    const best = this.book.levelAt(ASK, 0)
    return best === undefined ? { trades: [], changes: [] } : this.book.placeMarket(BID, best.total)
  }

  /** One trader's decision. */
  step(arrival: Arrival): Step {
    const random = this.#random
    const inBurst = arrival.clusterSize >= SHOCK_SIZE
    this.#moveFairPrice(arrival.startsCluster && inBurst)
    const stale = this.#staleSide()
    if (stale !== undefined && random.chance(1, 3)) return this.#pickOff(stale)
    const side = random.below(2) as Side
    const roll = random.below(100)
    const takeBelow = inBurst ? TAKE_IN_BURST_PERCENT : TAKE_PERCENT
    if (roll < takeBelow) return this.#take(inBurst && random.chance(1, 2) ? this.#trend : side)
    if (roll < takeBelow + REPLACE_PERCENT) return this.#replace(side)
    return this.#adjust(side)
  }

  #moveFairPrice(shock: boolean): void {
    const random = this.#random
    const start = this.#startTicks * FAIR_PARTS
    let fair = this.#fair + random.below(2 * this.#wander + 1) - this.#wander
    if (shock) {
      this.#trend = random.below(2) as Side
      const jump = random.below(quotient(start, SHOCK_PARTS) + 1)
      fair += this.#trend === BID ? jump : -jump
    }
    if (--this.#eventsToReversion === 0) {
      this.#eventsToReversion = this.#reversionEvents
      fair += quotient(start - fair, REVERSION_PARTS)
    }
    const reach = quotient(start, RANGE_PARTS)
    this.#fair = Math.min(start + reach, Math.max(start - reach, fair))
    this.#fairTicks = quotient(this.#fair, FAIR_PARTS)
  }

  /** The side whose best quote is beyond the fair price. Bids belong at or below it, asks above. */
  #staleSide(): Side | undefined {
    const fairPrice = this.#fairTicks * this.#tick
    const bid = this.book.levelAt(BID, 0)
    const ask = this.book.levelAt(ASK, 0)
    if (ask !== undefined && ask.price <= fairPrice) return ASK
    if (bid !== undefined && bid.price > fairPrice) return BID
    return undefined
  }

  /** Takes up to a few stale levels, with a limit at the fair price. Sometimes the order's remainder stays there. */
  #pickOff(staleSide: Side): Step {
    const side = other(staleSide)
    const price = (this.#fairTicks + (staleSide === ASK ? 0 : 1)) * this.#tick
    const stays = this.#random.chance(1, 4) && this.#population(this.#cell(side, 0)) < CELL_ORDERS_MAX
    let amount = stays ? this.#drawAmount() : 0
    for (let rank = 0; rank < SWEEP_LEVELS_MAX; rank++) {
      const level = this.book.levelAt(staleSide, rank)
      if (level === undefined || (side === BID ? level.price > price : level.price < price)) break
      amount += level.total
    }
    return this.book.placeLimit(side, price, amount)
  }

  /** A market order: usually for a part of the best level, sometimes for all of it or for several levels. */
  #take(side: Side): Step {
    const makers = other(side)
    if (this.book.levelCount(makers) < LEVELS_MIN) return this.#quote(this.#drawCell(makers))
    const random = this.#random
    const roll = random.below(10)
    const wholeLevels = roll < 6 ? 0 : roll < 9 ? 1 : 2 + random.below(SWEEP_LEVELS_MAX - 2)
    let amount = 0
    for (let rank = 0; rank < wholeLevels; rank++) amount += this.book.levelAt(makers, rank)!.total
    if (wholeLevels !== 1) amount += 1 + random.below(this.book.levelAt(makers, wholeLevels)!.total)
    return this.book.placeMarket(side, amount)
  }

  /** A maker moves one quote: one event, two level changes. */
  #replace(side: Side): Step {
    const from = this.#drawCell(side)
    const to = this.#drawCell(side)
    const population = this.#population(from)
    if (population === 0) return this.#quote(from)
    const cancelled = this.#cancel(from, population)
    if (this.#population(to) >= CELL_ORDERS_MAX) return cancelled
    const placed = this.#quote(to)
    const price = placed.changes[0]!.price
    return { trades: [], changes: [...cancelled.changes.filter((change) => change.price !== price), ...placed.changes] }
  }

  /**
   * Adds or removes a quote in one cell, with a probability that grows with the cell's distance from half full. So
   * every part of the book keeps its depth wherever the price goes, and no part grows without limit.
   */
  #adjust(side: Side): Step {
    const levelCount = this.book.levelCount(side)
    if (levelCount > LEVELS_MAX) return this.book.cancel(this.book.levelAt(side, levelCount - 1)!.newest.id)!
    const cell = this.#drawCell(side)
    const population = this.#population(cell)
    return this.#random.below(CELL_ORDERS_MAX) >= population ? this.#quote(cell) : this.#cancel(cell, population)
  }

  /** Cancels one order in the cell. */
  #cancel(cell: Cell, population: number): Step {
    let skip = this.#random.below(population)
    for (let rank = this.book.rankOf(cell.side, cell.best); ; rank++) {
      const level = this.book.levelAt(cell.side, rank)!
      if (skip >= level.orders) {
        skip -= level.orders
        continue
      }
      let order = level.oldest
      for (; skip > 0; skip--) order = order.next!
      return this.book.cancel(order.id)!
    }
  }

  /** A limit order that does not trade: it stops one tick before the other side. Most are at the cell's grid price. */
  #quote({ side, best, worst }: Cell): Step {
    const random = this.#random
    const toward = side === BID ? this.#tick : -this.#tick
    const between = random.chance(1, 4) ? random.below(quotient(best - worst, toward) + 1) : 0
    const price = worst + toward * between
    const opposite = this.book.levelAt(other(side), 0)?.price ?? price + toward
    const limit = side === BID ? Math.min(price, opposite - toward) : Math.max(price, opposite - toward)
    return this.book.placeLimit(side, limit, this.#drawAmount())
  }

  #drawCell(side: Side): Cell {
    const cells = this.#cellCount(side)
    const near = this.#random.chance(NEAR_PERCENT, 100)
    return this.#cell(side, this.#random.below(near ? Math.min(NEAR_CELLS, cells) : cells))
  }

  /** How many cells to quote in: bids end above zero. */
  #cellCount(side: Side): number {
    return side === ASK ? GRID_CELLS : Math.min(GRID_CELLS, quotient(this.#fairTicks, this.#gridTicks))
  }

  /** The cell at this many steps from the fair price. Bids reach up to it, asks begin one tick above. */
  #cell(side: Side, steps: number): Cell {
    const grid = this.#gridTicks
    const fair = this.#fairTicks
    const base = quotient(fair, grid)
    if (side === BID) {
      const worst = (base - steps) * grid
      return { side, best: Math.min(worst + grid - 1, fair) * this.#tick, worst: worst * this.#tick }
    }
    const worst = (base + 1 + steps) * grid
    return { side, best: Math.max(worst - grid + 1, fair + 1) * this.#tick, worst: worst * this.#tick }
  }

  /** How many orders rest in a cell. */
  #population({ side, best, worst }: Cell): number {
    let orders = 0
    for (let rank = this.book.rankOf(side, best); ; rank++) {
      const level = this.book.levelAt(side, rank)
      if (level === undefined || (side === BID ? level.price < worst : level.price > worst)) return orders
      orders += level.orders
    }
  }

  /** Sizes over seven octaves, small ones more often. Half are round, half have every digit. */
  #drawAmount(): number {
    const random = this.#random
    const octave = 2 ** quotient(random.below(8) * random.below(8), 8)
    const amount = 1 + quotient(this.#averageAmount * (octave + random.below(octave)), 32)
    return random.below(2) === 0 ? amount : amount + random.below(amount)
  }
}

/** Integer quotient, rounded towards zero, exact for safe integers. */
function quotient(dividend: number, divisor: number): number {
  return (dividend - (dividend % divisor)) / divisor
}

function other(side: Side): Side {
  return side === BID ? ASK : BID
}

function assertDecimals({ symbol, priceDecimals, amountDecimals }: MarketDefinition): void {
  for (const decimals of [priceDecimals, amountDecimals]) {
    assert(
      Number.isInteger(decimals) && decimals >= 0 && decimals <= DECIMALS_MAX,
      `the simulator takes 0 to ${DECIMALS_MAX} decimals, market ${symbol} has ${decimals}`,
    )
  }
}
