/**
 * The sending end of a link: passes on what the bus of this process publishes about some markets, one message per market
 * and tick, and once a second the newest version of each. It answers requests for the state of a market from the replica
 * of this process; the state of a version is encoded once for all who ask. It never waits for a follower: what the link
 * cannot take is lost, and the follower notices.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { Bus, MarketMessage } from './bus.ts'
import {
  encodeHeartbeats,
  encodeMessages,
  encodeState,
  type Heartbeat,
  type MarketScale,
  type SentMessage,
  type StateRequest,
} from './bus-codec.ts'
import type { Replica } from './replica.ts'

const HEARTBEAT_MILLISECONDS = 1_000

/** Markets in one heartbeat: with 60 bytes each, a message of 30 KiB. */
const HEARTBEAT_MARKETS_MAX = 500

/** Requests that wait for a later commit, per market; more are not answered, and repeated by those who ask. */
const WAITING_REQUESTS_MAX = 1_000

export interface ExportTransport {
  /** Sends encoded messages of one market to all followers. */
  sendMessages(market: string, bytes: Buffer): void
  sendHeartbeats(bytes: Buffer): void
}

export interface BusExportOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly transport: ExportTransport
  readonly replicaOf: (market: string) => Replica | undefined
}

interface ExportedMarket {
  readonly symbol: string
  /** Of this tick. */
  messages: SentMessage[]
  /** Undefined before the first message. */
  newest: Pick<Heartbeat, 'epoch' | 'version'> | undefined
  /** The answers of one version, by the number of the last execution that the asker has. */
  readonly encoded: Map<string, Buffer>
  encodedVersion: number
  waiting: WaitingRequest[]
  readonly end: () => void
}

interface WaitingRequest {
  readonly request: StateRequest
  readonly answer: (bytes: Buffer) => void
}

export class BusExport {
  readonly #options: BusExportOptions
  readonly #markets = new Map<string, ExportedMarket>()
  #dirty: ExportedMarket[] = []
  #timer: Timer

  constructor(options: BusExportOptions) {
    this.#options = options
    this.#timer = this.#schedule()
  }

  /**
   * Sends everything about a market from now on, until the returned function is called. Its replica exists.
   * @param isNew its sequencer starts after this, so that what the replica has is of an earlier one, and not sent
   */
  add(symbol: string, isNew = false): () => void {
    const replica = this.#options.replicaOf(symbol)
    const state = isNew ? undefined : replica?.state('', 0)
    const end = this.#options.bus.subscribe(symbol, (message) => this.#onMessage(market, message))
    const market: ExportedMarket = {
      symbol,
      messages: [],
      newest: state,
      encoded: new Map(),
      encodedVersion: 0,
      waiting: [],
      end,
    }
    this.#markets.set(symbol, market)
    return () => {
      end()
      if (this.#markets.get(symbol) === market) this.#markets.delete(symbol)
    }
  }

  /** Answers a request, now or with the next commit; not at all when the market is not known here. */
  onStateRequest(request: StateRequest, answer: (bytes: Buffer) => void): void {
    const market = this.#markets.get(request.market)
    const replica = this.#options.replicaOf(request.market)
    if (market === undefined || replica === undefined || !hasScale(replica.market, request)) return
    const { milliseconds } = replica.instant
    const hasState = market.newest !== undefined && replica.followed?.epoch === market.newest.epoch
    const isAt = market.newest?.epoch === request.epoch && market.newest.version === request.version
    if (hasState && (milliseconds > request.milliseconds || (isAt && milliseconds === request.milliseconds))) {
      this.#answer(market, replica, request, answer)
      return
    }
    // Nothing was committed yet, or somewhere a later time was sent: that of an earlier feed, or of a withdrawn book.
    if (market.waiting.length < WAITING_REQUESTS_MAX) market.waiting.push({ request, answer })
    this.#options.bus.requestCommit(request.market, request.milliseconds)
  }

  stop(): void {
    this.#timer.cancel()
    for (const { end } of this.#markets.values()) end()
    this.#markets.clear()
  }

  #schedule(): Timer {
    return this.#options.clock.schedule(HEARTBEAT_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      this.#sendHeartbeats()
    })
  }

  #sendHeartbeats(): void {
    // A heartbeat names no version that its market was not sent.
    this.#endTick()
    let heartbeats: Heartbeat[] = []
    for (const { symbol, newest } of this.#markets.values()) {
      const replica = this.#options.replicaOf(symbol)
      if (newest === undefined || replica === undefined) continue
      heartbeats.push({ ...scaleOf(replica.market), ...newest, live: replica.live, reason: replica.reason })
      if (heartbeats.length < HEARTBEAT_MARKETS_MAX) continue
      this.#options.transport.sendHeartbeats(encodeHeartbeats(heartbeats))
      heartbeats = []
    }
    if (heartbeats.length > 0) this.#options.transport.sendHeartbeats(encodeHeartbeats(heartbeats))
  }

  #onMessage(market: ExportedMarket, message: MarketMessage): void {
    if (message.type === 'withdrawal') return
    market.newest = { epoch: message.epoch, version: message.version }
    // A follower of this process asks for a state itself when it finds a gap before the next commit.
    if (message.type === 'state') return
    market.messages.push(message)
    if (this.#dirty.length === 0) this.#options.clock.endOfTick(() => this.#endTick())
    if (market.messages.length === 1) this.#dirty.push(market)
  }

  #endTick(): void {
    const dirty = this.#dirty
    this.#dirty = []
    for (const market of dirty) {
      const { symbol, messages, waiting } = market
      market.messages = []
      const replica = this.#options.replicaOf(symbol)
      if (replica === undefined || this.#markets.get(symbol) !== market) continue
      this.#options.transport.sendMessages(symbol, encodeMessages(scaleOf(replica.market), messages))
      market.waiting = []
      for (const { request, answer } of waiting) this.onStateRequest(request, answer)
    }
  }

  #answer(
    market: ExportedMarket,
    replica: Replica,
    { epoch, executionNumber }: StateRequest,
    answer: (bytes: Buffer) => void,
  ): void {
    if (market.encodedVersion !== replica.version) market.encoded.clear()
    market.encodedVersion = replica.version
    const key = `${epoch} ${executionNumber}`
    let bytes = market.encoded.get(key)
    if (bytes === undefined) {
      const state = replica.state(epoch, executionNumber)
      if (state === undefined) return
      bytes = encodeState(scaleOf(replica.market), state)
      market.encoded.set(key, bytes)
    }
    answer(bytes)
  }
}

export function scaleOf({ symbol, priceDecimals, amountDecimals }: MarketDefinition): MarketScale {
  return { market: symbol, priceDecimals, amountDecimals }
}

/** Whether integers of a message have the scale of a market. */
export function hasScale(market: MarketDefinition, { priceDecimals, amountDecimals }: MarketScale): boolean {
  return market.priceDecimals === priceDecimals && market.amountDecimals === amountDecimals
}
