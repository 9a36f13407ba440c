/**
 * A stream whose markets a test feeds by hand: sequencers, bus, replicas and hub under a virtual clock, and clients that
 * keep the exact text of every message. What the seeded simulation finds by chance is spelled out with this one.
 */
import type { AccessToken } from '../../../src/access/clients/access-token.ts'
import type { HeldPlans } from '../../../src/access/clients/plans/plan.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import type { EventStreams } from '../../../src/streaming/gateway/event-subscription.ts'
import { Hub } from '../../../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../../../src/streaming/gateway/metrics.ts'
import type { MarketEnd } from '../../../src/streaming/gateway/protocol.ts'
import type { HubSettings } from '../../../src/streaming/gateway/requests.ts'
import type { Session } from '../../../src/streaming/gateway/session.ts'
import { ASK, BID, type Execution, type LevelChange } from '../../../src/streaming/market/event.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import type { ReceiptSigner } from '../../../src/streaming/sequencing/receipt-signer.ts'
import { Replica } from '../../../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { ANY_TOKEN, FakeTransport } from '../../support/fake-transport.ts'
import { SETTINGS, testMarket, withdrawAfter } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

type Side = readonly (readonly [price: number, amount: number])[]

/** Levels from [price, amount] pairs at the scale of the market (2 and 4 decimals). */
export function levels(bids: Side, asks: Side): LevelChange[] {
  return [
    ...bids.map(([price, amount]) => ({ side: BID, price, amount }) as const),
    ...asks.map(([price, amount]) => ({ side: ASK, price, amount }) as const),
  ]
}

/** `count` levels per side around 100,000.00, each with the amount given. */
export function deepBook(count: number, amount: number): LevelChange[] {
  const ranks = Array.from({ length: count }, (_, index) => index + 1)
  return levels(
    ranks.map((rank) => [10_000_000 - rank, amount]),
    ranks.map((rank) => [10_000_000 + rank, amount]),
  )
}

/** A clock on which work takes time: every look at it finds that `workMilliseconds` have passed. */
export class WorkingClock extends VirtualClock {
  workMilliseconds = 0
  #worked = 0

  override monotonicMilliseconds(): number {
    this.#worked += this.workMilliseconds
    return super.monotonicMilliseconds() + this.#worked
  }

  /** The process stands still: time passes and no timer runs. */
  stall(milliseconds: number): void {
    this.#worked += milliseconds
  }
}

/** A transport that also keeps what was written, in the order of all clients of a stream. */
class ListeningTransport extends FakeTransport {
  readonly writes: Buffer[] = []
  readonly cutAfterMilliseconds: number[] = []
  readonly #onWrite: () => void

  constructor(kernelBytes: number, onText: (text: string) => void, onWrite: () => void) {
    super(kernelBytes, onText)
    this.#onWrite = onWrite
  }

  override write(bytes: Buffer, onWritten?: () => void): void {
    if (this.isOpen) {
      this.writes.push(bytes)
      this.#onWrite()
    }
    super.write(bytes, onWritten)
  }

  override close(code: number, reason: string, cutMilliseconds?: number): void {
    super.close(code, reason)
    this.cutAfterMilliseconds.push(cutMilliseconds as number)
  }
}

export interface Message {
  readonly channel?: string
  readonly type?: string
  readonly channels?: readonly Record<string, unknown>[]
  readonly stream?: { readonly cursor: string; readonly prev?: string; readonly covers: number }
  readonly payload: {
    readonly market: string
    readonly type?: string
    readonly time?: string
    readonly timestamp?: string
    readonly price?: string
    readonly amount?: string
    readonly bids?: readonly { price: string; amount: string }[]
    readonly asks?: readonly { price: string; amount: string }[]
  }
}

export class LiveClient {
  readonly name: string
  readonly transport: ListeningTransport
  readonly session: Session
  readonly #stream: LiveStream
  #texts: string[] = []

  constructor(
    stream: LiveStream,
    name: string,
    kernelBytes: number,
    subprotocol: string,
    tokenChanges: Partial<AccessToken>,
  ) {
    this.name = name
    this.#stream = stream
    this.transport = new ListeningTransport(
      kernelBytes,
      (text) => this.#texts.push(text),
      () => stream.writeOrder.push(name),
    )
    this.transport.subprotocol = subprotocol
    this.session = stream.hub.open(this.transport, { ...ANY_TOKEN, ...tokenChanges })
  }

  /** Hands over a message as the socket would, without ending the tick. */
  receive(request: unknown): void {
    const text = typeof request === 'string' ? request : JSON.stringify(request)
    this.session.receive({ data: Buffer.from(text), isBinary: false })
  }

  /** Sends a request and returns all that comes until everything is at rest. */
  ask(request: unknown): string[] {
    this.receive(request)
    return this.read()
  }

  subscribe(...channels: readonly string[]): string[] {
    return this.ask({ type: 'subscribe', channels: channels.map(entry) })
  }

  unsubscribe(...channels: readonly string[]): string[] {
    return this.ask({ type: 'unsubscribe', channels: channels.map(entry) })
  }

  /** Reads until nothing is left and returns the texts since the last call; time does not pass. */
  read(): string[] {
    for (let rounds = 0; rounds < 1_000; rounds++) {
      this.#stream.clock.settle()
      const before = this.transport.queuedBytes
      this.transport.flush()
      this.transport.drain()
      if (before === 0 && this.transport.queuedBytes === 0) break
    }
    return this.taken()
  }

  /** What the peer has read since the last call, without reading more. */
  taken(): string[] {
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  readMessages(): Message[] {
    return this.read().map((text) => JSON.parse(text) as Message)
  }
}

/** `AAAUSD market_data` as an entry of a request; `heartbeat` alone. */
function entry(channel: string): unknown {
  const [market, type] = channel.split(' ')
  return type === undefined ? { type: market } : { type, params: { market } }
}

export interface LiveStreamOptions {
  /** Signs receipts; absent: there are none. */
  readonly receipts?: (clock: VirtualClock) => ReceiptSigner
  readonly markets?: readonly string[]
  readonly depth?: number
  readonly settings?: Partial<HubSettings>
  readonly executionsKept?: number
  readonly clock?: VirtualClock
  /** Absent: no session can follow events. */
  readonly events?: EventStreams
  /** Absent: no plan bounds a session. */
  readonly plansOf?: (token: AccessToken) => HeldPlans
}

export class LiveStream {
  readonly clock: VirtualClock
  readonly bus = createMemoryBus()
  readonly hub: Hub
  readonly replicas = new Map<string, Replica>()
  readonly sequencers = new Map<string, Sequencer>()
  readonly registry = createMetricsRegistry()
  readonly metrics = createGatewayMetrics(this.registry)
  readonly #log = createLog('silent')
  readonly #sequencerMetrics = createSequencerMetrics(this.registry)
  readonly rebuilds: string[] = []
  /** Names of the clients in the order in which anything was written to them. */
  readonly writeOrder: string[] = []
  random = (): number => 0.5
  readonly #options: LiveStreamOptions

  constructor(options: LiveStreamOptions = {}) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock()
    for (const symbol of options.markets ?? ['AAAUSD']) this.#createMarket(symbol, 0)
    this.hub = new Hub({
      replicas: [...this.replicas.values()],
      bus: this.bus,
      clock: this.clock,
      log: this.#log,
      metrics: this.metrics,
      settings: { ...SETTINGS, ...options.settings },
      receipts: options.receipts?.(this.clock),
      random: () => this.random(),
      events: options.events,
      ...(options.plansOf === undefined ? {} : { plansOf: options.plansOf }),
    })
  }

  connect({
    kernelBytes = 1_000_000,
    clientId = 'client',
    expiresAt = Number.MAX_SAFE_INTEGER,
    name = 'x',
    subprotocol = '',
    token = {} as Partial<AccessToken>,
  } = {}) {
    const changes = { clientId, expiresAtMilliseconds: expiresAt, ...token }
    return new LiveClient(this, name, kernelBytes, subprotocol, changes)
  }

  /** Every commit of the market is later than the floor. */
  addMarket(symbol: string, floorMilliseconds = 0): void {
    this.#createMarket(symbol, floorMilliseconds)
    this.hub.addMarket(this.replicas.get(symbol) as Replica)
  }

  /** Returns when the market was last committed. */
  removeMarket(symbol: string, end: MarketEnd = 'removed'): number {
    this.hub.removeMarket(symbol, end)
    this.sequencers.get(symbol)?.stop()
    const replica = this.replicas.get(symbol) as Replica
    replica.stop()
    this.sequencers.delete(symbol)
    this.replicas.delete(symbol)
    return replica.instant.milliseconds
  }

  #createMarket(symbol: string, floorMilliseconds: number): void {
    const { bus, clock } = this
    const market = testMarket(symbol, this.#options.depth ?? 5)
    const onRebuildNeeded = (reason: string) => void this.rebuilds.push(`${symbol}: ${reason}`)
    const epoch = `e${clock.monotonicMilliseconds()}`
    this.replicas.set(symbol, new Replica({ market, bus, executionsKept: this.#options.executionsKept ?? 10_000 }))
    const withdrawAfterMilliseconds = withdrawAfter(this.#options.settings)
    const common = { market, epoch, bus, clock, floorMilliseconds, withdrawAfterMilliseconds, onRebuildNeeded }
    this.sequencers.set(symbol, new Sequencer({ ...common, log: this.#log, metrics: this.#sequencerMetrics }))
  }

  /** Offers a whole book and lets a millisecond pass before and after. */
  snapshot(all: readonly LevelChange[] = levels([[100, 10]], [[200, 20]]), symbol = 'AAAUSD'): void {
    this.clock.advance(1)
    this.sequencers.get(symbol)?.offer({ type: 'snapshot', levels: all })
    this.clock.advance(1)
  }

  /** Offers changes and executions without ending the tick. */
  offer(changes: readonly LevelChange[], executions: readonly Execution[] = [], symbol = 'AAAUSD'): void {
    this.sequencers.get(symbol)?.offer({ type: 'update', changes, executions })
  }

  /** Offers changes and executions and lets a millisecond pass before and after. */
  update(changes: readonly LevelChange[], executions: readonly Execution[] = [], symbol = 'AAAUSD'): void {
    this.clock.advance(1)
    this.offer(changes, executions, symbol)
    this.clock.advance(1)
  }

  /** Reports that executions were missed, without ending the tick. */
  miss(symbol = 'AAAUSD'): void {
    this.sequencers.get(symbol)?.offer({ type: 'missed', reason: 'the test says so' })
  }

  lose(symbol = 'AAAUSD'): void {
    this.sequencers.get(symbol)?.offer({ type: 'lost', reason: 'the test says so' })
    this.clock.settle()
  }
}

/** The book a client has after these messages of one market: price to amount, both sides. */
export function rebuild(messages: readonly Message[], book = new Map<string, string>()): Map<string, string> {
  for (const { channel, payload } of messages) {
    if (channel !== 'market_data') continue
    if (payload.type === 'SNAPSHOT') book.clear()
    for (const { price, amount } of [...(payload.bids ?? []), ...(payload.asks ?? [])]) {
      if (amount === '0') book.delete(price)
      else book.set(price, amount)
    }
  }
  return book
}
