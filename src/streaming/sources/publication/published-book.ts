/**
 * One publication's full book, by levels or by orders: replaced by a SNAPSHOT, changed by UPDATEs. Both throw `Broken`
 * for impossible content, after which the book is undefined until the next SNAPSHOT. Pure.
 */

import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import type { LevelChange, MarketDefinition } from '../../market/event.ts'
import { LevelAmounts } from '../../market/level-amounts.ts'
import { Orders } from '../../market/orders.ts'
import type { SnapshotMessage, UpdateMessage } from './message.ts'
import { scaledLevels, scaledOrder, throwOrderProblem } from './scaled-content.ts'
import { levelChangesOf } from './update-content.ts'

export class PublishedBook {
  readonly #market: MarketDefinition
  #levels: LevelAmounts
  /** Present while the publisher sends orders instead of levels. */
  #orders: Orders | undefined

  constructor(market: MarketDefinition) {
    this.#market = market
    this.#levels = new LevelAmounts(market)
  }

  levels(): readonly LevelChange[] {
    return this.#levels.levels()
  }

  digest(): string {
    return this.#levels.digest()
  }

  /** Starts with these levels, which do not come from a message. */
  begin(levels: readonly LevelChange[]): void {
    for (const { side, price, amount } of levels) this.#levels.set(side, price, amount)
  }

  /** Replaces the book, and returns its levels. */
  load({ bids, asks, orders, prepared }: SnapshotMessage): readonly LevelChange[] {
    const market = this.#market
    const own = prepared?.find((book) => book.market === market)
    if (own?.broken !== undefined) throw own.broken
    if (orders === undefined) {
      this.#orders = undefined
      this.#levels = own?.amounts ?? new LevelAmounts(market)
      if (own !== undefined) return own.levels
      const levels = scaledLevels(bids, asks, market)
      this.begin(levels)
      return levels
    }
    const resting = orders.map((order, index) => scaledOrder(order, market, `payload.orders[${index}]`))
    this.#orders = new Orders(this.#levels, PUBLISHED_ENTRIES_MAX)
    const problem = this.#orders.replace(resting)
    if (problem !== undefined) throwOrderProblem(problem)
    return this.#levels.levels()
  }

  /** Applies a message, and returns the changed levels. */
  apply(message: UpdateMessage): readonly LevelChange[] {
    return levelChangesOf(message, this.#market, this.#levels, this.#orders)
  }
}
