/**
 * A client of a soak that knows only our wire: every book of a market with one source is judged after every message,
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
  /** Books and executions of markets with one source, by market. */
  readonly judges: ReadonlyMap<string, SymbolVerifier>
  readonly #stage: SoakStage
  readonly #token: string
  readonly #channels: readonly string[]
  /** Of each source of an aggregated market, for its executions. */
  readonly #sourceJudges: ReadonlyMap<string, readonly SymbolVerifier[]>
  readonly #waiters = new Waiters()
  #client: SampleClient | undefined
  #isClosing = false

  constructor(stage: SoakStage, token: string, channels: readonly string[]) {
    this.#stage = stage
    this.#token = token
    this.#channels = channels
    const judge = ([venue, symbol]: readonly [string, string]) => {
      const truth = stage.truths.get(venue)
      if (truth === undefined) throw new Error(`there is no venue ${venue}`)
      return new SymbolVerifier(symbol, truth)
    }
    this.judges = new Map([...stage.markets].map(([market, source]) => [market, judge(source)]))
    this.#sourceJudges = new Map([...stage.aggregates].map(([market, sources]) => [market, sources.map(judge)]))
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
    const markets = [...this.judges.keys(), ...this.#sourceJudges.keys()]
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
    return [...this.judges.values()].reduce((count, { matched }) => count + matched, 0)
  }

  /** What the judges and the present client have found, and forgets it. */
  takeProblems(): string[] {
    const judges = [...this.judges.values(), ...[...this.#sourceJudges.values()].flat()]
    return [this.problems, ...judges.map((judge) => judge.problems), this.#client?.problems ?? []].flatMap((found) =>
      found.splice(0),
    )
  }

  #onMessage(message: Reply | DataMessage, client: SampleClient): void {
    this.counts.messages++
    if ('channel' in message && message.channel === 'market_data') {
      const { market, type } = message.payload as unknown as BookMessage
      this.counts[type === 'SNAPSHOT' ? 'snapshots' : 'updates']++
      this.judges.get(market)?.look(bookLevels(client.book(market)))
    } else if ('channel' in message && message.channel === 'execution_data') {
      this.counts.executions++
      this.#onExecution(message.payload as unknown as SampleExecution)
    }
    this.#waiters.notify()
  }

  #onExecution({ market, price, amount, executed_at }: SampleExecution): void {
    const at = Date.parse(executed_at)
    const judge = this.judges.get(market)
    if (judge !== undefined) judge.execute(price, amount, at)
    else if (this.#sourceJudges.get(market)?.some((one) => one.takes(price, amount, at)) !== true) {
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
    for (const judge of [...this.judges.values(), ...[...this.#sourceJudges.values()].flat()]) judge.missed()
    void this.connect().catch((error: unknown) => this.problems.push(`no new connection: ${String(error)}`))
  }
}
