/**
 * All connections of this node and the markets they read. What happens in one turn of the event loop goes out at its
 * end, in this order: the turn's frames to everyone who is current (one write a connection), then requests, then
 * catch-up of those who are not, then a slice of whatever snapshot is being encoded. The last three have a budget of
 * time each turn and take turns between connections, so that no connection delays the others beyond it.
 */
import type { AccessToken } from '../auth/token-verifier.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Bus } from '../channel/bus.ts'
import { heartbeatText, textFrame } from '../channel/frame.ts'
import type { Replica } from '../channel/replica.ts'
import type { ChannelType } from '../contract/channels.ts'
import type { CloseCause } from '../contract/stream-codes.ts'
import { MarketChannel } from './market-channel.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Outbox, OutboxTotals } from './outbox.ts'
import { type MarketEnd, marketListText } from './protocol.ts'
import { Session, type SessionHost } from './session.ts'
import type { Beat, SessionLimits } from './session-limits.ts'
import type { ChannelReader } from './subscription.ts'
import { Ticker } from './ticker.ts'
import type { TransportPort } from './transport.ts'
import { Wheel } from './wheel.ts'

/** What requests, catch-up and snapshot encoding may each take from one turn. */
const REQUESTS_MILLISECONDS = 2
const CATCH_UP_MILLISECONDS = 2
const ENCODE_MILLISECONDS = 4

/** Requests of one connection answered before the next connection has its turn. */
const REQUESTS_A_ROUND = 8

/** Settings of the stream; each is the setting `stream.*` of the same name. */
export interface HubSettings extends SessionLimits {
  readonly heartbeatSeconds: number
  readonly pingSeconds: number
  readonly silenceSeconds: number
  readonly staleSeconds: number
  /** `stream.stale_action` is `close`. */
  readonly closesStale: boolean
}

export interface HubOptions {
  readonly replicas: readonly Replica[]
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly settings: HubSettings
  /** A number in [0, 1), to spread what should not happen at once. */
  readonly random: () => number
}

export class Hub implements SessionHost {
  readonly clock: Clock
  readonly log: Log
  readonly limits: SessionLimits
  readonly totals: OutboxTotals
  readonly #options: Omit<HubOptions, 'replicas'>
  readonly #channels = new Map<string, MarketChannel>()
  /** Made when it is first asked for. */
  #marketList: string | undefined
  readonly #sessions = new Set<Session>()
  readonly #sessionsOfClient = new Map<string, number>()
  readonly #heartbeats: Wheel<Session>
  readonly #pings: Wheel<Session>
  readonly #ticker: Ticker
  /** Intervals, in milliseconds, that were over in this turn. */
  #ticked = new Set<number>()
  #dirty: MarketChannel[] = []
  #requestQueue = new Set<Session>()
  #catchUpQueue = new Set<Session>()
  #isScheduled = false
  #encodeTurn = 0
  #onEmpty: (() => void) | undefined

  constructor({ replicas, ...options }: HubOptions) {
    const { clock, settings, metrics } = options
    this.#options = options
    this.clock = clock
    this.log = options.log
    this.limits = settings
    this.totals = metrics.totals
    for (const replica of replicas) this.addMarket(replica)
    this.#heartbeats = new Wheel(clock, settings.heartbeatSeconds * 1000, (sessions) => this.#beat(sessions))
    this.#pings = new Wheel(clock, settings.pingSeconds * 1000, (sessions) => {
      for (const session of sessions) session.checkLife(settings.silenceSeconds * 1000)
    })
    this.#ticker = new Ticker(clock, (intervals) => this.#tick(intervals))
    metrics.observe(this)
  }

  get sessions(): ReadonlySet<Session> {
    return this.#sessions
  }

  connectionsOfClient(clientId: string): number {
    return this.#sessionsOfClient.get(clientId) ?? 0
  }

  /** Takes over an accepted connection. */
  open(transport: TransportPort, token: AccessToken): Session {
    const session = new Session(this, transport, token)
    this.#sessions.add(session)
    this.#sessionsOfClient.set(token.clientId, this.connectionsOfClient(token.clientId) + 1)
    this.#pings.add(session)
    return session
  }

  /** Closes every connection for which `cause` says why. */
  closeWhere(cause: (session: Session) => CloseCause | undefined): void {
    for (const session of this.#sessions) {
      const found = cause(session)
      if (found !== undefined) session.close(found)
    }
  }

  /** Closes all connections, spread at random over `seconds`, and resolves when none is left. */
  drain(seconds: number): Promise<void> {
    if (this.#sessions.size === 0) return Promise.resolve()
    for (const session of this.#sessions) {
      this.clock.schedule(this.#options.random() * seconds * 1000, () => session.close('restarting'))
    }
    return new Promise((resolve) => {
      this.#onEmpty = resolve
    })
  }

  stop(): void {
    this.#heartbeats.stop()
    this.#pings.stop()
    this.#ticker.stop()
    for (const channel of this.#channels.values()) channel.stop()
    for (const session of this.#sessions) session.cut()
  }

  get channels(): Iterable<MarketChannel> {
    return this.#channels.values()
  }

  channel(market: string): MarketChannel | undefined {
    return this.#channels.get(market)
  }

  get marketList(): string {
    this.#marketList ??= marketListText(this.#channels.keys())
    return this.#marketList
  }

  /** Serves one more market from now on. */
  addMarket(replica: Replica): void {
    this.#marketList = undefined
    this.#channels.set(replica.market.symbol, this.#createChannel(replica))
  }

  /**
   * Stops serving a market. Its subscribers are notified behind what they were sent, with the reason, and get nothing
   * more of it. One that was changed is added again in the same tick, so that they can subscribe again at once.
   */
  removeMarket(symbol: string, end: MarketEnd): void {
    const channel = this.#channels.get(symbol)
    if (channel === undefined) return
    this.#channels.delete(symbol)
    this.#marketList = undefined
    channel.stop()
    // Everyone, not the subscribers alone: who was one before still remembers the market's whole book.
    for (const session of this.#sessions) session.endMarket(symbol, end)
  }

  requestCommit(market: string): boolean {
    return this.#options.bus.requestCommit(market)
  }

  queueRequests(session: Session): void {
    this.#requestQueue.add(session)
    this.#schedule()
  }

  queueCatchUp(session: Session): void {
    this.#catchUpQueue.add(session)
    this.#schedule()
  }

  startHeartbeat(session: Session): void {
    session.beat(this.#newBeat())
    this.#heartbeats.add(session)
  }

  stopHeartbeat(session: Session): void {
    this.#heartbeats.remove(session)
  }

  countMerged(): void {
    this.#options.metrics.mergedMessages.inc()
  }

  countSubscription(type: ChannelType, difference: 1 | -1): void {
    this.#options.metrics.subscriptions.inc({ channel: type }, difference)
  }

  countInternalError(): void {
    this.#options.metrics.internalErrors.inc()
  }

  countClose(cause: CloseCause): void {
    this.#options.metrics.closes.inc({ cause })
  }

  ended(session: Session): void {
    this.#sessions.delete(session)
    this.#requestQueue.delete(session)
    this.#catchUpQueue.delete(session)
    this.#pings.remove(session)
    const { clientId } = session.token
    const left = this.connectionsOfClient(clientId) - 1
    if (left > 0) this.#sessionsOfClient.set(clientId, left)
    else this.#sessionsOfClient.delete(clientId)
    if (this.#sessions.size === 0) this.#onEmpty?.()
  }

  #createChannel(replica: Replica): MarketChannel {
    const { staleSeconds, closesStale } = this.#options.settings
    return new MarketChannel({
      replica,
      clock: this.clock,
      closeStaleSeconds: closesStale ? staleSeconds : 0,
      onDirty: (channel) => {
        this.#dirty.push(channel)
        this.#schedule()
      },
      onPaced: () => this.#ticker.start(),
      onStale: (subscriptions) => {
        const readers = new Set(subscriptions.map((subscription) => subscription.reader))
        this.closeWhere((session) => (readers.has(session.reader) ? 'stale' : undefined))
      },
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.clock.endOfTurn(() => {
      this.#isScheduled = false
      this.#endTurn()
    })
  }

  #endTurn(): void {
    this.#fanOut()
    this.#answerRequests()
    this.#catchUp()
    this.#encode()
  }

  #fanOut(): void {
    if (this.#dirty.length === 0 && this.#ticked.size === 0) return
    const dirty = this.#dirty
    this.#dirty = []
    const outboxes: Outbox[] = []
    const onFirst = (reader: ChannelReader) => void outboxes.push(reader.outbox)
    for (const channel of dirty) channel.fanOut(onFirst)
    const isWritten = outboxes.length > 0
    this.#fanOutTicks(onFirst)
    for (const outbox of outboxes) outbox.flush()
    // What waited for a tick is late as its reader wishes.
    if (isWritten) this.#observeLatency(dirty)
  }

  #fanOutTicks(onFirst: (reader: ChannelReader) => void): void {
    if (this.#ticked.size === 0) return
    for (const channel of this.#channels.values()) channel.tick(this.#ticked, onFirst)
    this.#ticked = new Set()
  }

  /** Leaves the tick to the end of the turn; returns whether anybody wants the next. */
  #tick(intervals: ReadonlySet<number>): boolean {
    for (const interval of intervals) this.#ticked.add(interval)
    this.#schedule()
    for (const channel of this.#channels.values()) if (channel.isPaced) return true
    return false
  }

  #observeLatency(channels: readonly MarketChannel[]): void {
    const { milliseconds, nanoseconds } = this.clock.wallInstant()
    const now = milliseconds + nanoseconds / 1_000_000
    for (const { replica } of channels) {
      this.#options.metrics.deliverySeconds.observe(Math.max(0, now - replica.receivedMilliseconds) / 1000)
    }
  }

  #answerRequests(): void {
    const until = this.clock.monotonicMilliseconds() + REQUESTS_MILLISECONDS
    this.#requestQueue = this.#visit(this.#requestQueue, until, (session) =>
      session.answerRequests(REQUESTS_A_ROUND, until),
    )
  }

  #catchUp(): void {
    const until = this.clock.monotonicMilliseconds() + CATCH_UP_MILLISECONDS
    this.#catchUpQueue = this.#visit(this.#catchUpQueue, until, (session) => session.catchUp(until))
  }

  /**
   * Visits the sessions of a queue in turn until the time is up. Those not reached keep their place, those with more to
   * do go to the end, and the queue that is left is worked on in the next turn.
   */
  #visit(queue: Set<Session>, untilMilliseconds: number, visit: (session: Session) => boolean): Set<Session> {
    for (const session of queue) {
      queue.delete(session)
      if (visit(session)) queue.add(session)
      if (this.clock.monotonicMilliseconds() >= untilMilliseconds) break
    }
    if (queue.size > 0) this.#schedule()
    return queue
  }

  #encode(): void {
    const until = this.clock.monotonicMilliseconds() + ENCODE_MILLISECONDS
    const encoding = [...this.#channels.values()].filter((channel) => channel.working)
    if (encoding.length === 0) return
    this.#schedule()
    // Each turn another market goes first, so that none waits for all the others.
    const first = this.#encodeTurn++ % encoding.length
    for (const channel of [...encoding.slice(first), ...encoding.slice(0, first)]) {
      channel.work(until)
      if (!channel.working) channel.wakeWaiting()
      if (this.clock.monotonicMilliseconds() >= until) break
    }
  }

  #newBeat(): Beat {
    const instant = this.clock.wallInstant()
    return { instant, frame: textFrame(heartbeatText(instant)) }
  }

  #beat(sessions: ReadonlySet<Session>): void {
    const beat = this.#newBeat()
    for (const session of sessions) session.beat(beat)
  }
}
