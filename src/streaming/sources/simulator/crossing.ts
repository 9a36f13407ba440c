/**
 * Two simulated venues for the scenario `crossing`, as one book. The second has the first venue's orders. While it is
 * crossed, its prices are higher by 0.05 % of the starting price, so its best bids are above the first venue's best
 * asks. `streaming/market/aggregate` forms the published book, as for two configured sources, so it is never crossed.
 * Only the first venue trades. Pure.
 */
import { Aggregate } from '../../market/aggregate.ts'
import type { MarketEvent } from '../../market/event.ts'

/** The second venue's price offset while it is crossed, as a part of the starting price. */
const OFFSET_PARTS = 2_000

export class CrossingVenues {
  readonly #aggregate = new Aggregate(
    ['first venue', 'second venue'].map((name) => ({ name, venue: name })),
    'recency',
  )
  readonly #offsetCrossed: number
  #offset = 0

  /** @param startPrice the market's starting price, in units of its prices */
  constructor(startPrice: number) {
    this.#offsetCrossed = Math.max(1, Math.floor(startPrice / OFFSET_PARTS))
  }

  /** Moves the second venue. Its book must be offered next, as the first venue's snapshot. */
  cross(isCrossed: boolean): void {
    this.#offset = isCrossed ? this.#offsetCrossed : 0
  }

  /** The published book is not trusted any more, so the next event contains it completely. */
  startOver(): void {
    this.#aggregate.startOver()
  }

  /**
   * Takes an event from the first venue. The second has the same at its own prices. Returns the events to publish.
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

/** For the market's customers both are one venue, the simulator. */
function withoutVenues(event: MarketEvent): MarketEvent[] {
  if (event.type === 'snapshot') return [{ type: 'snapshot', levels: event.levels }]
  if (event.type !== 'update') return [event]
  const { changes, executions } = event
  return changes.length + executions.length === 0 ? [] : [{ type: 'update', changes, executions }]
}
