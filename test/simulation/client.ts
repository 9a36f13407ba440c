/** One client of the simulation: a socket that drains as its mood allows, a session at some gateway, and its checker. */
import { createHash, type Hash } from 'node:crypto'
import { EXTENDED_SUBPROTOCOL } from '../../src/contract/channels.ts'
import type { Session } from '../../src/streaming/gateway/session.ts'
import { ANY_TOKEN, FakeTransport } from '../support/fake-transport.ts'
import { Random } from '../support/random.ts'
import { FrameChecker, type FrameCounts, Violation } from './frame-checker.ts'
import type { GatewayNode } from './gateway-node.ts'
import { DEPTHS, INTERVALS, MARKETS, type Mood } from './plan.ts'
import type { MarketTruth } from './truth.ts'

const TYPES = ['market_data', 'market_data.top_of_book', 'execution_data'] as const

/** Closes that a client of this simulation may get: executions that are gone, a market that changed, a flood. */
const CLOSE_CODES: ReadonlySet<number> = new Set([4000, 1008])

export class Client {
  readonly checker: FrameChecker
  mood: Mood = 'fast'
  transport: FakeTransport | undefined
  session: Session | undefined
  node: GatewayNode | undefined
  /** Of all bytes that were written to it. */
  readonly bytes: Hash = createHash('sha256')
  kernelBytes = 0
  readonly isExtended: boolean
  /** Every message that it read, over all its connections. */
  readonly #lines: string[] | undefined
  #requests = 0
  #outgoing: Buffer[] = []
  readonly random: Random

  /** @param lines where its messages are kept; absent: nowhere */
  constructor(
    truths: ReadonlyMap<string, MarketTruth>,
    counts: FrameCounts,
    random: Random,
    isExtended: boolean,
    lines?: string[],
  ) {
    this.checker = new FrameChecker(truths, counts, isExtended)
    this.random = random
    this.isExtended = isExtended
    this.#lines = lines
  }

  /** Its connection was closed or lost: it connects again. */
  get isEnded(): boolean {
    return this.transport !== undefined && !this.isOpen
  }

  get isOpen(): boolean {
    return this.transport?.isOpen === true
  }

  connect(node: GatewayNode, kernelBytes: number): void {
    this.end()
    this.node = node
    this.kernelBytes = kernelBytes
    this.#requests = 0
    this.checker.connected(node)
    this.transport = new FakeTransport(kernelBytes, (text) => {
      this.bytes.update(text)
      this.#lines?.push(text)
      this.checker.onText(text)
    })
    this.transport.subprotocol = this.isExtended ? EXTENDED_SUBPROTOCOL : ''
    this.session = node.hub.open(this.transport, ANY_TOKEN, 'session')
    this.#outgoing = []
  }

  /** The connection is lost. */
  end(): void {
    if (this.isOpen) this.transport?.cut()
    this.session?.end()
    this.session = undefined
  }

  checkClose(): void {
    const code = this.transport?.closed?.code
    if (code !== undefined && !CLOSE_CODES.has(code)) throw new Violation('close', `a session was closed with ${code}`)
  }

  subscribe(seed: number): void {
    const random = new Random(seed)
    const channels = MARKETS.filter(() => random.chance(0.8)).flatMap((market) =>
      TYPES.filter(() => random.chance(0.75)).map((type) => this.#entry(random, type, market)),
    )
    this.send({ type: 'subscribe', channels: [{ type: 'heartbeat' }, ...channels] })
  }

  unsubscribe(seed: number): void {
    const random = new Random(seed)
    const channels = MARKETS.filter(() => random.chance(0.3)).flatMap((market) =>
      TYPES.filter(() => random.chance(0.5)).map((type) => ({ type, params: { market } })),
    )
    if (channels.length > 0) this.send({ type: 'unsubscribe', channels })
  }

  /** What no client should send. */
  disturb(seed: number): void {
    const random = new Random(seed)
    const market = random.pick(MARKETS)
    const requests: readonly unknown[] = [
      { type: 'subscribe', channels: [{ type: 'market_data' }] },
      { type: 'subscribe', channels: [{ type: 'market_data', params: { market, depth: 3, interval_ms: 1 } }] },
      {
        type: 'subscribe',
        channels: Array.from({ length: 60 }, (_, place) => ({ type: 'market_data', params: { market: `M${place}` } })),
      },
      { type: 'unsubscribe', channels: [{ type: 'heartbeat' }, { type: 'heartbeat' }] },
      { type: 'subscribe', channels: [{ type: 'execution_data', params: { market, resume: 'no cursor' } }] },
      { type: 'subscription_list' },
      { type: 'withdraw everything' },
      [[]],
    ]
    for (let count = random.pick([1, 1, 5, 60]); count > 0; count--) {
      if (random.chance(0.3)) this.#receive(Buffer.from('{"type":'.repeat(1 + random.integer(3))))
      else this.send(random.pick(requests))
    }
  }

  send(request: unknown): void {
    this.#receive(Buffer.from(JSON.stringify(request)))
  }

  read(isReading = this.mood === 'fast' || (this.mood === 'slow' && this.random.chance(0.03))): void {
    this.transport?.flush()
    if (isReading) this.transport?.drain()
    this.#write()
  }

  #receive(data: Buffer): void {
    this.#requests += 1
    this.#outgoing.push(data)
    this.#write()
  }

  /** Backpressure: what the service does not read waits. */
  #write(): void {
    while (this.isOpen && this.transport?.isReading === true && this.#outgoing.length > 0) {
      this.session?.receive({ data: this.#outgoing.shift() as Buffer, isBinary: false })
    }
  }

  #entry(random: Random, type: string, market: string): unknown {
    if (!this.isExtended) return { type, params: { market } }
    const { cursor } = this.checker.held(market, type)
    // What it holds is what it held when it stopped only while no reply is under way.
    const isSettled = this.checker.replies === this.#requests
    const resume = cursor !== undefined && isSettled && random.chance(0.7) ? cursor : undefined
    const depth = type === 'market_data' ? random.pick(DEPTHS) : undefined
    const interval = type === 'execution_data' ? undefined : random.pick(INTERVALS)
    return { type, params: { market, depth, interval_ms: interval, resume } }
  }
}
