/**
 * Plays one recording to the markets that name it. What one entry says is offered within one turn, and the next of that
 * market at least a millisecond after that turn has ended, so that every recorded commit becomes one commit again,
 * however fast the recording is played. All markets of a file share one playhead. It never skips an entry: when it
 * cannot keep up it is late, and says so.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { MarketEvent } from '../../market/event.ts'
import type { SourceMarket } from '../source.ts'
import { RecordingCursor } from './cursor.ts'
import { openRecording, type RecordingReader } from './reader.ts'
import { RecordedState } from './recorded-state.ts'
import type { RecordedEntry, RecordedMarket } from './recording.ts'
import { recordedIndex, rescaledEvent } from './rescaled-event.ts'
import { TurnPause } from './turn-pause.ts'

export interface PlayerOptions {
  readonly path: string
  /** How many times as fast as it was recorded. */
  readonly speed: number
  /** Where to begin: milliseconds after the first entry. */
  readonly fromMilliseconds: number
  /** Begin again at the end. */
  readonly loops: boolean
  readonly clock: Clock
  readonly log: Log
}

/** A book that was refused is refused again: there is no other, and asking must not keep the process busy. */
const REBUILD_MILLISECONDS = 1_000
const LOOP_PAUSE_MILLISECONDS = 1_000
/** Lateness that is worth telling. */
const LATE_MILLISECONDS = 2_000

/** A market of ours that reads one of the recording. */
interface Listener {
  readonly fed: SourceMarket
  /** Index of the market in the recording; undefined as long as it is not known, or when there is none for it. */
  index: number | undefined
  /** Why the market cannot be fed from the recording. */
  refusal: string | undefined
  /** Whether it has to be told the whole state. */
  isOwed: boolean
  /** What is left of that: one element a turn. */
  turns: MarketEvent[][]
  rebuildTimer: Timer | undefined
}

export class Player {
  readonly #options: PlayerOptions
  readonly #listeners = new Map<SourceMarket, Listener>()
  #header: readonly RecordedMarket[] = []
  #states: RecordedState[] = []
  /** Set when the recording cannot be played: why. */
  #failure: string | undefined
  #isOpen = false
  #isStopped = false
  /** Recorded markets that were offered something in this turn. */
  readonly #offered = new Set<number>()
  /** How late the last entry was. */
  #lateMilliseconds = 0
  #pause: TurnPause | undefined
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
    const listener = { fed, index: undefined, refusal: undefined, isOwed: false, turns: [], rebuildTimer: undefined }
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
      this.#owe(listener)
    })
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
    this.#forget(`the recording ${path} has not come to this market yet`)
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
    const cursor = new RecordingCursor(reader, fromMilliseconds === 0 ? Number.NEGATIVE_INFINITY : start)
    let entries: readonly RecordedEntry[] | undefined = await this.#seek(cursor, start)
    this.#introduceAll()
    const origin = clock.monotonicMilliseconds()
    while (entries !== undefined && !this.#isStopped) {
      await this.#play(entries, (atMilliseconds) => origin + (atMilliseconds - start) / speed)
      const step = await cursor.next()
      if (step?.kind === 'gap') log.warn({ path, reason: step.reason }, 'recording is damaged')
      entries = step?.kind === 'gap' ? this.#lossOfAll(step.reason) : step?.entries
    }
  }

  /** Takes over what was before the start, and returns what was read beyond it; undefined when nothing is left. */
  async #seek(cursor: RecordingCursor, start: number): Promise<readonly RecordedEntry[] | undefined> {
    for (;;) {
      const step = await cursor.next()
      if (step === undefined || this.#isStopped) return undefined
      const entries = step.kind === 'gap' ? this.#lossOfAll(step.reason) : step.entries
      const before = entries.findIndex(({ atMilliseconds }) => atMilliseconds >= start)
      const past = before < 0 ? entries : entries.slice(0, before)
      for (const { market, events } of past) this.#states[market]?.apply(events)
      if (before >= 0) return entries.slice(before)
    }
  }

  /** Entries that say of every market that nobody vouches for its book any more; due at once. */
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
      this.#states[entry.market]?.apply(entry.events)
      this.#offered.add(entry.market)
      for (const listener of this.#listeners.values()) {
        if (listener.index === entry.market && listener.refusal === undefined) this.#tell(listener, entry.events)
      }
    }
  }

  /**
   * Waits for a monotonic time, and until the market was offered nothing in this turn; tells on the way what listeners
   * are owed. Over at once when the player is stopped.
   */
  async #until(dueMilliseconds: number, market?: number): Promise<void> {
    const { clock } = this.#options
    while (!this.#isStopped) {
      const isSettled = this.#payOwed()
      const wait = dueMilliseconds - clock.monotonicMilliseconds()
      if (isSettled && wait <= 0 && (market === undefined || !this.#offered.has(market))) return
      await this.#pauseFor(isSettled ? wait : 0)
    }
  }

  /** Tells everyone who is owed something the part of this turn; returns whether nobody was. */
  #payOwed(): boolean {
    let isSettled = true
    for (const listener of this.#listeners.values()) {
      if (listener.isOwed) listener.turns = this.#stateOf(listener)
      listener.isOwed = false
      const events = listener.turns.shift()
      if (events === undefined) continue
      isSettled = false
      this.#tell(listener, events)
    }
    return isSettled
  }

  #stateOf({ index, refusal }: Listener): MarketEvent[][] {
    if (refusal !== undefined) return [[{ type: 'lost', reason: refusal }]]
    return this.#states[index ?? -1]?.turns() ?? []
  }

  #tell(listener: Listener, events: readonly MarketEvent[]): void {
    const { fed, index } = listener
    const recorded = this.#header[index ?? -1]?.definition
    for (const event of events) {
      if (this.#isStopped || !this.#listeners.has(fed)) return
      const rescaled = recorded === undefined ? event : rescaledEvent(event, recorded, fed.market)
      if (rescaled === undefined) {
        const { symbol, priceDecimals } = fed.market
        listener.refusal = `the recording ${this.#options.path} does not fit ${symbol}: ${priceDecimals} decimals make its prices too large`
        this.#owe(listener)
        return
      }
      fed.listener(rescaled)
    }
  }

  /** Ends the turn; resumes after the wait, or soon when somebody is owed something. */
  async #pauseFor(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#pause = new TurnPause(this.#options.clock, milliseconds, resolve)
    })
    this.#pause = undefined
    this.#offered.clear()
  }

  /** Every market of the recording begins anew. */
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
    this.#owe(listener)
  }

  #owe(listener: Listener): void {
    listener.isOwed = true
    this.#pause?.cutShort()
  }
}
