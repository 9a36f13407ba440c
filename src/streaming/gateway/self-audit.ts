/**
 * Checks, while the service runs, that subscribers are sent the same data as the market's sequencer has. It audits one
 * market at a time with two subscribers in this process, which decode sessions' frames. One is current and gets every
 * UPDATE. The other lags on purpose and gets a conflated UPDATE. At one version, four books must be equal: the
 * sequencer's, cut to the published depth; the replica's view; and those of the two subscribers. An audit counts and
 * logs the first difference, and the market then starts over with the whole book. The work is done in slices, each from
 * a timer, and undecoded data is bounded: an audit that cannot keep up ends unfinished.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { ASK, BID, type LevelChange, type Side } from '../market/event.ts'
import { levelsAfter } from '../market/view.ts'
import type { Sequencer } from '../sequencing/sequencer.ts'
import { AuditSubscriber } from './audit-subscriber.ts'
import type { Hub } from './hub.ts'
import type { MarketStream } from './market-stream.ts'

/** Between the end of one audit and the start of the next. */
const PAUSE_MILLISECONDS = 10_000
/** Between two steps in an audit. */
const STEP_MILLISECONDS = 10

/** Levels compared, and levels decoded per subscriber, in one step: together well under a millisecond. */
const COMPARED_LEVELS = 64
const DECODED_LEVELS = 256
/** How long the subscribers are sent messages before the books are compared, unless the lagging one missed enough. */
const FOLLOW_STEPS = 100
const MISSED_LEVELS_MAX = 512
/** Steps without progress, because changes waited for a commit or a subscriber was not current at each step. */
const WAITED_STEPS_MAX = 500
/** Steps for the SNAPSHOT: decoding 46,000 levels takes 180. */
const LOADING_STEPS_MAX = 3_000

/** One market with its sequencer, both in this process. */
export interface AuditedMarket {
  readonly stream: MarketStream
  readonly sequencer: Pick<Sequencer, 'settledBook' | 'startOver'>
}

export interface SelfAuditMetrics {
  readonly audits: Counter<'market'>
  readonly mismatches: Counter<'market'>
}

export function createSelfAuditMetrics(registry: MetricsRegistry): SelfAuditMetrics {
  const registers = [registry]
  const labelNames = ['market'] as const
  return {
    audits: new Counter({
      name: 'tidegate_self_audits_total',
      help: 'Market audits that compared the whole book',
      labelNames,
      registers,
    }),
    mismatches: new Counter({
      name: 'tidegate_self_audit_mismatches_total',
      help: 'Audits that found a book different from the sequencer’s. The market then started over with a SNAPSHOT',
      labelNames,
      registers,
    }),
  }
}

export interface SelfAuditOptions {
  readonly clock: Clock
  readonly log: Log
  readonly hub: Pick<Hub, 'queueCatchUp'>
  readonly metrics: SelfAuditMetrics
  /** The current markets, audited in rotation. */
  readonly markets: () => readonly AuditedMarket[]
}

/** Runs until it is stopped. */
export class SelfAudit {
  readonly #options: SelfAuditOptions
  #round = 0
  /** Markets with series in the metrics. */
  #known: readonly string[] = []
  #audit: MarketAudit | undefined
  #timer: Timer

  constructor(options: SelfAuditOptions) {
    this.#options = options
    this.#timer = this.#schedule(PAUSE_MILLISECONDS)
  }

  stop(): void {
    this.#timer.cancel()
    this.#audit?.end()
  }

  #schedule(milliseconds: number): Timer {
    return this.#options.clock.schedule(milliseconds, () => {
      this.#timer = this.#schedule(this.#step() === 'ended' ? PAUSE_MILLISECONDS : STEP_MILLISECONDS)
    })
  }

  #step(): 'more' | 'ended' {
    this.#audit ??= this.#begin()
    const audit = this.#audit
    if (audit === undefined) return 'ended'
    const outcome = audit.step()
    if (outcome === 'more') return 'more'
    audit.end()
    this.#audit = undefined
    this.#conclude(audit.market, outcome)
    return 'ended'
  }

  #begin(): MarketAudit | undefined {
    const { metrics, clock, hub } = this.#options
    const markets = this.#options.markets()
    this.#forgetRemoved(markets.map(({ stream }) => stream.symbol))
    // Alerts need the series to exist before the first mismatch.
    for (const { stream } of markets) metrics.mismatches.inc({ market: stream.symbol }, 0)
    const market = markets[this.#round++ % Math.max(1, markets.length)]
    return market?.stream.replica.live === true ? new MarketAudit(market, clock, hub) : undefined
  }

  /** Removes the series for markets that are no longer configured. */
  #forgetRemoved(present: readonly string[]): void {
    const { audits, mismatches } = this.#options.metrics
    for (const market of this.#known) {
      if (present.includes(market)) continue
      audits.remove({ market })
      mismatches.remove({ market })
    }
    this.#known = present
  }

  #conclude({ stream, sequencer }: AuditedMarket, outcome: Exclude<AuditOutcome, 'more'>): void {
    const { metrics, log } = this.#options
    const market = stream.symbol
    if (outcome === 'unfinished') return
    metrics.audits.inc({ market })
    if (outcome === 'equal') return
    metrics.mismatches.inc({ market })
    const { version } = stream.replica
    log.error({ market, version, difference: outcome.difference }, 'self-audit found a wrong book')
    sequencer.startOver('the self-audit found a wrong book')
  }
}

type AuditOutcome = 'more' | 'equal' | 'unfinished' | { readonly difference: string }

/**
 * One market's audit. Its stages: `loading`, both subscribers decode their SNAPSHOT; `following`, one decodes every
 * UPDATE and the other is held; `comparing`, the held one is released, and all four books are compared slice by slice.
 * All books are at one version when a slice is compared, so the next slice may have a later one.
 */
class MarketAudit {
  readonly market: AuditedMarket
  readonly #current: AuditSubscriber
  readonly #lagging: AuditSubscriber
  #stage: 'loading' | 'following' | 'comparing' = 'loading'
  /** Where the comparison is: a side, and the last price compared. */
  #side: Side = BID
  #price: number | undefined
  #loadingSteps = 0
  #followedSteps = 0
  #waitedSteps = 0
  /** Levels missed by the lagging subscriber. */
  #missedLevels = 0
  #isInterrupted = false
  #difference: string | undefined
  readonly #endListening: () => void

  constructor(market: AuditedMarket, clock: Clock, hub: Pick<Hub, 'queueCatchUp'>) {
    this.market = market
    this.#current = new AuditSubscriber(clock, hub, market.stream)
    this.#lagging = new AuditSubscriber(clock, hub, market.stream)
    this.#endListening = market.stream.replica.listen({
      onCommit: ({ startsOver }) => {
        this.#isInterrupted ||= startsOver
      },
      onStatus: () => {
        this.#isInterrupted = true
      },
    })
  }

  end(): void {
    this.#endListening()
    this.#current.end()
    this.#lagging.end()
  }

  step(): AuditOutcome {
    if (this.#isInterrupted || this.#waitedSteps > WAITED_STEPS_MAX) return 'unfinished'
    if (this.#current.hasOverflowed || this.#lagging.hasOverflowed) return 'unfinished'
    const decoded = this.#current.read(DECODED_LEVELS)
    this.#lagging.read(DECODED_LEVELS)
    // A crossed view is sent to no subscriber, so the comparison would wait for it in vain.
    if (this.market.stream.replica.isCrossed) this.#difference ??= 'the view is crossed'
    this.#difference ??= this.#current.problem ?? this.#lagging.problem
    if (this.#difference !== undefined) return { difference: this.#difference }
    switch (this.#stage) {
      case 'loading':
        return this.#load()
      case 'following':
        return this.#follow(decoded)
      case 'comparing':
        return this.#compareSlice()
    }
  }

  #load(): AuditOutcome {
    this.#loadingSteps += 1
    if (this.#loadingSteps > LOADING_STEPS_MAX) return 'unfinished'
    if (!this.#current.isCurrent || !this.#lagging.isCurrent) return 'more'
    this.#lagging.hold()
    this.#stage = 'following'
    return 'more'
  }

  #follow(decoded: number): AuditOutcome {
    this.#followedSteps += 1
    this.#missedLevels += decoded
    if (this.#followedSteps < FOLLOW_STEPS && this.#missedLevels < MISSED_LEVELS_MAX) return 'more'
    this.#lagging.release()
    this.#stage = 'comparing'
    return 'more'
  }

  #compareSlice(): AuditOutcome {
    const { stream, sequencer } = this.market
    const { view } = stream.replica
    const book = sequencer.settledBook
    if (book === undefined || !this.#current.isCurrent || !this.#lagging.isCurrent) {
      this.#waitedSteps += 1
      return 'more'
    }
    const sequenced = levelsAfter(book, view.depth, this.#side, this.#price, COMPARED_LEVELS)
    const slice = [this.#side, this.#price, COMPARED_LEVELS] as const
    this.#compare('the view', sequenced, view.levelsAfter(...slice))
    this.#compare('a current subscriber', sequenced, this.#current.levelsAfter(...slice))
    this.#compare('a lagging subscriber', sequenced, this.#lagging.levelsAfter(...slice))
    if (this.#difference !== undefined) return { difference: this.#difference }
    return this.#advance(sequenced)
  }

  #advance(compared: readonly LevelChange[]): AuditOutcome {
    this.#price = compared.at(-1)?.price
    if (compared.length === COMPARED_LEVELS) return 'more'
    if (this.#side === ASK) return 'equal'
    this.#side = ASK
    this.#price = undefined
    return 'more'
  }

  #compare(holder: string, sequenced: readonly LevelChange[], held: readonly LevelChange[]): void {
    for (let index = 0; index < Math.max(sequenced.length, held.length); index++) {
      const right = sequenced[index]
      const wrong = held[index]
      if (right?.price === wrong?.price && right?.amount === wrong?.amount) continue
      const side = this.#side === BID ? 'bid' : 'ask'
      this.#difference ??= `${holder} holds the ${side} ${textOf(wrong)} where the sequencer has ${textOf(right)}`
      return
    }
  }
}

function textOf(level: LevelChange | undefined): string {
  return level === undefined ? 'nothing' : `${level.amount} at ${level.price}`
}
