/**
 * All sessions on this node and their markets. At the end of an event-loop tick it does, in this order: fan-out of the
 * tick's frames to current subscribers, writes that are due (one per session), replies to requests, catch-up for lagging
 * subscribers, slices of SNAPSHOTs and digests. The last three have a time budget per tick, and serve sessions in turn.
 */
import type { AffectedTokens } from '../../access/clients/affected-tokens.ts'
import { type HeldPlans, NO_PLANS } from '../../access/clients/plans/plan.ts'
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import { Meter } from '../../access/metering/meter.ts'
import type { ChannelType } from '../../contract/channels.ts'
import type { CloseCause } from '../../contract/stream-codes.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Bus } from '../sequencing/bus.ts'
import { heartbeatText, textFrame } from '../sequencing/frame.ts'
import type { ReceiptSigner } from '../sequencing/receipt-signer.ts'
import type { Replica } from '../sequencing/replica.ts'
import { DeliveryTimes } from './delivery-times.ts'
import type { EventStreams } from './event-subscription.ts'
import { MarketStream } from './market-stream.ts'
import type { GatewayMetrics } from './metrics.ts'
import { Chunk, type Outbox, type OutboxTotals, type TransportPort } from './outbox.ts'
import type { MarketEnd } from './protocol.ts'
import type { HubSettings, SessionLimits } from './requests.ts'
import { type ListedMarket, type MarketFollowing, ServedMarkets } from './served-markets.ts'
import { type Heartbeat, Session, type SessionHost } from './session.ts'
import { HolderCounts, type Holders, type HolderUse, type OtherConnections, SessionIndex } from './session-index.ts'
import type { LaggingParty, Subscriber } from './subscription.ts'
import { Ticker } from './throttle.ts'
import { Wheel } from './wheel.ts'
import { WriteGrid } from './write-grid.ts'

/** Time that requests, catch-up and SNAPSHOT encoding may each take per tick. */
const REQUESTS_MILLISECONDS = 2
const CATCH_UP_MILLISECONDS = 2
const ENCODE_MILLISECONDS = 4

/** Requests answered for one session before the next session is served. */
const REQUESTS_PER_ROUND = 8

export interface HubOptions {
  readonly replicas: readonly Replica[]
  readonly bus: Bus
  /** Absent where every market is followed. */
  readonly following?: MarketFollowing | undefined
  /** Absent: no connection can follow events. */
  readonly events?: EventStreams | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly settings: HubSettings
  /** Signs receipts for the extended protocol's heartbeats. Absent: there are none. */
  readonly receipts?: ReceiptSigner | undefined
  /** Returns a number in [0, 1), to spread the closes in a drain. */
  readonly random: () => number
  /** The plans that bound what a token may use. Absent: none do. */
  readonly plansOf?: (token: AccessToken) => HeldPlans
  /** Connections at other processes that have the same limits. */
  readonly others?: OtherConnections | undefined
  /** Absent: nothing is metered outside the hub. */
  readonly meter?: Meter | undefined
  /** Called when the use by a client and its customer has changed. */
  readonly onCount?: (holders: Holders) => void
}

export class Hub implements SessionHost {
  readonly clock: Clock
  readonly log: Log
  readonly limits: SessionLimits
  readonly totals: OutboxTotals
  readonly events: EventStreams | undefined
  readonly meter: Meter
  readonly #options: Omit<HubOptions, 'replicas'>
  readonly served: ServedMarkets
  readonly #sessions = new SessionIndex<Session>()
  /** Operator sessions. */
  readonly #uncounted = new Set<Session>()
  readonly #heartbeats: Wheel<Session>
  readonly #pings: Wheel<Session>
  readonly #ticker: Ticker
  /** Undefined without a write interval: each tick's frames are written at its end. */
  readonly #writeGrid: WriteGrid | undefined
  readonly #deliveryTimes: DeliveryTimes
  readonly uses = new HolderCounts()
  /** The outboxes with frames to write. */
  #outboxes: Outbox[] = []
  /** Throttle intervals, in milliseconds, that ended in this tick. */
  #endedIntervals = new Set<number>()
  /** Markets with work for the end of the tick. */
  #dirty: MarketStream[] = []
  #requestQueue = new Set<Session>()
  #catchUpQueue = new Set<LaggingParty>()
  #isScheduled = false
  #workRound = 0
  #onEmpty: (() => void) | undefined

  constructor({ replicas, ...options }: HubOptions) {
    const { clock, settings, metrics } = options
    this.#options = options
    this.clock = clock
    this.log = options.log
    this.limits = settings
    this.totals = metrics.totals
    this.meter = options.meter ?? new Meter(clock)
    this.#deliveryTimes = new DeliveryTimes(clock, metrics)
    this.events = options.events
    this.served = new ServedMarkets((replica) => this.#createMarket(replica), options.following)
    for (const replica of replicas) this.addMarket(replica)
    this.#heartbeats = new Wheel(clock, settings.heartbeatSeconds * 1000, (sessions) => this.#sendHeartbeats(sessions))
    this.#pings = new Wheel(clock, settings.pingSeconds * 1000, (sessions) => {
      for (const session of sessions) session.checkLife(settings.silenceSeconds * 1000)
    })
    this.#ticker = new Ticker(clock, (intervals) => this.#endIntervals(intervals))
    const { writeIntervalMilliseconds } = settings
    if (writeIntervalMilliseconds > 0) {
      this.#writeGrid = new WriteGrid(clock, writeIntervalMilliseconds, () => this.#schedule())
    }
    metrics.observe(this)
  }

  get sessions(): ReadonlySet<Session> {
    return this.#sessions.all
  }

  /** What a customer or client uses here and at the other processes. */
  useOf(holderId: string): HolderUse {
    return this.uses.totalOf(holderId, this.#options.others)
  }

  plansOf(token: AccessToken): HeldPlans {
    return this.#options.plansOf?.(token) ?? NO_PLANS
  }

  /** Creates an accepted connection's session. `id`: where it has one already. */
  open(transport: TransportPort, token: AccessToken, id?: string): Session {
    const session = new Session(this, transport, token, id)
    this.#sessions.add(session)
    this.#pings.add(session)
    this.#countConnection(token, 1)
    return session
  }

  /** The same for a session outside every count, limit, list and revocation of customers' connections. */
  openUncounted(transport: TransportPort, token: AccessToken, id?: string): Session {
    const session = new Session(this, transport, token, id, false)
    this.#uncounted.add(session)
    this.#pings.add(session)
    return session
  }

  /** Closes every session for which `cause` returns a cause. */
  closeWhere(cause: (session: Session) => CloseCause | undefined): void {
    for (const session of this.sessions) {
      const found = cause(session)
      if (found !== undefined) session.close(found)
    }
  }

  /** Closes the affected sessions with a cause, and serves the others by their present plans. */
  applyAccess(cause: (session: Session) => CloseCause | undefined, affected: AffectedTokens): void {
    for (const session of this.#sessions.affectedBy(affected)) {
      const found = cause(session)
      if (found !== undefined) session.close(found)
      else if (session.isOpen) session.requests.applyPlans(this.plansOf(session.token))
    }
  }

  /** Closes all sessions, spread at random over `seconds`, and resolves when none is left. */
  drain(seconds: number): Promise<void> {
    if (this.sessions.size === 0) return Promise.resolve()
    for (const session of this.sessions) {
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
    this.#writeGrid?.stop()
    for (const market of this.served.streams.values()) market.stop()
    for (const session of [...this.sessions, ...this.#uncounted]) session.cut()
  }

  /** The followed markets. */
  get markets(): Iterable<MarketStream> {
    return this.served.streams.values()
  }

  get listedMarkets(): readonly ListedMarket[] {
    return this.served.listed
  }

  /** A market, followed from now on. */
  market(symbol: string): MarketStream | undefined {
    return this.served.get(symbol)
  }

  marketList(plans: HeldPlans): string {
    return this.served.listText(plans)
  }

  /** Serves a market from now on. */
  addMarket(replica: Replica): void {
    this.served.add(replica)
  }

  /** Takes the new replicas of markets that are no longer followed and have no subscription. */
  dropMarkets(replicas: readonly Replica[]): void {
    const dropped = this.served.drop(replicas)
    if (dropped.size === 0) return
    for (const session of [...this.sessions, ...this.#uncounted]) session.forgetDropped(dropped)
  }

  /**
   * Stops serving a market. Its subscribers get a notice with the reason after their data, and no more data from it. A
   * changed market is added again in the same tick, so that they can subscribe again at once.
   */
  removeMarket(symbol: string, end: MarketEnd): void {
    if (this.served.remove(symbol) === undefined) return
    // All sessions, not only current subscribers: former ones keep an empty subscription to the market.
    for (const session of [...this.sessions, ...this.#uncounted]) session.endMarket(symbol, end)
  }

  queueRequests(session: Session): void {
    this.#requestQueue.add(session)
    this.#schedule()
  }

  queueCatchUp(party: LaggingParty): void {
    this.#catchUpQueue.add(party)
    this.#schedule()
  }

  startHeartbeat(session: Session): void {
    session.sendHeartbeat(this.#newHeartbeat())
    this.#heartbeats.add(session)
  }

  stopHeartbeat(session: Session): void {
    this.#heartbeats.remove(session)
  }

  countSubscription(type: ChannelType, difference: 1 | -1, holders: Holders | undefined): void {
    this.#options.metrics.subscriptions.inc({ channel: type }, difference)
    if (holders !== undefined && type !== 'heartbeat') {
      this.#countUse(holders, { connections: 0, subscriptions: difference })
    }
  }

  countInternalError(): void {
    this.#options.metrics.internalErrors.inc()
  }

  countClose(cause: CloseCause): void {
    this.#options.metrics.closes.inc({ cause })
  }

  ended(session: Session): void {
    if (this.#sessions.remove(session)) this.#countConnection(session.token, -1)
    this.#uncounted.delete(session)
    this.#requestQueue.delete(session)
    this.#catchUpQueue.delete(session)
    this.#pings.remove(session)
    if (this.sessions.size === 0) this.#onEmpty?.()
  }

  #countConnection(token: AccessToken, difference: 1 | -1): void {
    this.#countUse(token, { connections: difference, subscriptions: 0 })
    this.meter.countConnection(token, difference)
  }

  #countUse(holders: Holders, difference: HolderUse): void {
    this.uses.add(holders, difference)
    this.#options.onCount?.(holders)
  }

  #createMarket(replica: Replica): MarketStream {
    const { bus, settings, receipts } = this.#options
    return new MarketStream({
      replica,
      clock: this.clock,
      receipts,
      closeStaleSeconds: settings.closesStale ? settings.staleSeconds : 0,
      requestCommit: () => bus.requestCommit(replica.market.symbol),
      onDirty: (market) => {
        this.#dirty.push(market)
        this.#deliveryTimes.arrived(market)
        this.#schedule()
      },
      onGridUse: () => this.#ticker.start(),
      onStaleTooLong: (subscriptions) => {
        const subscribers = new Set<Subscriber>(subscriptions.map(({ subscriber }) => subscriber))
        this.closeWhere((session) => (subscribers.has(session) ? 'stale' : undefined))
      },
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.clock.endOfTick(() => {
      this.#isScheduled = false
      this.#endTick()
    })
  }

  #endTick(): void {
    this.#fanOut()
    this.#answerRequests()
    this.#catchUp()
    this.#work()
  }

  #fanOut(): void {
    const dirty = this.#dirty
    this.#dirty = []
    let isHanded = false
    for (const market of dirty) if (market.fanOut(this.#outboxes)) isHanded = true
    // Throttled messages are late at the client's request, so they do not count as latency.
    if (isHanded) this.#deliveryTimes.fannedOut(dirty)
    this.#deliveryTimes.endTick()
    const ended = this.#endedIntervals
    if (ended.size > 0) {
      for (const market of this.served.streams.values()) market.fanOutThrottled(ended, this.#outboxes)
      this.#endedIntervals = new Set()
    }
    if (this.#outboxes.length > 0 && this.#writeGrid?.isDue() !== false) this.#write()
    if (ended.has(1_000)) for (const market of this.served.streams.values()) market.endSecond()
  }

  #write(): void {
    const outboxes = this.#outboxes
    this.#outboxes = []
    for (const outbox of outboxes) outbox.flush()
    this.#deliveryTimes.written()
  }

  /** Notes the intervals for the end of the tick. Returns whether a market still needs them. */
  #endIntervals(intervals: ReadonlySet<number>): boolean {
    for (const interval of intervals) this.#endedIntervals.add(interval)
    this.#schedule()
    for (const market of this.served.streams.values()) if (market.usesGrid) return true
    return false
  }

  #answerRequests(): void {
    const until = this.clock.monotonicMilliseconds() + REQUESTS_MILLISECONDS
    this.#requestQueue = this.#visit(this.#requestQueue, until, (session) =>
      session.answerRequests(REQUESTS_PER_ROUND, until),
    )
  }

  #catchUp(): void {
    const until = this.clock.monotonicMilliseconds() + CATCH_UP_MILLISECONDS
    this.#catchUpQueue = this.#visit(this.#catchUpQueue, until, (party) => party.catchUp(until))
  }

  /**
   * Visits a queue's members until the time is up. Members not reached keep their place, and those with more to do move
   * to the end. The remaining queue is visited in the next tick.
   */
  #visit<Member>(queue: Set<Member>, untilMilliseconds: number, visit: (member: Member) => boolean): Set<Member> {
    for (const member of queue) {
      queue.delete(member)
      if (visit(member)) queue.add(member)
      if (this.clock.monotonicMilliseconds() >= untilMilliseconds) break
    }
    if (queue.size > 0) this.#schedule()
    return queue
  }

  #work(): void {
    const until = this.clock.monotonicMilliseconds() + ENCODE_MILLISECONDS
    const working = [...this.served.streams.values()].filter((market) => market.isWorking)
    if (working.length === 0) return
    this.#schedule()
    // Another market is first in each tick, so that none waits for all the others.
    const first = this.#workRound++ % working.length
    for (const market of [...working.slice(first), ...working.slice(0, first)]) {
      market.work(until)
      if (this.clock.monotonicMilliseconds() >= until) break
    }
  }

  #newHeartbeat(): Heartbeat {
    const instant = this.clock.wallInstant()
    return { instant, chunk: new Chunk(textFrame(heartbeatText(instant)), 1) }
  }

  #sendHeartbeats(sessions: ReadonlySet<Session>): void {
    const heartbeat = this.#newHeartbeat()
    for (const session of sessions) session.sendHeartbeat(heartbeat)
  }
}
