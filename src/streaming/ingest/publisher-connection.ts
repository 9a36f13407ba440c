/**
 * One publisher's WebSocket connection. Messages are taken in order, while the tick's time allows and no market holds
 * one, a large message in parts. Further messages wait here and the socket is not read meanwhile. So at most one socket
 * read waits, and TCP makes the publisher wait. A publisher that does not read its data is cut.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import { PUBLISH_CLOSE_CODES, type PublishCloseCause } from '../../contract/publish-codes.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Log } from '../../platform/base/log.ts'
import type { TickBudget } from '../../platform/base/tick-budget.ts'
import { scheduleAt } from '../../platform/base/wall-timer.ts'
import { ControlFrames } from '../../platform/http/control-frames.ts'
import { LARGE_MESSAGE_BYTES } from '../sources/publication/large-message.ts'
import type { PublishedMessage } from '../sources/publication/message.ts'
import type { PublicationPosition } from '../sources/publication/publication-step.ts'
import { type IngestMarkets, readMessage } from './ingest-markets.ts'
import type { Publisher } from './publisher.ts'

/** A publisher from which nothing arrives for this long counts as dead. */
export const SILENCE_MILLISECONDS = 15_000
/** Time for the close handshake before the socket is cut. */
const CLOSE_MILLISECONDS = 1_000
/** Unsent bytes, far more than a reading publisher ever has. */
const UNSENT_BYTES_MAX = 1_048_576

export interface ConnectionHost {
  readonly clock: Clock
  readonly log: Log
  readonly markets: IngestMarkets
  readonly budget: TickBudget
  /** The setting `stream.token_expiry` is `close`. */
  readonly closesExpired: boolean
  countBytes(bytes: number): void
  countClose(cause: PublishCloseCause): void
}

export class PublisherConnection implements Publisher {
  readonly id = newId()
  readonly token: AccessToken
  readonly description: string
  readonly #host: ConnectionHost
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  #mayPublish: ReadonlySet<string>
  /** One socket read's waiting messages. Those before `#next` were taken. */
  #backlog: Buffer[] = []
  #next = 0
  /** A large message's remainder, which is read in parts. */
  #parts: Generator<void, PublishedMessage> | undefined
  #isHeld = false
  #isReading = true
  #state: 'open' | 'closing' | 'ended' = 'open'
  #arrivedMilliseconds: number
  readonly #controlFrames = new ControlFrames()
  /** Frames given to the socket and not written yet. */
  #unwrittenFrames = 0
  /** The unanswered ping's data. A pong is never queued behind bytes the peer has not read. */
  #owedPong: Buffer | undefined
  /** By symbol, the last accepted position sent, as text. */
  readonly #acceptedSent = new Map<string, string>()
  #expiryTimer: Timer | undefined
  #cutTimer: Timer | undefined
  readonly #continue = (): boolean => this.#takeNext()
  readonly #written = (): void => {
    this.#unwrittenFrames--
    if (this.#state === 'open') this.#sendPong()
  }

  constructor(
    host: ConnectionHost,
    { webSocket, socket, clientAddress }: { webSocket: WebSocket; socket: Socket; clientAddress: string },
    token: AccessToken,
    mayPublish: ReadonlySet<string>,
  ) {
    this.token = token
    this.description = `WebSocket from ${clientAddress}`
    this.#host = host
    this.#webSocket = webSocket
    this.#socket = socket
    this.#mayPublish = mayPublish
    this.#arrivedMilliseconds = host.clock.monotonicMilliseconds()
    if (host.closesExpired) {
      this.#expiryTimer = scheduleAt(host.clock, token.expiresAtMilliseconds, () => this.close('tokenExpired'))
    }
    const accepted = host.markets.acceptedOf(mayPublish)
    for (const [market, position] of accepted) this.#acceptedSent.set(market, positionText(position))
    this.#sendAccepted([...accepted])
  }

  receive(data: Buffer, isBinary: boolean): void {
    if (this.#state !== 'open') return
    this.#arrived()
    this.#host.countBytes(data.length)
    if (isBinary) {
      this.close('binary')
      return
    }
    if (this.#backlog.length === 0 && !this.#isBlocked && this.#host.budget.hasTime()) this.#take(data)
    else {
      this.#backlog.push(data)
      if (!this.#isHeld) this.#host.budget.queue(this.#continue)
    }
    this.#setReading()
  }

  /** Takes a ping (its data, which the pong repeats) or a pong (undefined). */
  receiveControl(pingData: Buffer | undefined): void {
    if (this.#state !== 'open') return
    this.#arrived()
    if (!this.#controlFrames.admit(this.#arrivedMilliseconds)) this.close('flood')
    else if (pingData !== undefined) {
      // RFC 6455 section 5.5.3: only the most recent ping has to be answered.
      this.#owedPong = pingData
      this.#sendPong()
    }
  }

  requestSnapshot(market: string, reason: string): void {
    this.#send({ type: 'snapshot_request', market, reason })
  }

  reject(market: string | undefined, message: string): void {
    this.#send({ type: 'rejected', ...(market === undefined ? {} : { market }), message })
  }

  waits(): void {
    // The publisher has already received a request.
  }

  released(): void {
    this.#isHeld = false
    if (this.#state === 'open' && this.#backlog.length > 0) this.#host.budget.queue(this.#continue)
    this.#setReading()
  }

  /** Sends the accepted positions changed since the last call, and ends a silent connection. */
  checkEachSecond(): void {
    if (this.#state !== 'open') return
    const silentMilliseconds = this.#host.clock.monotonicMilliseconds() - this.#arrivedMilliseconds
    if (this.#isReading && silentMilliseconds > SILENCE_MILLISECONDS) {
      this.close('silent')
      return
    }
    const changed: [string, PublicationPosition | undefined][] = []
    for (const [market, position] of this.#host.markets.acceptedOf(this.#mayPublish)) {
      const text = positionText(position)
      if (this.#acceptedSent.get(market) === text) continue
      this.#acceptedSent.set(market, text)
      changed.push([market, position])
    }
    if (changed.length > 0) this.#sendAccepted(changed)
  }

  /** Replaces the markets it may publish. */
  permit(mayPublish: ReadonlySet<string>): void {
    if (mayPublish === this.#mayPublish || this.#state !== 'open') return
    const removed = [...this.#mayPublish].filter((market) => !mayPublish.has(market))
    this.#mayPublish = mayPublish
    this.#host.markets.leave(this, 'the client may not publish the market any more', removed)
    for (const market of removed) {
      this.#acceptedSent.delete(market)
      this.reject(market, 'the client may not publish this market any more')
    }
  }

  /** Ends its lines at once, and the connection with a close frame. A peer that does not answer it is cut. */
  close(cause: PublishCloseCause): void {
    if (this.#state !== 'open') return
    const { code, reason } = PUBLISH_CLOSE_CODES[cause]
    this.reject(undefined, reason)
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.#host.countClose(cause)
    this.#release(reason)
    // The peer's half of the close handshake has to be read.
    this.#webSocket.resume()
    this.#webSocket.close(code, reason)
    this.#cutTimer = this.#host.clock.schedule(CLOSE_MILLISECONDS, () => this.cut())
  }

  cut(): void {
    this.#webSocket.terminate()
  }

  /** To be called when the socket has closed. */
  end(): void {
    this.#cutTimer?.cancel()
    if (this.#state === 'open') this.#release('its connection was closed')
    this.#state = 'ended'
  }

  #release(reason: string): void {
    this.#backlog = []
    this.#next = 0
    this.#parts = undefined
    this.#expiryTimer?.cancel()
    this.#host.budget.cancel(this.#continue)
    this.#host.markets.leave(this, reason)
  }

  /** Whether a later message has to wait for an earlier one. */
  get #isBlocked(): boolean {
    return this.#isHeld || this.#parts !== undefined
  }

  #take(data: Buffer): void {
    if (data.length <= LARGE_MESSAGE_BYTES) {
      this.#deliver(() => readMessage(data))
      return
    }
    this.#parts = this.#host.markets.readInParts(data)
    this.#host.budget.queue(this.#continue)
  }

  #readPart(parts: Generator<void, PublishedMessage>): void {
    this.#deliver(() => {
      const { done, value } = parts.next()
      if (done !== true) return undefined
      this.#parts = undefined
      return value
    })
  }

  /** @param read returns the message, or undefined while it is not complete */
  #deliver(read: () => PublishedMessage | undefined): void {
    try {
      const message = read()
      if (message === undefined) return
      const delivery = this.#host.markets.deliver(this, message, this.#mayPublish)
      if (delivery.kind === 'held') this.#isHeld = true
      else if (delivery.kind === 'broken') {
        this.#host.log.warn({ connection: this.id, reason: delivery.reason }, 'a publisher’s message is broken')
        this.reject(undefined, delivery.reason)
        this.close('broken')
      }
    } catch (error) {
      // A server bug ends this connection, not the process.
      this.#host.log.error({ connection: this.id, err: error }, 'internal error in a publisher’s connection')
      this.close('internal')
    }
  }

  /** Takes one waiting message, or reads a part of one. True when there is more to do now. */
  #takeNext(): boolean {
    if (this.#state !== 'open' || this.#isHeld) return false
    if (this.#parts === undefined) this.#takeWaiting()
    else this.#readPart(this.#parts)
    this.#setReading()
    return this.#parts !== undefined || (this.#backlog.length > 0 && !this.#isHeld)
  }

  #takeWaiting(): void {
    const data = this.#backlog[this.#next]
    if (data === undefined) return
    this.#next++
    if (this.#next === this.#backlog.length) {
      this.#backlog = []
      this.#next = 0
    }
    this.#take(data)
  }

  #setReading(): void {
    if (this.#state !== 'open') return
    const shouldRead = this.#backlog.length === 0 && !this.#isBlocked
    if (shouldRead === this.#isReading) return
    this.#isReading = shouldRead
    if (!shouldRead) {
      this.#webSocket.pause()
      return
    }
    // Silence is measured from now on: while the socket was not read, nothing could arrive.
    this.#arrived()
    this.#webSocket.resume()
  }

  #arrived(): void {
    this.#arrivedMilliseconds = this.#host.clock.monotonicMilliseconds()
  }

  #sendPong(): void {
    if (this.#owedPong === undefined || this.#unwrittenFrames > 0) return
    this.#unwrittenFrames++
    this.#webSocket.pong(this.#owedPong, false, this.#written)
    this.#owedPong = undefined
  }

  #sendAccepted(entries: readonly (readonly [market: string, position: PublicationPosition | undefined])[]): void {
    this.#send({ type: 'accepted', markets: entries.map(([market, position]) => ({ market, ...position })) })
  }

  #send(message: object): void {
    if (this.#state !== 'open') return
    this.#unwrittenFrames++
    this.#webSocket.send(JSON.stringify(message), this.#written)
    if (this.#socket.writableLength <= UNSENT_BYTES_MAX) return
    // Without a close frame, which the peer would not read either.
    this.#state = 'closing'
    this.#host.countClose('unread')
    this.#release('it does not read what it is sent')
    this.cut()
  }
}

function positionText(position: PublicationPosition | undefined): string {
  return position === undefined ? '' : `${position.epoch}.${position.seq}`
}
