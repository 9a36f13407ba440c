/**
 * A link's sending end. It passes on everything published about some markets on this process's bus, as one message per
 * market and tick. Once a second it sends each market's newest version. It answers state requests from this process's
 * replica, and encodes each version's state once for all followers at the same position. It never waits for a follower:
 * the link drops messages that it cannot take, and the follower notices the loss.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { MarketDefinition, Proof } from '../market/event.ts'
import type { Bus, MarketMessage } from '../sequencing/bus.ts'
import type { Replica } from '../sequencing/replica.ts'
import { type AuditableMarket, DigestSender, encodeDigest } from './bus-audit.ts'
import {
  encodeHeartbeats,
  encodeMessages,
  encodeState,
  type Heartbeat,
  type MarketScale,
  type SentMessage,
} from './bus-codec.ts'
import type { StateRequest } from './bus-requests.ts'
import { encodeProofs } from './market-proofs.ts'

const HEARTBEAT_MILLISECONDS = 1_000

/** Markets in one heartbeat: at 60 bytes each, a message has 30 KiB. */
const HEARTBEAT_MARKETS_MAX = 500

/** Why a market is not live while its sequencer has no book yet. */
const NO_BOOK = 'waiting for the first snapshot'

/** Requests per market that wait for a later commit. Further ones are not answered, and their followers repeat them. */
const WAITING_REQUESTS_MAX = 1_000

export interface ExportTransport {
  /** Sends one market's encoded messages to all followers. */
  sendMessages(market: string, bytes: Buffer): void
  sendHeartbeats(bytes: Buffer): void
  sendDigest(bytes: Buffer): void
  /** Absent where no process at the other end shows the proofs. */
  sendProofs?(bytes: Buffer): void
}

export interface BusExportOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly transport: ExportTransport
  readonly replicaOf: (market: string) => Replica | undefined
  /** The proof of a book written by this process. Absent = NONE. */
  readonly proofOf?: (market: string) => Proof
  /**
   * Whether this process hears from a market's sequencer. Absent where the sequencers run in this process. While a
   * market is not heard from, followers get neither heartbeats nor states, so they withdraw its book in time, as this
   * process does.
   */
  readonly isHeard?: (market: string) => boolean
}

interface ExportedMarket {
  readonly symbol: string
  /** As it was added. The replica may have another definition by the time the sending ends. */
  readonly scale: MarketScale | undefined
  /** The current tick's messages. */
  messages: SentMessage[]
  /** Whether a state replaced everything in this tick. */
  isReplaced: boolean
  /** Undefined before the first message. */
  newest: Pick<Heartbeat, 'epoch' | 'version'> | undefined
  /** One version's encoded states, by the follower's epoch and last execution number. */
  readonly encoded: Map<string, Buffer>
  encodedVersion: number
  waiting: WaitingRequest[]
  readonly end: () => void
}

/** Sends the states to the follower that asked, in this order. */
type Answer = (states: readonly Buffer[]) => void

interface WaitingRequest {
  readonly request: StateRequest
  readonly answer: Answer
}

export class BusExport {
  readonly #options: BusExportOptions
  readonly #markets = new Map<string, ExportedMarket>()
  readonly #dirty = new Set<ExportedMarket>()
  #timer: Timer
  readonly #digests: DigestSender

  constructor(options: BusExportOptions) {
    this.#options = options
    this.#timer = this.#schedule()
    this.#digests = new DigestSender({
      clock: options.clock,
      markets: () => this.#auditable(),
      send: (digest) => options.transport.sendDigest(encodeDigest(digest)),
    })
  }

  /**
   * Sends everything about a market from now on, until the returned function is called. Its replica exists.
   * @param isNew the market's sequencer starts after this call, so the replica holds an earlier epoch and is not sent
   */
  add(symbol: string, isNew = false): () => void {
    const replica = this.#options.replicaOf(symbol)
    const state = isNew ? undefined : replica?.state('', 0)
    const end = this.#options.bus.subscribe(symbol, (message) => this.#onMessage(market, message))
    const market: ExportedMarket = {
      symbol,
      scale: replica && scaleOf(replica.market),
      messages: [],
      isReplaced: false,
      newest: state,
      encoded: new Map(),
      encodedVersion: 0,
      waiting: [],
      end,
    }
    this.#markets.set(symbol, market)
    return () => {
      end()
      // A sequencer that has just been replaced has published its last executions in this tick.
      this.#sendMessages(market)
      if (this.#markets.get(symbol) === market) this.#markets.delete(symbol)
    }
  }

  /**
   * Announces the later epoch of markets that this process is about to write. From then on followers ignore earlier
   * epochs.
   */
  announce(symbols: readonly string[], epoch: string): void {
    const replicas = symbols.flatMap((symbol) => this.#options.replicaOf(symbol) ?? [])
    const status = { version: 0, live: false, reason: NO_BOOK }
    for (const part of inParts(replicas.map(({ market }) => ({ ...scaleOf(market), epoch, ...status }))))
      this.#options.transport.sendHeartbeats(encodeHeartbeats(part))
  }

  /** Answers a request now or after a later message of the market. A market unknown here gets no answer. */
  onStateRequest(request: StateRequest, answer: Answer): void {
    const market = this.#markets.get(request.market)
    const replica = this.#options.replicaOf(request.market)
    if (market === undefined || replica === undefined || !hasScale(replica.market, request)) return
    if (!this.#isHeard(request.market)) {
      waitFor(market, request, answer)
      return
    }
    // The state must follow the messages that it includes: a new follower takes their executions.
    if (this.#dirty.has(market)) this.#endTick()
    const { milliseconds } = replica.instant
    const hasState = market.newest !== undefined && replica.followed?.epoch === market.newest.epoch
    const isAt = market.newest?.epoch === request.epoch && market.newest.version === request.version
    if (hasState && (milliseconds > request.milliseconds || (isAt && milliseconds === request.milliseconds))) {
      this.#answer(market, replica, request, answer)
      return
    }
    // Either nothing is committed yet, or the follower has seen a later time, from an earlier feed or a withdrawn book.
    waitFor(market, request, answer)
    this.#options.bus.requestCommit(request.market, request.milliseconds)
  }

  stop(): void {
    this.#timer.cancel()
    this.#digests.stop()
    for (const { end } of this.#markets.values()) end()
    this.#markets.clear()
  }

  #schedule(): Timer {
    return this.#options.clock.schedule(HEARTBEAT_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      this.#sendHeartbeats()
    })
  }

  #isHeard(market: string): boolean {
    return this.#options.isHeard?.(market) ?? true
  }

  #auditable(): AuditableMarket[] {
    // A digest may only name a version that was already sent.
    this.#endTick()
    return [...this.#markets.values()].flatMap(({ symbol, newest }) => {
      const replica = this.#options.replicaOf(symbol)
      return newest === undefined || replica === undefined || !this.#isHeard(symbol) ? [] : [{ replica, ...newest }]
    })
  }

  #sendHeartbeats(): void {
    // A heartbeat may only name a version that was already sent.
    this.#endTick()
    for (const part of inParts([...this.#markets.values()].flatMap((market) => this.#heartbeatOf(market))))
      this.#send(part)
  }

  #send(heartbeats: readonly Heartbeat[]): void {
    const { transport, proofOf = () => 'NONE' } = this.#options
    transport.sendHeartbeats(encodeHeartbeats(heartbeats))
    transport.sendProofs?.(
      encodeProofs(heartbeats.map(({ market, epoch }) => ({ market, epoch, proof: proofOf(market) }))),
    )
  }

  /** Empty when nothing was sent about the market yet, or its sequencer is not heard from. */
  #heartbeatOf({ symbol, newest }: ExportedMarket): Heartbeat[] {
    const replica = this.#options.replicaOf(symbol)
    if (newest === undefined || replica === undefined || !this.#isHeard(symbol)) return []
    return [{ ...scaleOf(replica.market), ...newest, ...statusOf(replica) }]
  }

  #onMessage(market: ExportedMarket, message: MarketMessage): void {
    // Followers withdraw their books themselves.
    if (message.type === 'withdrawal') return
    market.newest = { epoch: message.epoch, version: message.version }
    if (message.type === 'state') market.isReplaced = true
    else market.messages.push(message)
    // An encoded state contains the status at its encoding.
    if (message.type === 'status') market.encoded.clear()
    if (this.#dirty.size === 0) this.#options.clock.endOfTick(() => this.#endTick())
    this.#dirty.add(market)
  }

  #endTick(): void {
    const dirty = [...this.#dirty]
    this.#dirty.clear()
    for (const market of dirty) {
      const { symbol, isReplaced, waiting } = market
      market.isReplaced = false
      if (this.#options.replicaOf(symbol) === undefined || this.#markets.get(symbol) !== market) continue
      const { transport } = this.#options
      this.#sendMessages(market)
      // States are not broadcast: each follower at an earlier version requests one.
      if (isReplaced) transport.sendHeartbeats(encodeHeartbeats(this.#heartbeatOf(market)))
      market.waiting = []
      for (const { request, answer } of waiting) this.onStateRequest(request, answer)
    }
  }

  #sendMessages(market: ExportedMarket): void {
    const { symbol, scale, messages } = market
    market.messages = []
    if (messages.length === 0 || scale === undefined) return
    this.#options.transport.sendMessages(symbol, encodeMessages(scale, messages))
  }

  #answer(market: ExportedMarket, replica: Replica, { epoch, executionNumber }: StateRequest, answer: Answer): void {
    if (market.encodedVersion !== replica.version) market.encoded.clear()
    market.encodedVersion = replica.version
    // The ended epoch comes first, so a follower has everything that the present epoch continues. Earlier releases
    // ignore it.
    const ended = replica.endedState(epoch, executionNumber)
    const key = `${epoch} ${executionNumber}`
    let bytes = market.encoded.get(key)
    if (bytes === undefined) {
      const state = replica.state(epoch, executionNumber)
      if (state === undefined) return
      bytes = encodeState(scaleOf(replica.market), { ...state, ...statusOf(replica) })
      market.encoded.set(key, bytes)
    }
    answer(ended === undefined ? [bytes] : [encodeState(scaleOf(replica.market), ended), bytes])
  }
}

function inParts(heartbeats: readonly Heartbeat[]): Heartbeat[][] {
  const count = Math.ceil(heartbeats.length / HEARTBEAT_MARKETS_MAX)
  return Array.from({ length: count }, (_, part) =>
    heartbeats.slice(part * HEARTBEAT_MARKETS_MAX, (part + 1) * HEARTBEAT_MARKETS_MAX),
  )
}

/**
 * A market can be live with an earlier epoch's book. Its followers must not mistake a later epoch's empty book for it.
 */
function statusOf({ epoch, followed, live, reason }: Replica): Pick<Heartbeat, 'live' | 'reason'> {
  return live && epoch.id !== followed?.epoch ? { live: false, reason: NO_BOOK } : { live, reason }
}

function waitFor(market: ExportedMarket, request: StateRequest, answer: WaitingRequest['answer']): void {
  if (market.waiting.length < WAITING_REQUESTS_MAX) market.waiting.push({ request, answer })
}

export function scaleOf({ symbol, priceDecimals, amountDecimals }: MarketDefinition): MarketScale {
  return { market: symbol, priceDecimals, amountDecimals }
}

/** Whether a message's integers have the market's scale. */
export function hasScale(market: MarketDefinition, { priceDecimals, amountDecimals }: MarketScale): boolean {
  return market.priceDecimals === priceDecimals && market.amountDecimals === amountDecimals
}
