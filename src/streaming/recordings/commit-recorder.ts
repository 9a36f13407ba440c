/**
 * Turns the sequencers' messages into recording entries: one per commit, with its version and time, and one per loss of
 * a book. A replay does not play withdrawals, because the replaying service withdraws a lost book by its own settings.
 * They are recorded as facts about the past. It keeps every book so that it can record whole ones: when a market
 * becomes live, and for keyframes. A keyframe with large books is encoded in several ticks. Messages published
 * meanwhile wait and are written after it, so the books need no copy. Times are the wall clock at the start or the last
 * `anchor`, plus the monotonic time since: setting the wall clock does not stretch a recording.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../platform/base/clock.ts'
import type { MarketDefinition, MarketEvent } from '../market/event.ts'
import type { Bus, Commit, MarketMessage, MarketState } from '../sequencing/bus.ts'
import { RecordedState } from './recorded-state.ts'
import type { EntryFacts, RecordedCommit } from './recording.ts'
import type { KeyframeState, RecordingWriter } from './writer.ts'

export interface CommitRecorderOptions {
  /** In the same order as in the recording's header. */
  readonly markets: readonly MarketDefinition[]
  readonly bus: Bus
  readonly clock: Clock
  readonly writer: Pick<RecordingWriter, 'write'> & {
    /** The steps from `RecordingWriter.keyframe`. */
    keyframe(...args: Parameters<RecordingWriter['keyframe']>): Iterable<void>
  }
}

/**
 * Levels and executions that may wait for a keyframe: some milliseconds of work. With more, the rest is encoded at
 * once.
 */
const WAITING_MAX = 10_000
/** An entry's cost besides its levels and executions, in the same unit. */
const ENTRY_COST = 10

interface Followed {
  readonly definition: MarketDefinition
  /** Position in the header. */
  index: number
  readonly state: RecordedState
  /** The last commit in this tick. The message after it shows whether a snapshot made it. */
  held: Commit | undefined
  /** The last execution's epoch and number, to recognise executions missing from a state. */
  execution: { readonly epoch: string; readonly number: number } | undefined
  readonly end: () => void
}

export class CommitRecorder {
  readonly #options: Omit<CommitRecorderOptions, 'markets'>
  #markets: readonly Followed[] = []
  #startWallMilliseconds = 0
  #startMonotonicMilliseconds = 0
  #isReleaseScheduled = false
  /** A keyframe's remaining steps. */
  #keyframe: Iterator<void> | undefined
  /** What was published since it began, in order. */
  #waiting: (() => void)[] = []
  #waitingCost = 0

  constructor({ markets, ...options }: CommitRecorderOptions) {
    this.#options = options
    this.anchor()
    this.change(markets)
  }

  /** The present time in the recording, milliseconds since the epoch. */
  get nowMilliseconds(): number {
    const passed = this.#options.clock.monotonicMilliseconds() - this.#startMonotonicMilliseconds
    return this.#startWallMilliseconds + Math.floor(passed)
  }

  /** Sets the times to the wall clock, where a new file begins: within a file they never go back. */
  anchor(): void {
    const { clock } = this.#options
    this.#startWallMilliseconds = clock.wallInstant().milliseconds
    this.#startMonotonicMilliseconds = clock.monotonicMilliseconds()
  }

  /**
   * Records another list of markets from now on, with the positions in a new file. A market keeps its state unless its
   * definition differs.
   */
  change(markets: readonly MarketDefinition[]): void {
    this.releaseAll()
    const before = new Map(this.#markets.map((followed) => [followed.definition.symbol, followed]))
    this.#markets = markets.map((definition, index) => {
      const known = before.get(definition.symbol)
      if (known === undefined || !isDeepStrictEqual(known.definition, definition)) return this.#start(definition, index)
      before.delete(definition.symbol)
      known.index = index
      return known
    })
    for (const { end } of before.values()) end()
  }

  /**
   * Writes every market's state, so that a replay can begin here: one part at once, and one in each following tick. A
   * market that has published nothing is not live.
   */
  writeKeyframe(): void {
    this.releaseAll()
    const states = this.#markets.flatMap(({ index, state }) =>
      state.keyframe().map(({ content, ...facts }): KeyframeState => [index, content, facts]),
    )
    const keyframe = this.#options.writer.keyframe(this.nowMilliseconds, states)[Symbol.iterator]()
    this.#keyframe = keyframe
    this.#continueKeyframe(keyframe)
  }

  /** Writes everything held back at once: the rest of a keyframe, and this tick's commits. */
  releaseAll(): void {
    this.#releaseTick()
    this.#finishKeyframe()
  }

  stop(): void {
    for (const { end } of this.#markets) end()
    this.releaseAll()
  }

  #start(definition: MarketDefinition, index: number): Followed {
    const state = new RecordedState('nothing was published yet', this.nowMilliseconds)
    const end = this.#options.bus.subscribe(definition.symbol, (message) => this.#follow(followed, message))
    const followed: Followed = { definition, index, state, held: undefined, execution: undefined, end }
    return followed
  }

  #continueKeyframe(keyframe: Iterator<void>): void {
    if (this.#keyframe !== keyframe) return
    if (keyframe.next().done === true) this.#endKeyframe()
    else this.#options.clock.endOfTick(() => this.#continueKeyframe(keyframe))
  }

  #finishKeyframe(): void {
    const keyframe = this.#keyframe
    if (keyframe === undefined) return
    while (keyframe.next().done !== true);
    this.#endKeyframe()
  }

  #endKeyframe(): void {
    const waiting = this.#waiting
    this.#keyframe = undefined
    this.#waiting = []
    this.#waitingCost = 0
    for (const write of waiting) write()
  }

  /** Applies and writes an entry: now, or after the keyframe being encoded, with the present time. */
  #inOrder(cost: number, write: (atMilliseconds: number) => void): void {
    const { nowMilliseconds } = this
    if (this.#keyframe === undefined) {
      write(nowMilliseconds)
      return
    }
    this.#waiting.push(() => write(nowMilliseconds))
    this.#waitingCost += ENTRY_COST + cost
    if (this.#waitingCost > WAITING_MAX) this.#finishKeyframe()
  }

  #releaseTick(): void {
    this.#isReleaseScheduled = false
    for (const followed of this.#markets) this.#release(followed)
  }

  #follow(followed: Followed, message: MarketMessage): void {
    if (message.type === 'status' && message.live) {
      this.#restore(followed)
      return
    }
    this.#release(followed)
    if (message.type === 'status') {
      this.#record(followed, [{ type: 'lost', reason: message.reason }], {})
      return
    }
    if (message.type === 'withdrawal') {
      this.#record(followed, [NOTHING], { withdrawn: true })
      return
    }
    if (message.type === 'state') {
      this.#recordState(followed, message)
      return
    }
    followed.execution = { epoch: message.epoch, number: message.executionNumber }
    followed.held = message
    if (this.#isReleaseScheduled) return
    this.#isReleaseScheduled = true
    this.#options.clock.endOfTick(() => this.#releaseTick())
  }

  /** A repair on the bus: the book at its version, and the executions that came with it. */
  #recordState(followed: Followed, state: MarketState): void {
    const { epoch, executionNumber, executions, hasBook, live, reason } = state
    const facts = factsOf(state)
    const events: MarketEvent[] = hasBook ? [{ type: 'snapshot', levels: state.levels }] : []
    const { execution } = followed
    const isComplete = execution?.epoch === epoch && executionNumber - executions.length <= execution.number
    if (execution !== undefined && !isComplete) {
      events.push({ type: 'missed', reason: 'executions were missed when this was recorded' })
    }
    const missed = isComplete ? executions.slice(executions.length - (executionNumber - execution.number)) : executions
    if (missed.length > 0) {
      events.push({ type: 'update', changes: [], executions: missed.map((kept) => kept.execution) })
    }
    followed.execution = { epoch, number: executionNumber }
    this.#record(followed, events.length > 0 ? events : [NOTHING], facts)
    if (!live) this.#record(followed, [{ type: 'lost', reason }], facts)
  }

  /** The held commit was made by a snapshot. */
  #restore(followed: Followed): void {
    const { held, state } = followed
    followed.held = undefined
    const executions = held === undefined ? [] : eventsOf(held, [])
    const facts = factsOf(held)
    this.#inOrder(costOf(executions) + (held?.changes.length ?? 0), (atMilliseconds) => {
      state.apply([{ type: 'snapshot', levels: [...state.levels(), ...(held?.changes ?? [])] }])
      this.#note(followed, executions, facts, atMilliseconds)
      this.#write(followed, [{ type: 'snapshot', levels: state.levels() }, ...executions], facts, atMilliseconds)
    })
  }

  /** The held commit was an ordinary one. */
  #release(followed: Followed): void {
    const { held } = followed
    followed.held = undefined
    if (held === undefined) return
    const events = eventsOf(held, held.withdraws ? [] : held.changes)
    // A commit without events has a version and a time too.
    this.#record(followed, events.length > 0 ? events : [NOTHING], factsOf(held))
  }

  #record(followed: Followed, events: readonly MarketEvent[], facts: EntryFacts): void {
    this.#inOrder(costOf(events), (atMilliseconds) => {
      this.#note(followed, events, facts, atMilliseconds)
      this.#write(followed, events, facts, atMilliseconds)
    })
  }

  #note({ index, state }: Followed, events: readonly MarketEvent[], facts: EntryFacts, atMilliseconds: number): void {
    state.follow({ market: index, atMilliseconds, events, ...facts })
  }

  #write({ index }: Followed, events: readonly MarketEvent[], facts: EntryFacts, atMilliseconds: number): void {
    this.#options.writer.write(index, atMilliseconds, events, facts)
  }
}

const NOTHING: MarketEvent = { type: 'update', changes: [], executions: [] }

function factsOf(commit: Commit | MarketState | undefined): EntryFacts {
  if (commit === undefined) return {}
  const { epoch, version, milliseconds, nanoseconds, origin } = commit
  const recorded: RecordedCommit = { epoch, version, milliseconds, nanoseconds }
  const isState = commit.type === 'state'
  const isWithdrawn = isState ? commit.isWithdrawn : commit.withdraws === true
  // A commit has the instrument state where it changed. A state always has it, if known.
  const instrument = isState ? (commit.instrument ?? null) : commit.instrument
  return {
    commit: recorded,
    ...(isWithdrawn ? { withdrawn: true } : {}),
    ...(origin === undefined ? {} : { origin }),
    ...(instrument === undefined ? {} : { instrument }),
  }
}

/** Levels and executions. */
function costOf(events: readonly MarketEvent[]): number {
  let cost = 0
  for (const event of events) {
    if (event.type === 'snapshot') cost += event.levels.length
    else if (event.type === 'update') cost += event.changes.length + event.executions.length
  }
  return cost
}

/** The events from which a sequencer makes the same commit. None for a commit without content. */
function eventsOf(commit: Commit, changes: Commit['changes']): MarketEvent[] {
  const { executions, missedAt, book, withdraws } = commit
  const events: MarketEvent[] = book === undefined || withdraws ? [] : [{ type: 'snapshot', levels: book }]
  const update = (changed: Commit['changes'], executed: Commit['executions']): void => {
    if (changed.length + executed.length > 0) events.push({ type: 'update', changes: changed, executions: executed })
  }
  update(changes, executions.slice(0, missedAt))
  if (missedAt !== undefined) {
    events.push({ type: 'missed', reason: 'executions were missed when this was recorded' })
    update([], executions.slice(missedAt))
  }
  return events
}
