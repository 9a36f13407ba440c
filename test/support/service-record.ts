/**
 * What a service in this process really did: every market's commits, and every simulator trade. It compares the two as
 * they occur, and keeps them, so that a client's messages can be verified by time however late they arrive
 * (`recorded-stream-verifier`).
 */
import { millisecondText } from '../../src/platform/base/clock.ts'
import { ASK, BID, type LevelChange, type MarketDefinition } from '../../src/streaming/market/event.ts'
import type { Bus, Commit } from '../../src/streaming/sequencing/bus.ts'
import type { SimulatedTrade } from '../../src/streaming/sources/simulator/simulator.ts'
import { NaiveBook, naiveDifference } from './naive-book.ts'

export interface RecordedCommit {
  /** In the stream's format. */
  readonly time: string
  /** The commit's changes to the published levels. */
  readonly changes: readonly LevelChange[]
  /** The market's number of executions up to and including this commit. */
  readonly executionCount: number
}

export class MarketRecord {
  readonly market: MarketDefinition
  readonly commits: RecordedCommit[] = []
  /** Index in `commits` by time. */
  readonly places = new Map<string, number>()
  /** The simulator's own log, in trading order. */
  readonly trades: SimulatedTrade[] = []
  /** Contradictions between commits and trades. */
  readonly problems: string[] = []
  /** The time of the last commit that changed a published level. */
  lastTime = ''
  /** Executions whose order was placed and taken within one batch. */
  madeWithinBatch = 0
  executionCount = 0
  readonly #book = new NaiveBook()
  #view: readonly LevelChange[] = []
  /** The highest order number in earlier batches' trades. */
  #lastOrderId = 0

  constructor(market: MarketDefinition) {
    this.market = market
  }

  onCommit(commit: Commit): void {
    for (const execution of commit.executions) this.#checkExecution(execution.price, execution.amount)
    for (const { makerOrderId, takerOrderId } of this.trades.slice(
      this.executionCount - commit.executions.length,
      this.executionCount,
    )) {
      this.#lastOrderId = Math.max(this.#lastOrderId, makerOrderId, takerOrderId)
    }
    this.#book.apply(commit.changes)
    const changes = this.#viewChanges(commit)
    const time = millisecondText(commit.milliseconds)
    this.places.set(time, this.commits.length)
    this.commits.push({ time, changes, executionCount: this.executionCount })
    if (changes.length > 0) this.lastTime = time
  }

  /**
   * An execution is the log's next trade, and its price was in the book before its batch, on the resting order's side.
   * Otherwise that order was placed within the batch, after every order in earlier trades.
   */
  #checkExecution(price: number, amount: unknown): void {
    const trade = this.trades[this.executionCount++]
    const what = `${this.market.symbol}: execution ${this.executionCount}`
    if (trade?.price !== price || trade.amount !== amount) {
      this.problems.push(`${what} is ${price} x ${amount}, the trade is ${trade?.price} x ${trade?.amount}`)
      return
    }
    if (this.#book.amount(trade.takerSide === BID ? ASK : BID, price) !== 0) return
    this.madeWithinBatch++
    if (trade.makerOrderId > this.#lastOrderId) return
    this.problems.push(`${what} at ${price}: no level of the book before, and its order is older than the batch`)
  }

  #viewChanges(commit: Commit): readonly LevelChange[] {
    const { depth } = this.market
    if (depth === 0 || commit.changes.length === 0) return commit.changes
    const before = this.#view
    this.#view = this.#book.levels(depth)
    return naiveDifference(before, this.#view)
  }
}

export class ServiceRecord {
  readonly #markets: ReadonlyMap<string, MarketRecord>

  constructor(markets: readonly MarketDefinition[], bus: Bus) {
    this.#markets = new Map(markets.map((market) => [market.symbol, new MarketRecord(market)]))
    for (const record of this.#markets.values()) {
      bus.subscribe(record.market.symbol, (message) => {
        if (message.type === 'commit') record.onCommit(message)
      })
    }
  }

  get symbols(): string[] {
    return [...this.#markets.keys()]
  }

  get problems(): string[] {
    return [...this.#markets.values()].flatMap(({ problems }) => problems)
  }

  market(symbol: string): MarketRecord {
    const record = this.#markets.get(symbol)
    if (record === undefined) throw new Error(`there is no market ${symbol}`)
    return record
  }

  onTrade(trade: SimulatedTrade): void {
    this.market(trade.market).trades.push(trade)
  }
}
