/**
 * A link's receiving end. It publishes another process's market messages on this process's bus. Each market has a
 * follower that notices and repairs losses. Malformed messages are counted, and logged at most once a minute. Followers
 * notice the missing content.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { Throttle } from '../../platform/base/throttle.ts'
import type { MarketDefinition, Proof } from '../market/event.ts'
import type { Bus } from '../sequencing/bus.ts'
import type { Replica } from '../sequencing/replica.ts'
import { AuditBudget, auditBook, decodeDigest } from './bus-audit.ts'
import { BusFormatError } from './bus-bytes.ts'
import { decodeHeartbeats, decodeMessages, decodeState, type MarketScale } from './bus-codec.ts'
import { hasScale, scaleOf } from './bus-export.ts'
import type { CommitRequest, StateRequest } from './bus-requests.ts'
import { Follower } from './follower.ts'
import { decodeProofs, type MarketProof } from './market-proofs.ts'
import type { MarketReports } from './market-reports.ts'
import { decodePositions, type SourcePositionLog } from './source-positions.ts'

const CHECK_MILLISECONDS = 1_000

/** Time between two log lines about malformed messages. */
const MALFORMED_LOG_MILLISECONDS = 60_000

export interface ImportMetrics {
  readonly gaps: Counter<'market'>
  readonly repairs: Counter<'market'>
  readonly malformed: Counter
  readonly audits: Counter<'market'>
  readonly mismatches: Counter<'market'>
}

export function createImportMetrics(registry: MetricsRegistry): ImportMetrics {
  const registers = [registry]
  return {
    gaps: new Counter({
      name: 'tidegate_bus_gaps_total',
      help: 'Noticed message losses between processes',
      labelNames: ['market'],
      registers,
    }),
    repairs: new Counter({
      name: 'tidegate_bus_repairs_total',
      help: 'Market states applied after a loss, or at the start of following a market',
      labelNames: ['market'],
      registers,
    }),
    audits: new Counter({
      name: 'tidegate_bus_audits_total',
      help: 'Comparisons between a followed book and its feed’s digest',
      labelNames: ['market'],
      registers,
    }),
    mismatches: new Counter({
      name: 'tidegate_bus_audit_mismatches_total',
      help: 'Followed books that differed from their feed’s. They were withdrawn and requested again',
      labelNames: ['market'],
      registers,
    }),
    malformed: new Counter({
      name: 'tidegate_bus_malformed_total',
      help: 'Unreadable messages between processes',
      registers,
    }),
  }
}

export interface ImportTransport {
  requestState(request: StateRequest): void
  requestCommit(request: CommitRequest): void
}

export interface BusImportOptions {
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  readonly transport: ImportTransport
  /** The replica that follows a market on this bus. */
  readonly replicaOf: (market: string) => Replica | undefined
  /** Called when a market's epoch is later than all epochs heard before. It may call `follow`. */
  readonly onLaterEpoch?: (market: string, epoch: string) => void
  /** Records the source positions of followed markets. Absent where this process never writes them. */
  readonly positions?: Pick<SourcePositionLog, 'note'> | undefined
  /** Gets the feeds' reports about all markets. Absent where every market is followed. */
  readonly reports?: Pick<MarketReports, 'note' | 'epochOf'> | undefined
  /** How long a market may be stale before its book is withdrawn. Undefined = it stays. */
  readonly withdrawAfterMilliseconds: number | undefined
  readonly metrics: ImportMetrics
}

export class BusImport {
  readonly #options: BusImportOptions
  readonly #followers = new Map<string, { readonly definition: MarketDefinition; readonly follower: Follower }>()
  /** The last proof received for each market. */
  readonly #proofs = new Map<string, MarketProof>()
  /** Markets for which other processes send integers at another scale. */
  readonly #differing = new Set<string>()
  readonly #malformedLog: Throttle
  readonly #auditBudget: AuditBudget
  #hasHeardFeed = false
  #timer: Timer

  constructor(options: BusImportOptions) {
    this.#options = options
    this.#malformedLog = new Throttle(options.clock, MALFORMED_LOG_MILLISECONDS)
    this.#auditBudget = new AuditBudget(options.clock)
    this.#timer = this.#schedule()
  }

  /**
   * Follows a market from now on, until the returned function is called.
   * @param lastMilliseconds the market's last commit time for this process's subscribers, who may subscribe again; 0 =
   * never
   */
  add(definition: MarketDefinition, lastMilliseconds = 0): () => void {
    const { transport, metrics, onLaterEpoch } = this.#options
    const scale = scaleOf(definition)
    const { market } = scale
    const follower = new Follower({
      ...this.#options,
      market,
      lastMilliseconds,
      requestState: (position) => transport.requestState({ ...scale, ...position }),
      requestCommit: (laterThanMilliseconds) => transport.requestCommit({ market, laterThanMilliseconds }),
      onLaterEpoch: (epoch) => onLaterEpoch?.(market, epoch),
      metrics: { gap: () => metrics.gaps.inc({ market }), repaired: () => metrics.repairs.inc({ market }) },
    })
    // Alerts need the series to exist before the first loss.
    metrics.gaps.inc({ market }, 0)
    metrics.repairs.inc({ market }, 0)
    metrics.mismatches.inc({ market }, 0)
    this.#followers.set(market, { definition, follower })
    this.#differing.delete(market)
    return () => {
      follower.stop()
      if (this.#followers.get(market)?.follower !== follower) return
      this.#followers.delete(market)
      metrics.gaps.remove({ market })
      metrics.repairs.remove({ market })
      metrics.audits.remove({ market })
      metrics.mismatches.remove({ market })
    }
  }

  /** From now on this process writes the market. Must be called before the market's sequencer starts. */
  lead(market: string): void {
    this.#followers.get(market)?.follower.lead()
  }

  /** Follows a market again that this process wrote. Must be called after the market's sequencer has ended. */
  follow(market: string): void {
    this.#followers.get(market)?.follower.follow()
  }

  /** Markets that are not followed without a gap now. */
  get notCurrent(): string[] {
    return [...this.#followers].filter(([, { follower }]) => !follower.isCurrent).map(([market]) => market)
  }

  /** Whether a market's sequencer is heard from or runs in this process, and the market's book is shown. */
  isHeard(market: string): boolean {
    return this.#followers.get(market)?.follower.isHeard === true
  }

  /** Whether any feed has sent a heartbeat since the start, for any market. */
  get hasHeardFeed(): boolean {
    return this.#hasHeardFeed
  }

  /** Repeats the pending requests, because no link could carry them before. */
  requestAgain(): void {
    for (const { follower } of this.#followers.values()) follower.requestAgain()
  }

  onMessages(bytes: Buffer): void {
    this.#read(bytes, decodeMessages, ({ scale, messages }) => this.#followerOf(scale)?.onMessages(messages))
  }

  onHeartbeats(bytes: Buffer): void {
    this.#read(bytes, decodeHeartbeats, (heartbeats) => {
      this.#hasHeardFeed = true
      for (const heartbeat of heartbeats) {
        this.#options.reports?.note(heartbeat)
        this.#followerOf(heartbeat)?.onHeartbeat(heartbeat)
      }
    })
  }

  onState(bytes: Buffer): void {
    this.#read(bytes, decodeState, ({ scale, state }) => this.#followerOf(scale)?.onState(state))
  }

  onPositions(bytes: Buffer): void {
    this.#read(bytes, decodePositions, (positions) => {
      if (this.#followers.has(positions.market)) this.#options.positions?.note(positions)
    })
  }

  onProofs(bytes: Buffer): void {
    this.#read(bytes, decodeProofs, (proofs) => {
      for (const proof of proofs) if (this.#isKnown(proof.market)) this.#proofs.set(proof.market, proof)
    })
  }

  /** The proof of another process's book. NONE until that process has sent one. */
  proofOf(market: string): Proof {
    const { replicaOf, reports } = this.#options
    const known = this.#proofs.get(market)
    const epoch = replicaOf(market)?.followed?.epoch ?? reports?.epochOf(market)
    return known !== undefined && known.epoch === epoch ? known.proof : 'NONE'
  }

  /** Forgets a market that is no longer configured. */
  forget(market: string): void {
    this.#proofs.delete(market)
  }

  #isKnown(market: string): boolean {
    return this.#followers.has(market) || this.#options.reports?.epochOf(market) !== undefined
  }

  onDigest(bytes: Buffer): void {
    this.#read(bytes, decodeDigest, (digest) => {
      const { market, epoch, version } = digest
      const follower = this.#followerOf(digest)
      const replica = this.#options.replicaOf(market)
      if (follower === undefined || replica === undefined) return
      const { clock, metrics, log } = this.#options
      if (!this.#auditBudget.charge(replica)) return
      auditBook(clock, replica, digest, (outcome) => {
        if (outcome === 'unknown' || this.#followers.get(market)?.follower !== follower) return
        metrics.audits.inc({ market })
        if (outcome === 'equal') return
        metrics.mismatches.inc({ market })
        log.error({ market, epoch, version }, 'a followed book is not that of its feed: it is withdrawn')
        follower.startOver()
      })
    })
  }

  stop(): void {
    this.#timer.cancel()
    for (const { follower } of this.#followers.values()) follower.stop()
    this.#followers.clear()
  }

  #schedule(): Timer {
    return this.#options.clock.schedule(CHECK_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      for (const { follower } of this.#followers.values()) follower.checkContact()
    })
  }

  /** Undefined for a market that is not followed, or has another scale at the other end. */
  #followerOf(scale: MarketScale): Follower | undefined {
    const followed = this.#followers.get(scale.market)
    if (followed === undefined) return undefined
    if (hasScale(followed.definition, scale)) {
      this.#differing.delete(scale.market)
      return followed.follower
    }
    if (!this.#differing.has(scale.market)) {
      this.#differing.add(scale.market)
      this.#options.log.error(
        { ...scale },
        'another process has this market with other decimals: its book is not shown',
      )
    }
    return undefined
  }

  #read<Value>(bytes: Buffer, decode: (bytes: Buffer) => Value, take: (value: Value) => void): void {
    let value: Value
    try {
      value = decode(bytes)
    } catch (error) {
      if (!(error instanceof BusFormatError)) throw error
      this.#options.metrics.malformed.inc()
      const { message: reason } = error
      this.#malformedLog.run(() => this.#options.log.error({ reason }, 'a bus message cannot be read'))
      return
    }
    take(value)
  }
}
