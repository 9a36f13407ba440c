/**
 * One session: a client's connection to the stream. It answers requests in order and at the allowed rate, runs catch-up
 * for its lagging subscriptions, and closes with the cause's code. Backpressure: while its outbox is blocked its socket
 * is not read, its heartbeats are skipped and its silence timer is paused. A session that subscribes only to books is
 * never closed for being slow.
 */
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import { ClientUsage, type Meter } from '../../access/metering/meter.ts'
import { EXTENDED_SUBPROTOCOL } from '../../contract/channels.ts'
import type { CloseCause } from '../../contract/stream-codes.ts'
import type { Clock, Instant, Timer } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Log } from '../../platform/base/log.ts'
import { scheduleAt } from '../../platform/base/wall-timer.ts'
import { ControlFrames } from '../../platform/http/control-frames.ts'
import { BASE, EXTENDED, extendedHeartbeatText, textFrame } from '../sequencing/frame.ts'
import { CatchUp } from './catch-up.ts'
import { type InboundMessage, Inbox } from './inbox.ts'
import type { MarketStream, SentMarket } from './market-stream.ts'
import { Chunk, Outbox, type OutboxOwner, type OutboxTotals, type TransportPort } from './outbox.ts'
import { Pongs } from './pongs.ts'
import { type ExtendedRules, internalErrorReply, type MarketEnd } from './protocol.ts'
import { Requests, type RequestsHost } from './requests.ts'
import type { MarketSubscription, Subscriber } from './subscription.ts'
import { ControlWriter } from './writes/control-writer.ts'

/** One heartbeat: its instant, and the chunk shared by all base-protocol sessions. */
export interface Heartbeat {
  readonly instant: Instant
  readonly chunk: Chunk
}

/** The hub's methods for a session. */
export interface SessionHost extends RequestsHost {
  readonly clock: Clock
  readonly log: Log
  readonly totals: OutboxTotals
  /** Counts what the customers' sessions are sent. */
  readonly meter: Meter
  /** Calls `answerRequests` at the end of the tick. */
  queueRequests(session: Session): void
  /** Calls `catchUp` at the end of the tick. */
  queueCatchUp(session: Session): void
  startHeartbeat(session: Session): void
  stopHeartbeat(session: Session): void
  countInternalError(): void
  countClose(cause: CloseCause): void
  ended(session: Session): void
}

export class Session implements OutboxOwner, Subscriber {
  readonly id: string
  readonly token: AccessToken
  readonly isClient: boolean
  /** When it was opened, wall-clock milliseconds. */
  readonly createdMilliseconds: number
  readonly #host: SessionHost
  readonly #transport: TransportPort
  readonly outbox: Outbox
  readonly usage: ClientUsage
  readonly #control: ControlWriter
  readonly #catchUp: CatchUp
  readonly #inbox: Inbox
  readonly requests: Requests
  /** Only with the extended protocol. */
  readonly #extended: ExtendedRules | undefined
  #rateTimer: Timer | undefined
  #expiryTimer: Timer | undefined
  #isReading = true
  #lastArrivalMilliseconds: number
  readonly #controlFrames = new ControlFrames()
  readonly #pongs = new Pongs()
  /** Unsolicited notices for when the outbox is not blocked; each has ended a subscription. */
  #notices: string[] = []
  #state: 'open' | 'closing' | 'ended' = 'open'

  /** @param isClient false for a session that does not count among the customers' sessions */
  constructor(host: SessionHost, transport: TransportPort, token: AccessToken, id = newId(), isClient = true) {
    this.id = id
    this.isClient = isClient
    this.token = token
    this.#host = host
    this.#transport = transport
    this.usage = isClient ? host.meter.of(token) : new ClientUsage()
    this.#control = new ControlWriter(transport, this.usage.control)
    if (transport.subprotocol === EXTENDED_SUBPROTOCOL) {
      this.#extended = { publishedDepth: (market) => host.market(market)?.replica.market.depth ?? 0 }
    }
    this.createdMilliseconds = host.clock.wallInstant().milliseconds
    this.#lastArrivalMilliseconds = host.clock.monotonicMilliseconds()
    this.#inbox = new Inbox(host.clock, host.limits.inboundPerSecond, host.limits.inboundBurst)
    const { outboxBytesMax: highWaterBytes, writeIntervalMilliseconds } = host.limits
    const gathers = writeIntervalMilliseconds > 0
    this.outbox = new Outbox({ transport, highWaterBytes, gathers, totals: host.totals, owner: this })
    this.#catchUp = new CatchUp(host.clock, this, this.#extended === undefined ? BASE : EXTENDED)
    this.requests = new Requests({
      host,
      catchUp: this.#catchUp,
      extended: this.#extended,
      token,
      isClient,
      outbox: this.outbox,
      usage: this.usage,
      notify: (notice) => this.#notify(notice),
      onInternalError: (error) => this.#fail(error),
    })
    if (host.limits.closesExpired) {
      this.#expiryTimer = scheduleAt(host.clock, token.expiresAtMilliseconds, () => this.close('tokenExpired'))
    }
  }

  /** False once its close has begun. */
  get isOpen(): boolean {
    return this.#state === 'open'
  }

  get isLagging(): boolean {
    return this.outbox.isLagging
  }

  get transport(): Pick<TransportPort, 'clientAddress' | 'subprotocol' | 'bytesWritten'> {
    return this.#transport
  }

  get queuedBytes(): number {
    return this.outbox.queuedBytes
  }

  /** False when the peer does not read its data. True before its second ping is due. */
  get isPeerReading(): boolean {
    return this.#pongs.isPeerReading
  }

  /** Undefined before the first pong. */
  get pongAgeMilliseconds(): number | undefined {
    const { lastMilliseconds } = this.#pongs
    return lastMilliseconds === undefined ? undefined : this.#host.clock.monotonicMilliseconds() - lastMilliseconds
  }

  /** From the last answered ping to its pong. */
  get roundTripMilliseconds(): number | undefined {
    return this.#pongs.roundTripMilliseconds
  }

  get subscriptionCount(): number {
    return this.requests.subscriptionCount
  }

  /** How far each market with a subscribed channel has been sent. */
  get sentMarkets(): readonly SentMarket[] {
    return this.#catchUp.observe()
  }

  onBlocked(): void {
    this.#setReading()
  }

  onUnblocked(): void {
    this.#control.sendPong()
    this.#sendNotices()
    this.requests.resume()
    this.#host.queueCatchUp(this)
    this.#host.queueRequests(this)
    this.#setReading()
  }

  owe(subscription: MarketSubscription): void {
    if (this.#state !== 'open') return
    this.#catchUp.owe(subscription)
    this.#host.queueCatchUp(this)
  }

  /** Takes a message from the socket. It is answered at the end of a tick, once the rate and the outbox allow it. */
  receive(message: InboundMessage): void {
    if (this.#state !== 'open') return
    this.#arrived()
    this.#inbox.put(message)
    this.#host.queueRequests(this)
    this.#setReading()
  }

  /** Takes a ping from the socket. The pong repeats its data. */
  receivePing(data: Buffer): void {
    if (!this.#admitControlFrame()) return
    this.#control.owePong(data)
    if (!this.outbox.isBlocked) this.#control.sendPong()
  }

  /** Takes a pong from the socket. */
  receivePong(data: Buffer): void {
    if (this.#admitControlFrame()) this.#pongs.pong(data, this.#lastArrivalMilliseconds)
  }

  #admitControlFrame(): boolean {
    if (this.#state !== 'open') return false
    this.#arrived()
    if (this.#controlFrames.admit(this.#lastArrivalMilliseconds)) return true
    this.close('flood')
    return false
  }

  /**
   * Answers up to `countMax` waiting messages: the first one in any case, further ones until `untilMilliseconds` on the
   * monotonic clock. True when more can be answered at once.
   */
  answerRequests(countMax: number, untilMilliseconds: number): boolean {
    for (let count = 0; count < countMax && this.#canAnswer; count++) {
      if (count > 0 && this.#host.clock.monotonicMilliseconds() >= untilMilliseconds) break
      const taken = this.#inbox.take() as InboundMessage | { readonly waitMilliseconds: number }
      if ('waitMilliseconds' in taken) {
        this.#rateTimer ??= this.#host.clock.schedule(taken.waitMilliseconds, () => {
          this.#rateTimer = undefined
          this.#host.queueRequests(this)
        })
        break
      }
      this.#answer(taken)
    }
    this.#setReading()
    return this.#canAnswer && this.#rateTimer === undefined
  }

  /** Sends owed messages to lagging subscriptions. True when more is left for the next tick. */
  catchUp(untilMilliseconds: number): boolean {
    if (this.#state !== 'open') return false
    try {
      const outcome = this.#catchUp.run(untilMilliseconds)
      if (outcome === 'done' || outcome === 'more') return outcome === 'more'
      this.close(outcome)
    } catch (error) {
      this.#fail(error)
    }
    return false
  }

  /** Sends a heartbeat, unless the socket cannot take it now: a heartbeat is never queued behind data. */
  sendHeartbeat({ instant, chunk }: Heartbeat): void {
    if (this.#state !== 'open' || this.outbox.isBlocked || this.#transport.isSaturated) return
    const sent = this.#extended === undefined ? chunk : this.#extendedHeartbeat(instant)
    this.outbox.sendChunk(sent, this.usage.of('', 'heartbeat'))
  }

  #extendedHeartbeat(instant: Instant): Chunk {
    const books = this.#catchUp.bookStatuses(instant.milliseconds)
    // A large book's digest is made in slices at the ends of ticks. This schedules one.
    this.#host.queueCatchUp(this)
    return new Chunk(textFrame(extendedHeartbeatText(instant, books)), 1)
  }

  /** Pings the peer. Drops the connection when nothing has arrived for `silenceMilliseconds`. */
  checkLife(silenceMilliseconds: number): void {
    if (this.#state !== 'open') return
    if (!this.#isReading) {
      const { bytesWritten, queuedBytes } = this.#transport
      if (this.outbox.isBlocked) this.#pongs.checkUnread(bytesWritten - queuedBytes)
      return
    }
    const now = this.#host.clock.monotonicMilliseconds()
    if (now - this.#lastArrivalMilliseconds > silenceMilliseconds) {
      this.#host.log.info({ connection: this.id }, 'silent connection dropped')
      this.#transport.cut()
    } else {
      this.#control.ping(this.#pongs.ping(now))
    }
  }

  /** Ends the subscriptions to a removed or changed market, and notifies the peer after its pending data. */
  endMarket(market: string, end: MarketEnd): void {
    const notice = this.requests.endMarket(market, end)
    if (notice !== undefined) this.#notify(notice)
  }

  /** Forgets its positions in markets that are no longer followed, where it has no channel. */
  forgetDropped(markets: ReadonlySet<MarketStream>): void {
    this.#catchUp.forgetDropped(markets)
  }

  /**
   * Writes gathered data and the close frame, and sends no more data. If the peer does not answer it, the connection is
   * cut.
   */
  close(cause: CloseCause): void {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.#host.countClose(cause)
    this.outbox.flush()
    this.#release()
    this.#control.close(cause)
  }

  /**
   * The peer has begun the close, or broken the protocol: the close frame with these values is sent next, and nothing
   * after it. `code` undefined: an empty one.
   */
  peerCloses(code: number | undefined, reasonBytes: number): void {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.outbox.flush()
    this.#control.countClose(code, reasonBytes)
    this.#release()
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.#transport.cut()
  }

  /** To be called when the socket has closed. */
  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#release()
    this.#transport.ended()
    this.#host.ended(this)
  }

  get #canAnswer(): boolean {
    return this.#state === 'open' && !this.outbox.isBlocked && this.#inbox.canTake
  }

  #release(): void {
    this.#rateTimer?.cancel()
    this.#expiryTimer?.cancel()
    this.#inbox.clear()
    this.#notices = []
    this.requests.clear()
    this.#host.stopHeartbeat(this)
    this.#catchUp.end()
    this.outbox.end()
  }

  #arrived(): void {
    this.#lastArrivalMilliseconds = this.#host.clock.monotonicMilliseconds()
  }

  #setReading(): void {
    if (this.#state !== 'open') return
    const shouldRead = this.#inbox.isEmpty && !this.outbox.isBlocked
    if (shouldRead === this.#isReading) return
    this.#isReading = shouldRead
    if (shouldRead) {
      // Silence is measured from now on: while the socket was not read, nothing could arrive.
      this.#arrived()
      this.#transport.resumeReading()
    } else {
      this.#transport.pauseReading()
    }
  }

  #answer(message: InboundMessage): void {
    try {
      const answer = this.requests.answer(message)
      if (answer instanceof Promise) {
        this.#inbox.hold(message)
        void answer.then(() => {
          this.#inbox.release()
          if (this.#state === 'open') this.#host.queueRequests(this)
        })
        return
      }
      const { text, entryCount, heartbeat, errors } = answer
      for (const error of errors) this.#noteInternalError(error)
      this.#inbox.charge(entryCount)
      if (heartbeat === 'stop') this.#host.stopHeartbeat(this)
      this.#reply(text)
      if (heartbeat === 'start') this.#host.startHeartbeat(this)
    } catch (error) {
      // A server bug fails this request, not the session.
      this.#noteInternalError(error)
      this.#reply(internalErrorReply())
    }
  }

  /** What this client holds is unknown now, so it has to reconnect. Other sessions are not affected. */
  #fail(error: unknown): void {
    this.#noteInternalError(error)
    this.close('internal')
  }

  #noteInternalError(error: unknown): void {
    this.#host.countInternalError()
    this.#host.log.error({ connection: this.id, err: error }, 'internal error in a connection')
  }

  #notify(notice: string): void {
    this.#notices.push(notice)
    this.#sendNotices()
  }

  /** Notices wait while the outbox is blocked. Catch-up waits too, so no data is sent before them. */
  #sendNotices(): void {
    while (this.#notices.length > 0 && !this.outbox.isBlocked) this.#reply(this.#notices.shift() as string)
  }

  #reply(text: string): void {
    this.outbox.sendChunk(new Chunk(textFrame(text), 1), this.usage.control)
  }
}
