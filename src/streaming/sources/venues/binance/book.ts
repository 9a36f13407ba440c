/**
 * One Binance book: a fetched snapshot, then the stream's diffs
 * (https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams, "How to manage a local order book
 * correctly"). It never skips a diff, and each reported side consists of its best levels without a gap. Pure.
 *
 * A truncated snapshot says nothing about prices beyond its last level, and diffs contain only changes. So a truncated
 * side has a reach: the price of its last level. Levels within reach are known; levels beyond it are not kept. As the
 * price moves, fewer levels remain within reach. Before there are too few for the markets, the book requests a new
 * snapshot (`wantsSnapshot`) and continues. With too few it is wrong.
 *
 * A level that the book's integers cannot hold ends the side for the markets: it is finer, from before the venue made
 * its steps coarser, or far too high. `unfit-levels` keeps such levels. Levels beyond one are tracked, but not reported
 * until it is removed. The reach includes every price before a kept one: a side ending there has no gap.
 *
 * Snapshots and diffs come from servers that may lag behind each other, so a snapshot is used only once a diff brackets
 * it (begins in it and ends at or after it). On a pair without diffs, a second snapshot with the same number, fetched
 * `CONFIRM_MILLISECONDS` later, replaces this proof. A book never begins before the position reached by the pair's
 * earlier books, on any connection: published data would go back in time.
 *
 * States:
 * - waiting: no snapshot is proved. Diffs are kept. A diff that does not follow them discards them.
 * - live: diffs are applied. While a snapshot is wanted they are also kept, because it may be older than the last diff.
 *   Once proved, it replaces the known levels, and only the differences are reported.
 */
import { parseDecimal, type Scaled } from '../../../../platform/base/decimal.ts'
import { ASK, BID, type LevelChange, type Side } from '../../../market/event.ts'
import type { BestPrices, BookStep, UnfitLevel, VenueBook, VenueBookOptions } from '../venue.ts'
import { isBehind, UnfitLevels } from './unfit-levels.ts'

/** Price and amount as the venue sent them. */
export type BinanceLevel = readonly [price: string, amount: string]

export interface BinanceDiff {
  readonly kind: 'diff'
  /** First and last change in the diff: `U` and `u`. */
  readonly firstUpdateId: number
  readonly lastUpdateId: number
  readonly bids: readonly BinanceLevel[]
  readonly asks: readonly BinanceLevel[]
}

export interface BinanceSnapshot {
  readonly kind: 'snapshot'
  /** Last change in the snapshot. */
  readonly lastUpdateId: number
  /** Levels per side at which the venue truncates it: a side with fewer is complete. */
  readonly limit: number
  readonly bids: readonly BinanceLevel[]
  readonly asks: readonly BinanceLevel[]
}

export type BinanceBookData = BinanceDiff | BinanceSnapshot

/**
 * Limit for levels in kept diffs: the oldest diffs are dropped first. A liquid pair has about a thousand levels per
 * second.
 */
const KEPT_LEVELS_MAX = 100_000

/**
 * Delay before a snapshot without a bracketing diff is fetched again to confirm it. Servers lag by seconds, not more.
 */
const CONFIRM_MILLISECONDS = 3_000

/**
 * After this many consecutive proved snapshots before the reached position, the venue has restarted its numbers.
 * `CONFIRM_MILLISECONDS` apart, they take longer than any server lags.
 */
const REGRESSIONS_MAX = 10

/** The position reached by a pair's books; kept across books and connections. */
export interface BinancePosition {
  /** Last change reported by a live book; 0 before the first. */
  updateId: number
  /** Consecutive snapshots that ended before it. */
  regressions: number
}

/** One side's known levels. */
interface KnownSide {
  readonly amounts: Map<number, Scaled>
  /** The last known price: bids are known from there up, asks up to there. Infinite when the side is complete. */
  reach: number
  /** With fewer levels than this a new snapshot is requested. */
  renewBelow: number
  /** Levels that cannot be held. Levels beyond the best one are not reported. */
  readonly unfit: UnfitLevels
}

/** The known book after one change. */
interface Known {
  updateId: number
  readonly sides: readonly [KnownSide, KnownSide]
}

export class BinanceBook implements VenueBook<BinanceBookData> {
  readonly #options: VenueBookOptions
  readonly #position: BinancePosition
  #known: Known | undefined
  #isSnapshotWanted = false
  /** A snapshot not proved yet. */
  #candidate: BinanceSnapshot | undefined
  /** Whether a second snapshot with the candidate's number arrived. */
  #isConfirmed = false
  /** Last change in the stream. */
  #streamUpdateId: number | undefined
  #kept: BinanceDiff[] = []
  #keptLevels = 0

  /** @param position shared by the pair's books; updated by the book */
  constructor(options: VenueBookOptions, position: BinancePosition) {
    this.#options = options
    this.#position = position
  }

  get best(): BestPrices {
    if (this.#known === undefined) return {}
    const [bids, asks] = this.#known.sides.map(({ amounts }) => amounts)
    let [bid, ask]: [number | undefined, number | undefined] = [undefined, undefined]
    for (const price of bids?.keys() ?? []) if (bid === undefined || price > bid) bid = price
    for (const price of asks?.keys() ?? []) if (ask === undefined || price < ask) ask = price
    return { ...(bid === undefined ? {} : { bid }), ...(ask === undefined ? {} : { ask }) }
  }

  get unfit(): readonly UnfitLevel[] {
    const bests = this.#known?.sides.map(({ unfit }) => unfit.best) ?? []
    return bests.filter((best) => best !== undefined)
  }

  apply(data: BinanceBookData): BookStep {
    return data.kind === 'diff' ? this.#applyDiff(data) : this.#applySnapshot(data)
  }

  #applyDiff(diff: BinanceDiff): BookStep {
    const streamed = this.#streamUpdateId
    const known = this.#known
    if (streamed !== undefined && diff.lastUpdateId <= streamed) return this.#step([])
    if (streamed !== undefined && diff.firstUpdateId > streamed + 1) {
      if (known !== undefined) return wrong(`changes ${streamed + 1} to ${diff.firstUpdateId - 1} are missing`)
      this.#forgetKept()
    }
    this.#streamUpdateId = diff.lastUpdateId
    if (known === undefined || this.#isSnapshotWanted) this.#keep(diff)
    if (known === undefined) return this.#begin([])
    if (diff.lastUpdateId <= known.updateId) return this.#begin([])
    if (diff.firstUpdateId > known.updateId + 1) {
      return wrong(`changes ${known.updateId + 1} to ${diff.firstUpdateId - 1} are missing after the snapshot`)
    }
    const changes: LevelChange[] = []
    const problem = this.#change(known, diff, changes)
    if (problem !== undefined) return wrong(problem)
    const step = this.#begin(changes)
    if (this.#isSnapshotWanted && this.#kept.length === 0) this.#keep(diff)
    return step
  }

  #applySnapshot(snapshot: BinanceSnapshot): BookStep {
    const candidate = this.#candidate
    if (candidate === undefined || snapshot.lastUpdateId > candidate.lastUpdateId) {
      this.#candidate = snapshot
      this.#isConfirmed = false
    } else if (snapshot.lastUpdateId === candidate.lastUpdateId) {
      this.#isConfirmed = true
    }
    if (this.#known === undefined && this.#isProved() && this.#isBehindPosition()) this.#position.regressions++
    return this.#begin([])
  }

  /** Uses the candidate if it is proved. `changes`: the current book's unreported changes. */
  #begin(changes: readonly LevelChange[]): BookStep {
    const before = this.#known
    const candidate = this.#candidate
    if (candidate === undefined) return this.#step(changes)
    if (this.#isTooOld(candidate)) {
      // The venue's servers lag differently, so another snapshot is fetched.
      this.#candidate = undefined
      return this.#step(changes)
    }
    if (!this.#isProved() || (before === undefined && this.#isBehindPosition())) return this.#step(changes)
    const known = this.#read(candidate)
    if (typeof known === 'string') return wrong(known)
    for (const diff of this.#following(candidate)) {
      const problem = this.#change(known, diff, [])
      if (problem !== undefined) return wrong(problem)
    }
    this.#known = known
    this.#candidate = undefined
    this.#isSnapshotWanted = false
    this.#forgetKept()
    const step = this.#step(before === undefined ? changes : [...changes, ...difference(before, known)])
    if (before !== undefined || step.kind !== 'update') return step
    return { ...step, kind: 'snapshot', levels: allLevels(known) }
  }

  /** The diffs that end after a snapshot. */
  #following({ lastUpdateId }: BinanceSnapshot): readonly BinanceDiff[] {
    return this.#kept.filter((diff) => diff.lastUpdateId > lastUpdateId)
  }

  /** Whether changes are missing between a snapshot and the diffs after it. */
  #isTooOld(snapshot: BinanceSnapshot): boolean {
    const first = this.#following(snapshot)[0]
    if (first !== undefined) return first.firstUpdateId > snapshot.lastUpdateId + 1
    return this.#known !== undefined && snapshot.lastUpdateId < this.#known.updateId
  }

  /** Whether a diff brackets the candidate, or a second snapshot has confirmed it. */
  #isProved(): boolean {
    const candidate = this.#candidate
    if (candidate === undefined || this.#isTooOld(candidate)) return false
    const isBracketed = this.#following(candidate).length > 0 || this.#streamUpdateId === candidate.lastUpdateId
    return isBracketed || this.#isConfirmed
  }

  /** Whether the candidate's book would end before the reached position. */
  #isBehindPosition(): boolean {
    const candidate = this.#candidate
    if (candidate === undefined || this.#position.regressions >= REGRESSIONS_MAX) return false
    const end = this.#following(candidate).at(-1)?.lastUpdateId ?? candidate.lastUpdateId
    return end < this.#position.updateId
  }

  /** A snapshot's known book, or the reason why the snapshot is invalid. */
  #read({ lastUpdateId, limit, bids, asks }: BinanceSnapshot): Known | string {
    const { priceDecimals } = this.#options.listing
    const sides = [createSide(BID, priceDecimals), createSide(ASK, priceDecimals)] as const
    const known: Known = { updateId: lastUpdateId, sides }
    const problem = this.#changeSide(known, BID, bids, []) ?? this.#changeSide(known, ASK, asks, [])
    if (problem !== undefined) return problem
    for (const side of [BID, ASK] as const) {
      const own = known.sides[side]
      if ((side === BID ? bids : asks).length >= limit && isWhole(own)) own.reach = lastPrice(side, own)
      // Half the spare levels remain while a new snapshot is fetched.
      if (!isWhole(own)) own.renewBelow = (own.amounts.size + own.unfit.size + this.#options.depth) / 2
    }
    return known
  }

  /** Applies a diff and collects the actual changes. Returns the reason when the diff is invalid. */
  #change(known: Known, diff: BinanceDiff, changes: LevelChange[]): string | undefined {
    known.updateId = diff.lastUpdateId
    return this.#changeSide(known, BID, diff.bids, changes) ?? this.#changeSide(known, ASK, diff.asks, changes)
  }

  #changeSide(known: Known, side: Side, levels: readonly BinanceLevel[], changes: LevelChange[]): string | undefined {
    const own = known.sides[side]
    const endBefore = own.unfit.end
    const amountsBefore = new Map<number, Scaled>()
    for (const level of levels) {
      const problem = this.#changeLevel(own, side, level, amountsBefore)
      if (problem !== undefined) return problem
    }
    const { end } = own.unfit
    const report = (price: number, before: Scaled, after: Scaled): void => {
      const amount = isBehind(side, price, end) ? 0 : after
      if (amount !== (isBehind(side, price, endBefore) ? 0 : before)) changes.push({ side, price, amount })
    }
    for (const [price, before] of amountsBefore) report(price, before, own.amounts.get(price) ?? 0)
    if (end === endBefore) return undefined
    for (const [price, amount] of own.amounts) if (!amountsBefore.has(price)) report(price, amount, amount)
    return undefined
  }

  #changeLevel(
    own: KnownSide,
    side: Side,
    [priceText, amountText]: BinanceLevel,
    amountsBefore: Map<number, Scaled>,
  ): string | undefined {
    const { listing, priceMaximum } = this.#options
    const price = parseDecimal(priceText, listing.priceDecimals)
    const amount = parseDecimal(amountText, listing.amountDecimals)
    if (price === 'malformed' || (price !== 'too-fine' && price <= 0)) return `cannot take price ${priceText}`
    if (amount === 'malformed' || (amount !== 'too-fine' && amount < 0)) return `cannot take amount ${amountText}`
    const isHeld = typeof price === 'number' && price <= priceMaximum
    const isUnfit = !isHeld || amount === 'too-fine'
    if (isUnfit || own.unfit.size > 0) {
      const problem = own.unfit.change({ price: priceText, amount: amountText }, isUnfit && amount !== 0, own.reach)
      if (problem !== undefined) return problem
    }
    if (!isHeld || isBehind(side, price, own.reach)) return undefined
    if (!amountsBefore.has(price)) amountsBefore.set(price, own.amounts.get(price) ?? 0)
    if (amount === 'too-fine' || amount === 0) own.amounts.delete(price)
    else own.amounts.set(price, amount)
    return undefined
  }

  /** The result for the levels that remain within reach. */
  #step(changes: readonly LevelChange[]): BookStep {
    const known = this.#known
    const confirmation = this.#candidate === undefined ? {} : { confirmMilliseconds: CONFIRM_MILLISECONDS }
    if (known === undefined) return { kind: 'waiting', ...confirmation }
    this.#position.updateId = known.updateId
    this.#position.regressions = 0
    const { depth, listing } = this.#options
    for (const which of [BID, ASK] as const) {
      const side = known.sides[which]
      if (hidesAll(which, side))
        return wrong(`cannot take the best level of ${listing.symbol}: ${side.unfit.best?.price}`)
      if (isWhole(side)) continue
      const size = side.amounts.size + side.unfit.size
      if (size < depth) return wrong(`only ${size} of ${depth} levels of ${listing.symbol} are known`)
      if (size < side.renewBelow) this.#isSnapshotWanted = true
    }
    return this.#isSnapshotWanted
      ? { kind: 'update', changes, wantsSnapshot: true, ...confirmation }
      : { kind: 'update', changes }
  }

  #keep(diff: BinanceDiff): void {
    this.#kept.push(diff)
    this.#keptLevels += levelCount(diff)
    while (this.#keptLevels > KEPT_LEVELS_MAX) this.#keptLevels -= levelCount(this.#kept.shift())
  }

  #forgetKept(): void {
    this.#kept = []
    this.#keptLevels = 0
  }
}

function wrong(reason: string): BookStep {
  return { kind: 'wrong', reason }
}

function createSide(side: Side, priceDecimals: number): KnownSide {
  return {
    amounts: new Map(),
    reach: side === BID ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
    renewBelow: 0,
    unfit: new UnfitLevels(side, priceDecimals),
  }
}

function isWhole({ reach }: KnownSide): boolean {
  return !Number.isFinite(reach)
}

/** The last price of a side's levels. A level that cannot be held counts as the last price before it. */
function lastPrice(side: Side, { amounts, unfit }: KnownSide): number {
  let last = side === BID ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  for (const price of [...amounts.keys(), ...unfit.ends]) if (isBehind(side, price, last)) last = price
  return last
}

/** Counts an empty diff as one level, because it takes memory too. */
function levelCount(diff: BinanceDiff | undefined): number {
  return diff === undefined ? 0 : 1 + diff.bids.length + diff.asks.length
}

/** The reported levels. */
function allLevels({ sides }: Known): LevelChange[] {
  const levels: LevelChange[] = []
  for (const side of [BID, ASK] as const) {
    const { amounts, unfit } = sides[side]
    const { end } = unfit
    for (const [price, amount] of amounts) if (!isBehind(side, price, end)) levels.push({ side, price, amount })
  }
  return levels
}

function difference(before: Known, after: Known): LevelChange[] {
  const amountIn = ({ sides }: Known, side: Side, price: number): Scaled => {
    const { amounts, unfit } = sides[side]
    return isBehind(side, price, unfit.end) ? 0 : (amounts.get(price) ?? 0)
  }
  const changes = allLevels(after).filter(({ side, price, amount }) => amountIn(before, side, price) !== amount)
  for (const { side, price } of allLevels(before)) {
    if (amountIn(after, side, price) === 0) changes.push({ side, price, amount: 0 })
  }
  return changes
}

/** Whether a level that cannot be held leaves nothing to report on its side. */
function hidesAll(side: Side, { amounts, unfit }: KnownSide): boolean {
  if (unfit.size === 0) return false
  for (const price of amounts.keys()) if (!isBehind(side, price, unfit.end)) return false
  return true
}
