/**
 * Verifies a base protocol client at every message against the simulation's history: the book equals the view at that
 * commit, times increase strictly, executions are complete and in order, the top equals the book when a batch is
 * complete, nothing arrives before its SNAPSHOT or after an unsubscribe.
 */
import type { MarketHistory } from './market-history.ts'

interface Level {
  readonly price: string
  readonly amount: string
}

interface MarketState {
  book: { bids: Map<string, string>; asks: Map<string, string> } | undefined
  lastTime: string
  subscribed: Set<string>
  /** The next execution's index in the history. Undefined while not subscribed. */
  nextExecution: number | undefined
}

export class StreamVerifier {
  readonly counts = { messages: 0, snapshots: 0, updates: 0, tops: 0, executions: 0, heartbeats: 0, unsubscribes: 0 }
  readonly #histories: ReadonlyMap<string, MarketHistory>
  readonly #markets = new Map<string, MarketState>()
  #heartbeat = false
  readonly replies: unknown[] = []

  constructor(histories: ReadonlyMap<string, MarketHistory>) {
    this.#histories = histories
  }

  state(market: string): MarketState {
    let state = this.#markets.get(market)
    if (state === undefined) {
      state = { book: undefined, lastTime: '', subscribed: new Set(), nextExecution: undefined }
      this.#markets.set(market, state)
    }
    return state
  }

  /** The rebuilt book's levels in the history's notation. Undefined before the SNAPSHOT. */
  bookText(market: string): string | undefined {
    const { book } = this.state(market)
    if (book === undefined) return undefined
    const entries = (levels: Map<string, string>, sign: number) =>
      [...levels].sort(([left], [right]) => sign * (Number(left) - Number(right)))
    return JSON.stringify([entries(book.bids, -1), entries(book.asks, 1)])
  }

  onText(text: string): void {
    this.counts.messages += 1
    const message = JSON.parse(text)
    if (message.channel === undefined) this.#onReply(message)
    else if (message.channel === 'heartbeat') {
      this.counts.heartbeats += 1
      if (!this.#heartbeat) throw new Error('a heartbeat without a subscription')
    } else this.#onData(message.channel, message.payload)
  }

  #onReply(reply: {
    type: string
    channels?: { type: string; params?: { market?: string }; success?: boolean }[]
  }): void {
    this.replies.push(reply)
    if (reply.type !== 'subscribe' && reply.type !== 'unsubscribe') return
    if (reply.type === 'unsubscribe') this.counts.unsubscribes += 1
    for (const entry of reply.channels ?? []) {
      if (entry.success !== true) continue
      const on = reply.type === 'subscribe'
      if (entry.type === 'heartbeat') {
        this.#heartbeat = on
        continue
      }
      const state = this.state(entry.params?.market as string)
      if (on) state.subscribed.add(entry.type)
      else state.subscribed.delete(entry.type)
      if (entry.type === 'market_data') state.book = undefined
      if (entry.type === 'execution_data') state.nextExecution = undefined
    }
  }

  #onData(
    channel: string,
    payload: {
      market: string
      type?: string
      time?: string
      timestamp?: string
      bids: Level[]
      asks: Level[]
      price?: string
      amount?: string
      executed_at?: string
    },
  ): void {
    const state = this.state(payload.market)
    const history = this.#histories.get(payload.market) as MarketHistory
    if (!state.subscribed.has(channel)) throw new Error(`${channel} of ${payload.market} came without a subscription`)
    if (channel === 'execution_data') this.#onExecution(state, history, payload)
    else if (channel === 'market_data') this.#onBook(state, history, payload)
    else this.#onTop(state, history, payload)
  }

  #onExecution(state: MarketState, history: MarketHistory, payload: { price?: string; amount?: string }): void {
    this.counts.executions += 1
    // The simulation's amounts are unique, so an amount identifies its execution.
    const index = history.executionIndex(payload.amount as string)
    if (state.nextExecution !== undefined && index !== state.nextExecution) {
      throw new Error(`execution ${index} came where ${state.nextExecution} was due`)
    }
    state.nextExecution = index + 1
  }

  #onBook(
    state: MarketState,
    history: MarketHistory,
    payload: { market: string; type?: string; time?: string; bids: Level[]; asks: Level[] },
  ): void {
    const time = payload.time as string
    if (time <= state.lastTime) throw new Error(`time ${time} is not later than ${state.lastTime}`)
    state.lastTime = time
    if (payload.type === 'SNAPSHOT') {
      this.counts.snapshots += 1
      state.book = { bids: new Map(), asks: new Map() }
    } else {
      this.counts.updates += 1
      if (payload.bids.length + payload.asks.length === 0) throw new Error('an UPDATE without a level')
    }
    if (state.book === undefined) throw new Error('an UPDATE before its SNAPSHOT')
    applySide(state.book.bids, payload.bids, payload.type as string)
    applySide(state.book.asks, payload.asks, payload.type as string)
    const expected = history.bookAt(time)
    const found = this.bookText(payload.market)
    if (expected !== found) throw new Error(`book at ${time} is ${found} and should be ${expected}`)
  }

  #onTop(
    state: MarketState,
    history: MarketHistory,
    payload: { market: string; timestamp?: string; bids: Level[]; asks: Level[] },
  ): void {
    this.counts.tops += 1
    const time = `${(payload.timestamp as string).slice(0, 23)}Z`
    const found = JSON.stringify([payload.bids, payload.asks])
    const expected = history.topAt(time)
    if (found !== expected) throw new Error(`top at ${time} is ${found} and should be ${expected}`)
    if (state.book !== undefined && state.subscribed.has('market_data')) {
      const [bids, asks] = JSON.parse(this.bookText(payload.market) as string)
      const best = (levels: [string, string][]) => levels.slice(0, 1).map(([price, amount]) => ({ price, amount }))
      if (JSON.stringify([best(bids), best(asks)]) !== found) throw new Error('the top differs from the book')
    }
  }
}

function applySide(levels: Map<string, string>, changes: readonly Level[], type: string): void {
  const seen = new Set<string>()
  for (const { price, amount } of changes) {
    if (seen.has(price)) throw new Error(`the price ${price} comes twice in one message`)
    seen.add(price)
    if (amount === '0') {
      if (type === 'SNAPSHOT') throw new Error('an amount of zero in a SNAPSHOT')
      if (!levels.delete(price)) throw new Error(`removal of ${price}, which is not held`)
    } else {
      if (levels.get(price) === amount) throw new Error(`${price} has the amount ${amount} already`)
      levels.set(price, amount)
    }
  }
}
