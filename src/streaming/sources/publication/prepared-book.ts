/**
 * A large SNAPSHOT's book, built before the SNAPSHOT takes effect (`prepare-book`): its levels as a market's integers,
 * in book order, and their amounts by price.
 */
import type { LevelChange, MarketDefinition } from '../../market/event.ts'
import type { LevelAmounts } from '../../market/level-amounts.ts'
import type { Broken } from './member-checks.ts'

export interface PreparedBook {
  /** The same definition object as the market's reader has. */
  readonly market: MarketDefinition
  /** The rule broken by the levels; undefined where they break none. */
  readonly broken: Broken | undefined
  /** In book order, each price once. */
  readonly levels: readonly LevelChange[]
  /** The same levels, for the one reader that takes them. */
  readonly amounts: LevelAmounts
}
