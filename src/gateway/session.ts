/**
 * One connection: answers its requests in the order received and at the pace allowed, lets its reader catch up, and ends
 * it with the close code that gives the reason. It never disconnects a book reader for being slow: while its outbox is
 * blocked it is not read, its heartbeats are skipped, and the timer of silence is paused.
 */
import type { AccessToken } from '../auth/token-verifier.ts'
import type { Clock, Instant, Timer } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { extendedHeartbeatText, textFrame } from '../channel/frame.ts'
import { EXTENDED_SUBPROTOCOL } from '../contract/channels.ts'
import { CLOSE_CODES, type CloseCause } from '../contract/stream-codes.ts'
import { type InboundMessage, Inbox } from './inbox.ts'
import { Outbox, type OutboxOwner, type OutboxTotals } from './outbox.ts'
import { type ExtendedRules, internalErrorReply, type MarketEnd } from './protocol.ts'
import { Reader, type ReaderOwner } from './reader.ts'
import type { Beat } from './session-limits.ts'
import { Subscriptions, type SubscriptionsHost, type SubscriptionsOwner } from './subscriptions.ts'
import { CLOSE_MILLISECONDS_MAX, type TransportPort } from './transport.ts'

/** A connection whose token or access was revoked is gone within a second, whether its peer answers the close or not. */
const REVOKED_CUT_MILLISECONDS = 1_000
const REVOCATIONS: ReadonlySet<CloseCause> = new Set(['tokenRevoked', 'revoked'])

/** Longest wait that a timer of the platform can hold (about 24 days). */
const TIMER_MILLISECONDS_MAX = 2_147_483_647

/** Control frames (ping, pong) a peer may send in one second; more is a flood (close code 1008). */
const CONTROL_FRAMES_PER_SECOND_MAX = 100

/**
 * So many entries of a request, or of a list in its answer, cost as much of the budget (`stream.inbound_per_second`) as
 * one message. An entry takes about 4 µs: a connection that spends its whole budget on entries uses 1 % of a core.
 */
const ENTRIES_PER_MESSAGE = 50

/** What a session needs of the hub it belongs to. */
export interface SessionHost extends SubscriptionsHost {
  readonly clock: Clock
  readonly log: Log
  readonly totals: OutboxTotals
  requestCommit(market: string): boolean
  /** Calls `answerRequests` at the end of the turn. */
  queueRequests(session: Session): void
  /** Calls `catchUp` at the end of the turn. */
  queueCatchUp(session: Session): void
  startHeartbeat(session: Session): void
  stopHeartbeat(session: Session): void
  countMerged(): void
  countInternalError(): void
  countClose(cause: CloseCause): void
  ended(session: Session): void
}

export class Session implements OutboxOwner, ReaderOwner, SubscriptionsOwner {
  readonly id = newId()
  readonly token: AccessToken
  /** When it was opened, milliseconds of the wall clock. */
  readonly createdMilliseconds: number
  readonly #host: SessionHost
  readonly #transport: TransportPort
  readonly #outbox: Outbox
  readonly reader: Reader
  readonly #inbox: Inbox
  readonly #subscriptions: Subscriptions
  /** Only on the extended wire. */
  readonly #extended: ExtendedRules | undefined
  #paceTimer: Timer | undefined
  #expiryTimer: Timer | undefined
  #isReading = true
  #lastArrivalMilliseconds: number
  #controlFrames = 0
  #controlSecond = 0
  /** Data of the ping that waits for an answer: a pong is never queued behind what a slow peer has not taken. */
  #owedPong: Buffer | undefined
  /** What the peer has to be told unasked, once the outbox can take it; at most one for each market it had. */
  #notices: string[] = []
  #state: 'open' | 'closing' | 'ended' = 'open'

  constructor(host: SessionHost, transport: TransportPort, token: AccessToken) {
    this.token = token
    this.#host = host
    this.#transport = transport
    if (transport.subprotocol === EXTENDED_SUBPROTOCOL) {
      this.#extended = { publishedDepth: (market) => host.channel(market)?.replica.market.depth ?? 0 }
    }
    this.createdMilliseconds = host.clock.wallInstant().milliseconds
    this.#lastArrivalMilliseconds = host.clock.monotonicMilliseconds()
    this.#inbox = new Inbox(host.clock, host.limits.inboundPerSecond, host.limits.inboundBurst)
    this.#outbox = new Outbox({
      transport,
      markBytes: host.limits.outboxBytesMax,
      totals: host.totals,
      owner: this,
    })
    this.reader = new Reader({ host, owner: this, outbox: this.#outbox, isExtended: this.#extended !== undefined })
    this.#subscriptions = new Subscriptions({
      host,
      reader: this.reader,
      extended: this.#extended,
      owner: this,
    })
    if (host.limits.closesExpired) this.#expireLater()
  }

  /** False from the moment its close begins. */
  get isOpen(): boolean {
    return this.#state === 'open'
  }

  get isBehind(): boolean {
    return this.#outbox.isBehind
  }

  get transport(): Pick<TransportPort, 'clientAddress' | 'subprotocol' | 'bytesWritten'> {
    return this.#transport
  }

  get queuedBytes(): number {
    return this.#transport.queuedBytes
  }

  get subscriptionCount(): number {
    return this.#subscriptions.count
  }

  onBlocked(): void {
    this.reader.makeAllStale()
    this.#setReading()
  }

  onUnblocked(): void {
    this.#payPong()
    this.#sendNotices()
    this.#host.queueCatchUp(this)
    this.#host.queueRequests(this)
    this.#setReading()
  }

  onStale(): void {
    this.#host.queueCatchUp(this)
  }

  /** Takes a message from the socket; it is answered at the end of the turn, or later if the pace says so. */
  receive(message: InboundMessage): void {
    if (this.#state !== 'open') return
    this.#arrived()
    this.#inbox.put(message)
    this.#host.queueRequests(this)
    this.#setReading()
  }

  /** Takes a ping (with its data, to be answered) or a pong from the socket. */
  receiveControl(pingData: Buffer | undefined): void {
    if (this.#state !== 'open') return
    this.#arrived()
    const second = Math.floor(this.#lastArrivalMilliseconds / 1000)
    if (second !== this.#controlSecond) this.#controlFrames = 0
    this.#controlSecond = second
    this.#controlFrames += 1
    if (this.#controlFrames > CONTROL_FRAMES_PER_SECOND_MAX) {
      this.close('flood')
    } else if (pingData !== undefined) {
      // RFC 6455 section 5.5.3: of several pings only the most recent has to be answered.
      this.#owedPong = pingData
      if (!this.#outbox.isBlocked) this.#payPong()
    }
  }

  /**
   * Answers up to `countMax` messages that wait, and no further one from `untilMilliseconds` of the monotonic clock on.
   * True when more could be answered at once.
   */
  answerRequests(countMax: number, untilMilliseconds: number): boolean {
    for (let count = 0; count < countMax && this.#canAnswer; count++) {
      if (count > 0 && this.#host.clock.monotonicMilliseconds() >= untilMilliseconds) break
      const taken = this.#inbox.take() as InboundMessage | { readonly waitMilliseconds: number }
      if ('waitMilliseconds' in taken) {
        this.#paceTimer ??= this.#host.clock.schedule(taken.waitMilliseconds, () => {
          this.#paceTimer = undefined
          this.#host.queueRequests(this)
        })
        break
      }
      this.#answer(taken)
    }
    this.#setReading()
    return this.#canAnswer && this.#paceTimer === undefined
  }

  /** Goes on with what is stale; true when more is left for the next turn. */
  catchUp(untilMilliseconds: number): boolean {
    if (this.#state !== 'open') return false
    try {
      return this.reader.catchUp(untilMilliseconds)
    } catch (error) {
      // Nobody knows any more what this client holds: it has to start anew. The others are not concerned.
      this.noteInternalError(error)
      this.close('internal')
      return false
    }
  }

  /** Sends a beat, unless the socket cannot take it now: a beat is never queued behind data. */
  beat({ instant, frame: plain }: Beat): void {
    if (this.#state !== 'open' || this.#outbox.isBlocked || this.#transport.isSaturated) return
    const frame = this.#extended === undefined ? plain : this.#extendedBeat(instant)
    this.#outbox.sendChunk({ frames: frame, messageCount: 1 })
  }

  #extendedBeat(instant: Instant): Buffer {
    const books = this.reader.bookStatuses()
    // The digest of a large book is made in slices, at the ends of turns: there has to be one.
    this.#host.queueCatchUp(this)
    return textFrame(extendedHeartbeatText(instant, books))
  }

  /** Pings the peer, and drops a connection on which nothing has arrived for `silenceMilliseconds`. */
  checkLife(silenceMilliseconds: number): void {
    if (this.#state !== 'open' || !this.#isReading) return
    if (this.#host.clock.monotonicMilliseconds() - this.#lastArrivalMilliseconds > silenceMilliseconds) {
      this.#host.log.info({ connection: this.id }, 'silent connection dropped')
      this.#transport.cut()
    } else {
      this.#transport.ping()
    }
  }

  /** Ends the subscriptions of a market that was removed or changed, and notifies the peer after what it was sent. */
  endMarket(market: string, end: MarketEnd): void {
    const notice = this.#subscriptions.endMarket(market, end)
    if (notice === undefined) return
    this.#notices.push(notice)
    this.#sendNotices()
  }

  /** Ends the connection: no data any more, then the close frame; a peer that does not answer is cut. */
  close(cause: CloseCause): void {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.#host.countClose(cause)
    this.#release()
    const { code, reason } = CLOSE_CODES[cause]
    this.#transport.close(code, reason, REVOCATIONS.has(cause) ? REVOKED_CUT_MILLISECONDS : CLOSE_MILLISECONDS_MAX)
  }

  /** Cuts the connection without a word. */
  cut(): void {
    this.#transport.cut()
  }

  /** To be called when the socket is gone. */
  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#release()
    this.#transport.ended()
    this.#host.ended(this)
  }

  get #canAnswer(): boolean {
    return this.#state === 'open' && !this.#outbox.isBlocked && !this.#inbox.isEmpty
  }

  #expireLater(): void {
    const remaining = this.token.expiresAtMilliseconds - this.#host.clock.wallInstant().milliseconds
    const wait = Math.min(Math.max(0, remaining), TIMER_MILLISECONDS_MAX)
    this.#expiryTimer = this.#host.clock.schedule(wait, () => {
      if (wait < remaining) this.#expireLater()
      else this.close('tokenExpired')
    })
  }

  #release(): void {
    this.#paceTimer?.cancel()
    this.#expiryTimer?.cancel()
    this.#inbox.clear()
    this.#notices = []
    this.#subscriptions.clear()
    this.#host.stopHeartbeat(this)
    this.reader.end()
    this.#outbox.end()
  }

  #payPong(): void {
    if (this.#owedPong !== undefined) this.#transport.pong(this.#owedPong)
    this.#owedPong = undefined
  }

  #arrived(): void {
    this.#lastArrivalMilliseconds = this.#host.clock.monotonicMilliseconds()
  }

  #setReading(): void {
    if (this.#state !== 'open') return
    const shouldRead = this.#inbox.isEmpty && !this.#outbox.isBlocked
    if (shouldRead === this.#isReading) return
    this.#isReading = shouldRead
    if (shouldRead) {
      // What the peer sent while it was not read counts from now on.
      this.#arrived()
      this.#transport.goOnReading()
    } else {
      this.#transport.stopReading()
    }
  }

  #answer(message: InboundMessage): void {
    try {
      const { text, entryCount, heartbeat } = this.#subscriptions.answer(message)
      this.#inbox.charge(entryCount / ENTRIES_PER_MESSAGE)
      if (heartbeat === 'stop') this.#host.stopHeartbeat(this)
      this.#reply(text)
      if (heartbeat === 'start') this.#host.startHeartbeat(this)
    } catch (error) {
      // A bug of ours costs this request, not the connection.
      this.noteInternalError(error)
      this.#reply(internalErrorReply())
    }
  }

  noteInternalError(error: unknown): void {
    this.#host.countInternalError()
    this.#host.log.error({ connection: this.id, err: error }, 'internal error of a connection')
  }

  /** Those that are left wait for the outbox to drain: no data comes before them, since catch-up waits for it too. */
  #sendNotices(): void {
    while (this.#notices.length > 0 && !this.#outbox.isBlocked) this.#reply(this.#notices.shift() as string)
  }

  #reply(text: string): void {
    this.#outbox.sendChunk({ frames: textFrame(text), messageCount: 1 })
  }
}
