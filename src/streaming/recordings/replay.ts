/**
 * Recordings as a source: a market with the source `replay:FILE` is fed with the entries recorded under its symbol.
 * Each file is played once for all its markets. It is closed when no market names it any more, and starts over when it
 * is named again. It opens no connection. Commit origins and instrument states are replayed too, where they were
 * recorded.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Instrument, MarketEvent } from '../market/event.ts'
import type { Source, SourceMarket } from '../sources/source.ts'
import { openRecording, type RecordingReader } from './reader.ts'
import { RecordedState } from './recorded-state.ts'
import { type RecordedEntry, type RecordedMarket, recordedIndex, rescaledEvent } from './recording.ts'
import { RecordingSteps } from './steps.ts'
import { TickPause } from './tick-pause.ts'

interface ReplayOptions {
  readonly markets: readonly SourceMarket[]
  /** Playback speed, as a factor. */
  readonly speed: number
  /** First entry to play, in seconds after the first recorded one. */
  readonly fromSeconds: number
  /** Start over at a file's end. */
  readonly loops: boolean
  readonly clock: Clock
  readonly log: Log
}

export function createReplay({ markets, speed, fromSeconds, loops, clock, log }: ReplayOptions): Source {
  const players = new Map<string, Player>()
  const ending = new Set<Promise<void>>()
  const play = (path: string, fed: readonly SourceMarket[]): void => {
    const options = { path, speed, fromMilliseconds: Math.round(fromSeconds * 1_000), loops, clock, log }
    players.set(path, new Player(options, fed))
  }
  return {
    start() {
      const paths = new Set(markets.map(({ venueSymbol }) => venueSymbol))
      // Markets that start together receive the whole recording.
      for (const path of paths)
        play(
          path,
          markets.filter(({ venueSymbol }) => venueSymbol === path),
        )
    },
    add(market) {
      const player = players.get(market.venueSymbol)
      if (player === undefined) play(market.venueSymbol, [market])
      else player.add(market)
    },
    remove(market) {
      const player = players.get(market.venueSymbol)
      player?.remove(market)
      if (player === undefined || !player.isIdle) return
      players.delete(market.venueSymbol)
      const end = player.stop().finally(() => ending.delete(end))
      ending.add(end)
    },
    async stop() {
      await Promise.all([...ending, ...[...players.values()].map((player) => player.stop())])
    },
    rebuild(market) {
      players.get(market.venueSymbol)?.rebuild(market)
    },
    instrument(market) {
      return players.get(market.venueSymbol)?.instrument(market)
    },
    proof() {
      return 'NONE'
    },
    notices(market) {
      return players.get(market.venueSymbol)?.notices() ?? []
    },
  }
}

interface PlayerOptions {
  readonly path: string
  /** Playback speed, as a factor. */
  readonly speed: number
  /** First entry to play, in milliseconds after the first recorded one. */
  readonly fromMilliseconds: number
  /** Start over at the end. */
  readonly loops: boolean
  readonly clock: Clock
  readonly log: Log
}

/**
 * Delay before a requested rebuild: the recording has no other book, so repeated requests must not occupy the process.
 */
const REBUILD_MILLISECONDS = 1_000
const LOOP_PAUSE_MILLISECONDS = 1_000
/** Delay above which the player reports that it is late. */
const LATE_MILLISECONDS = 2_000

/** A market fed from the recording. */
interface Listener {
  readonly fed: SourceMarket
  /** The market's index in the recording. Undefined until known, or when the recording does not have it. */
  index: number | undefined
  /** Why the market cannot be fed from the recording. */
  refusal: string | undefined
  /** Whether it still has to receive the whole state. */
  isStatePending: boolean
  /** The state's remaining events, by tick. */
  ticks: MarketEvent[][]
  rebuildTimer: Timer | undefined
  /** As it was reported last. */
  instrument: Instrument | undefined
}

/**
 * Plays one recording to the markets that name it. One entry's events are offered within one event-loop tick, and the
 * market's next entry at least a millisecond after the end of this tick. So every recorded commit becomes one commit
 * again at any speed. All markets on a file share one playback position. No entry is ever skipped: a player that cannot
 * keep up is late and reports it.
 */
class Player {
  readonly #options: PlayerOptions
  readonly #listeners = new Map<SourceMarket, Listener>()
  #header: readonly RecordedMarket[] = []
  #states: RecordedState[] = []
  /** Why the recording cannot be played. */
  #failure: string | undefined
  #isOpen = false
  #isStopped = false
  /** Recorded markets that received an entry in this tick. */
  readonly #offered = new Set<number>()
  /** The last entry's delay. */
  #lateMilliseconds = 0
  #pause: TickPause | undefined
  readonly #ended: Promise<void>

  constructor(options: PlayerOptions, markets: readonly SourceMarket[]) {
    this.#options = options
    for (const market of markets) this.add(market)
    this.#ended = this.#run()
  }

  get isIdle(): boolean {
    return this.#listeners.size === 0
  }

  add(fed: SourceMarket): void {
    const listener = {
      fed,
      index: undefined,
      refusal: undefined,
      isStatePending: false,
      ticks: [],
      rebuildTimer: undefined,
      instrument: undefined,
    }
    this.#listeners.set(fed, listener)
    if (this.#isOpen || this.#failure !== undefined) this.#introduce(listener)
  }

  remove(fed: SourceMarket): void {
    this.#listeners.get(fed)?.rebuildTimer?.cancel()
    this.#listeners.delete(fed)
  }

  rebuild(fed: SourceMarket): void {
    const listener = this.#listeners.get(fed)
    if (listener === undefined || listener.rebuildTimer !== undefined) return
    listener.rebuildTimer = this.#options.clock.schedule(REBUILD_MILLISECONDS, () => {
      listener.rebuildTimer = undefined
      this.#requestState(listener)
    })
  }

  /** Instrument state at the current position in the recording. */
  instrument(fed: SourceMarket): Instrument | undefined {
    const listener = this.#listeners.get(fed)
    if (listener === undefined || listener.refusal !== undefined) return undefined
    return this.#states[listener.index ?? -1]?.instrument
  }

  notices(): readonly string[] {
    if (this.#lateMilliseconds < LATE_MILLISECONDS) return []
    const seconds = Math.floor(this.#lateMilliseconds / 1_000)
    return [`the replay of ${this.#options.path} is ${seconds} s late: speed ${this.#options.speed} is too fast for it`]
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const fed of [...this.#listeners.keys()]) this.remove(fed)
    this.#pause?.end()
    await this.#ended
  }

  async #run(): Promise<void> {
    const reader = await this.#open()
    try {
      if (reader !== undefined) await this.#playAll(reader)
      while (!this.#isStopped) await this.#until(Number.POSITIVE_INFINITY)
    } finally {
      await reader?.close()
    }
  }

  async #open(): Promise<RecordingReader | undefined> {
    const { path, log } = this.#options
    try {
      const reader = await openRecording(path)
      this.#header = reader.header.markets
      this.#isOpen = true
      const seconds = (reader.lastMilliseconds - reader.firstMilliseconds) / 1_000
      log.info({ path, markets: this.#header.map(({ definition }) => definition.symbol), seconds }, 'recording opened')
      if (reader.tornBytes > 0) log.warn({ path, torn_bytes: reader.tornBytes }, 'recording has a torn end')
      return reader
    } catch (error) {
      this.#failure = (error as Error).message
      log.error({ path, reason: this.#failure }, 'recording cannot be played')
      this.#introduceAll()
      return undefined
    }
  }

  async #playAll(reader: RecordingReader): Promise<void> {
    const { path, loops, clock, log } = this.#options
    this.#forget(`the recording ${path} has no entry for this market yet`)
    for (;;) {
      await this.#playOnce(reader)
      if (this.#isStopped || !loops) break
      log.info({ path }, 'recording starts over')
      await this.#until(clock.monotonicMilliseconds() + LOOP_PAUSE_MILLISECONDS)
      this.#forget(`the recording ${path} starts over`)
    }
    if (this.#isStopped) return
    log.info({ path }, 'recording has ended')
    await this.#play(this.#lossOfAll(`the recording ${path} has ended`))
  }

  async #playOnce(reader: RecordingReader): Promise<void> {
    const { clock, speed, fromMilliseconds, log, path } = this.#options
    const start = reader.firstMilliseconds + fromMilliseconds
    const steps = new RecordingSteps(reader, fromMilliseconds === 0 ? Number.NEGATIVE_INFINITY : start)
    let entries: readonly RecordedEntry[] | undefined = await this.#seek(steps, start)
    this.#introduceAll()
    const origin = clock.monotonicMilliseconds()
    while (entries !== undefined && !this.#isStopped) {
      await this.#play(entries, (atMilliseconds) => origin + (atMilliseconds - start) / speed)
      const step = await steps.next()
      if (step?.kind === 'gap') log.warn({ path, reason: step.reason }, 'recording is damaged')
      entries = step?.kind === 'gap' ? this.#lossOfAll(step.reason) : step?.entries
    }
  }

  /**
   * Applies the entries before the start to the states. Returns the entries read beyond it. Undefined at the
   * recording's end.
   */
  async #seek(steps: RecordingSteps, start: number): Promise<readonly RecordedEntry[] | undefined> {
    for (;;) {
      const step = await steps.next()
      if (step === undefined || this.#isStopped) return undefined
      const entries = step.kind === 'gap' ? this.#lossOfAll(step.reason) : step.entries
      const before = entries.findIndex(({ atMilliseconds }) => atMilliseconds >= start)
      const past = before < 0 ? entries : entries.slice(0, before)
      for (const entry of past) this.#states[entry.market]?.play(entry)
      if (before >= 0) return entries.slice(before)
    }
  }

  /** Entries that report a loss in every market, due at once. */
  #lossOfAll(reason: string): RecordedEntry[] {
    const events: readonly MarketEvent[] = [{ type: 'lost', reason }]
    return this.#header.map((_, market) => ({ market, atMilliseconds: 0, events }))
  }

  async #play(entries: readonly RecordedEntry[], dueMilliseconds: (at: number) => number = () => 0): Promise<void> {
    const { clock } = this.#options
    for (const entry of entries) {
      const due = dueMilliseconds(entry.atMilliseconds)
      await this.#until(due, entry.market)
      if (this.#isStopped) return
      if (entry.atMilliseconds > 0) this.#lateMilliseconds = clock.monotonicMilliseconds() - due
      this.#states[entry.market]?.play(entry)
      this.#offered.add(entry.market)
      const events = withOrigin(entry)
      for (const listener of this.#listeners.values()) {
        if (listener.index === entry.market && listener.refusal === undefined) this.#send(listener, events)
      }
    }
  }

  /**
   * Waits until a monotonic time, and until the market has received nothing in the current tick. Meanwhile, it sends
   * pending states to the markets. Ends at once when the player is stopped.
   */
  async #until(dueMilliseconds: number, market?: number): Promise<void> {
    const { clock } = this.#options
    while (!this.#isStopped) {
      const isSettled = this.#sendPending()
      const wait = dueMilliseconds - clock.monotonicMilliseconds()
      if (isSettled && wait <= 0 && (market === undefined || !this.#offered.has(market))) return
      await this.#pauseFor(isSettled ? wait : 0)
    }
  }

  /** Sends this tick's events to each market with a pending state. Returns whether none was pending. */
  #sendPending(): boolean {
    let isSettled = true
    for (const listener of this.#listeners.values()) {
      if (listener.isStatePending) listener.ticks = this.#stateOf(listener)
      listener.isStatePending = false
      const events = listener.ticks.shift()
      if (events === undefined) continue
      isSettled = false
      this.#send(listener, events)
    }
    return isSettled
  }

  #stateOf({ index, refusal }: Listener): MarketEvent[][] {
    if (refusal !== undefined) return [[{ type: 'lost', reason: refusal }]]
    return this.#states[index ?? -1]?.eventsByTick() ?? []
  }

  #send(listener: Listener, events: readonly MarketEvent[]): void {
    const { fed, index } = listener
    const recorded = this.#header[index ?? -1]?.definition
    for (const event of events) {
      if (this.#isStopped || !this.#listeners.has(fed)) return
      const rescaled = recorded === undefined ? event : rescaledEvent(event, recorded, fed.market)
      if (rescaled === undefined) {
        const { symbol, priceDecimals } = fed.market
        listener.refusal = `the recording ${this.#options.path} does not fit ${symbol}: ${priceDecimals} decimals make its prices too large`
        this.#requestState(listener)
        return
      }
      fed.listener(rescaled)
    }
    this.#noteInstrument(listener)
  }

  /** In the events' tick, so that both are one commit, as they were when recorded. */
  #noteInstrument(listener: Listener): void {
    const { fed, instrument: before } = listener
    listener.instrument = this.instrument(fed)
    if (listener.instrument !== before) fed.onInstrument?.()
  }

  /** Ends the tick. Continues after the delay, or earlier when a state becomes pending. */
  async #pauseFor(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#pause = new TickPause(this.#options.clock, milliseconds, resolve)
    })
    this.#pause = undefined
    this.#offered.clear()
  }

  /** Resets the state of every market. */
  #forget(reason: string): void {
    this.#states = this.#header.map(() => new RecordedState(reason))
  }

  #introduceAll(): void {
    for (const listener of this.#listeners.values()) this.#introduce(listener)
  }

  #introduce(listener: Listener): void {
    const found = this.#failure ?? recordedIndex(this.#options.path, this.#header, listener.fed.market)
    listener.index = typeof found === 'number' ? found : undefined
    listener.refusal = typeof found === 'number' ? undefined : found
    this.#requestState(listener)
  }

  #requestState(listener: Listener): void {
    listener.isStatePending = true
    this.#pause?.cutShort()
  }
}

/**
 * An entry's events, from which a sequencer makes a commit with the same origin. A miss has no origin, so an update
 * without content carries it.
 */
function withOrigin({ events, origin }: RecordedEntry): readonly MarketEvent[] {
  if (origin === undefined) return events
  const isMissOnly = events.every(({ type }) => type === 'missed')
  const sent: readonly MarketEvent[] = isMissOnly
    ? [...events, { type: 'update', changes: [], executions: [] }]
    : events
  return sent.map((event) => (event.type === 'snapshot' || event.type === 'update' ? { ...event, origin } : event))
}
