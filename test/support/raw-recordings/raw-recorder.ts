/**
 * Stands between connectors and their venues, on a port of 127.0.0.1 for each venue, and records the traffic: every
 * WebSocket frame and every answer to an HTTP request, verbatim, the requests, and when connections begin and end.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import type { VenueAddresses } from '../../../src/streaming/sources/venues/venue.ts'
import { once } from '../awaited.ts'
import { isKeepAlive, openRawWriter, type RawEvent } from './raw-file.ts'
import { addressesOf } from './raw-player.ts'

export interface RawRecorder {
  /** By venue: the addresses for a feed's settings `url` and `rest_url`. */
  readonly addresses: ReadonlyMap<string, VenueAddresses>
  readonly eventCount: number
  stop(): Promise<void>
}

/** @param venues the real addresses by the venue's name */
export async function startRawRecorder(
  path: string,
  venues: ReadonlyMap<string, VenueAddresses>,
  onFailure: (error: Error) => void,
): Promise<RawRecorder> {
  const writer = await openRawWriter(path, { venues: [...venues.keys()] }, onFailure)
  let eventCount = 0
  const proxies = new Map<string, VenueProxy>()
  for (const [venue, addresses] of venues) {
    const write: WriteEvent = (event) => {
      eventCount += 1
      writer.write({ venue, at: Date.now(), ...event })
    }
    proxies.set(venue, await VenueProxy.start(addresses, write))
  }
  return {
    addresses: new Map([...proxies].map(([venue, { port }]) => [venue, addressesOf(port)])),
    get eventCount() {
      return eventCount
    },
    async stop() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.close()))
      await writer.close()
    },
  }
}

type WriteEvent = (event: Omit<RawEvent, 'venue' | 'at'>) => void

class VenueProxy {
  readonly #venue: VenueAddresses
  readonly #write: WriteEvent
  readonly #http: Server
  readonly #webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  readonly #wires = new Set<Socket>()
  #connections = 0

  private constructor(venue: VenueAddresses, write: WriteEvent) {
    this.#venue = venue
    this.#write = write
    this.#http = createServer((request, response) => void this.#answer(request, response))
    this.#http.on('connection', (wire) => {
      this.#wires.add(wire)
      wire.on('close', () => this.#wires.delete(wire))
    })
    this.#http.on('upgrade', (request, wire: Socket, head) => this.#connect(request, wire, head))
  }

  static async start(venue: VenueAddresses, write: WriteEvent): Promise<VenueProxy> {
    const proxy = new VenueProxy(venue, write)
    proxy.#http.listen(0, '127.0.0.1')
    await once(proxy.#http, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const wire of this.#wires) wire.destroy()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  /** The connector's connection opens when the venue's has, and ends with it. */
  #connect(request: IncomingMessage, wire: Socket, head: Buffer): void {
    this.#connections += 1
    const connection = this.#connections
    const upstream = new WebSocket(`${this.#venue.url}${request.url === '/' ? '' : request.url}`)
    let client: WebSocket | undefined
    let reason = ''
    wire.on('close', () => upstream.terminate())
    upstream.on('error', ({ message }) => {
      reason = message
    })
    upstream.on('close', (code) => {
      this.#write({ kind: 'down', connection, text: reason || `closed with code ${code}` })
      if (client === undefined) wire.destroy()
      else client.close(code >= 3_000 || code === 1_000 ? code : 1_011)
    })
    upstream.on('message', (data, isBinary) => {
      this.#write({ kind: 'frame', connection, text: String(data) })
      client?.send(data, { binary: isBinary })
    })
    upstream.on('open', () => {
      this.#webSockets.handleUpgrade(request, wire, head, (socket) => {
        client = socket
        this.#write({ kind: 'open', connection })
        socket.on('error', () => socket.terminate())
        socket.on('message', (data, isBinary) => {
          if (!isKeepAlive(String(data))) this.#write({ kind: 'sent', connection, text: String(data) })
          if (upstream.readyState === WebSocket.OPEN) upstream.send(data, { binary: isBinary })
        })
      })
    })
  }

  async #answer({ url: path = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await fetch(`${this.#venue.restUrl}${path}`, { headers: { accept: 'application/json' } })
      const text = await answer.text()
      if (answer.status === 200) this.#write({ kind: 'http', path, text })
      else this.#write({ kind: 'http', path, problem: `HTTP ${answer.status} ${text}` })
      const wait = answer.headers.get('retry-after')
      response.writeHead(answer.status, wait === null ? {} : { 'retry-after': wait }).end(text)
    } catch (error) {
      this.#write({ kind: 'http', path, problem: (error as Error).message })
      response.destroy()
    }
  }
}
