/**
 * Two simulated venues for the scenario `crossing`, as one book: the second has the orders of the first, and while it is
 * crossed its prices are 0.05 % of the starting price higher, so that its best bids are above the best asks of the
 * first. `streaming/market/aggregate` forms the published book, as for two configured sources; only the first venue trades. It
 * guarantees what the aggregate guarantees: the published book is never crossed. Pure.
 */
import { Aggregate } from '../../market/aggregate.ts'
import type { MarketEvent } from '../../market/event.ts'

/** The second venue's prices while it is crossed: higher by this part of the starting price. */
const OFFSET_PARTS = 2_000

export class CrossingVenues {
  readonly #aggregate = new Aggregate(
    ['first venue', 'second venue'].map((name) => ({ name, venue: name })),
    'recency',
  )
  readonly #offsetCrossed: number
  #offset = 0

  /** @param startPrice of the market, in units of its prices */
  constructor(startPrice: number) {
    this.#offsetCrossed = Math.max(1, Math.floor(startPrice / OFFSET_PARTS))
  }

  /** Moves the second venue; its book, as the first venue's snapshot, must be offered next. */
  cross(isCrossed: boolean): void {
    this.#offset = isCrossed ? this.#offsetCrossed : 0
  }

  /** The published book is not trusted any more: the next event has all of it. */
  startOver(): void {
    this.#aggregate.startOver()
  }

  /**
   * Takes an event of the first venue; the second one has the same, at its own prices. Returns what is published.
   * @param milliseconds monotonic time
   */
  offer(event: MarketEvent, milliseconds: number): readonly MarketEvent[] {
    const first = this.#aggregate.offer(0, event, milliseconds)
    const second = this.#aggregate.offer(1, this.#moved(event), milliseconds)
    return [...first.events, ...second.events].flatMap(withoutVenues)
  }

  #moved(event: MarketEvent): MarketEvent {
    const move = <Level extends { readonly price: number }>(level: Level): Level => {
      return { ...level, price: level.price + this.#offset }
    }
    if (event.type === 'snapshot') return { ...event, levels: event.levels.map(move) }
    if (event.type === 'update') return { ...event, changes: event.changes.map(move), executions: [] }
    return event
  }
}

/** For the customers of the market both are one venue, the simulator. */
function withoutVenues(event: MarketEvent): MarketEvent[] {
  if (event.type === 'snapshot') return [{ type: 'snapshot', levels: event.levels }]
  if (event.type !== 'update') return [event]
  const { changes, executions } = event
  return changes.length + executions.length === 0 ? [] : [{ type: 'update', changes, executions }]
}
