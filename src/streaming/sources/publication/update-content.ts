/** One UPDATE's changes: its executions, and the book's levels after its levels or orders were applied. Pure. */

import { PUBLISHED_ENTRIES_MAX } from '../../../contract/publication.ts'
import type { Execution, LevelChange, MarketDefinition } from '../../market/event.ts'
import type { LevelAmounts } from '../../market/level-amounts.ts'
import type { OrderChange, Orders } from '../../market/orders.ts'
import { Broken } from './member-checks.ts'
import type { PublishedExecution, UpdateMessage } from './message.ts'
import { scaledExecution, scaledLevels, scaledOrderChange, throwOrderProblem } from './scaled-content.ts'

/** A message's executions in order: `executions`, then the trades among `orders`. Ids are unique. */
export function executionsOf({ executions, orders }: UpdateMessage, market: MarketDefinition): readonly Execution[] {
  const scaled: Execution[] = []
  const ids = new Set<string>()
  const add = (entry: PublishedExecution, list: string, index: number): void => {
    const path = `payload.${list}[${index}]`
    if (ids.has(entry.id)) throw new Broken(`${path}.id`, 'occurs in another execution in the message')
    ids.add(entry.id)
    scaled.push(scaledExecution(entry, market, path))
  }
  for (const [index, entry] of executions.entries()) add(entry, 'executions', index)
  for (const [index, change] of (orders ?? []).entries()) if (change.type === 'trade') add(change, 'orders', index)
  return scaled
}

/**
 * Applies a message to the book and returns its changes. Throws `Broken`, after which the book is undefined.
 * @param orders present where the SNAPSHOT had orders
 */
export function levelChangesOf(
  message: UpdateMessage,
  market: MarketDefinition,
  levels: LevelAmounts,
  orders: Orders | undefined,
): readonly LevelChange[] {
  const { bids, asks } = message
  if (orders !== undefined) {
    if (bids.length + asks.length > 0) {
      throw new Broken(bids.length > 0 ? 'payload.bids' : 'payload.asks', 'has levels, but the SNAPSHOT had orders')
    }
    return changesOfOrders(message, market, orders)
  }
  if (message.orders !== undefined && message.orders.length > 0) {
    throw new Broken('payload.orders', 'has orders, but the SNAPSHOT had levels')
  }
  const changes = scaledLevels(bids, asks, market)
  for (const { side, price, amount } of changes) levels.set(side, price, amount)
  if (levels.size > PUBLISHED_ENTRIES_MAX) {
    throw new Broken('payload', `makes the book larger than ${PUBLISHED_ENTRIES_MAX} levels`)
  }
  return changes
}

function changesOfOrders(
  { orders: published }: UpdateMessage,
  market: MarketDefinition,
  orders: Orders,
): readonly LevelChange[] {
  if (published === undefined || published.length === 0) return []
  const changes: OrderChange[] = []
  /** Indexes for the changes in the message. */
  const places: number[] = []
  for (const [index, entry] of published.entries()) {
    const change = scaledOrderChange(entry, market, `payload.orders[${index}]`)
    if (change === undefined) continue
    changes.push(change)
    places.push(index)
  }
  const result = orders.apply(changes)
  if (Array.isArray(result)) return result
  return throwOrderProblem({ index: places[result.index] as number, rule: result.rule })
}
