/**
 * The cost of receipts: the CPU time for the same seconds of a stream with and without a signer, on a virtual clock, as
 * a share of a core in real time. Also the number of signatures, and the processor time of the longest event-loop
 * callback, which delays heartbeats and everything else. Every view changes four times per second, so each gets one
 * receipt per second.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { Hub } from '../src/streaming/gateway/hub.ts'
import { createGatewayMetrics } from '../src/streaming/gateway/metrics.ts'
import type { TransportPort } from '../src/streaming/gateway/outbox.ts'
import type { Session } from '../src/streaming/gateway/session.ts'
import { ASK, BID } from '../src/streaming/market/event.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { ReceiptSigner } from '../src/streaming/sequencing/receipt-signer.ts'
import { Replica } from '../src/streaming/sequencing/replica.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import { SETTINGS, testMarket } from '../test/support/stream-simulation.ts'
import { VirtualClock } from '../test/support/virtual-clock.ts'
import type { BenchResult } from './result.ts'

const VIEWS = 1_000
/** Sessions with the extended protocol, and how many views each has: all together, or spread. */
const SHAPES = [
  { name: '100 sessions, 10 books each', sessions: 100, books: 10 },
  { name: '1 session, 1,000 books', sessions: 1, books: 1_000 },
] as const
const SLOT_MILLISECONDS = 20

interface Measured {
  readonly cpuMilliseconds: number
  readonly signatures: number
  readonly longestMilliseconds: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const [rounds, seconds] = quick ? [2, 5] : [5, 20]
  const results: BenchResult[] = []
  for (const shape of SHAPES) {
    const result = (what: string, unit: string): BenchResult => {
      const made = { name: `${VIEWS} views, ${shape.name}: ${what}`, unit, runs: [] }
      results.push(made)
      return made
    }
    const off = result('the stream without receipts', '% of a core')
    const share = result('receipts', '% of a core')
    const signatures = result('signatures', '1/s')
    const tickOff = result('longest callback without receipts', 'ms')
    const tickOn = result('longest callback with receipts', 'ms')
    // The first round warms up the compiler.
    for (let round = 0; round <= rounds; round++) {
      const without = stream(shape, seconds, false)
      const signed = stream(shape, seconds, true)
      if (round === 0) continue
      const percent = (milliseconds: number) => milliseconds / (seconds * 10)
      off.runs.push(percent(without.cpuMilliseconds))
      share.runs.push(percent(signed.cpuMilliseconds - without.cpuMilliseconds))
      signatures.runs.push(signed.signatures / seconds)
      tickOff.runs.push(without.longestMilliseconds)
      tickOn.runs.push(signed.longestMilliseconds)
    }
  }
  return results
}

function stream(shape: (typeof SHAPES)[number], seconds: number, hasReceipts: boolean): Measured {
  const clock = new TimedClock()
  const bus = createMemoryBus()
  const log = createLog('silent')
  const registry = createMetricsRegistry()
  const metrics = createSequencerMetrics(registry)
  const markets = Array.from({ length: VIEWS }, (_, index) => testMarket(`M${index}USD`, 10))
  const common = { epoch: 'bench', bus, clock, log, metrics, floorMilliseconds: 0, onRebuildNeeded: () => undefined }
  const replicas = markets.map((market) => new Replica({ market, bus, executionsKept: 10 }))
  const sequencers = markets.map((market) => new Sequencer({ ...common, market }))
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { issuer: 'https://service.test', keyId: 'key', privateKey }
  let signatures = 0
  const onSigned = () => {
    signatures += 1
  }
  const hub = new Hub({
    replicas,
    bus,
    clock,
    log,
    metrics: createGatewayMetrics(registry),
    settings: { ...SETTINGS, heartbeatSeconds: 1, subscriptionsMax: 2_000 },
    random: () => 0.5,
    receipts: hasReceipts ? new ReceiptSigner({ clock, current: () => issuer, onSigned }) : undefined,
  })
  for (const sequencer of sequencers) sequencer.offer({ type: 'snapshot', levels: bookOf(1) })
  clock.advance(1)
  subscribe(hub, shape)
  clock.advance(1_000)
  signatures = 0
  const start = process.cpuUsage()
  clock.longestMilliseconds = 0
  for (let slot = 0; slot < (seconds * 1_000) / SLOT_MILLISECONDS; slot++) {
    // Each market changes four times per second.
    for (let index = slot % 12; index < VIEWS; index += 12) {
      sequencers[index]?.offer({
        type: 'update',
        changes: [{ side: BID, price: 99, amount: slot + 2 }],
        executions: [],
      })
    }
    clock.advance(SLOT_MILLISECONDS)
  }
  const { user, system } = process.cpuUsage(start)
  hub.stop()
  for (const sequencer of sequencers) sequencer.stop()
  return { cpuMilliseconds: (user + system) / 1_000, signatures, longestMilliseconds: clock.longestMilliseconds }
}

function bookOf(amount: number) {
  return Array.from({ length: 10 }, (_, rank) => [
    { side: BID, price: 99 - rank, amount } as const,
    { side: ASK, price: 101 + rank, amount } as const,
  ]).flat()
}

function subscribe(hub: Hub, { sessions, books }: (typeof SHAPES)[number]): void {
  for (let number = 0; number < sessions; number++) {
    const token = {
      clientId: 'client',
      customerId: 'customer',
      scopes: new Set<string>(),
      tokenId: 'token',
      keyId: 'key',
      issuedAtSeconds: 0,
      expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
    }
    const session: Session = hub.open(new Sink(), token)
    const channels = Array.from({ length: books }, (_, book) => ({
      type: 'market_data',
      params: { market: `M${(number * books + book) % VIEWS}USD` },
    }))
    for (let from = 0; from < channels.length; from += 500) {
      ask(session, channels.slice(from, from + 500))
    }
    ask(session, [{ type: 'heartbeat' }])
  }
}

/** Notes the longest callback's processor time, because the machine may do other work. */
class TimedClock extends VirtualClock {
  longestMilliseconds = 0

  override schedule(delayMilliseconds: number, callback: () => void) {
    return super.schedule(delayMilliseconds, () => this.#time(callback))
  }

  override endOfTick(callback: () => void): void {
    super.endOfTick(() => this.#time(callback))
  }

  #time(callback: () => void): void {
    const begin = process.cpuUsage()
    callback()
    const { user, system } = process.cpuUsage(begin)
    this.longestMilliseconds = Math.max(this.longestMilliseconds, (user + system) / 1_000)
  }
}

/** A socket that takes everything at once. */
class Sink implements TransportPort {
  readonly clientAddress = '127.0.0.1'
  readonly subprotocol = 'tidegate.v1'
  readonly queuedBytes = 0
  readonly isSaturated = false
  readonly isOpen = true
  bytesWritten = 0

  readonly pauseReading = () => undefined
  readonly resumeReading = () => undefined
  readonly ping = () => undefined
  readonly pong = () => undefined
  readonly close = () => undefined
  readonly cut = () => undefined
  readonly ended = () => undefined

  write(bytes: Buffer, onWritten?: () => void): void {
    this.bytesWritten += bytes.length
    onWritten?.()
  }
  gather(work: () => void): void {
    work()
  }
}

function ask(session: Session, channels: readonly object[]): void {
  session.receive({ data: Buffer.from(JSON.stringify({ type: 'subscribe', channels })), isBinary: false })
}
