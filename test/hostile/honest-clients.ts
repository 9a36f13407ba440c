/**
 * Well-behaved clients during an attack, which must not be affected: no close, no gap, no late heartbeat, no refused
 * handshake. A book built throughout the attack is compared with a new client's SNAPSHOT.
 */
import { SampleClient, sortedLevels } from '../support/sample-client.ts'
import type { SampleExecution } from '../support/sample-messages.ts'
import type { ProcessWatch } from './process-watch.ts'

const BOOKS_KEPT = 5_000

interface Honest {
  readonly client: SampleClient
  /** The first market's book as text after each of its messages, by the message's time. */
  readonly books: Map<string, string>
  /** When the last heartbeat arrived, and the service's CPU time until then. */
  heartbeat: { readonly atMilliseconds: number; readonly busyMilliseconds: number }
}

interface HonestOptions {
  readonly wsUrl: string
  readonly token: string
  readonly markets: readonly string[]
  readonly ca?: string | undefined
  readonly watch: ProcessWatch
}

export class HonestClients {
  readonly #options: HonestOptions
  readonly #clients: Honest[] = []
  /**
   * The longest time between two heartbeats for any client while the service was running. The time when the service, or
   * this process, was not scheduled does not count.
   */
  heartbeatGapMillisecondsMax = 0
  /** How many new clients were accepted and received the same book as the others. */
  newcomers = 0

  private constructor(options: HonestOptions) {
    this.#options = options
  }

  static async start(count: number, options: HonestOptions): Promise<HonestClients> {
    const clients = new HonestClients(options)
    for (let index = 0; index < count; index++) clients.#clients.push(await clients.#join())
    return clients
  }

  get count(): number {
    return this.#clients.length
  }

  /** All clients' problems. */
  problems(): string[] {
    return this.#clients.flatMap(({ client }, index) => [
      ...client.problems.map((problem) => `honest client ${index}: ${problem}`),
      ...(client.closed === undefined ? [] : [`honest client ${index} was closed with ${client.closed.code}`]),
    ])
  }

  /** A new client's SNAPSHOT must equal the book that the others built up message by message. */
  async compareWithNewcomer(): Promise<void> {
    const newcomer = await this.#join()
    try {
      const [time, text] = [...newcomer.books][0] as [string, string]
      for (const [index, { client, books }] of this.#clients.entries()) {
        // Once this client has a later book, it has had the book with that time.
        await client.until('a later book', () => client.book(this.#market).time > time)
        const held = [...books.keys()].filter((candidate) => candidate <= time).at(-1)
        if (held === undefined || books.get(held) !== text) {
          throw new Error(`honest client ${index} had another book at ${held} than a new client received at ${time}`)
        }
      }
      await this.#compareExecutions()
      this.newcomers++
    } finally {
      await newcomer.client.close()
    }
  }

  /**
   * The first client came before the others: from another's first execution on, it has the same ones in the same order.
   */
  async #compareExecutions(): Promise<void> {
    const [{ client: first }, ...others] = this.#clients as [Honest, ...Honest[]]
    for (const { client } of others) {
      const other = client.executions.map(executionText)
      if (other.length === 0) continue
      // Data delivered by one socket may be delayed in another.
      const [last] = other.slice(-1)
      await first.until('the last execution of another', () => first.executions.map(executionText).includes(last!))
      const held = first.executions.map(executionText)
      const isSame = (start: number) => other.every((text, at) => (held[start + at] ?? text) === text)
      if (!held.some((text, start) => text === other[0] && isSame(start)))
        throw new Error(`${other.length} executions of an honest client are not among the first one's ${held.length}`)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()))
  }

  get #market(): string {
    return this.#options.markets[0] as string
  }

  async #join(): Promise<Honest> {
    const { wsUrl, token, markets, ca } = this.#options
    const books = new Map<string, string>()
    const honest: Honest = {
      books,
      heartbeat: this.#now(),
      client: await SampleClient.connect({
        wsUrl,
        token,
        ...(ca === undefined ? {} : { ca }),
        onMessage: (message, client) => {
          if (!('channel' in message)) return
          if (message.channel === 'heartbeat') this.#heartbeat(honest)
          if (message.channel !== 'market_data' || message.payload.market !== this.#market) return
          const book = client.book(this.#market)
          books.set(book.time, JSON.stringify([sortedLevels(book, 'bids'), sortedLevels(book, 'asks')]))
          const [oldest] = books.keys()
          if (books.size > BOOKS_KEPT) books.delete(oldest as string)
        },
      }),
    }
    const { client } = honest
    await client.subscribeAll(...markets)
    await client.until('the books', () => markets.every((market) => client.book(market).isComplete))
    honest.heartbeat = this.#now()
    return honest
  }

  #heartbeat(honest: Honest): void {
    const { heartbeat } = honest
    honest.heartbeat = this.#now()
    const passed = honest.heartbeat.atMilliseconds - heartbeat.atMilliseconds
    const worked = honest.heartbeat.busyMilliseconds - heartbeat.busyMilliseconds
    this.heartbeatGapMillisecondsMax = Math.max(this.heartbeatGapMillisecondsMax, Math.min(passed, worked))
  }

  #now() {
    return { atMilliseconds: performance.now(), busyMilliseconds: this.#options.watch.busyMilliseconds }
  }
}

function executionText({ market, price, amount, executed_at }: SampleExecution): string {
  return `${market} ${price} ${amount} ${executed_at}`
}
