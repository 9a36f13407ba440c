/**
 * Compares followed books with the books of their feeds. Every ten seconds a link's sending end sends each published
 * book's digest and version. The receiving end computes the digest of its own book at the same version. Levels beyond
 * the published depth are not compared. Digests are computed in slices. A version is left out when the book's journal
 * no longer reaches it. However many markets there are, each end reads a bounded number of levels per second: above it,
 * the sending end's rounds take longer, and the receiving end leaves books out.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { ViewDigest } from '../market/digest.ts'
import { ASK, BID } from '../market/event.ts'
import type { Replica } from '../sequencing/replica.ts'
import { decode, type MarketScale, readScale, startMessage } from './bus-codec.ts'

/** Each round compares every market once. */
const ROUND_MILLISECONDS = 10_000
/** The minimum pause between two steps in a round. */
const STEP_MILLISECONDS_MIN = 50
/** The levels after which a step ends. */
const STEP_LEVELS_MAX = 4_000
/** The pause between two slices of a large book. */
const SLICE_PAUSE_MILLISECONDS = 10
/** 50,000 per second: 2 % of a core at 0.4 µs per level. */
const LEVELS_PER_MILLISECOND_MAX = 50
/** How far a receiving end may be ahead of that rate. */
const AHEAD_MILLISECONDS_MAX = 1_000

/** A published book's digest at one version. */
export interface BookDigest extends MarketScale {
  /** Published levels per side (0 = all). */
  readonly depth: number
  readonly epoch: string
  readonly version: number
  readonly digest: string
}

export function encodeDigest(digest: BookDigest): Buffer {
  const writer = startMessage(digest)
  writer.integer(digest.depth)
  writer.text(digest.epoch)
  writer.integer(digest.version)
  writer.text(digest.digest)
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodeDigest(bytes: Buffer): BookDigest {
  return decode(bytes, (reader) => ({
    ...readScale(reader),
    depth: reader.integer(),
    epoch: reader.text(),
    version: reader.integer(),
    digest: reader.text(),
  }))
}

/** A market on the sending end. It is compared only while `version` in `epoch` is its replica's version. */
export interface AuditableMarket {
  readonly replica: Replica
  readonly epoch: string
  readonly version: number
}

export interface DigestSenderOptions {
  readonly clock: Clock
  /** The markets other processes follow now. */
  readonly markets: () => readonly AuditableMarket[]
  readonly send: (digest: BookDigest) => void
}

/** Sends the digests of all markets, one after the other, in each round. */
export class DigestSender {
  readonly #options: DigestSenderOptions
  #timer: Timer
  #next = 0

  constructor(options: DigestSenderOptions) {
    this.#options = options
    this.#timer = this.#schedule(ROUND_MILLISECONDS)
  }

  stop(): void {
    this.#timer.cancel()
  }

  #schedule(milliseconds: number): Timer {
    return this.#options.clock.schedule(milliseconds, () => {
      const markets = this.#options.markets()
      const wait = Math.max(STEP_MILLISECONDS_MIN, ROUND_MILLISECONDS / Math.max(1, markets.length))
      const count = Math.ceil((markets.length * wait) / ROUND_MILLISECONDS)
      let levels = 0
      for (let done = 0; done < count && levels < STEP_LEVELS_MAX; done++) {
        levels += this.#send(markets[this.#next++ % markets.length] as AuditableMarket)
      }
      this.#timer = this.#schedule(Math.max(wait, levels / LEVELS_PER_MILLISECOND_MAX))
    })
  }

  /** Returns the levels read. */
  #send({ replica, epoch, version }: AuditableMarket): number {
    const { clock, send } = this.#options
    const { symbol, priceDecimals, amountDecimals, depth } = replica.market
    const own = replica.live ? versionIn(replica, epoch, version) : undefined
    if (own === undefined) return 0
    digestAt(clock, replica, own, (digest) => {
      if (digest !== undefined) send({ market: symbol, priceDecimals, amountDecimals, depth, epoch, version, digest })
    })
    return levelCountOf(replica)
  }
}

/** A receiving end's budget for comparisons. */
export class AuditBudget {
  readonly #clock: Clock
  /** When the comparisons so far are paid for. */
  #paidMilliseconds = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a book may be compared now. If so, it is charged. */
  charge(replica: Replica): boolean {
    const now = this.#clock.monotonicMilliseconds()
    if (this.#paidMilliseconds > now + AHEAD_MILLISECONDS_MAX) return false
    this.#paidMilliseconds = Math.max(this.#paidMilliseconds, now) + levelCountOf(replica) / LEVELS_PER_MILLISECOND_MAX
    return true
  }
}

function levelCountOf({ view }: Replica): number {
  return view.levelCount(BID) + view.levelCount(ASK)
}

/** `unknown`: the replica did not follow the version, or the version is too old. */
export type AuditOutcome = 'equal' | 'different' | 'unknown'

/** Compares a replica's book with its feed's digest. */
export function auditBook(
  clock: Clock,
  replica: Replica,
  { depth, epoch, version, digest }: BookDigest,
  conclude: (outcome: AuditOutcome) => void,
): void {
  const own = depth === replica.market.depth ? versionIn(replica, epoch, version) : undefined
  if (own === undefined) {
    conclude('unknown')
    return
  }
  digestAt(clock, replica, own, (found) => {
    // The book was replaced meanwhile.
    if (found === undefined || versionIn(replica, epoch, version) !== own) conclude('unknown')
    else conclude(found === digest ? 'equal' : 'different')
  })
}

/**
 * Converts a version in an epoch to the replica's own version. Undefined when the replica has not followed it, or does
 * not show its book.
 */
function versionIn(replica: Replica, epoch: string, version: number): number | undefined {
  if (replica.epoch.id !== epoch || replica.followed?.epoch !== epoch || !replica.hasBook) return undefined
  const own = replica.epoch.base + version
  return replica.hadBook(own) ? own : undefined
}

/** Computes a published book's digest at a version. Undefined when the journal no longer reaches the version. */
function digestAt(clock: Clock, replica: Replica, version: number, take: (digest: string | undefined) => void): void {
  const digest = new ViewDigest(replica.view, replica.market)
  const step = (): void => {
    const found = digest.at(version)
    if (found !== undefined || !digest.seeding) {
      take(found)
      return
    }
    digest.seed()
    clock.schedule(SLICE_PAUSE_MILLISECONDS, step)
  }
  step()
}
