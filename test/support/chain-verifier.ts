/**
 * An extended protocol client that outlives its connections and its service, for relay tests. It rebuilds the books
 * from the messages alone and checks every digest. It remembers every origin's digest, and all executions' identifiers
 * in order, with a mark wherever the service notified it of a gap.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { digestOf } from './extended-verifier.ts'
import type { RunningService, TestClient } from './running-service.ts'
import { fetchToken } from './sample-client.ts'

interface Level {
  readonly price: string
  readonly amount: string
}

interface Message {
  readonly type?: string
  readonly channel?: string
  readonly channels?: readonly {
    readonly type: string
    readonly params?: { readonly market: string }
    readonly success: boolean
    readonly resumed?: boolean
  }[]
  readonly stream: { readonly cursor: string; readonly prev?: string }
  readonly payload: {
    readonly market: string
    readonly type?: string
    readonly id: string
    readonly venue: string
    readonly bids: readonly Level[]
    readonly asks: readonly Level[]
    readonly books?: readonly {
      readonly market: string
      readonly cursor: string
      readonly digest?: string
      readonly origin?: string
    }[]
  }
}

interface Book {
  readonly bids: Map<string, string>
  readonly asks: Map<string, string>
  cursor: string
}

/** Executions are missing here, and the client was notified. */
const GAP = null

const WAIT_MILLISECONDS = 60_000

export class ChainVerifier {
  readonly name: string
  readonly problems: string[] = []
  readonly #venues: Readonly<Record<string, string>>
  /** How many heartbeat digests were equal to the books'. */
  digests = 0
  /** How many connections ended, by close code. */
  readonly closes = new Map<number, number>()
  #connections = 0
  readonly #books = new Map<string, Book>()
  /** By market. */
  readonly #executions = new Map<string, (string | typeof GAP)[]>()
  readonly #executionCursors = new Map<string, string>()
  /** By market and origin. */
  readonly #origins = new Map<string, string>()
  readonly #lastOrigins = new Map<string, string>()
  #markets: readonly string[] = []
  #socket: WebSocket | undefined
  #isStopped = false
  #life: Promise<void> | undefined

  /** @param venues each market's execution venue; `simulator` where it names none */
  constructor(name: string, venues: Readonly<Record<string, string>> = {}) {
    this.name = name
    this.#venues = venues
  }

  /** Connects, and again whenever the connection ends, at the service's current addresses. */
  start(
    service: Pick<RunningService, 'ws' | 'http'>,
    { clientId, clientSecret }: TestClient,
    markets: readonly string[],
  ): void {
    this.#markets = markets
    for (const market of markets) this.#executions.set(market, [])
    this.#life = this.#live(service, () => fetchToken({ authUrl: service.http, clientId, clientSecret }))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#socket?.terminate()
    await this.#life
  }

  get hasBooks(): boolean {
    return this.#markets.every((market) => (this.#books.get(market)?.bids.size ?? 0) > 0)
  }

  get summary(): string {
    const executions = [...this.#executions.values()].flat().filter((id) => id !== GAP).length
    return `${this.#connections} connections, ${this.digests} digests, ${executions} executions, ${this.#origins.size} origins`
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    const end = performance.now() + WAIT_MILLISECONDS
    while (!isDone()) {
      if (performance.now() > end)
        throw new Error(`${this.name} waited in vain for ${what}: ${this.problems.join('; ')}`)
      await wait(20)
    }
  }

  /** A market's executions in order, with null where some are missing and the client was notified. */
  executionsOf(market: string): readonly (string | null)[] {
    return this.#executions.get(market) ?? []
  }

  /** The digests seen, by market and origin (`BTCUSD run-1.18`), in order. */
  get origins(): ReadonlyMap<string, string> {
    return this.#origins
  }

  /** The origin of the market's last digest. Empty before one. */
  lastOrigin(market: string): string {
    return this.#lastOrigins.get(market) ?? ''
  }

  /** How many origins both have seen with equal digests, and which with different ones. */
  compareOrigins(other: ChainVerifier): { readonly equal: number; readonly different: readonly string[] } {
    let equal = 0
    const different: string[] = []
    for (const [origin, digest] of this.#origins) {
      const theirs = other.#origins.get(origin)
      if (theirs === digest) equal += 1
      else if (theirs !== undefined) different.push(`${origin}: ${digest} and ${theirs}`)
    }
    return { equal, different }
  }

  /**
   * Compares a relay's executions with the first node's: each at most once, in order, and none absent without a notice,
   * except where the first node's own client was notified of missing ones.
   */
  compareExecutions(first: ChainVerifier): {
    readonly seen: number
    readonly gaps: number
    readonly problems: readonly string[]
  } {
    const problems: string[] = []
    let seen = 0
    let gaps = 0
    for (const market of this.#markets) {
      const theirs = first.#executions.get(market)!
      const places = new Map(theirs.map((id, place) => [id, place]))
      const hasGaps = theirs.includes(GAP)
      let last: number | undefined
      for (const id of this.#executions.get(market)!) {
        if (id === GAP) {
          gaps += 1
          last = undefined
          continue
        }
        seen += 1
        const place = places.get(id)
        if (place === undefined) {
          // The first node's client may not have received it before its service was killed, or before it connected.
          if (last !== undefined && !hasGaps && last + 1 < theirs.length) problems.push(`${market} ${id} is unknown`)
          last = undefined
          continue
        }
        const between = last === undefined ? [] : theirs.slice(last + 1, place)
        if (last !== undefined && (place <= last || between.some((one) => one !== GAP))) {
          problems.push(`${market} ${id} follows ${theirs[last]}, with ${between.length} between`)
        }
        last = place
      }
      const own = this.#executions.get(market)!.filter((id) => id !== GAP)
      if (new Set(own).size !== own.length) problems.push(`${market} has an execution twice`)
    }
    return { seen, gaps, problems }
  }

  async #live(service: Pick<RunningService, 'ws'>, token: () => Promise<string>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#connect(service.ws, await token())
      } catch {
        // The service is down: the next attempt follows.
      }
      await wait(50)
    }
  }

  async #connect(url: string, token: string): Promise<void> {
    const socket = new WebSocket(url, ['tidegate.v1'], { headers: { Authorization: `Bearer ${token}` } })
    this.#socket = socket
    socket.on('message', (data) => this.#onMessage(JSON.parse(String(data)) as Message))
    const closed = new Promise<void>((resolve) =>
      socket.once('close', (code) => {
        this.closes.set(code, (this.closes.get(code) ?? 0) + 1)
        resolve()
      }),
    )
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    this.#connections += 1
    const channels = this.#markets.flatMap((market) => [
      { type: 'market_data', params: { market, resume: this.#books.get(market)?.cursor } },
      { type: 'execution_data', params: { market, resume: this.#executionCursors.get(market) } },
    ])
    socket.send(JSON.stringify({ type: 'subscribe', channels: [...channels, { type: 'heartbeat' }] }))
    await closed
  }

  #onMessage(message: Message): void {
    const { channel, channels = [], payload, stream } = message
    if (channel === 'market_data') this.#onBook(payload, stream)
    else if (channel === 'heartbeat') this.#onHeartbeat(payload.books ?? [])
    else if (channel === 'execution_data') {
      this.#executions.get(payload.market)!.push(payload.id)
      if (payload.venue !== (this.#venues[payload.market] ?? 'simulator'))
        this.problems.push(`execution ${payload.id} has the venue ${payload.venue}`)
      this.#executionCursors.set(payload.market, stream.cursor)
    } else {
      for (const { type, params, resumed, success } of channels) {
        if (!success) this.problems.push(`a subscription failed: ${JSON.stringify(message)}`)
        if (type === 'execution_data' && resumed !== true) this.#executions.get(params!.market)!.push(GAP)
      }
    }
  }

  #onBook({ market, type, bids, asks }: Message['payload'], { cursor, prev }: Message['stream']): void {
    const known = this.#books.get(market)
    // An UPDATE that restores a withdrawn book names no predecessor.
    const isWithdrawn = known !== undefined && known.bids.size + known.asks.size === 0
    if (type === 'SNAPSHOT') this.#books.set(market, { bids: new Map(), asks: new Map(), cursor: '' })
    else if (known === undefined || (prev !== known.cursor && !(prev === undefined && isWithdrawn)))
      this.problems.push(`${market}: an UPDATE does not follow`)
    const book = this.#books.get(market)
    if (book === undefined) return
    for (const [side, levels] of [
      [book.bids, bids],
      [book.asks, asks],
    ] as const) {
      for (const { price, amount } of levels) {
        if (amount === '0') side.delete(price)
        else side.set(price, amount)
      }
    }
    book.cursor = cursor
  }

  #onHeartbeat(books: NonNullable<Message['payload']['books']>): void {
    for (const { market, cursor, digest, origin } of books) {
      const book = this.#books.get(market)
      if (digest === undefined || book === undefined) continue
      if (cursor !== book.cursor) this.problems.push(`${market}: the heartbeat names another message`)
      else if (digestOf(book) !== digest) this.problems.push(`${market}: the digest differs`)
      else this.digests += 1
      if (origin === undefined) continue
      this.#lastOrigins.set(market, origin)
      const key = `${market} ${origin}`
      const earlier = this.#origins.get(key)
      if (earlier !== undefined && earlier !== digest) this.problems.push(`${key} has two digests`)
      this.#origins.set(key, digest)
    }
  }
}
