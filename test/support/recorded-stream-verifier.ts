/**
 * Compares one sample client's messages with what the service really did (`service-record`). After every book message
 * the client's book is the published book at that time's commit. Its executions are the trades, one by one, from the
 * subscription on. After a message it compares what may differ. `compareWhole` compares everything.
 */
import { millisecondText } from '../../src/platform/base/clock.ts'
import { formatDecimal } from '../../src/platform/base/decimal.ts'
import { ASK, BID, type LevelChange } from '../../src/streaming/market/event.ts'
import { NaiveBook } from './naive-book.ts'
import type { SampleClient } from './sample-client.ts'
import type { BookMessage, DataMessage, Reply, SampleExecution } from './sample-messages.ts'
import type { MarketRecord, ServiceRecord } from './service-record.ts'

interface MarketState {
  readonly record: MarketRecord
  /** The server's published book up to and including the commit before `place`. */
  readonly book: NaiveBook
  place: number
  /** Candidates for the index of the client's first execution in the trades. One is left after enough executions. */
  starts: number[]
  executions: number
}

export class RecordedStreamVerifier {
  readonly problems: string[] = []
  /** Book messages after which the client's book was the newest one. */
  current = 0
  /** Commits whose changes were conflated into a later message. */
  conflatedCommits = 0
  readonly #states: ReadonlyMap<string, MarketState>
  #earliestStarts = new Map<string, number>()

  constructor(record: ServiceRecord) {
    this.#states = new Map(
      record.symbols.map((symbol) => [
        symbol,
        { record: record.market(symbol), book: new NaiveBook(), place: 0, starts: [], executions: 0 },
      ]),
    )
  }

  /** Must be called right before the client subscribes to executions: no earlier one can arrive. */
  subscribing(): void {
    for (const [symbol, { record }] of this.#states) this.#earliestStarts.set(symbol, record.executionCount)
  }

  readonly onMessage = (message: Reply | DataMessage, client: SampleClient): void => {
    if (!('channel' in message)) {
      if (message.type === 'subscribe') this.#subscribed()
    } else if (message.channel === 'market_data') {
      this.#onBook(message.payload as unknown as BookMessage, client)
    } else if (message.channel === 'execution_data') {
      this.#onExecution(message.payload as unknown as SampleExecution)
    }
  }

  /** The index in a market's trades up to which the client has them all. Undefined before the first. */
  executionsUpTo(symbol: string): number | undefined {
    const { starts, executions } = this.#state(symbol)
    return executions === 0 ? undefined : (starts[0] as number) + executions
  }

  /** Compares all the client's books, level by level, with the server's at each book's time. */
  compareWhole(client: SampleClient): void {
    for (const symbol of this.#states.keys()) this.#compareBook(symbol, client)
  }

  #compareBook(symbol: string, client: SampleClient): void {
    const expected = this.#state(symbol)
      .book.levels(0)
      .map((level) => this.#text(symbol, level))
    const held = client.book(symbol)
    const found = (['bids', 'asks'] as const).flatMap((side) =>
      [...held[side]].map((level) => [side, ...level].join(' ')),
    )
    if (expected.sort().join() === found.sort().join()) return
    const [theirs, ours] = [expected.length, found.length]
    this.problems.push(`${symbol}: the book at ${held.time} has ${ours} levels and is not the server's, of ${theirs}`)
  }

  #subscribed(): void {
    for (const [symbol, state] of this.#states) {
      const earliest = this.#earliestStarts.get(symbol) as number
      const count = state.record.executionCount - earliest + 1
      state.starts = Array.from({ length: count }, (_, index) => earliest + index)
    }
  }

  #onBook(message: BookMessage, client: SampleClient): void {
    const state = this.#state(message.market)
    const { record, book } = state
    const place = record.places.get(message.time)
    if (place === undefined || place < state.place) {
      this.problems.push(`${message.market}: ${message.type} of ${message.time}, when nothing was committed`)
      return
    }
    const touched: LevelChange[] = []
    this.conflatedCommits += place - state.place
    for (; state.place <= place; state.place++) {
      const { changes } = record.commits[state.place] as { changes: readonly LevelChange[] }
      book.apply(changes)
      touched.push(...changes)
    }
    if (message.type === 'SNAPSHOT') this.#compareBook(message.market, client)
    else this.#compareTouched(message, client, touched)
    if (message.time === record.lastTime) this.current++
  }

  /** The rest of the book was equal before, and neither side has changed it. */
  #compareTouched(message: BookMessage, client: SampleClient, touched: readonly LevelChange[]): void {
    const { record, book } = this.#state(message.market)
    const held = client.book(message.market)
    const { priceDecimals, amountDecimals } = record.market
    const expected = { bids: new Map<string, string | undefined>(), asks: new Map<string, string | undefined>() }
    for (const { side, price } of touched) {
      const amount = book.amount(side, price)
      const text = amount === 0 ? undefined : formatDecimal(amount, amountDecimals)
      expected[side === BID ? 'bids' : 'asks'].set(formatDecimal(price, priceDecimals), text)
    }
    for (const side of ['bids', 'asks'] as const) {
      for (const [price, amount] of expected[side]) {
        const found = held[side].get(price)
        if (found === amount) continue
        this.problems.push(`${message.market}: ${side} ${price} is ${found} at ${message.time}, not ${amount}`)
      }
      for (const { price } of message[side]) {
        if (expected[side].has(price)) continue
        this.problems.push(`${message.market}: ${side} ${price} came at ${message.time} and had not changed`)
      }
    }
  }

  #onExecution(execution: SampleExecution): void {
    const state = this.#state(execution.market)
    const { market, trades } = state.record
    const isNext = (start: number) => {
      const trade = trades[start + state.executions]
      return (
        trade !== undefined &&
        formatDecimal(trade.price, market.priceDecimals) === execution.price &&
        formatDecimal(trade.amount, market.amountDecimals) === execution.amount &&
        millisecondText(trade.executedAtMilliseconds) === execution.executed_at
      )
    }
    const starts = state.starts.filter(isNext)
    if (starts.length === 0) {
      this.problems.push(`${execution.market}: ${JSON.stringify(execution)} is not the next of the trades`)
      return
    }
    state.starts = starts
    state.executions++
  }

  #state(symbol: string): MarketState {
    return this.#states.get(symbol) as MarketState
  }

  #text(symbol: string, { side, price, amount }: LevelChange): string {
    const { priceDecimals, amountDecimals } = this.#state(symbol).record.market
    return `${side === ASK ? 'asks' : 'bids'} ${formatDecimal(price, priceDecimals)} ${formatDecimal(amount, amountDecimals)}`
  }
}
