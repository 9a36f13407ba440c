/**
 * Follows one market whose sequencer is in another process, over a link that may lose messages, and publishes on the bus
 * of this process what a replica can apply: each commit after the one before it, or a state that replaces them. It
 * notices a loss by the version of a commit, or by a heartbeat when nothing follows; then it requests the state of the
 * market, keeps what arrives meanwhile up to a limit, and publishes the state and what was kept and is later. One request
 * is under way at a time, and repeated after a while. Of two epochs the later one counts, in answers too: what an
 * earlier one still sends is ignored. When nothing has been heard for a while it publishes that the market is stale, and
 * after `withdrawAfterMilliseconds` of that it withdraws the book. `checkContact` is to be called once a second.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Bus, MarketMessage, MarketState, MarketStatus } from '../sequencing/bus.ts'
import type { Heartbeat, SentMessage } from './bus-codec.ts'

/** Without any message or heartbeat for so long, the market is stale: three heartbeats are missing. */
const CONTACT_MILLISECONDS_MAX = 3_500

/** Messages kept while the state is awaited: those of ten seconds of a fast market. More are dropped, and asked for. */
const KEPT_MESSAGES_MAX = 10_000

/** Wait before the first request, spread at random so that the followers of a feed do not ask in the same instant. */
const REQUEST_SPREAD_MILLISECONDS = 50
/** Wait before a request is repeated; it doubles up to the maximum, and a random part of it is added. */
const REPEAT_MILLISECONDS_MIN = 1_000
const REPEAT_MILLISECONDS_MAX = 8_000

/** Why the market is stale, when its sequencer is not heard of. */
const NO_CONTACT = 'no contact with the feed of the market'
const WRONG_BOOK = 'its book was not that of the feed'

export interface FollowerMetrics {
  /** A loss was noticed; it is repaired by a state. */
  gap(): void
  repaired(): void
}

export interface FollowerOptions {
  readonly market: string
  /** The bus of this process. */
  readonly bus: Bus
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** Sends a request for the state; the answer comes to `onState`, or never. */
  readonly requestState: (position: Readonly<Position>) => void
  /** Sends a request for a commit that is later than this; 0 = at any time. */
  readonly requestCommit: (laterThanMilliseconds: number) => void
  /** Called with each epoch on the link that is later than all before. It may call `follow`. */
  readonly onLaterEpoch?: (epoch: string) => void
  /** How long a market may be stale before its book is withdrawn; undefined = it stays. */
  readonly withdrawAfterMilliseconds: number | undefined
  readonly metrics: FollowerMetrics
  /** Everything that is published is later than this: milliseconds since the epoch. */
  readonly lastMilliseconds: number
}

/** What this process has of the market. */
interface Position {
  epoch: string
  version: number
  executionNumber: number
  milliseconds: number
}

interface Repair {
  kept: SentMessage[]
  /** Whether everything since the last request was kept. */
  isComplete: boolean
  timer: Timer
  waitMilliseconds: number
}

export class Follower {
  readonly #options: FollowerOptions
  readonly #position: Position = { epoch: '', version: 0, executionNumber: 0, milliseconds: 0 }
  /** The latest epoch heard of; everything of an earlier one is ignored. */
  #latestEpoch = ''
  #status: Pick<MarketStatus, 'live' | 'reason'> = { live: false, reason: '' }
  /** Only while a state is awaited. */
  #repair: Repair | undefined
  /** The time that a requested commit has to be later than, or 0; undefined when none is requested. */
  #wantedLaterThan: number | undefined
  #isWithdrawn = false
  /** Whether the sequencer of the market is in this process. */
  #isLeading = false
  /** Epoch of the book that is shown; empty when none is. */
  #bookEpoch = ''
  /** When the market became stale; undefined while it is live. */
  #staleMilliseconds: number | undefined
  #hasContact = false
  #contactMilliseconds: number
  readonly #endSubscription: () => void
  #endService: () => void

  constructor(options: FollowerOptions) {
    this.#options = options
    const { bus, market } = options
    this.#position.milliseconds = options.lastMilliseconds
    this.#contactMilliseconds = options.clock.monotonicMilliseconds()
    // A market that runs already is not waited for until its next heartbeat.
    this.#beginRepair([])
    this.#endSubscription = bus.subscribe(market, (message) => this.#note(message))
    this.#endService = this.#serve()
  }

  /** Whether the market is followed without a gap, or written here. */
  get isCurrent(): boolean {
    return (this.#hasContact || this.#isLeading) && this.#repair === undefined && this.#position.version > 0
  }

  /** Whether its sequencer is heard of, or in this process, and its book is not withdrawn here. */
  get isHeard(): boolean {
    return this.#isLeading || (this.#hasContact && !this.#isWithdrawn)
  }

  /** The market is written by this process from now on; to be called before its sequencer starts. */
  lead(): void {
    this.#isLeading = true
    this.#endRepair()
    this.#endService()
  }

  /** The market is written by another process again; to be called when the sequencer of this one has ended. */
  follow(): void {
    this.#isLeading = false
    this.#endService = this.#serve()
    // The next leader has as long as one that is heard of before the market counts as stale.
    this.#noteContact()
    this.#beginRepair([])
  }

  /** Takes the messages of one tick, in the order of publishing. */
  onMessages(messages: readonly SentMessage[]): void {
    for (const message of messages) {
      if (!this.#isFollowed(message.epoch)) continue
      this.#noteContact()
      if (this.#repair !== undefined) this.#keep(message)
      else this.#take(message)
    }
  }

  onHeartbeat({ epoch, version, live, reason }: Pick<Heartbeat, 'epoch' | 'version' | 'live' | 'reason'>): void {
    if (!this.#isFollowed(epoch)) return
    this.#noteContact()
    // A sequencer that has committed nothing yet: its first commit comes next.
    if (version === 0) this.#publishStatus(live, reason)
    if (version === 0 || this.#repair !== undefined) return
    if (epoch !== this.#position.epoch || version > this.#position.version || this.#isWithdrawn) {
      this.#beginRepair([])
      return
    }
    if (this.#wantedLaterThan !== undefined) this.#options.requestCommit(this.#wantedLaterThan)
    // A status alone was lost.
    if (version === this.#position.version) this.#publishStatus(live, reason)
  }

  /** Takes the answer to a request; one that comes late, or to nothing, is ignored. */
  onState(state: MarketState): void {
    if (this.#repair === undefined) return
    if (!this.#isFollowed(state.epoch)) {
      this.#takeEnd(state)
      return
    }
    this.#noteContact()
    const { epoch, version, milliseconds } = this.#position
    const isSame = state.epoch === epoch && state.version === version && !this.#isWithdrawn
    // Time never goes back: the request is repeated, and the sequencer moves past the time in it.
    if (!isSame && state.milliseconds <= milliseconds) return
    // The first that is heard of a later epoch has ended the repair.
    const { kept, isComplete }: Pick<Repair, 'kept' | 'isComplete'> = this.#repair ?? { kept: [], isComplete: true }
    this.#endRepair()
    if (isSame) {
      this.#publishStatus(state.live, state.reason)
    } else {
      this.#options.metrics.repaired()
      this.#options.bus.publish(state)
    }
    this.#replay(state, kept)
    if (!isComplete && this.#repair === undefined) this.#beginRepair([])
  }

  /** Takes the end of the epoch that is followed, before the state of a later one that continues it. */
  #takeEnd(state: MarketState): void {
    const { epoch, executionNumber, milliseconds } = this.#position
    const isEnd = !this.#isLeading && !state.hasBook && state.epoch === epoch && epoch < this.#latestEpoch
    if (!isEnd || state.executionNumber <= executionNumber) return
    // Later than a book that was withdrawn here meanwhile.
    const later = { milliseconds: Math.max(state.milliseconds, milliseconds + 1) }
    this.#options.bus.publish({ ...state, ...later, ...this.#status })
  }

  /** Publishes that the market is stale when nothing has been heard of it for a while, and withdraws its book in time. */
  checkContact(): void {
    const now = this.#options.clock.monotonicMilliseconds()
    if (!this.#isLeading && now - this.#contactMilliseconds > CONTACT_MILLISECONDS_MAX) {
      this.#hasContact = false
      if (this.#position.version > 0) this.#publishStatus(false, NO_CONTACT)
    }
    const { withdrawAfterMilliseconds = Number.POSITIVE_INFINITY } = this.#options
    if (now - (this.#staleMilliseconds ?? now) >= withdrawAfterMilliseconds) this.#withdrawUnlessHeard()
  }

  /** Withdraws the book, which is wrong, and requests the state of the market. */
  startOver(): void {
    if (this.#isLeading) return
    this.#publishStatus(false, WRONG_BOOK)
    this.#withdraw()
    this.#endRepair()
    this.#beginRepair([])
  }

  /** Repeats a request that is under way now, because it cannot have arrived. */
  requestAgain(): void {
    const repair = this.#repair
    if (repair === undefined) return
    repair.timer.cancel()
    repair.waitMilliseconds = REPEAT_MILLISECONDS_MIN
    repair.timer = this.#scheduleRequest()
  }

  stop(): void {
    this.#endRepair()
    this.#endSubscription()
    this.#endService()
  }

  #serve(): () => void {
    const { bus, market, requestCommit } = this.#options
    return bus.serve(market, (laterThanMilliseconds = 0) => {
      this.#wantedLaterThan = Math.max(this.#wantedLaterThan ?? 0, laterThanMilliseconds)
      requestCommit(this.#wantedLaterThan)
    })
  }

  /** Also sees what a sequencer of this process publishes. */
  #note(message: MarketMessage): void {
    const position = this.#position
    if (message.type === 'withdrawal') {
      position.milliseconds = message.milliseconds
      this.#bookEpoch = ''
      return
    }
    if (message.type === 'status' || message.type === 'state') {
      this.#status = { live: message.live, reason: message.reason }
      if (message.live) this.#staleMilliseconds = undefined
      else this.#staleMilliseconds ??= this.#options.clock.monotonicMilliseconds()
    }
    if (message.epoch > this.#latestEpoch) this.#latestEpoch = message.epoch
    if (message.type === 'status') return
    this.#wantedLaterThan = undefined
    this.#isWithdrawn = false
    const { epoch, version, executionNumber, milliseconds } = message
    if (message.type === 'state' ? message.hasBook : message.beginsBook === true) this.#bookEpoch = epoch
    Object.assign(position, { epoch, version, executionNumber, milliseconds })
  }

  /** Whether what the link brings of an epoch counts: it is the latest one, and not written here. */
  #isFollowed(epoch: string): boolean {
    if (epoch > this.#latestEpoch) {
      this.#latestEpoch = epoch
      // What was asked of an earlier epoch is no longer needed.
      this.#endRepair()
      this.#options.onLaterEpoch?.(epoch)
    }
    return !this.#isLeading && epoch === this.#latestEpoch
  }

  #endRepair(): void {
    this.#repair?.timer.cancel()
    this.#repair = undefined
  }

  #take(message: SentMessage): void {
    const { epoch, version, milliseconds } = this.#position
    if (message.type === 'status') {
      if (message.version === 0 || (message.epoch === epoch && message.version === version))
        this.#publishStatus(message.live, message.reason)
      else if (message.epoch !== epoch || message.version > version) this.#beginRepair([message])
      return
    }
    if (message.epoch === epoch && message.version <= version) return
    const isNext =
      !this.#isWithdrawn &&
      (message.epoch === epoch ? message.version === version + 1 : message.version === 1) &&
      message.milliseconds > milliseconds
    if (isNext) this.#options.bus.publish(message)
    else this.#beginRepair([message])
  }

  #keep(message: SentMessage): void {
    const repair = this.#repair
    if (repair === undefined) return
    if (repair.kept.length < KEPT_MESSAGES_MAX) repair.kept.push(message)
    else repair.isComplete = false
  }

  /** Takes what was kept while the state was awaited and is later than it. */
  #replay(state: MarketState, kept: readonly SentMessage[]): void {
    for (const message of kept) {
      if (message.epoch !== this.#latestEpoch) continue
      // Of the version of the state, only the loss of a live book can be later than the state.
      const isOlder = message.epoch === state.epoch && message.version === state.version && message.type === 'status'
      if (isOlder && (message.live || !state.live)) continue
      if (this.#repair === undefined) this.#take(message)
      else this.#keep(message)
    }
  }

  #beginRepair(kept: SentMessage[]): void {
    if (this.#position.version > 0) this.#options.metrics.gap()
    const timer = this.#scheduleRequest()
    this.#repair = { kept, isComplete: true, timer, waitMilliseconds: REPEAT_MILLISECONDS_MIN }
  }

  #scheduleRequest(): Timer {
    const { clock, random } = this.#options
    // A market of which nothing is known yet is asked for at once: clients wait for it.
    const wait = this.#position.version === 0 ? 0 : random() * REQUEST_SPREAD_MILLISECONDS
    return clock.schedule(wait, () => this.#request())
  }

  #request(): void {
    const { clock, random, requestState } = this.#options
    const repair = this.#repair
    if (repair === undefined) return
    const { waitMilliseconds } = repair
    repair.timer = clock.schedule(waitMilliseconds * (1 + random()), () => this.#request())
    repair.waitMilliseconds = Math.min(2 * waitMilliseconds, REPEAT_MILLISECONDS_MAX)
    if (!repair.isComplete) {
      // What was kept has a gap itself; what follows this request may be complete again.
      repair.kept = []
      repair.isComplete = true
    }
    requestState(this.#position)
  }

  #publishStatus(live: boolean, reason: string): void {
    if (live === this.#status.live && reason === this.#status.reason) return
    const { market, bus } = this.#options
    const { epoch, version } = this.#position
    bus.publish({ type: 'status', market, epoch, version, live, reason })
  }

  #noteContact(): void {
    const isBack = !this.#hasContact
    this.#hasContact = true
    this.#contactMilliseconds = this.#options.clock.monotonicMilliseconds()
    // Nothing was there to answer earlier requests, whose next repetition may be seconds away.
    if (isBack) this.requestAgain()
  }

  /** A sequencer that is heard of withdraws its own book itself. */
  #withdrawUnlessHeard(): void {
    const isWithdrawnByFeed = (this.#hasContact || this.#isLeading) && this.#bookEpoch === this.#latestEpoch
    if (isWithdrawnByFeed || this.#bookEpoch === '') return
    this.#withdraw()
  }

  #withdraw(): void {
    const { clock, bus, market } = this.#options
    const wall = clock.wallInstant()
    const milliseconds = Math.max(wall.milliseconds, this.#position.milliseconds + 1)
    this.#isWithdrawn = true
    bus.publish({ type: 'withdrawal', market, milliseconds, nanoseconds: 0 })
    // The sequencer of this process has to move past that time.
    if (this.#isLeading) bus.requestCommit(market, milliseconds)
  }
}
