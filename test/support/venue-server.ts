/**
 * A venue to connect to in tests: speaks enough of Kraken's WebSocket API v2 and replays recordings at their own pace,
 * faster, or as fast as the socket takes them. It serves the recorded depth whatever it is asked, and says so.
 *
 * What is sent verbatim: book messages, heartbeats, and the acknowledgements in the middle of a recording. What the
 * server says by itself: the status on connecting, `instrument`, and the acknowledgement of every request it gets; the
 * recorded status and the recorded first acknowledgement are left out, so that no request is acknowledged twice.
 * A recording begins with the first subscription of its symbol, stands still while nobody is subscribed, and goes on
 * for everyone. Who subscribes later than at the begin gets a snapshot of the book as it then stands.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { RecordedKrakenBook, type RecordedMessage } from './recorded-kraken-book.ts'
import type { KrakenRecording } from './recordings.ts'
import { Waiters } from './waiters.ts'

export interface KrakenServerOptions {
  readonly recordings: readonly KrakenRecording[]
  /** 1 = the recording's own pace, 100 = a hundred times faster, Infinity = as fast as the socket takes it. */
  readonly speed: number
  /** Changes a recorded frame on its way out (`index` counts the frames of the symbol); the server's own book stays right. */
  readonly corrupt?: (text: string, symbol: string, index: number) => string
  /** Asked before a recorded frame goes out (`index` as above); the symbol's replay stands still until what it returns resolves. */
  readonly hold?: (symbol: string, index: number) => Promise<void> | undefined
  /** Listed by `instrument` besides the recordings, but refused by `book`. */
  readonly refusedPairs?: readonly KrakenPairListing[]
}

export interface KrakenPairListing {
  readonly symbol: string
  readonly pricePrecision: number
  readonly quantityPrecision: number
}

export interface KrakenRequest {
  readonly method: string
  readonly params: { readonly channel: string; readonly symbol?: readonly string[]; readonly depth?: number }
}

export interface KrakenServer {
  readonly url: string
  /** Resolves when every frame of every recording has been sent. */
  readonly finished: Promise<void>
  /** The checksums sent so far, by symbol, in the order of sending. */
  readonly checksums: ReadonlyMap<string, readonly number[]>
  /** Everything clients asked for, in the order of arrival. */
  readonly requests: readonly KrakenRequest[]
  /** Resolves as soon as the condition holds; it is looked at after every request, connection and disconnection. */
  until(what: string, isMet: () => boolean): Promise<void>
  /** Clients that are connected now. */
  connections(): number
  /** Sends a text to every client. */
  broadcast(text: string): void
  /** Cuts every connection without a close frame. */
  disconnectAll(): void
  close(): Promise<void>
}

/** How often a venue says that it lives when nothing else is to be said. */
const HEARTBEAT_MILLISECONDS = 1000
/** At full speed: frames between two waits for the socket. */
const FRAMES_PER_WAIT = 64
const DEPTHS = [10, 25, 100, 500, 1000]

export async function startKrakenServer(options: KrakenServerOptions): Promise<KrakenServer> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  const checksums = new Map<string, number[]>(options.recordings.map(({ symbol }) => [symbol, []]))
  const replays = new Map(
    options.recordings.map((recording) => [
      recording.symbol,
      new Replay(recording, options, checksums.get(recording.symbol) as number[]),
    ]),
  )
  const requests: KrakenRequest[] = []
  const waiters = new Waiters()
  const broadcast = (text: string) => {
    for (const client of server.clients) client.send(text, ignoreClosedSocket)
  }
  server.on('connection', (socket) => {
    socket.on('error', ignoreClosedSocket)
    socket.on('close', () => {
      for (const replay of replays.values()) replay.leave(socket)
      waiters.notify()
    })
    waiters.notify()
    socket.send(
      '{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"online","api_version":"v2","connection_id":1}]}',
    )
    socket.on('message', (data) => {
      const request = JSON.parse(String(data)) as KrakenRequest
      requests.push(request)
      answer(socket, request, replays, options)
      waiters.notify()
    })
  })
  const heartbeat = setInterval(() => broadcast('{"channel":"heartbeat"}'), HEARTBEAT_MILLISECONDS)
  const { port } = server.address() as AddressInfo
  return {
    url: `ws://127.0.0.1:${port}`,
    finished: Promise.all([...replays.values()].map((replay) => replay.finished)).then(() => undefined),
    checksums,
    requests,
    until: (what, isMet) => waiters.until(what, isMet),
    connections: () => server.clients.size,
    broadcast,
    disconnectAll() {
      for (const client of server.clients) client.terminate()
    },
    async close() {
      clearInterval(heartbeat)
      for (const replay of replays.values()) replay.close()
      for (const client of server.clients) client.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function answer(
  socket: WebSocket,
  { method, params }: KrakenRequest,
  replays: ReadonlyMap<string, Replay>,
  options: KrakenServerOptions,
): void {
  const time = new Date().toISOString()
  const times = { time_in: time, time_out: time }
  const say = (message: object) => socket.send(JSON.stringify({ method, ...message, ...times }), ignoreClosedSocket)
  if (params.channel === 'instrument') {
    say({ result: { channel: 'instrument', snapshot: true }, success: true })
    const pairs = [...options.recordings, ...(options.refusedPairs ?? [])].map(describePair)
    socket.send(JSON.stringify({ channel: 'instrument', type: 'snapshot', data: { assets: [], pairs } }))
    return
  }
  for (const symbol of params.symbol ?? []) {
    const replay = replays.get(symbol)
    if (replay === undefined) {
      say({ error: `Currency pair not supported ${symbol}`, success: false, symbol })
    } else if (!DEPTHS.includes(params.depth ?? 10)) {
      say({ error: 'Unsupported depth', success: false, symbol })
    } else if (method === 'unsubscribe') {
      const result = { channel: 'book', depth: replay.recording.depth, symbol }
      say(replay.leave(socket) ? { result, success: true } : { error: 'Not subscribed', success: false, symbol })
    } else {
      say({ result: { channel: 'book', depth: replay.recording.depth, snapshot: true, symbol }, success: true })
      replay.join(socket)
    }
  }
}

function describePair({ symbol, pricePrecision, quantityPrecision }: KrakenPairListing): object {
  const [base, quote] = symbol.split('/')
  const precisions = { price_precision: pricePrecision, qty_precision: quantityPrecision, cost_precision: 5 }
  return { symbol, base, quote, status: 'online', ...precisions, marginable: true, qty_min: 0.0001 }
}

/** What a closed socket would have taken is lost, as on any network; its end is handled by its 'close' event. */
function ignoreClosedSocket(_error?: Error | null): void {
  return
}

/** One symbol's recording on its way to everyone who is subscribed. */
class Replay {
  readonly recording: KrakenRecording
  readonly finished: Promise<void>
  readonly #options: KrakenServerOptions
  readonly #checksums: number[]
  readonly #subscribers = new Set<WebSocket>()
  readonly #book: RecordedKrakenBook
  #resolveFinished: () => void = () => undefined
  #position = 0
  /** Recorded time at the last send, and the process's time then: the pace starts anew after standing still. */
  #anchor: { readonly recorded: number; readonly real: number } | undefined
  #isRunning = false
  #timer: NodeJS.Timeout | undefined

  constructor(recording: KrakenRecording, options: KrakenServerOptions, checksums: number[]) {
    this.#options = options
    this.#checksums = checksums
    this.#book = new RecordedKrakenBook(recording)
    // From the first book message on: what lies before is the recorded connection's own beginning.
    const first = recording.frames.findIndex(({ text }) => text.includes('"channel":"book","type":"snapshot"'))
    this.recording = { ...recording, frames: recording.frames.slice(first) }
    this.finished = new Promise((resolve) => {
      this.#resolveFinished = resolve
    })
  }

  join(socket: WebSocket): void {
    if (this.#position > 0) {
      socket.send(this.#book.snapshotText(), ignoreClosedSocket)
      this.#checksums.push(this.#book.checksum())
    }
    this.#subscribers.add(socket)
    if (!this.#isRunning) void this.#run()
  }

  leave(socket: WebSocket): boolean {
    return this.#subscribers.delete(socket)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#subscribers.clear()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    this.#anchor = undefined
    const { frames, symbol } = this.recording
    const { speed, corrupt, hold } = this.#options
    while (this.#subscribers.size > 0) {
      const frame = frames[this.#position]
      if (frame === undefined) break
      const held = hold?.(symbol, this.#position)
      if (held !== undefined) await this.#standStill(held)
      if (speed !== Number.POSITIVE_INFINITY) await this.#due(frame.milliseconds)
      else if (this.#position % FRAMES_PER_WAIT === 0) await this.#drained()
      if (this.#subscribers.size === 0) break
      const index = this.#position++
      const checksum = this.#book.apply(JSON.parse(frame.text) as RecordedMessage)
      if (checksum !== undefined) this.#checksums.push(checksum)
      const text = corrupt === undefined ? frame.text : corrupt(frame.text, symbol, index)
      for (const socket of this.#subscribers) socket.send(text, ignoreClosedSocket)
      if (this.#position === frames.length) this.#resolveFinished()
    }
    this.#isRunning = false
  }

  /** Time spent here is no part of the pace. */
  async #standStill(held: Promise<void>): Promise<void> {
    const begin = performance.now()
    await held
    const anchor = this.#anchor
    if (anchor !== undefined) this.#anchor = { ...anchor, real: anchor.real + performance.now() - begin }
  }

  /** Waits until a frame of that recorded time is due at the wanted speed. */
  async #due(recorded: number): Promise<void> {
    this.#anchor ??= { recorded, real: performance.now() }
    const due = this.#anchor.real + (recorded - this.#anchor.recorded) / this.#options.speed
    const delay = due - performance.now()
    if (delay < 1) return
    await new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, delay)
    })
  }

  /** Waits until every subscriber's socket has taken what it was sent, and lets requests in. */
  async #drained(): Promise<void> {
    await new Promise(setImmediate)
    while ([...this.#subscribers].some((socket) => socket.bufferedAmount > 0)) await new Promise(setImmediate)
  }
}
