/**
 * Clients that do everything right while others do not, and must notice nothing: no close, no gap, no late heartbeat, no
 * handshake refused. A book built up through all of it is compared with what a client that comes anew is told.
 */
import { SampleClient, sortedLevels } from '../support/sample-client.ts'
import type { SampleExecution } from '../support/sample-messages.ts'

const BOOKS_KEPT = 5_000

interface Honest {
  readonly client: SampleClient
  /** Text of the book of the first market after each of its messages, by the time of that. */
  readonly books: Map<string, string>
  beatMilliseconds: number
}

export class HonestClients {
  readonly #wsUrl: string
  readonly #token: string
  readonly #markets: readonly string[]
  readonly #ca: string | undefined
  readonly #clients: Honest[] = []
  /** Longest time between two heartbeats at any of them. */
  beatGapMillisecondsMax = 0
  /** How many newcomers were let in and told the book that the others had. */
  newcomers = 0

  private constructor(wsUrl: string, token: string, markets: readonly string[], ca: string | undefined) {
    this.#wsUrl = wsUrl
    this.#token = token
    this.#markets = markets
    this.#ca = ca
  }

  static async start(
    count: number,
    {
      wsUrl,
      token,
      markets,
      ca,
    }: { wsUrl: string; token: string; markets: readonly string[]; ca?: string | undefined },
  ): Promise<HonestClients> {
    const clients = new HonestClients(wsUrl, token, markets, ca)
    for (let index = 0; index < count; index++) clients.#clients.push(await clients.#join())
    return clients
  }

  get count(): number {
    return this.#clients.length
  }

  /** Everything any of them had to complain about. */
  problems(): string[] {
    return this.#clients.flatMap(({ client }, index) => [
      ...client.problems.map((problem) => `honest client ${index}: ${problem}`),
      ...(client.closed === undefined ? [] : [`honest client ${index} was closed with ${client.closed.code}`]),
    ])
  }

  /** A new client's book, as it is told whole, must be the book that the others built up message by message. */
  async compareWithNewcomer(): Promise<void> {
    const newcomer = await this.#join()
    try {
      const [time, text] = [...newcomer.books][0] as [string, string]
      for (const [index, { client, books }] of this.#clients.entries()) {
        // Later than the newcomer's: then what was held at that time is known.
        await client.until('a later book', () => client.book(this.#market).time > time)
        const held = [...books.keys()].filter((candidate) => candidate <= time).at(-1)
        if (held === undefined || books.get(held) !== text) {
          throw new Error(`honest client ${index} held at ${held} another book than a newcomer was told at ${time}`)
        }
      }
      this.#compareExecutions()
      this.newcomers++
    } finally {
      await newcomer.client.close()
    }
  }

  /** The first came before the others: from the first execution of another on, it has the same ones in the same order. */
  #compareExecutions(): void {
    const [first = [], ...others] = this.#clients.map(({ client }) => client.executions.map(executionText))
    for (const [index, other] of others.entries()) {
      const isSame = (start: number) => other.every((text, at) => (first[start + at] ?? text) === text)
      if (other.length > 0 && !first.some((text, start) => text === other[0] && isSame(start))) {
        throw new Error(`the executions of honest client ${index + 1} are not those of the first`)
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()))
  }

  get #market(): string {
    return this.#markets[0] as string
  }

  async #join(): Promise<Honest> {
    const books = new Map<string, string>()
    const honest: Honest = {
      books,
      beatMilliseconds: performance.now(),
      client: await SampleClient.connect({
        wsUrl: this.#wsUrl,
        token: this.#token,
        ...(this.#ca === undefined ? {} : { ca: this.#ca }),
        onMessage: (message, client) => {
          if (!('channel' in message)) return
          if (message.channel === 'heartbeat') this.#beat(honest)
          if (message.channel !== 'market_data' || message.payload.market !== this.#market) return
          const book = client.book(this.#market)
          books.set(book.time, JSON.stringify([sortedLevels(book, 'bids'), sortedLevels(book, 'asks')]))
          const [oldest] = books.keys()
          if (books.size > BOOKS_KEPT) books.delete(oldest as string)
        },
      }),
    }
    const { client } = honest
    await client.subscribeAll(...this.#markets)
    await client.until('the books', () => this.#markets.every((market) => client.book(market).isComplete))
    honest.beatMilliseconds = performance.now()
    return honest
  }

  #beat(honest: Honest): void {
    const now = performance.now()
    this.beatGapMillisecondsMax = Math.max(this.beatGapMillisecondsMax, now - honest.beatMilliseconds)
    honest.beatMilliseconds = now
  }
}

function executionText({ market, price, amount, executed_at }: SampleExecution): string {
  return `${market} ${price} ${amount} ${executed_at}`
}
