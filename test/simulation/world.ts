/**
 * The whole streaming service in one process, under a virtual clock and network: feeds with sequencers, links that lose,
 * delay and repeat messages, gateways that follow the markets over them, and sessions. Everything between the scripted
 * sources and the sockets is the service's own code. The same events give the same bytes.
 */
import { createHash } from 'node:crypto'
import type { MarketDefinition } from '../../src/streaming/market/event.ts'
import type { ReceiptSigner } from '../../src/streaming/sequencing/receipt-signer.ts'
import { LossyLink } from '../support/lossy-link.ts'
import { Random } from '../support/random.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { Client } from './client.ts'
import { Feed } from './feed.ts'
import { type FrameCounts, holds, Violation } from './frame-checker.ts'
import { GatewayNode } from './gateway-node.ts'
import { CLIENTS, type Event, FAULTS, GATEWAYS, MARKETS, PUBLISHED_DEPTHS } from './plan.ts'
import { MarketTruth } from './truth.ts'

export interface WorldReport extends FrameCounts {
  readonly events: number
  readonly faults: number
  /** Messages that links lost. */
  readonly lost: number
  readonly virtualSeconds: number
  /** Of every byte that every client received, in order. */
  readonly digest: string
}

const REST_STEP_MILLISECONDS = 250
/** `stream.write_interval_ms` at each gateway. */
const WRITE_INTERVALS_MILLISECONDS = [0, 10]
/** Longer than a link takes to repair what it lost, and than a lagging subscriber waits for its turn. */
const REST_STEPS = 160
/** A client that is behind holds at most this beyond the high-water mark: one SNAPSHOT and what was written before it. */
const QUEUED_BYTES_MAX = 16_384 + 66_000

export class World {
  readonly #clock = new VirtualClock()
  readonly #seed: number
  readonly #truths = new Map(MARKETS.map((market) => [market as string, new MarketTruth(market)]))
  readonly #markets = new Map<string, MarketDefinition>()
  readonly #links: readonly LossyLink[]
  readonly #gateways: GatewayNode[] = []
  /** The last one leads; earlier ones may still publish. */
  readonly #feeds: Feed[] = []
  readonly #clients: readonly Client[]
  readonly #receipts: ((clock: VirtualClock) => ReceiptSigner) | undefined
  /** The messages of each client with the extended protocol, where receipts are signed. */
  readonly lines: string[][] = []
  readonly #counts: FrameCounts = {
    frames: 0,
    snapshots: 0,
    updates: 0,
    conflated: 0,
    tops: 0,
    executions: 0,
    digests: 0,
    resumed: 0,
    withdrawals: 0,
    refused: 0,
  }
  #epochs = 0
  #events = 0
  #faults = 0

  /**
   * @param seed of what is not in the events: which messages a link loses, and when a slow client reads
   * @param receipts signs every gateway's receipts. Absent: there are none
   */
  constructor(seed: number, receipts?: (clock: VirtualClock) => ReceiptSigner) {
    this.#seed = seed
    this.#receipts = receipts
    for (const symbol of MARKETS) this.#markets.set(symbol, definition(symbol, PUBLISHED_DEPTHS[0]))
    this.#links = Array.from({ length: GATEWAYS }, (_, place) => {
      const random = this.#randomOf(place)
      return new LossyLink(this.#clock, () => random.next())
    })
    for (let place = 0; place < GATEWAYS; place++) this.#startGateway(place)
    this.#startFeed(seed)
    this.#clients = Array.from(
      { length: CLIENTS },
      // Half of them use the extended protocol.
      (_, place) => this.#createClient(this.#randomOf(10 + place), place % 2 === 1),
    )
    this.#clock.advance(5)
  }

  /** Runs one event. Throws what the checker finds. */
  run(event: Event): void {
    this.#events += 1
    if (FAULTS.has(event.kind)) this.#faults += 1
    this.#apply(event)
    for (const client of this.#clients) {
      client.read()
      client.checkClose()
      if (client.isEnded)
        this.#connect(client, client.random.integer(GATEWAYS), client.kernelBytes, client.random.integer(2 ** 31))
    }
  }

  report(): WorldReport {
    const digest = createHash('sha256')
    for (const { bytes } of this.#clients) digest.update(bytes.copy().digest())
    return {
      ...this.#counts,
      events: this.#events,
      faults: this.#faults,
      lost: this.#links.reduce((sum, { lost }) => sum + lost, 0),
      virtualSeconds: this.#clock.monotonicMilliseconds() / 1_000,
      digest: digest.digest('hex'),
    }
  }

  #apply(event: Event): void {
    switch (event.kind) {
      case 'update':
        for (const feed of this.#feeds) feed.update(symbolOf(event.market), event.seed, event.count)
        return
      case 'snapshot':
        for (const feed of this.#feeds) feed.snapshot(symbolOf(event.market), event.seed)
        return
      case 'lost':
      case 'missed':
        for (const feed of this.#feeds) feed[event.kind](symbolOf(event.market))
        return
      case 'pass':
        this.#pass(event.milliseconds)
        return
      case 'tick':
        this.#clock.endTick()
        return
      case 'wallStep':
        this.#clock.stepWall(event.milliseconds)
        return
      case 'standStill':
        this.#clock.standStill(event.milliseconds)
        return
      default:
        this.#applyToProcess(event)
    }
  }

  #applyToProcess(event: Event): void {
    switch (event.kind) {
      case 'link':
        Object.assign((this.#links[event.gateway] as LossyLink).faults, {
          loss: event.loss,
          repetition: event.repetition,
          delayMillisecondsMax: event.delayMilliseconds,
        })
        return
      case 'failover':
        if (!event.keepsEarlier) this.#endEarlier(0)
        this.#startFeed(event.seed)
        return
      case 'endEarlier':
        this.#endEarlier(1)
        return
      case 'restartGateway':
        this.#startGateway(event.gateway)
        return
      case 'reload':
        this.#reload(symbolOf(event.market), event.depth, event.seed)
        return
      case 'rest':
        this.#rest()
        return
      default:
        this.#applyToClient(event)
    }
  }

  #applyToClient(event: Event): void {
    if (!('client' in event)) return
    const client = this.#clients[event.client] as Client
    if (event.kind === 'connect') {
      this.#connect(client, event.gateway, event.kernelBytes, event.seed)
    } else if (event.kind === 'mood') client.mood = event.mood
    else if (event.kind === 'read') client.read(true)
    else if (event.kind === 'subscribe') client.subscribe(event.seed)
    else if (event.kind === 'unsubscribe') client.unsubscribe(event.seed)
    else client.disturb(event.seed)
  }

  #createClient(random: Random, isExtended: boolean): Client {
    const lines = isExtended && this.#receipts !== undefined ? [] : undefined
    if (lines !== undefined) this.lines.push(lines)
    return new Client(this.#truths, this.#counts, random, isExtended, lines)
  }

  #connect(client: Client, gateway: number, kernelBytes: number, seed: number): void {
    client.connect(this.#gateways[gateway] as GatewayNode, kernelBytes)
    client.subscribe(seed)
  }

  /** Time passes in pieces, so that clients read meanwhile. */
  #pass(milliseconds: number): void {
    for (let left = milliseconds; left > 0; left -= 20) {
      this.#clock.advance(Math.min(left, 20))
      if (left > 20) for (const client of this.#clients) client.read()
    }
  }

  #startFeed(seed: number): void {
    const sends = this.#links.map((link, place) => link.exportTransport(() => this.#importerOf(place)))
    const toAll = (send: (link: (typeof sends)[number]) => void) => {
      for (const each of sends) send(each)
    }
    const feed = new Feed(this.#clock, this.#nextEpoch(), {
      sendMessages: (market, bytes) => toAll((link) => link.sendMessages(market, bytes)),
      sendHeartbeats: (bytes) => toAll((link) => link.sendHeartbeats(bytes)),
      sendDigest: (bytes) => toAll((link) => link.sendDigest(bytes)),
      sendProofs: (bytes) => toAll((link) => link.sendProofs(bytes)),
    })
    this.#feeds.push(feed)
    for (const [place, [symbol, market]] of [...this.#markets].entries()) {
      feed.add(market, this.#truths.get(symbol) as MarketTruth, feed.epoch, seed + place)
      feed.snapshot(symbol, seed + place)
    }
  }

  #endEarlier(keep: number): void {
    for (const feed of this.#feeds.splice(0, this.#feeds.length - keep)) feed.stop()
  }

  #startGateway(place: number): void {
    const earlier = this.#gateways[place]
    const link = this.#links[place] as LossyLink
    const transport = () =>
      link.importTransport(
        () => this.#feeds.map(({ exporter }) => exporter),
        () => this.#importerOf(place),
        ({ market, laterThanMilliseconds }) => {
          for (const { bus } of this.#feeds) bus.requestCommit(market, laterThanMilliseconds)
        },
      )
    const signer = this.#receipts?.(this.#clock)
    const random = this.#randomOf(100 + place)
    const interval = WRITE_INTERVALS_MILLISECONDS[place] as number
    const markets = this.#markets.values()
    this.#gateways[place] = new GatewayNode(this.#clock, random, interval, markets, transport, signer)
    if (earlier === undefined) return
    for (const client of this.#clients) if (client.node === earlier) client.end()
    earlier.stop()
  }

  /** Each part has chance of its own, so that a run without the events of one part is the same for the others. */
  #randomOf(part: number): Random {
    return new Random(this.#seed + part * 7_919)
  }

  #importerOf(place: number) {
    return (this.#gateways[place] as GatewayNode).importer
  }

  #reload(symbol: string, depth: number, seed: number): void {
    this.#endEarlier(1)
    const market = definition(symbol, depth)
    this.#markets.set(symbol, market)
    const [feed] = this.#feeds as [Feed]
    feed.add(market, this.#truths.get(symbol) as MarketTruth, this.#nextEpoch(), seed)
    feed.snapshot(symbol, seed)
    for (const gateway of this.#gateways) gateway.add(market)
  }

  #nextEpoch(): string {
    this.#epochs += 1
    return `epoch-${String(this.#epochs).padStart(6, '0')}`
  }

  /** Ends all faults and lets everything arrive. Then every client has exactly the book and the executions of now. */
  #rest(): void {
    for (const { faults } of this.#links) Object.assign(faults, { loss: 0, repetition: 0, delayMillisecondsMax: 5 })
    this.#endEarlier(1)
    const [feed] = this.#feeds as [Feed]
    for (const [place, symbol] of MARKETS.entries()) if (feed.isLost(symbol)) feed.snapshot(symbol, place)
    for (const client of this.#clients) client.mood = 'fast'
    for (let step = 0; step < REST_STEPS; step++) {
      this.#clock.advance(REST_STEP_MILLISECONDS)
      for (const client of this.#clients) {
        client.read()
        client.read()
      }
    }
    for (const client of this.#clients) this.#checkComplete(client, feed)
    for (const truth of this.#truths.values()) truth.forget()
  }

  #checkComplete(client: Client, feed: Feed): void {
    const { checker, transport, node } = client
    if (!client.isOpen || node === undefined) return
    if ((transport?.queuedBytesMost ?? 0) > QUEUED_BYTES_MAX) {
      throw new Violation('queue', `${transport?.queuedBytesMost} bytes were queued for a session`)
    }
    for (const [symbol, truth] of this.#truths) {
      const book = checker.held(symbol, 'market_data')
      if (book.isSubscribed && !holds(book, feed.bookOf(symbol), node.publishedDepth(symbol))) {
        throw new Violation(
          'completeness',
          `a client's book of ${symbol}, last changed at ${book.lastTime}, is not that of the feed`,
        )
      }
      const { isSubscribed, execution } = checker.held(symbol, 'execution_data')
      const last = truth.executionCount(feed.epochOf(symbol)) - 1
      if (isSubscribed && execution?.epoch === feed.epochOf(symbol) && execution.place !== last) {
        throw new Violation(
          'completeness',
          `a client has execution ${execution.place} of ${symbol} and should have ${last}`,
        )
      }
    }
  }
}

function symbolOf(market: number): string {
  return MARKETS[market] as string
}

function definition(symbol: string, depth: number): MarketDefinition {
  return {
    symbol,
    baseAsset: symbol.slice(0, 3),
    quoteAsset: symbol.slice(3),
    priceDecimals: 2,
    amountDecimals: 4,
    depth,
  }
}
