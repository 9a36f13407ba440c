/**
 * A venue on 127.0.0.1 that plays a raw recording to the connected connector: the same frames and answers, in the same
 * order, at the recorded times divided by the speed. Frames received after a request are sent only after the connector
 * has sent that request, and an answer only to the request for its path. Otherwise the playback waits for a limited
 * time and then continues. It holds one event at a time, and requests without an answer.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../../src/platform/base/clock.ts'
import { wait } from '../../../src/platform/base/time-limit.ts'
import { once } from '../awaited.ts'
import { isKeepAlive, type RawEvent } from './raw-file.ts'

/** How long the playback waits for a connector's request, whose own time limit for an answer is 10 s. */
const REQUEST_MILLISECONDS_MAX = 15_000
/** Requests that wait for their answers. More are answered with 503. */
const PENDING_MAX = 1_000
const FRAME_BYTES_MAX = 1_048_576

export interface RawVenuesOptions {
  readonly venues: readonly string[]
  readonly events: AsyncIterable<RawEvent>
  /** The factor on the recorded speed. */
  readonly speed: number
  readonly clock: Clock
  /** Called where the connector's behaviour differs from the recording. */
  readonly onDifference: (event: RawEvent) => void
}

export interface RawVenues {
  /** By venue: the addresses for a feed's settings `url` and `rest_url`. */
  readonly addresses: ReadonlyMap<string, { readonly url: string; readonly restUrl: string }>
  /** Plays the recording. Resolves at its end, or after `close`. Rejects when the recording cannot be read. */
  play(): Promise<void>
  close(): Promise<void>
}

/** Opens a free port of 127.0.0.1 for each venue. */
export async function startRawVenues(options: RawVenuesOptions): Promise<RawVenues> {
  const venues = new Map<string, RawVenue>()
  for (const name of options.venues) venues.set(name, await RawVenue.start())
  let isClosed = false
  const addresses = new Map([...venues].map(([name, { port }]) => [name, addressesOf(port)]))
  return {
    addresses,
    play: () => play(options, venues, () => isClosed),
    async close() {
      isClosed = true
      await Promise.all([...venues.values()].map((venue) => venue.close()))
    },
  }
}

export function addressesOf(port: number): { readonly url: string; readonly restUrl: string } {
  return { url: `ws://127.0.0.1:${port}`, restUrl: `http://127.0.0.1:${port}` }
}

async function play(
  { events, speed, clock, onDifference }: RawVenuesOptions,
  venues: ReadonlyMap<string, RawVenue>,
  isClosed: () => boolean,
): Promise<void> {
  /** The monotonic start time of the recording, moved by each wait for the connector. */
  let originMilliseconds: number | undefined
  let first: number | undefined
  for await (const event of events) {
    if (isClosed()) return
    originMilliseconds ??= clock.monotonicMilliseconds()
    first ??= event.at
    const due = originMilliseconds + (event.at - first) / speed
    await wait(clock, Math.max(0, due - clock.monotonicMilliseconds()))
    const venue = venues.get(event.venue)
    const before = clock.monotonicMilliseconds()
    if (venue !== undefined && !(await venue.play(event, clock, isClosed)) && !isClosed()) onDifference(event)
    originMilliseconds += clock.monotonicMilliseconds() - before
  }
}

class RawVenue {
  readonly #http: Server
  readonly #webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: FRAME_BYTES_MAX })
  readonly #wires = new Set<Socket>()
  /** The latest connection, and the requests it sent. */
  #socket: WebSocket | undefined
  #received = 0
  /** The recorded connection's requests so far. */
  #expected = 0
  /** Requests without an answer, by path and query. */
  readonly #pending = new Map<string, ServerResponse[]>()
  #pendingCount = 0
  #onChange: () => void = () => undefined

  private constructor() {
    this.#http = createServer((request, response) => this.#ask(request, response))
    this.#http.on('connection', (wire) => {
      this.#wires.add(wire)
      wire.on('close', () => this.#wires.delete(wire))
    })
    this.#http.on('upgrade', (request, wire: Socket, head) => {
      this.#webSockets.handleUpgrade(request, wire, head, (socket) => this.#connect(socket))
    })
  }

  static async start(): Promise<RawVenue> {
    const venue = new RawVenue()
    venue.#http.listen(0, '127.0.0.1')
    await once(venue.#http, 'listening')
    return venue
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const wire of this.#wires) wire.destroy()
    this.#onChange()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  /** Returns false when the connector did not do in time what the event requires. */
  async play(
    { kind, path = '', text = '', problem }: RawEvent,
    clock: Clock,
    isClosed: () => boolean,
  ): Promise<boolean> {
    const until = (isMet: () => boolean): Promise<boolean> => this.#until(() => isClosed() || isMet(), clock)
    if (kind === 'open') {
      this.#expected = 0
      return until(() => this.#socket !== undefined)
    }
    if (kind === 'sent') {
      this.#expected += 1
      return until(() => this.#received >= this.#expected)
    }
    if (kind === 'frame') {
      this.#socket?.send(text)
      return this.#socket !== undefined
    }
    if (kind === 'down') {
      this.#socket?.terminate()
      this.#socket = undefined
      return true
    }
    const isAsked = await until(() => this.#pending.has(path))
    this.#answer(path, text, problem)
    return isAsked
  }

  /** Waits until a condition holds that a connection, a frame or a request can bring about. */
  async #until(isMet: () => boolean, clock: Clock): Promise<boolean> {
    const limit = clock.monotonicMilliseconds() + REQUEST_MILLISECONDS_MAX
    while (!isMet()) {
      const left = limit - clock.monotonicMilliseconds()
      if (left <= 0) return false
      await new Promise<void>((resolve) => {
        const timer = clock.schedule(left, resolve)
        this.#onChange = () => {
          timer.cancel()
          resolve()
        }
      })
    }
    return true
  }

  #connect(socket: WebSocket): void {
    this.#socket = socket
    this.#received = 0
    socket.on('message', (data) => {
      if (isKeepAlive(String(data))) return
      this.#received += 1
      this.#onChange()
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined
    })
    this.#onChange()
  }

  #ask({ url = '/' }: IncomingMessage, response: ServerResponse): void {
    if (this.#pendingCount >= PENDING_MAX) {
      response.writeHead(503).end()
      return
    }
    this.#pendingCount += 1
    this.#pending.set(url, [...(this.#pending.get(url) ?? []), response])
    response.on('close', () => this.#forget(url, response))
    this.#onChange()
  }

  #forget(url: string, response: ServerResponse): void {
    const left = this.#pending.get(url)?.filter((other) => other !== response) ?? []
    if (left.length === (this.#pending.get(url)?.length ?? 0)) return
    this.#pendingCount -= 1
    if (left.length === 0) this.#pending.delete(url)
    else this.#pending.set(url, left)
  }

  /** Answers the oldest request for a path. A recorded problem begins with its status, where the venue answered. */
  #answer(path: string, text: string, problem: string | undefined): void {
    const [response] = this.#pending.get(path) ?? []
    if (response === undefined) return
    this.#forget(path, response)
    const [, status, body = ''] = /^HTTP ([0-9]{3}) ?(.*)$/s.exec(problem ?? 'HTTP 200') ?? []
    if (problem === undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    else if (status === undefined) response.destroy()
    else response.writeHead(Number(status)).end(body)
  }
}
