/**
 * A client of a soak that knows only our wire: every book of a market with one source is checked after every message,
 * executions of all markets one by one. One that reads executions may be closed with 4000, when some are missing; it
 * connects again at once. Any other end is a problem.
 */
import { SampleClient } from '../support/sample-client.ts'
import type { BookMessage, DataMessage, Reply, SampleExecution } from '../support/sample-messages.ts'
import { SymbolVerifier } from '../support/venues/venue-history.ts'
import { bookLevels } from '../support/venues/wire-verifier.ts'
import { Waiters } from '../support/waiters.ts'
import type { SoakStage } from './venue-stage.ts'

const EXECUTIONS_MISSING = 4000
/** Longer than any soak; timers can take no more. */
const FOREVER_MILLISECONDS = 2_000_000_000

export class SoakReader {
  readonly problems: string[] = []
  readonly counts = { messages: 0, snapshots: 0, updates: 0, executions: 0, closed4000: 0 }
  /** Markets whose books were withdrawn: every level was removed. */
  readonly withdrawn = new Set<string>()
  /** Books and executions of markets with one source, by market. */
  readonly verifiers: ReadonlyMap<string, SymbolVerifier>
  readonly #stage: SoakStage
  readonly #token: string
  readonly #channels: readonly string[]
  /** Of each source of an aggregated market, for its executions. */
  readonly #sourceVerifiers: ReadonlyMap<string, readonly SymbolVerifier[]>
  readonly #waiters = new Waiters()
  #client: SampleClient | undefined
  #isClosing = false

  constructor(stage: SoakStage, token: string, channels: readonly string[]) {
    this.#stage = stage
    this.#token = token
    this.#channels = channels
    const verifier = ([venue, symbol]: readonly [string, string]) => {
      const history = stage.histories.get(venue)
      if (history === undefined) throw new Error(`there is no venue ${venue}`)
      return new SymbolVerifier(symbol, history)
    }
    this.verifiers = new Map([...stage.markets].map(([market, source]) => [market, verifier(source)]))
    this.#sourceVerifiers = new Map([...stage.aggregates].map(([market, sources]) => [market, sources.map(verifier)]))
  }

  /** Connects and subscribes; resolves when every market has a book. */
  async connect(): Promise<void> {
    const client = await SampleClient.connect({
      wsUrl: this.#stage.service.ws,
      token: this.#token,
      messagesKept: 10,
      executionsKept: 10,
      onMessage: (message, self) => this.#onMessage(message, self),
    })
    this.#client = client
    const markets = [...this.verifiers.keys(), ...this.#sourceVerifiers.keys()]
    const entries = markets.flatMap((market) => this.#channels.map((type) => ({ type, params: { market } })))
    await client.subscribe(...entries, { type: 'heartbeat' })
    void client.untilClosed(FOREVER_MILLISECONDS).then(() => this.#onClosed(client))
    if (!this.#channels.includes('market_data')) return
    await client.until('all books', () => markets.every((market) => client.book(market).isComplete))
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#client?.close()
  }

  /** The last book of a market, as its message left it. */
  book(market: string): ReturnType<typeof bookLevels> {
    return bookLevels((this.#client as SampleClient).book(market))
  }

  /** Resolves as soon as the condition holds; it is looked at after every message. */
  until(what: string, isMet: () => boolean, limitMilliseconds: number): Promise<void> {
    return this.#waiters.until(what, isMet, limitMilliseconds)
  }

  /** Book messages after which the book was one that its venue had. */
  get booksMatched(): number {
    return [...this.verifiers.values()].reduce((count, { matched }) => count + matched, 0)
  }

  /** Removes and returns the problems that the verifiers and the current client have found. */
  takeProblems(): string[] {
    const verifiers = [...this.verifiers.values(), ...[...this.#sourceVerifiers.values()].flat()]
    return [this.problems, ...verifiers.map((verifier) => verifier.problems), this.#client?.problems ?? []].flatMap(
      (found) => found.splice(0),
    )
  }

  #onMessage(message: Reply | DataMessage, client: SampleClient): void {
    this.counts.messages++
    if ('channel' in message && message.channel === 'market_data') {
      const { market, type } = message.payload as unknown as BookMessage
      this.counts[type === 'SNAPSHOT' ? 'snapshots' : 'updates']++
      const levels = bookLevels(client.book(market))
      if (levels.bids.length + levels.asks.length === 0) this.withdrawn.add(market)
      else this.verifiers.get(market)?.look(levels)
    } else if ('channel' in message && message.channel === 'execution_data') {
      this.counts.executions++
      this.#onExecution(message.payload as unknown as SampleExecution)
    }
    this.#waiters.notify()
  }

  #onExecution({ market, price, amount, executed_at }: SampleExecution): void {
    const at = Date.parse(executed_at)
    const verifier = this.verifiers.get(market)
    if (verifier !== undefined) verifier.execute(price, amount, at)
    else if (this.#sourceVerifiers.get(market)?.some((one) => one.takes(price, amount, at)) !== true) {
      this.problems.push(`${market}: ${price} x ${amount} at ${executed_at} is the next trade of none of its sources`)
    }
  }

  #onClosed(client: SampleClient): void {
    this.problems.push(...client.problems.splice(0))
    if (this.#isClosing) return
    if (client.closed?.code !== EXECUTIONS_MISSING || !this.#channels.includes('execution_data')) {
      this.problems.push(`a connection was closed: ${client.closed?.code} ${client.closed?.reason}`)
    } else {
      this.counts.closed4000++
    }
    for (const verifier of [...this.verifiers.values(), ...[...this.#sourceVerifiers.values()].flat()])
      verifier.missed()
    void this.connect().catch((error: unknown) => this.problems.push(`no new connection: ${String(error)}`))
  }
}
