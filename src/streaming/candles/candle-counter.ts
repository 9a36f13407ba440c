/**
 * Counts the executions of a market that this process writes, for the store. It continues exactly after the stored
 * position when the execution log reaches back to it. Otherwise it records a gap from the time up to which each source's
 * executions are stored, or up to which its sources were heard, whose next executions may then be stored twice. An
 * execution that the log misses is a gap too: from its source's last execution, or where that is not known, from the same
 * time. Such a gap ends when the market is live and each of its sources has begun. A batch is offered unchanged until its
 * outcome is known, and later executions wait for the next one.
 */
import type { Continuation } from '../sequencing/bus.ts'
import type { NumberedExecution } from '../sequencing/execution-log.ts'
import type { Replica } from '../sequencing/replica.ts'
import { Bars, boundedTime, executedAt, MINUTE_MILLISECONDS, startOf, type Trade } from './bar.ts'
import type { CandleBatch, CandleClaim, CandlePosition } from './candle-table.ts'
import type { Gap } from './candles.ts'

/** A market that this process writes. */
export interface WrittenMarket {
  readonly replica: Replica
  /** 0 where there is no lease. */
  readonly leaseEpoch: number
  /** The epoch of this process's commits. */
  readonly epoch: string
  /** What this process had heard of an earlier leader, whose executions its sources may resume. */
  readonly continues?: Continuation | undefined
  readonly progress: SourcesProgress
}

/** How far the market's sources have passed on their executions. */
interface SourcesProgress {
  /** Every source's executions before this time are committed or missed. Undefined: one has not begun. */
  readonly completeMilliseconds: number | undefined
  /** When the last one began. Undefined: one has not. */
  readonly begunMilliseconds: number | undefined
  /** No source has resumed an earlier leader's executions from before this time. Infinity: none has resumed any. */
  readonly resumedMilliseconds: number
  /** When the earliest loss since the last call began. 0: not known. Undefined: there was none. */
  takeLoss(): number | undefined
}

/** Bars kept for a store that does not answer: about 4 MB, or a week of minutes. */
export const WAITING_BARS_MAX = 10_000
/** The position moves even without executions, so that a gap after a crash begins close to it. */
const POSITION_MILLISECONDS = 60_000

export class CandleCounter {
  readonly written: WrittenMarket
  readonly #unlisten: () => void
  #isClaimed = false
  /** The number of the last counted execution in the log. */
  #number = 0
  #leaseEpoch = 0
  #stored: CandlePosition | undefined
  /** The last gap. Once it has ended, readers read the store again until the position has left it. */
  #lastGap: Gap | undefined
  /** Other processes' executions committed until then are counted already. */
  #countedMilliseconds = 0
  /** This process's. */
  #ownCountedMilliseconds = 0
  /** As the store has it: every source's executions before it are counted or in a gap. */
  #completeMilliseconds = 0
  /** The same for the executions in the last commit, or in the last one before a source was added that has not begun. */
  #committedMilliseconds: number | undefined
  /** Misses up to this one began at a time that is not known any more. */
  #unknownNumber = 0
  #bars = new Bars()
  /** By start. */
  #gaps = new Map<number, Gap>()
  #executed: readonly [first: number, last: number] | undefined
  /** The start of a gap that has not ended. */
  #openGapMilliseconds: number | undefined
  #sending: CandleBatch | undefined

  constructor(written: WrittenMarket) {
    this.written = written
    this.#unlisten = written.replica.listen({
      onCommit: ({ executionCount }) => {
        if (executionCount === 0) return
        this.#committedMilliseconds = written.progress.completeMilliseconds ?? this.#committedMilliseconds
        this.#count()
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
  claimed({ leaseEpoch, position, completeMilliseconds }: CandleClaim): void {
    const { written } = this
    const { executions } = written.replica
    this.#isClaimed = true
    this.#leaseEpoch = leaseEpoch
    this.#stored = position
    this.#countedMilliseconds = position?.countedMilliseconds ?? 0
    // With a lease, no other process can have counted them. The earlier leader's clock may have been ahead.
    const isOthers = written.leaseEpoch > 0 && position?.epoch !== written.epoch
    this.#ownCountedMilliseconds = isOthers ? 0 : this.#countedMilliseconds
    // Before the first position, a bar has late executions alone, perhaps those of an earlier day.
    this.#completeMilliseconds = completeMilliseconds ?? 0
    const lastCounted = this.#lastCounted()
    // After a miss the log no longer knows earlier positions, but it may still have everything since this one.
    const resumed = position && executions.resumableAt(position)
    const number = resumed ?? lastCounted
    this.#number = number ?? executions.firstNumber - 1
    const heardMilliseconds = Math.min(this.#completeMilliseconds, written.progress.resumedMilliseconds)
    if (resumed === undefined && this.#isAhead(position)) this.#openGapMilliseconds = heardMilliseconds
    else if (number === undefined) this.#openGapMilliseconds = this.#completeMilliseconds
    this.#count()
  }

  /** Whether a leader that was cut off from the bus has stored executions which this process's sources pass on again. */
  #isAhead(position: CandlePosition | undefined): boolean {
    const { continues, epoch } = this.written
    if (position === undefined || continues === undefined || position.epoch === epoch) return false
    return position.epoch !== continues.epoch || position.executionNumber > continues.executionNumber
  }

  /**
   * The log's last counted execution, if the log has a miss after it: without one, nothing is known about the executions
   * between it and the position.
   */
  #lastCounted(): number | undefined {
    const { executions } = this.written.replica
    let last: number | undefined
    executions.readAfter(0, (kept) => {
      if (kept !== undefined && this.#isCounted(kept)) last = kept.number
    })
    return last !== undefined && last < executions.missNumber ? last : undefined
  }

  #isCounted({ number, commitMilliseconds }: NumberedExecution): boolean {
    const isOwn = number > this.#foreignNumber
    return commitMilliseconds <= (isOwn ? this.#ownCountedMilliseconds : this.#countedMilliseconds)
  }

  /** The number of the last execution in the log that another process has passed on. */
  get #foreignNumber(): number {
    const { replica, epoch } = this.written
    const { executions, followed } = replica
    return executions.lastNumber - (followed?.epoch === epoch ? executions.epochNumber : 0)
  }

  /** The batch to be stored next. Undefined: nothing has changed. */
  batch(): CandleBatch | undefined {
    if (!this.#isClaimed) return undefined
    this.#sending ??= this.#take()
    return this.#sending
  }

  stored(batch: CandleBatch): void {
    this.#stored = batch.to
    this.#sending = undefined
  }

  /** Drops what waits: the market has to be claimed again, and is counted from the stored position on. */
  startOver(): void {
    this.#isClaimed = false
    this.#sending = undefined
    this.#lastGap = undefined
    this.#unknownNumber = this.written.replica.executions.lastNumber
    this.#clear()
  }

  end(): void {
    this.#unlisten()
  }

  #count(): void {
    if (!this.#isClaimed) return
    const { replica, progress } = this.written
    const { executions } = replica
    const unknownNumber = Math.max(this.#unknownNumber, this.#foreignNumber)
    let [isMissing, isKnown] = [false, true]
    // The executions that came with the miss are later than the missed ones. Their venue's clock may be ahead.
    let laterMilliseconds = 0
    executions.readAfter(this.#number, (kept, number) => {
      const isNew = kept !== undefined && !this.#isCounted(kept)
      if (isNew) this.#add({ ...kept, id: kept.execution.id ?? executions.idOf(number) })
      const isWithMiss = kept?.commitMilliseconds === executions.droppedMilliseconds
      if (isWithMiss) laterMilliseconds = Math.max(laterMilliseconds, boundedTime(kept))
      isMissing ||= kept === undefined
      isKnown &&= kept !== undefined || number > unknownNumber
    })
    this.#number = executions.lastNumber
    if (!isMissing) return
    const lossMilliseconds = progress.takeLoss()
    this.#miss(Math.max(this.#completeMilliseconds, isKnown ? (lossMilliseconds ?? 0) : 0), laterMilliseconds)
  }

  #add(trade: Trade): void {
    const at = executedAt(trade)
    const [first, last] = this.#executed ?? [at, at]
    this.#bars.add(trade)
    this.#executed = [Math.min(first, at), Math.max(last, at)]
  }

  #miss(fromMilliseconds: number, laterMilliseconds: number): void {
    if (this.#isFed) this.#noteGap(fromMilliseconds, laterMilliseconds)
    else this.#openGapMilliseconds = Math.min(this.#openGapMilliseconds ?? fromMilliseconds, fromMilliseconds)
  }

  /** Whether each source's executions arrive. */
  get #isFed(): boolean {
    const { replica, progress } = this.written
    return replica.live && progress.begunMilliseconds !== undefined
  }

  /** Until when executions may be missing. The store may have been away since: what the log kept since is counted. */
  get #lossEndMilliseconds(): number {
    const { replica, progress } = this.written
    const arrivedMilliseconds = Math.max(replica.executions.droppedMilliseconds, replica.liveMilliseconds)
    const { milliseconds } = replica.instant
    return Math.max(this.#isFed ? arrivedMilliseconds : milliseconds, progress.begunMilliseconds ?? 0)
  }

  /** Whole minutes, so that a source with many misses, and a gap that has not ended, are written once a minute. */
  #noteGap(milliseconds: number, laterMilliseconds = 0): void {
    const fromMilliseconds = startOf(milliseconds, MINUTE_MILLISECONDS)
    const last = Math.max(fromMilliseconds, this.#lossEndMilliseconds, laterMilliseconds)
    const untilMilliseconds = startOf(last, MINUTE_MILLISECONDS) + MINUTE_MILLISECONDS - 1
    const known = this.#lastGap
    if (known && known.fromMilliseconds <= fromMilliseconds && known.untilMilliseconds >= untilMilliseconds) return
    this.#lastGap = { fromMilliseconds, untilMilliseconds }
    this.#gaps.set(fromMilliseconds, this.#lastGap)
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
      if (this.#isFed) this.#openGapMilliseconds = undefined
    }
    if (!this.#isMoved(from) && this.#bars.size === 0 && this.#gaps.size === 0) return undefined
    const completeMilliseconds = Math.max(this.#completeMilliseconds, this.#committedMilliseconds ?? 0)
    const to = { ...followed, countedMilliseconds: instant.milliseconds }
    const changes = { bars: this.#bars, gaps: [...this.#gaps.values()], executed: this.#executed }
    this.#clear()
    return { market, leaseEpoch: this.#leaseEpoch, from, to, completeMilliseconds, ...changes }
  }

  #isMoved(from: CandlePosition | undefined): boolean {
    const { followed, instant } = this.written.replica
    if (from === undefined || from.epoch !== followed?.epoch) return true
    const gapEndMilliseconds = this.#lastGap?.untilMilliseconds ?? 0
    const leavesGap = from.countedMilliseconds <= gapEndMilliseconds && instant.milliseconds > gapEndMilliseconds
    return leavesGap || instant.milliseconds - from.countedMilliseconds >= POSITION_MILLISECONDS
  }

  #clear(): void {
    this.#bars = new Bars()
    this.#gaps = new Map()
    this.#executed = undefined
  }
}
