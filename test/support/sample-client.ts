/**
 * A client as integrators usually write it, from the public documentation alone: it buffers UPDATEs until the SNAPSHOT,
 * compares times as text, deletes a level on `amount === "0"`, and uses price texts as keys. It corrects nothing:
 * contradictions are added to `problems`. Tests of the whole service inspect its books.
 */
import { WebSocket } from 'ws'
import type {
  BookMessage,
  DataMessage,
  Entry,
  Reply,
  SampleExecution,
  SampleLevel,
  SampleTop,
} from './sample-messages.ts'
import { Waiters } from './waiters.ts'

export interface SampleBook {
  readonly bids: Map<string, string>
  readonly asks: Map<string, string>
  /** The last applied message's `time`. */
  time: string
  /** False until the first SNAPSHOT. UPDATEs wait in `buffered`. */
  isComplete: boolean
  readonly buffered: BookMessage[]
}

export interface SampleClientOptions {
  readonly wsUrl: string
  readonly token?: string
  /** Subprotocols to offer. */
  readonly protocols?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** For TLS tests: the certificate to trust. */
  readonly ca?: string | Buffer
  /** Called with every message after the client has applied it. */
  readonly onMessage?: (message: Reply | DataMessage, client: SampleClient, text: string) => void
  /** The maximum number of raw messages kept, the newest; default 1000. */
  readonly messagesKept?: number
  /** The maximum number of executions kept, the newest; default 100000. */
  readonly executionsKept?: number
}

/** The handshake was answered without an upgrade. */
export class HandshakeRefused extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string

  constructor(status: number, headers: HandshakeRefused['headers'], body: string) {
    super(`the handshake was answered ${status}: ${body.slice(0, 200)}`)
    this.status = status
    this.headers = headers
    this.body = body
  }
}

const DATA_CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data'] as const

export class SampleClient {
  readonly books = new Map<string, SampleBook>()
  readonly tops = new Map<string, SampleTop>()
  /** The newest executions, in the order received. */
  readonly executions: SampleExecution[] = []
  /** The newest raw messages. */
  readonly messages: string[] = []
  /** Replies to requests and errors, in order. */
  readonly replies: Reply[] = []
  /**
   * Everything that a correct service never sends: crossed books, times that do not advance, wrong tops of the book …
   */
  readonly problems: string[] = []
  readonly counts = {
    messages: 0,
    bytes: 0,
    snapshots: 0,
    updates: 0,
    tops: 0,
    executions: 0,
    heartbeats: 0,
    pings: 0,
  }
  lastHeartbeat = ''
  /** Set when the connection has ended. */
  closed: { readonly code: number; readonly reason: string } | undefined
  readonly #socket: WebSocket
  readonly #options: SampleClientOptions
  readonly #waiters = new Waiters()

  private constructor(socket: WebSocket, options: SampleClientOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('message', (data, isBinary) => this.#onMessage(data as Buffer, isBinary))
    socket.on('ping', () => {
      this.counts.pings++
      this.#waiters.notify()
    })
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.#waiters.notify()
      this.#waiters.fail(`the connection was closed: ${code} ${reason}`)
    })
    // Every error is followed by 'close', which reports the end.
    socket.on('error', () => undefined)
  }

  /** Opens a connection. Rejects with `HandshakeRefused` when the service answers without an upgrade. */
  static connect(options: SampleClientOptions): Promise<SampleClient> {
    return new Promise((resolve, reject) => {
      const authorization = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
      const socket = new WebSocket(options.wsUrl, [...(options.protocols ?? [])], {
        headers: { ...authorization, ...options.headers },
        perMessageDeflate: false,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      })
      // Created before the socket opens: a message may arrive in the same read as the handshake response.
      const client = new SampleClient(socket, options)
      socket.once('open', () => resolve(client))
      socket.once('error', reject)
      socket.on('unexpected-response', (request, response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          body += chunk
        })
        response.on('end', () => {
          request.destroy()
          reject(new HandshakeRefused(response.statusCode ?? 0, response.headers, body))
        })
      })
    })
  }

  get protocol(): string {
    return this.#socket.protocol
  }

  /** Sends text unchanged, anything else as JSON. */
  send(message: unknown): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  sendBinary(bytes: Uint8Array): void {
    this.#socket.send(bytes, { binary: true })
  }

  ping(): void {
    this.#socket.ping()
  }

  /** Sends a request and resolves with the next reply, because replies arrive in request order. */
  async request(message: unknown): Promise<Reply> {
    const position = this.replies.length
    this.send(message)
    await this.until('a reply', () => this.replies.length > position)
    return this.replies[position] as Reply
  }

  subscribe(...channels: Entry[]): Promise<Reply> {
    return this.request({ type: 'subscribe', channels })
  }

  unsubscribe(...channels: Entry[]): Promise<Reply> {
    return this.request({ type: 'unsubscribe', channels })
  }

  /** The markets' three data channels, and heartbeat, in one request. */
  subscribeAll(...markets: string[]): Promise<Reply> {
    const entries = markets.flatMap((market) => DATA_CHANNELS.map((type) => ({ type, params: { market } })))
    return this.subscribe(...entries, { type: 'heartbeat' })
  }

  /** Resolves when `predicate` holds. It is checked after every message, ping and close, without polling. */
  until(what: string, predicate: () => boolean, limitMilliseconds?: number): Promise<void> {
    if (this.closed !== undefined && !predicate()) {
      return Promise.reject(new Error(`waited for ${what} on a connection closed with ${this.closed.code}`))
    }
    return this.#waiters.until(what, predicate, limitMilliseconds)
  }

  untilClosed(limitMilliseconds?: number): Promise<void> {
    return this.#waiters.until('the close', () => this.closed !== undefined, limitMilliseconds)
  }

  /** Stops reading: the service's writes fill the kernel buffers, then its own queue. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes the connection cleanly. Resolves when it is closed. */
  async close(): Promise<void> {
    this.#socket.close(1000)
    await this.untilClosed()
  }

  /** Terminates the connection without a close frame. */
  terminate(): void {
    this.#socket.terminate()
  }

  /** A market's book, or an empty incomplete one before its first message. */
  book(market: string): SampleBook {
    let book = this.books.get(market)
    if (book === undefined) {
      book = emptyBook()
      this.books.set(market, book)
    }
    return book
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    const text = data.toString()
    this.counts.messages++
    this.counts.bytes += data.length
    keep(this.messages, text, this.#options.messagesKept ?? 1_000)
    if (isBinary) this.problems.push('a binary message')
    const message = JSON.parse(text) as Reply | DataMessage
    if ('channel' in message) this.#onData(message)
    else {
      this.replies.push(message)
      if (message.type === 'subscribe') this.#forgetBooks(message)
    }
    this.#options.onMessage?.(message, this, text)
    this.#waiters.notify()
  }

  /** A new subscription begins with a SNAPSHOT, so the previous one's book is discarded. */
  #forgetBooks(reply: Reply): void {
    for (const entry of reply.channels ?? []) {
      if (entry.success !== true) continue
      const market = (entry.params as { market?: string } | undefined)?.market
      if (market === undefined) continue
      // Its times must still be later than all earlier ones on this connection.
      if (entry.type === 'market_data') this.books.set(market, { ...emptyBook(), time: this.book(market).time })
      if (entry.type === 'market_data.top_of_book') this.tops.delete(market)
    }
  }

  #onData({ channel, payload }: DataMessage): void {
    if (channel === 'market_data') {
      this.#onBook(payload as unknown as BookMessage)
    } else if (channel === 'market_data.top_of_book') {
      this.#onTop(payload as unknown as SampleTop)
    } else if (channel === 'execution_data') {
      this.counts.executions++
      keep(this.executions, payload as unknown as SampleExecution, this.#options.executionsKept ?? 100_000)
    } else if (channel === 'heartbeat') {
      this.counts.heartbeats++
      this.lastHeartbeat = payload.timestamp as string
    } else {
      this.problems.push(`data of an unknown channel: ${channel}`)
    }
  }

  #onBook(message: BookMessage): void {
    const book = this.book(message.market)
    if (message.type === 'SNAPSHOT') {
      this.counts.snapshots++
      this.#checkTime(book, message)
      book.bids.clear()
      book.asks.clear()
      applyLevels(book, message)
      book.time = message.time
      book.isComplete = true
      for (const update of book.buffered.splice(0)) {
        if (update.time > book.time) this.#applyUpdate(book, update)
      }
    } else {
      this.counts.updates++
      if (!book.isComplete) {
        book.buffered.push(message)
        this.problems.push(`${message.market}: UPDATE ${message.time} before its SNAPSHOT`)
        return
      }
      this.#applyUpdate(book, message)
    }
    const [bid, ask] = [bestPrice(book.bids, -1), bestPrice(book.asks, 1)]
    if (bid !== undefined && ask !== undefined && comparePriceTexts(bid, ask) >= 0) {
      this.problems.push(`${message.market}: crossed at ${message.time}: ${bid} / ${ask}`)
    }
  }

  #applyUpdate(book: SampleBook, message: BookMessage): void {
    this.#checkTime(book, message)
    applyLevels(book, message)
    book.time = message.time
  }

  #checkTime(book: SampleBook, message: BookMessage): void {
    if (message.time <= book.time) {
      this.problems.push(`${message.market}: ${message.type} ${message.time} is not later than ${book.time}`)
    }
  }

  #onTop(top: SampleTop): void {
    this.counts.tops++
    this.tops.set(top.market, top)
    const book = this.books.get(top.market)
    if (book?.isComplete !== true) return
    for (const [side, direction] of [
      ['bids', -1],
      ['asks', 1],
    ] as const) {
      const price = bestPrice(book[side], direction)
      const own = price === undefined ? 'nothing' : `${price} x ${book[side].get(price)}`
      const [sent] = top[side]
      const received = sent === undefined ? 'nothing' : `${sent.price} x ${sent.amount}`
      if (own !== received)
        this.problems.push(`${top.market}: top ${side} ${received} at ${top.timestamp}, the book has ${own}`)
    }
  }
}

/** Gets a token with the client credentials grant. Throws with the endpoint's response on failure. */
export async function fetchToken(options: {
  /** The token endpoint's base address, without /oauth2/token. */
  readonly authUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope?: string
}): Promise<string> {
  const response = await fetch(`${options.authUrl}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: options.clientId,
      client_secret: options.clientSecret,
      scope: options.scope ?? 'exchange:read_aggregated_marketdata_stream',
    }),
  })
  const answer = (await response.json()) as { access_token?: string; error?: string; error_description?: string }
  if (answer.access_token === undefined) {
    throw new Error(`no token: ${response.status} ${answer.error}: ${answer.error_description}`)
  }
  return answer.access_token
}

/** A side of a client's book as sorted levels, best first, for comparison with the server's. */
export function sortedLevels(book: SampleBook, side: 'bids' | 'asks'): SampleLevel[] {
  const direction = side === 'bids' ? -1 : 1
  return [...book[side]]
    .sort(([left], [right]) => comparePriceTexts(left, right) * direction)
    .map(([price, amount]) => ({ price, amount }))
}

/** Compares by value, for texts without leading zeros and with the same number of decimals. */
function comparePriceTexts(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length
  return left < right ? -1 : left > right ? 1 : 0
}

function bestPrice(side: ReadonlyMap<string, string>, direction: 1 | -1): string | undefined {
  let best: string | undefined
  for (const price of side.keys()) {
    if (best === undefined || comparePriceTexts(price, best) * direction < 0) best = price
  }
  return best
}

function emptyBook(): SampleBook {
  return { bids: new Map(), asks: new Map(), time: '', isComplete: false, buffered: [] }
}

function applyLevels(book: SampleBook, message: BookMessage): void {
  for (const side of ['bids', 'asks'] as const) {
    for (const { price, amount } of message[side]) {
      if (amount === '0') book[side].delete(price)
      else book[side].set(price, amount)
    }
  }
}

function keep<Item>(list: Item[], item: Item, countMax: number): void {
  list.push(item)
  // Trimmed rarely, so that keeping messages is cheap.
  if (list.length >= countMax * 2) list.splice(0, list.length - countMax)
}
