/**
 * Turns the messages of sequencers into entries of a recording: one entry per commit that changes anything, one per
 * loss of a book. The withdrawal of a lost book is not recorded, because the replaying service withdraws it by its own
 * settings. It keeps every book, so that it can record whole ones: when a market becomes live, and for keyframes. Times
 * are the wall clock's at the start plus the monotonic time since: setting the wall clock does not stretch a recording.
 */
import type { Clock } from '../base/clock.ts'
import type { Bus, Commit, MarketMessage } from '../channel/bus.ts'
import { RecordedState } from '../feed/replay/recorded-state.ts'
import type { RecordingWriter } from '../feed/replay/writer.ts'
import type { MarketDefinition, MarketEvent } from '../market/event.ts'

export interface CommitRecorderOptions {
  /** In the order of the recording's header. */
  readonly markets: readonly MarketDefinition[]
  readonly bus: Bus
  readonly clock: Clock
  readonly writer: Pick<RecordingWriter, 'write' | 'writeKeyframe'>
}

interface Followed {
  readonly index: number
  readonly state: RecordedState
  /** The last commit of this tick: the message after it shows whether a snapshot made it. */
  held: Commit | undefined
}

export class CommitRecorder {
  readonly #options: CommitRecorderOptions
  readonly #markets: readonly Followed[]
  readonly #endSubscriptions: readonly (() => void)[]
  readonly #startWallMilliseconds: number
  readonly #startMonotonicMilliseconds: number
  #isReleaseScheduled = false

  constructor(options: CommitRecorderOptions) {
    const { markets, bus, clock } = options
    this.#options = options
    this.#startWallMilliseconds = clock.wallInstant().milliseconds
    this.#startMonotonicMilliseconds = clock.monotonicMilliseconds()
    this.#markets = markets.map((_, index) => ({ index, state: new RecordedState(''), held: undefined }))
    this.#endSubscriptions = this.#markets.map((followed) => {
      const { symbol } = markets[followed.index] as MarketDefinition
      return bus.subscribe(symbol, (message) => this.#follow(followed, message))
    })
  }

  /** Writes the state of every market that has published something, so that a replay can begin here. */
  writeKeyframe(): void {
    this.#releaseAll()
    const states = this.#markets.flatMap(({ index, state }) =>
      state.eventsByTick().map((events) => [index, events] as const),
    )
    this.#options.writer.writeKeyframe(this.#now(), states)
  }

  stop(): void {
    for (const end of this.#endSubscriptions) end()
    this.#releaseAll()
  }

  #follow(followed: Followed, message: MarketMessage): void {
    if (message.type === 'status' && message.live) {
      this.#restore(followed)
      return
    }
    this.#release(followed)
    if (message.type === 'status') {
      this.#record(followed, [{ type: 'lost', reason: message.reason }])
      return
    }
    followed.held = message
    if (this.#isReleaseScheduled) return
    this.#isReleaseScheduled = true
    this.#options.clock.endOfTick(() => this.#releaseAll())
  }

  /** The held commit was made by a snapshot. */
  #restore(followed: Followed): void {
    const { held, state } = followed
    followed.held = undefined
    const levels = [...state.levels(), ...(held?.changes ?? [])]
    state.apply([{ type: 'snapshot', levels }])
    const executions = held === undefined ? [] : eventsOf(held, [])
    this.#write(followed, [{ type: 'snapshot', levels: state.levels() }, ...executions])
  }

  #releaseAll(): void {
    this.#isReleaseScheduled = false
    for (const followed of this.#markets) this.#release(followed)
  }

  /** The held commit was an ordinary one. */
  #release(followed: Followed): void {
    const { held } = followed
    followed.held = undefined
    if (held === undefined) return
    if (held.withdraws) followed.state.withdraw()
    this.#record(followed, eventsOf(held, held.withdraws ? [] : held.changes))
  }

  #record(followed: Followed, events: readonly MarketEvent[]): void {
    followed.state.apply(events)
    this.#write(followed, events)
  }

  #write({ index }: Followed, events: readonly MarketEvent[]): void {
    if (events.length > 0) this.#options.writer.write(index, this.#now(), events)
  }

  #now(): number {
    const passed = this.#options.clock.monotonicMilliseconds() - this.#startMonotonicMilliseconds
    return this.#startWallMilliseconds + Math.floor(passed)
  }
}

/** The events that make a sequencer commit the same; none for a commit that was only requested. */
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
