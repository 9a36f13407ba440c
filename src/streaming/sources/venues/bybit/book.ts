/**
 * One book from Bybit's topic `orderbook.DEPTH.SYMBOL`: a snapshot, then deltas with consecutive update ids
 * (docs/decisions/0024-what-proves-bybit.md). Any other delta is a gap. A snapshot replaces the book and may come at
 * any time, also with update id 1 after the venue's service restarts. Update ids belong to one topic, so messages for
 * another depth are ignored. Pure.
 */
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { VenueLevels } from '../venue-levels.ts'
import type { BybitBookData } from './message.ts'

export class BybitBook implements VenueBook<BybitBookData> {
  readonly #symbol: string
  readonly #depth: number
  readonly #levels: VenueLevels
  /** The last message's update id; undefined before the first snapshot. */
  #updateId: number | undefined

  constructor(options: VenueBookOptions) {
    this.#symbol = options.listing.symbol
    this.#depth = options.depth
    this.#levels = new VenueLevels(options)
  }

  get best(): BestPrices {
    return this.#levels.best
  }

  get unfit(): readonly UnfitLevel[] {
    return this.#levels.unfit
  }

  apply({ isSnapshot, depth, updateId, bids, asks }: BybitBookData): BookStep {
    const last = this.#updateId
    const isOther = depth !== this.#depth
    if (last === undefined && (isOther || !isSnapshot)) return { kind: 'waiting' }
    // A repeated delta has the last message's id.
    if (isOther || (!isSnapshot && updateId === last)) return { kind: 'update', changes: [] }
    if (isSnapshot) return this.#replace(updateId, bids, asks)
    if (last !== undefined && updateId !== last + 1) return this.#wrong(`update ${updateId} follows update ${last}`)
    const changes = this.#levels.apply(bids, asks)
    if (typeof changes === 'string') return this.#wrong(changes)
    this.#updateId = updateId
    return { kind: 'update', changes }
  }

  #replace(updateId: number, bids: BybitBookData['bids'], asks: BybitBookData['asks']): BookStep {
    const replaced = this.#levels.replace(bids, asks)
    if (typeof replaced === 'string') return this.#wrong(replaced)
    const isFirst = this.#updateId === undefined
    this.#updateId = updateId
    const { levels, changes } = replaced
    return isFirst ? { kind: 'snapshot', levels } : { kind: 'snapshot', levels, changes }
  }

  #wrong(problem: string): BookStep {
    return { kind: 'wrong', reason: `${this.#symbol}: ${problem}` }
  }
}
