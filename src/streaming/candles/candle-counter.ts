/**
 * Counts the executions of a market that this process writes, for the store. It continues exactly after the stored
 * position when the execution log reaches back to it. Otherwise it records a gap from the stored executions' end until the
 * market is live. An execution that the log misses is a gap too: from its venue's last execution, or where several venues
 * make the book, from the earliest of theirs, and until the market is live. A batch is offered unchanged until its outcome
 * is known, and later executions wait for the next one.
 */
import type { Replica } from '../sequencing/replica.ts'
import { Bars, DAY_MILLISECONDS, executedAt, MINUTE_MILLISECONDS, startOf, type Trade } from './bar.ts'
import type { CandleBatch, CandleClaim, CandlePosition } from './candle-table.ts'
import type { Gap } from './candles.ts'

/** A market that this process writes. */
export interface WrittenMarket {
  readonly replica: Replica
  /** 0 where there is no lease. */
  readonly leaseEpoch: number
}

/** Bars kept for a store that does not answer: about 4 MB, or a week of minutes. */
export const WAITING_BARS_MAX = 10_000
/** The position moves even without executions, so that a gap after a crash begins close to it. */
const POSITION_MILLISECONDS = 60_000
/** Venues' names come from publishers. */
const VENUES_MAX = 100

export class CandleCounter {
  readonly written: WrittenMarket
  readonly #unlisten: () => void
  #isClaimed = false
  /** The number of the last counted execution in the log. */
  #number = 0
  #leaseEpoch = 0
  #stored: CandlePosition | undefined
  /** Readers read the store again until the position has left the gap. */
  #endsInGap = false
  /** Executions committed until then are counted already. */
  #countedMilliseconds = 0
  /** Every stored execution's time is before it, or it is the position's time. */
  #endMilliseconds = 0
  #bars = new Bars()
  /** By start. */
  #gaps = new Map<number, Gap>()
  #executed: readonly [first: number, last: number] | undefined
  /** The start of a gap that ends when the market is live. */
  #openGapMilliseconds: number | undefined
  /** Each venue's last execution time. */
  readonly #venues = new Map<string, number>()
  #sending: CandleBatch | undefined

  constructor(written: WrittenMarket) {
    this.written = written
    this.#unlisten = written.replica.listen({
      onCommit: ({ executionCount }) => {
        if (executionCount > 0) this.#count()
      },
      onStatus: () => undefined,
    })
  }

  get symbol(): string {
    return this.written.replica.market.symbol
  }

  /** Whether the market has to be claimed. It can be once it has a commit. */
  get wantsClaim(): boolean {
    return !this.#isClaimed && this.written.replica.followed !== undefined
  }

  /** Bars that wait for the store. */
  get waitingBars(): number {
    return this.#bars.size + (this.#sending?.bars.size ?? 0)
  }

  /** Begins to count after the stored position. */
  claimed({ leaseEpoch, position, endMilliseconds }: CandleClaim): void {
    const { executions, instant } = this.written.replica
    this.#isClaimed = true
    this.#leaseEpoch = leaseEpoch
    this.#stored = position
    this.#countedMilliseconds = position?.countedMilliseconds ?? 0
    // Before the first position, the day's bars have no beginning.
    this.#endMilliseconds = endMilliseconds ?? startOf(instant.milliseconds, DAY_MILLISECONDS)
    const lastCounted = this.#readCounted()
    // After a miss the log no longer knows earlier positions, but it may still have everything since this one.
    const number = (position && executions.resumableAt(position)) ?? lastCounted
    this.#number = number ?? executions.firstNumber - 1
    if (number === undefined) this.#openGapMilliseconds = this.#endMilliseconds
    this.#count()
  }

  /**
   * Notes the times of the log's counted executions. Returns the last one's number, if the log has a miss after it: without
   * one, nothing is known about the executions between it and the position.
   */
  #readCounted(): number | undefined {
    const { executions } = this.written.replica
    let last: number | undefined
    this.#venues.clear()
    executions.readAfter(0, (kept) => {
      if (kept === undefined || kept.commitMilliseconds > this.#countedMilliseconds) return
      this.#noteTime(kept)
      last = kept.number
    })
    return last !== undefined && last < executions.missNumber ? last : undefined
  }

  /** The batch to be stored next. Undefined: nothing has changed. */
  batch(): CandleBatch | undefined {
    if (!this.#isClaimed) return undefined
    this.#sending ??= this.#take()
    return this.#sending
  }

  stored(batch: CandleBatch): void {
    this.#stored = batch.to
    this.#endsInGap = batch.gaps.length > 0
    this.#sending = undefined
  }

  /** Drops what waits: the market has to be claimed again, and is counted from the stored position on. */
  startOver(): void {
    this.#isClaimed = false
    this.#sending = undefined
    this.#openGapMilliseconds = undefined
    this.#clear()
  }

  end(): void {
    this.#unlisten()
  }

  #count(): void {
    if (!this.#isClaimed) return
    const { executions } = this.written.replica
    executions.readAfter(this.#number, (kept) => {
      if (kept === undefined) this.#miss()
      else this.#add({ ...kept, id: kept.execution.id ?? executions.idOf(kept.number) })
    })
    this.#number = executions.lastNumber
  }

  #add(trade: Trade): void {
    if (trade.commitMilliseconds <= this.#countedMilliseconds) return
    const at = executedAt(trade)
    const [first, last] = this.#executed ?? [at, at]
    this.#bars.add(trade)
    this.#executed = [Math.min(first, at), Math.max(last, at)]
    this.#noteTime(trade)
  }

  #noteTime(trade: Pick<Trade, 'execution' | 'commitMilliseconds'>): void {
    const { venue = '' } = trade.execution
    // A venue's clock may be ahead.
    const milliseconds = Math.min(executedAt(trade), trade.commitMilliseconds)
    if (this.#venues.has(venue) || this.#venues.size < VENUES_MAX) this.#venues.set(venue, milliseconds)
  }

  #miss(): void {
    const fromMilliseconds = this.#venues.size === 0 ? this.#endMilliseconds : Math.min(...this.#venues.values())
    if (this.written.replica.live) this.#noteGap(fromMilliseconds)
    else this.#openGapMilliseconds = Math.min(this.#openGapMilliseconds ?? fromMilliseconds, fromMilliseconds)
  }

  /** From the start of a minute, so that a source with many misses has one gap per minute. */
  #noteGap(milliseconds: number): void {
    const fromMilliseconds = startOf(milliseconds, MINUTE_MILLISECONDS)
    const untilMilliseconds = Math.max(fromMilliseconds, this.written.replica.instant.milliseconds)
    this.#gaps.set(fromMilliseconds, { fromMilliseconds, untilMilliseconds })
  }

  #take(): CandleBatch | undefined {
    const { replica } = this.written
    const { followed, market, instant } = replica
    const from = this.#stored
    if (followed === undefined) return undefined
    // The earlier leader had counted more than was heard of it. The next epoch follows that.
    if (followed.epoch === from?.epoch && followed.executionNumber < from.executionNumber) return undefined
    if (this.#openGapMilliseconds !== undefined) {
      this.#noteGap(this.#openGapMilliseconds)
      if (replica.live) this.#openGapMilliseconds = undefined
    }
    const isMoved =
      from === undefined ||
      from.epoch !== followed.epoch ||
      instant.milliseconds - from.countedMilliseconds >= (this.#endsInGap ? 1 : POSITION_MILLISECONDS)
    if (!isMoved && this.#bars.size === 0 && this.#gaps.size === 0) return undefined
    const to = { ...followed, countedMilliseconds: instant.milliseconds }
    const changes = { bars: this.#bars, gaps: [...this.#gaps.values()], executed: this.#executed }
    this.#clear()
    return { market, leaseEpoch: this.#leaseEpoch, from, to, ...changes }
  }

  #clear(): void {
    this.#bars = new Bars()
    this.#gaps = new Map()
    this.#executed = undefined
  }
}
