/**
 * The venue-independent part of a test venue. It serves WebSocket and HTTP on one free port of 127.0.0.1, plays scripts
 * to subscribers (`playback`), and can fail in every way that a network or a venue fails. The venue's protocol is its
 * dialect.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { once } from '../awaited.ts'
import { Waiters } from '../waiters.ts'
import { VenueClient } from './client.ts'
import { FaultGate } from './faults.ts'
import { Playback, type PlaybackOptions } from './playback.ts'
import type { Script } from './script.ts'

export interface HttpAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** Half the response is sent, and the rest never. */
  readonly isStuck?: boolean
}

/** One venue's protocol. */
export interface Dialect {
  readonly scripts: readonly Script[]
  /** The path that clients connect to: `/stream`. Empty for any path. */
  readonly path: string
  /** Whether the venue also sends WebSocket pings. */
  readonly sendsPings?: boolean
  greeting?(): string
  /** Handles a frame from a client. */
  answer(text: string, client: VenueClient, server: VenueServer): void
  /** The heartbeat frames sent to a client once a second. */
  heartbeat(client: VenueClient): readonly string[]
  /** The response to a GET request. */
  get?(url: URL, server: VenueServer): HttpAnswer
}

const HEARTBEAT_MILLISECONDS = 1000

export class VenueServer {
  readonly tracks: ReadonlyMap<string, Playback>
  readonly faults = new FaultGate()
  /** Resolves when every recording's frames have all been sent. */
  readonly finished: Promise<void>
  /** Everything received, in arrival order: frame texts, and the paths of HTTP requests. */
  readonly said: string[] = []
  /** Symbols whose subscription is refused. */
  readonly refused = new Set<string>()
  /** The next connections are answered with these statuses, 0 = the connection is terminated. */
  readonly handshakeFaults: number[] = []
  /** The next HTTP requests get these responses. */
  readonly httpFaults: HttpAnswer[] = []
  readonly #dialect: Dialect
  readonly #clients = new Set<VenueClient>()
  readonly #http: Server
  readonly #webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, autoPong: false })
  readonly #wires = new Set<Socket>()
  readonly #waiters = new Waiters()
  #heartbeat: NodeJS.Timeout | undefined
  #isCutAtBeginning = false

  private constructor(dialect: Dialect, options: PlaybackOptions) {
    this.#dialect = dialect
    this.tracks = new Map(
      dialect.scripts.map((script) => [script.symbol, new Playback(script, options, this.faults, this.#clients)]),
    )
    this.finished = Promise.all([...this.tracks.values()].map((track) => track.finished)).then(() => undefined)
    this.#http = createServer((request, response) => this.#answerHttp(request, response))
    // The client may reuse a connection at the moment the server closes it for idleness, which would lose the request.
    this.#http.keepAliveTimeout = 0
    this.#http.on('connection', (wire) => {
      this.#wires.add(wire)
      wire.on('close', () => this.#wires.delete(wire))
    })
    this.#http.on('upgrade', (request, wire: Socket, head) => this.#upgrade(request, wire, head))
  }

  static async start(dialect: Dialect, options: PlaybackOptions): Promise<VenueServer> {
    const server = new VenueServer(dialect, options)
    server.#http.listen(0, '127.0.0.1')
    await once(server.#http, 'listening')
    server.#heartbeat = setInterval(() => server.heartbeat(), options.heartbeatMilliseconds ?? HEARTBEAT_MILLISECONDS)
    return server
  }

  get url(): string {
    return `ws://127.0.0.1:${this.#port}${this.#dialect.path}`
  }

  get restUrl(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Resolves as soon as the condition holds. It is checked after every request, connection and disconnection. */
  until(what: string, isMet: () => boolean): Promise<void> {
    return this.#waiters.until(what, isMet)
  }

  /** The regular response to a GET request for this path. */
  answerTo(path: string): string {
    return this.#dialect.get?.(new URL(path, this.restUrl), this).body ?? ''
  }

  /** How many clients are connected. */
  connections(): number {
    return this.#clients.size
  }

  /** Sends a text to every client. */
  broadcast(text: string): void {
    for (const client of this.#clients) client.send(text)
  }

  /** Loses a frame to every client. Only the gap in its numbers shows the loss. */
  skipNumbers(): void {
    for (const client of this.#clients) client.takeNumber()
  }

  /** Sends the heartbeat frames to every client. */
  heartbeat(): void {
    for (const client of this.#clients) {
      for (const text of this.#dialect.heartbeat(client)) client.send(text)
      if (this.#dialect.sendsPings === true) client.ping()
    }
  }

  /** Resolves when every client has read everything sent so far, or has disconnected. */
  async heard(): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.heard()))
  }

  /** Terminates every connection without a close frame. */
  disconnectAll(): void {
    for (const client of this.#clients) client.terminate()
  }

  /** Closes every connection cleanly. */
  closeAll(code: number, reason: string): void {
    for (const client of this.#clients) client.close(code, reason)
  }

  /** Silences all current connections. */
  silenceAll(): void {
    for (const client of this.#clients) client.silence()
  }

  /** Silences one symbol's book for all clients until it is subscribed again. The connections stay alive. */
  silenceBook(symbol: string): void {
    const channel = this.tracks.get(symbol)?.script.bookChannel ?? ''
    for (const client of this.#clients) client.silenceChannel(channel, symbol)
  }

  /** Makes all current connections behave as if the remote machine had crashed. */
  abandonAll(): void {
    for (const client of this.#clients) client.abandon()
  }

  /** Cuts off the next connection in the middle of its first snapshot. */
  cutNextBeginning(): void {
    this.#isCutAtBeginning = true
  }

  /** Pauses all symbols. */
  pause(): void {
    for (const track of this.tracks.values()) track.pause()
  }

  resume(): void {
    for (const track of this.tracks.values()) track.resume()
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    for (const track of this.tracks.values()) track.close()
    for (const wire of this.#wires) wire.destroy()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  get #port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  #upgrade(request: IncomingMessage, wire: Socket, head: Buffer): void {
    const fault = this.handshakeFaults.shift()
    if (fault !== undefined) {
      wire.on('error', () => undefined)
      if (fault === 0) wire.resetAndDestroy()
      else wire.end(`HTTP/1.1 ${fault} Refused\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
      this.#waiters.notify()
      return
    }
    this.#webSockets.handleUpgrade(request, wire, head, (socket) => {
      const client = new VenueClient(socket, wire)
      if (this.#isCutAtBeginning) client.cutAtNextBeginning()
      this.#isCutAtBeginning = false
      this.#clients.add(client)
      socket.on('close', () => {
        this.#clients.delete(client)
        this.#waiters.notify()
      })
      socket.on('message', (data) => {
        const text = String(data)
        this.said.push(text)
        if (!client.isMute) this.#dialect.answer(text, client, this)
        this.#waiters.notify()
      })
      if (this.#dialect.greeting !== undefined) client.send(this.#dialect.greeting())
      this.#waiters.notify()
    })
  }

  #answerHttp(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.restUrl)
    this.said.push(decodeURIComponent(url.pathname + url.search))
    const answer = this.httpFaults.shift() ?? this.#dialect.get?.(url, this) ?? { status: 404, body: '{}' }
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(answer.body),
      ...answer.headers,
    })
    if (answer.isStuck === true) response.write(answer.body.slice(0, answer.body.length >> 1))
    else response.end(answer.body)
    this.#waiters.notify()
  }
}
