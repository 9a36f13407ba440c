/**
 * One book of Bybit's topic `orderbook.DEPTH.SYMBOL`: a snapshot, and deltas whose update ids are consecutive
 * (docs/decisions/0024-what-proves-bybit.md). A delta that does not follow the last message by one is a gap. A
 * snapshot may come at any time, also with the update id 1 after a restart of the venue's service, and replaces the
 * book. The update ids belong to one topic: messages of another depth are ignored. Pure.
 */
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { VenueLevels } from '../venue-levels.ts'
import type { BybitBookData } from './message.ts'

export class BybitBook implements VenueBook<BybitBookData> {
  readonly #symbol: string
  readonly #depth: number
  readonly #levels: VenueLevels
  /** Update id of the last message; undefined before the first snapshot. */
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
    // A delta that arrives twice has the id of the last message.
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
