/**
 * Follows one market whose sequencer runs in another process, over a link that may lose messages. On this process's bus
 * it publishes only what a replica can apply: each commit after its predecessor, or a state that replaces them.
 *
 * A loss shows in a commit's version, or in a heartbeat when no commit follows. The follower then requests the market's
 * state and keeps the messages that arrive meanwhile, up to a limit. It publishes the state, then the later kept
 * messages. One request is pending at a time, and it is repeated after a while. Its first state includes the executions
 * that arrived before it, because subscribers may already wait for them.
 *
 * The latest epoch counts, in answers too. Of an earlier epoch only the final state is still published. When nothing
 * has been heard for a while, the follower publishes that the market is stale. After `withdrawAfterMilliseconds` it
 * withdraws the book. `checkContact` must be called once a second.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Bus, Commit, MarketMessage, MarketState, MarketStatus } from '../sequencing/bus.ts'
import type { Heartbeat, SentMessage } from './bus-codec.ts'

/** A market is stale after this time without a message or heartbeat: three heartbeats are missing. */
export const CONTACT_MILLISECONDS_MAX = 3_500

/** Messages kept while the state is awaited: ten seconds of a fast market. More are dropped, and requested. */
const KEPT_MESSAGES_MAX = 10_000

/** A random wait up to this precedes the first request, so a feed's followers do not all ask in the same instant. */
const REQUEST_SPREAD_MILLISECONDS = 50
/** Wait before a request is repeated. It doubles up to the maximum, plus a random part of the same length. */
const REPEAT_MILLISECONDS_MIN = 1_000
const REPEAT_MILLISECONDS_MAX = 8_000

/** Why a market is stale while its sequencer is not heard from. */
export const NO_CONTACT = 'no contact with the market’s feed'
const WRONG_BOOK = 'its book differed from the feed’s'
const NO_LAST_BOOK = 'waiting for the new feed’s book'

export interface FollowerMetrics {
  /** A loss was noticed. A state repairs it. */
  gap(): void
  repaired(): void
}

export interface FollowerOptions {
  readonly market: string
  /** This process's bus. */
  readonly bus: Bus
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** Requests the state. The answer comes to `onState`, or never. */
  readonly requestState: (position: Readonly<Position>) => void
  /** Requests a commit later than this time; 0 = at any time. */
  readonly requestCommit: (laterThanMilliseconds: number) => void
  /** Called when the link brings an epoch later than all before. It may call `follow`. */
  readonly onLaterEpoch?: (epoch: string) => void
  /** How long a market may be stale before its book is withdrawn. Undefined = it stays. */
  readonly withdrawAfterMilliseconds: number | undefined
  readonly metrics: FollowerMetrics
  /** Everything published is later than this, in milliseconds since the epoch. */
  readonly lastMilliseconds: number
}

/** This process's position in the market. */
interface Position {
  epoch: string
  version: number
  executionNumber: number
  milliseconds: number
}

interface Repair {
  kept: SentMessage[]
  /** Whether every message since the last request was kept. */
  isComplete: boolean
  timer: Timer
  waitMilliseconds: number
}

export class Follower {
  readonly #options: FollowerOptions
  readonly #position: Position = { epoch: '', version: 0, executionNumber: 0, milliseconds: 0 }
  /** The latest epoch heard from. Earlier epochs' messages are ignored. */
  #latestEpoch = ''
  #status: Pick<MarketStatus, 'live' | 'reason'> = { live: false, reason: '' }
  /** Defined only while a state is awaited. */
  #repair: Repair | undefined
  /** Whether executions that arrived before the first state were dropped. */
  #hasDropped = false
  /** A requested commit has to be later than this time, or 0. Undefined while none is requested. */
  #wantedLaterThan: number | undefined
  #isWithdrawn = false
  /** Whether the market's sequencer is in this process. */
  #isLeading = false
  /** The shown book's epoch. Empty while no book is shown. */
  #bookEpoch = ''
  /** When the market became stale. Undefined while it is live. */
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
    // Requests a running market now, without waiting for its next heartbeat.
    this.#beginRepair([])
    this.#endSubscription = bus.subscribe(market, (message) => this.#note(message))
    this.#endService = this.#serve()
  }

  /** Whether the market is followed without a gap, or written here. */
  get isCurrent(): boolean {
    return (this.#hasContact || this.#isLeading) && this.#repair === undefined && this.#position.version > 0
  }

  /** Whether its sequencer is heard from or runs in this process, and its book is not withdrawn here. */
  get isHeard(): boolean {
    return this.#isLeading || (this.#hasContact && !this.#isWithdrawn)
  }

  /** From now on this process writes the market. Must be called before the market's sequencer starts. */
  lead(): void {
    this.#isLeading = true
    this.#endRepair()
    this.#endService()
  }

  /** Another process writes the market again. Must be called after this process's sequencer has ended. */
  follow(): void {
    this.#isLeading = false
    this.#endService = this.#serve()
    // The next leader gets the full contact time before the market counts as stale.
    this.#noteContact()
    this.#beginRepair([])
  }

  /** Takes one tick's messages, in publishing order. */
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
    // The sequencer has committed nothing yet: its first commit comes next.
    if (version === 0) this.#publishStatus(live, reason)
    if (version === 0 || this.#repair !== undefined) return
    if (epoch !== this.#position.epoch || version > this.#position.version || this.#isWithdrawn) {
      this.#beginRepair([])
      return
    }
    if (this.#wantedLaterThan !== undefined) this.#options.requestCommit(this.#wantedLaterThan)
    // Only a status was lost.
    if (version === this.#position.version) this.#publishStatus(live, reason)
  }

  /** Takes the answer to a request. A late or unrequested answer is ignored. */
  onState(state: MarketState): void {
    if (this.#repair === undefined) return
    if (!this.#isFollowed(state.epoch)) {
      this.#takeEnd(state)
      return
    }
    this.#noteContact()
    const { epoch, version, milliseconds } = this.#position
    const isSame = state.epoch === epoch && state.version === version && !this.#isWithdrawn
    // Time never goes back. The request is repeated, and the sequencer moves past the time in it.
    if (!isSame && state.milliseconds <= milliseconds) return
    // The first message heard from a later epoch has ended the repair.
    const { kept, isComplete }: Pick<Repair, 'kept' | 'isComplete'> = this.#repair ?? { kept: [], isComplete: true }
    this.#endRepair()
    if (isSame) {
      this.#publishStatus(state.live, state.reason)
    } else {
      this.#options.metrics.repaired()
      const isFirst = this.#position.version === 0
      this.#options.bus.publish(isFirst ? firstState(state, kept, isComplete && !this.#hasDropped) : state)
    }
    this.#replay(state, kept)
    if (!isComplete && this.#repair === undefined) this.#beginRepair([])
  }

  /** Publishes the ended epoch's last executions. Its last book is not known, so the shown one is stale. */
  #takeEnd(state: MarketState): void {
    const { epoch, executionNumber, milliseconds } = this.#position
    const isEnd = !this.#isLeading && !state.hasBook && state.epoch === epoch && epoch < this.#latestEpoch
    if (!isEnd || state.executionNumber <= executionNumber) return
    // Must be later than a book withdrawn here meanwhile.
    const later = { milliseconds: Math.max(state.milliseconds, milliseconds + 1) }
    const reason = this.#status.live ? NO_LAST_BOOK : this.#status.reason
    this.#options.bus.publish({ ...state, ...later, live: false, reason })
  }

  /** Publishes that the market is stale when nothing has been heard for a while, and withdraws its book in time. */
  checkContact(): void {
    const now = this.#options.clock.monotonicMilliseconds()
    if (!this.#isLeading && now - this.#contactMilliseconds > CONTACT_MILLISECONDS_MAX) {
      this.#hasContact = false
      if (this.#position.version > 0) this.#publishStatus(false, NO_CONTACT)
    }
    const { withdrawAfterMilliseconds = Number.POSITIVE_INFINITY } = this.#options
    if (now - (this.#staleMilliseconds ?? now) >= withdrawAfterMilliseconds) this.#withdrawUnlessHeard()
  }

  /** Withdraws the wrong book and requests the market's state. */
  startOver(): void {
    if (this.#isLeading) return
    this.#publishStatus(false, WRONG_BOOK)
    this.#withdraw()
    this.#endRepair()
    this.#beginRepair([])
  }

  /** Repeats a pending request now, because it cannot have arrived. */
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

  /** Also sees the messages that a sequencer in this process publishes. */
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

  /** Whether the link's messages of an epoch count: it must be the latest one, and not written here. */
  #isFollowed(epoch: string): boolean {
    if (epoch > this.#latestEpoch) {
      this.#latestEpoch = epoch
      this.#noteDropped(this.#repair?.kept)
      // Requests to an earlier epoch are no longer needed.
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

  #noteDropped(kept: readonly SentMessage[] = []): void {
    this.#hasDropped ||= kept.some((message) => message.type === 'commit' && message.executions.length > 0)
  }

  #keep(message: SentMessage): void {
    const repair = this.#repair
    if (repair === undefined) return
    if (repair.kept.length < KEPT_MESSAGES_MAX) repair.kept.push(message)
    else repair.isComplete = false
  }

  /** Takes the kept messages that are later than the state. */
  #replay(state: MarketState, kept: readonly SentMessage[]): void {
    for (const message of kept) {
      if (message.epoch !== this.#latestEpoch) continue
      // At the state's version, only a live book's loss can be later than the state.
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
    // While nothing is known about a market, it is requested at once: clients wait for it.
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
      this.#noteDropped(repair.kept)
      // The kept messages have a gap. The messages after this request may be complete again.
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
    // No process could answer the earlier requests, and their next repetition may be seconds away.
    if (isBack) this.requestAgain()
  }

  /** A sequencer that is heard from withdraws its own book. */
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
    // This process's sequencer has to move past that time.
    if (this.#isLeading) bus.requestCommit(market, milliseconds)
  }
}

/**
 * A follower's first state, with the executions in the commits up to it that arrived before it. They are incomplete when
 * one of these commits is missing.
 */
function firstState(state: MarketState, kept: readonly SentMessage[], isComplete: boolean): MarketState {
  const isPart = (message: SentMessage): message is Commit =>
    message.type === 'commit' && message.epoch === state.epoch && message.version <= state.version
  const commits = kept.filter(isPart)
  const isChain = commits.every(({ version, missedAt }, place) => {
    return missedAt === undefined && version + 1 === (commits[place + 1]?.version ?? state.version + 1)
  })
  if (!isComplete || !isChain) return { ...state, executions: [], isIncomplete: true }
  const executions = commits.flatMap(({ executions, version, milliseconds }) =>
    executions.map((execution) => ({ execution, version, commitMilliseconds: milliseconds })),
  )
  return { ...state, executions }
}
