/**
 * A client for several gateways that connects again after every close, as integrators do, and checks its input with the
 * rules of `tidegate verify`. It remembers each market's latest time over its connections: no later one may be earlier.
 */
import { StreamChecker } from '../../src/conformance/judge/stream/stream-checker.ts'
import type { Violation } from '../../src/conformance/judge/stream/violations.ts'
import { SampleClient } from './sample-client.ts'

interface ClusterReaderOptions {
  /** The running gateways' stream addresses. */
  readonly addresses: () => readonly string[]
  readonly token: string
  readonly markets: readonly string[]
}

const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data'] as const
const RECONNECT_MILLISECONDS = 100

export class ClusterReader {
  readonly violations: Violation[] = []
  /** Book times that were not later than a previous one, over all connections. */
  readonly earlierTimes: string[] = []
  /** How many connections ended, by close code. */
  readonly closes = new Map<number, number>()
  /** When each market's last book message arrived, on the monotonic clock. */
  readonly received = new Map<string, number>()
  readonly #options: ClusterReaderOptions
  readonly #checker = new StreamChecker()
  readonly #times = new Map<string, string>()
  #connections = 0
  #client: SampleClient | undefined
  #isStopped = false
  readonly #done: Promise<void>

  constructor(options: ClusterReaderOptions) {
    this.#options = options
    this.#done = this.#run()
  }

  get isConnected(): boolean {
    return this.#client !== undefined
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#client?.terminate()
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#follow().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MILLISECONDS * (1 + Math.random())))
    }
  }

  /** Follows one connection until it ends. */
  async #follow(): Promise<void> {
    const { addresses, token, markets } = this.#options
    const all = addresses()
    const wsUrl = all[this.#connections++ % all.length] as string
    const onMessage = (_message: unknown, client: SampleClient, text: string) => this.#take(client, text)
    const client = await SampleClient.connect({ wsUrl, token, onMessage, messagesKept: 1, executionsKept: 1 })
    if (this.#isStopped) client.terminate()
    this.#client = client
    this.#checker.onConnect()
    const channels = markets.flatMap((market) => CHANNELS.map((type) => ({ type, params: { market } })))
    client.send({ type: 'subscribe', channels: [...channels, { type: 'heartbeat' }] })
    // It ends when the process at the other end does.
    await client.untilClosed(ONE_DAY_MILLISECONDS)
    this.#client = undefined
    const code = client.closed?.code ?? 0
    this.closes.set(code, (this.closes.get(code) ?? 0) + 1)
  }

  #take(client: SampleClient, text: string): void {
    const now = performance.now()
    this.violations.push(...this.#checker.onMessage(text, now))
    const { channel, payload } = JSON.parse(text) as { channel?: string; payload?: { market: string; time: string } }
    if (channel === 'market_data' && payload !== undefined) {
      const { market, time } = payload
      const before = this.#times.get(market) ?? ''
      if (time < before) this.earlierTimes.push(`${market} ${time} after ${before}`)
      else this.#times.set(market, time)
      this.received.set(market, now)
    }
    const channels = this.#checker.takeEnded()
    if (channels.length > 0) client.send({ type: 'subscribe', channels })
  }
}

const ONE_DAY_MILLISECONDS = 86_400_000
