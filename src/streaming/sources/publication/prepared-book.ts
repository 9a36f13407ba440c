/**
 * The book of a large SNAPSHOT as it was made before the SNAPSHOT takes effect (`prepare-book`): its levels as integers of a
 * market, in book order, and their amounts by price.
 */
import type { LevelChange, MarketDefinition } from '../../market/event.ts'
import type { LevelAmounts } from '../../market/level-amounts.ts'
import type { Broken } from './member-checks.ts'

export interface PreparedBook {
  /** The very definition that the reader of the market has. */
  readonly market: MarketDefinition
  /** The rule that the levels break; undefined where they break none. */
  readonly broken: Broken | undefined
  /** In book order, each price once. */
  readonly levels: readonly LevelChange[]
  /** The same levels, for the one reader that takes them. */
  readonly amounts: LevelAmounts
}
