/**
 * The extended protocol on a real socket: a client written from docs/reference/extended-stream.md alone, over two connections.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { digestOf } from '../support/extended-verifier.ts'
import { market, type ServiceInside, startServiceInside, temporaryFolder, tokenOf } from '../support/running-service.ts'

const DEPTHS: Readonly<Record<string, number | undefined>> = { BTCUSD: undefined, ETHUSD: 25 }
const WAIT_MILLISECONDS = 120_000

interface Book {
  readonly bids: Map<string, string>
  readonly asks: Map<string, string>
  cursor: string
}

interface Level {
  readonly price: string
  readonly amount: string
}

interface BookDigest {
  readonly market: string
  readonly cursor: string
  readonly digest: string
}

/** Keeps the books of its markets across connections, and records every problem. */
class DocumentedClient {
  readonly problems: string[] = []
  readonly books = new Map<string, Book>()
  snapshots = 0
  updates = 0
  digests = 0
  #socket: WebSocket | undefined

  async connect(service: ServiceInside, token: string): Promise<void> {
    const socket = new WebSocket(service.ws, ['tidegate.v1'], { headers: { Authorization: `Bearer ${token}` } })
    this.#socket = socket
    socket.on('message', (data) => this.#onMessage(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    expect(socket.protocol).toBe('tidegate.v1')
    const channels = Object.entries(DEPTHS).map(([symbol, depth]) => {
      return { type: 'market_data', params: { market: symbol, depth, resume: this.books.get(symbol)?.cursor } }
    })
    socket.send(JSON.stringify({ type: 'subscribe', channels: [...channels, { type: 'heartbeat' }] }))
  }

  async disconnect(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket?.once('close', resolve))
    this.#socket?.close()
    await closed
  }

  /** Resolves after this many further messages and digests, or at the first problem. */
  async goOn(updates: number, digests: number): Promise<void> {
    const wanted = { updates: this.updates + updates, digests: this.digests + digests }
    const end = performance.now() + WAIT_MILLISECONDS
    while (this.updates < wanted.updates || this.digests < wanted.digests) {
      if (this.problems.length > 0 || performance.now() > end) return
      await new Promise((resolve) => this.#socket?.once('message', resolve))
    }
  }

  #onMessage(message: {
    channel?: string
    payload: {
      readonly market: string
      readonly type: string
      readonly bids: readonly Level[]
      readonly asks: readonly Level[]
      readonly books: readonly BookDigest[]
    }
    stream: { cursor: string; prev?: string; covers: number }
  }): void {
    if (message.channel === 'heartbeat') this.#onHeartbeat(message.payload.books)
    if (message.channel !== 'market_data') return
    const { payload, stream } = message
    let book = this.books.get(payload.market)
    if (payload.type === 'SNAPSHOT') {
      this.snapshots += 1
      book = { bids: new Map(), asks: new Map(), cursor: '' }
      this.books.set(payload.market, book)
    } else {
      this.updates += 1
      if (stream.prev !== book?.cursor) this.problems.push(`prev ${stream.prev} behind ${book?.cursor}`)
      if (!(stream.covers >= 1)) this.problems.push(`covers ${stream.covers}`)
    }
    if (book === undefined) return
    book.cursor = stream.cursor
    for (const side of ['bids', 'asks'] as const) {
      for (const { price, amount } of payload[side]) {
        if (amount === '0') book[side].delete(price)
        else book[side].set(price, amount)
      }
      if (book[side].size > (DEPTHS[payload.market] ?? Number.POSITIVE_INFINITY)) this.problems.push('too many levels')
    }
  }

  #onHeartbeat(books: readonly BookDigest[]): void {
    for (const { market: symbol, cursor, digest } of books) {
      this.digests += 1
      const book = this.books.get(symbol)
      if (book?.cursor !== cursor) this.problems.push(`heartbeat at ${cursor}, book at ${book?.cursor}`)
      if (digestOf(book) !== digest) this.problems.push(`digest ${digest}, book ${digestOf(book)}`)
    }
  }
}

describe('a client of tidegate.v1', () => {
  const folder = temporaryFolder()
  let service: ServiceInside | undefined
  afterAll(async () => {
    await service?.stop()
    folder.remove()
  })

  it('a client of tidegate.v1 sees no gap and no wrong digest, also across a reconnection that it resumes', async () => {
    const flags = { 'simulator.rate': 500, 'simulator.seed': 20_261_120, 'stream.heartbeat_seconds': 1 }
    service = await startServiceInside(folder.path, [market('BTC', 2, 0), market('ETH', 2, 500)], flags)
    const token = await tokenOf(service, await service.operator.createClient())
    const client = new DocumentedClient()
    await client.connect(service, token)
    await client.goOn(50, 4)
    await client.disconnect()
    await client.connect(service, token)
    await client.goOn(50, 4)
    await client.disconnect()
    expect(client.problems).toEqual([])
    expect(client.digests).toBeGreaterThanOrEqual(8)
    expect(client.updates).toBeGreaterThanOrEqual(100)
    // The second connection resumed where the first one had ended.
    expect(client.snapshots).toBe(2)
  })
})
