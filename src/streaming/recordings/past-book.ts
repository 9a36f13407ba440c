/**
 * The market state published at a given time, read from the service's recording folder: the last commit at or before
 * the time, the book after it, and whether the book was live. It opens the file that covers the time, begins at the
 * keyframe before it, and reads no further than the time. It keeps no state.
 */
import type { Execution, Instrument, LevelChange, MarketDefinition } from '../market/event.ts'
import { ASK, BID } from '../market/event.ts'
import { openRecording, type RecordingReader } from './reader.ts'
import { RecordedState } from './recorded-state.ts'
import { type RecordedCommit, type RecordedEntry, UnwrittenRecording } from './recording.ts'
import { type FolderFile, HOUR_MILLISECONDS, listRecordings } from './recording-folder.ts'
import { RecordingSteps } from './steps.ts'

export interface PastBookRequest {
  readonly folder: string
  readonly symbol: string
  /** The time: milliseconds since the epoch, and nanoseconds (0..999999) inside the millisecond. */
  readonly milliseconds: number
  readonly nanoseconds: number
  /** Most levels per side. */
  readonly depth: number
  /** Most executions. */
  readonly executionsMax: number
}

/** An execution with its commit time, milliseconds since the epoch. */
export interface PastExecution extends Execution {
  readonly committedAtMilliseconds: number
}

export interface PastBook {
  readonly kind: 'found'
  readonly market: MarketDefinition
  /** Why the book was not live. Absent while it was. */
  readonly reason?: string
  /** When it was lost. Absent while it was live, and where the recording does not contain it. */
  readonly lostSinceMilliseconds?: number
  readonly isWithdrawn: boolean
  /** The last commit at or before the time. Absent when there was none. */
  readonly commit?: RecordedCommit
  /** The book's position in the publication. Absent where no publication feeds the market. */
  readonly origin?: string
  /** Instrument state. Absent while it was not known. */
  readonly instrument?: Instrument
  /** In book order, per side at most the market's published depth and the requested one. */
  readonly levels: readonly LevelChange[]
  /** Published levels, which can be more than `levels`. */
  readonly bidLevels: number
  readonly askLevels: number
  /** The last ones, the latest last. */
  readonly executions: readonly PastExecution[]
  /** Path to the recording. */
  readonly file: string
}

/** No recording contains the time. The nearest recorded times are in milliseconds since the epoch. */
export interface NotRecorded {
  readonly kind: 'not-recorded'
  readonly beforeMilliseconds?: number
  readonly afterMilliseconds?: number
  /** Why, where known: a full disk, damage, a market that was not configured. */
  readonly reason?: string
}

/**
 * Two files are adjacent without a gap when the second begins within this time. The recorder's clock and the system
 * clock drift apart within an hour.
 */
const JOIN_MILLISECONDS_MAX = 100
/** Entries are in commit order. Their own times can be this much before their commit times. */
const SKEW_MILLISECONDS_MAX = 5_000
/** Executions are read from at least this long before the time. */
const EXECUTIONS_MILLISECONDS = 60_000

/** @throws errors from `node:fs` */
export async function readPastBook(request: PastBookRequest): Promise<PastBook | NotRecorded> {
  const found = await findFile(request)
  if (!('reader' in found)) return found
  const { reader } = found
  try {
    return await readBook(reader, request)
  } finally {
    await reader.close()
  }
}

/** Opens the file that covers the time, or returns the nearest covered times. */
async function findFile(request: PastBookRequest): Promise<{ readonly reader: RecordingReader } | NotRecorded> {
  const { folder, milliseconds } = request
  const files = await listRecordings(folder)
  let after: RecordingReader | undefined
  let afterMilliseconds: number | undefined
  let reason: string | undefined
  for (const file of candidates(files, milliseconds)) {
    const reader = await openWritten(file.path)
    if (reader === undefined) continue
    const { firstMilliseconds: first, header } = reader
    // A file without a block states nothing.
    if (reader.blocks.length === 0) {
      await reader.close()
      continue
    }
    if (first > milliseconds) {
      await reader.close()
      after = reader
      afterMilliseconds = Math.min(first, afterMilliseconds ?? first)
      const { gap } = header
      if (gap !== undefined && gap.fromMilliseconds <= milliseconds) reason = gap.reason
      continue
    }
    const joins = after !== undefined && after.header.gap === undefined
    const end = joins && isJoined(reader, after as RecordingReader) ? (after?.firstMilliseconds ?? 0) - 1 : undefined
    const last = end ?? reader.lastMilliseconds
    if (milliseconds <= last) return { reader }
    await reader.close()
    return notRecorded(last, afterMilliseconds, reason)
  }
  return notRecorded(undefined, afterMilliseconds, reason)
}

/** Undefined for a file that a power loss left without its header. */
async function openWritten(path: string): Promise<RecordingReader | undefined> {
  try {
    return await openRecording(path)
  } catch (error) {
    if (error instanceof UnwrittenRecording) return undefined
    throw error
  }
}

/** Backwards from the latest file that can begin after the time. A service that is restarted often has many per hour. */
function candidates(files: readonly FolderFile[], milliseconds: number): FolderFile[] {
  const later = files.findIndex(({ hourMilliseconds }) => hourMilliseconds > milliseconds)
  // The first file after the time's hour names the gap before it.
  const end = later < 0 ? files.length : later + 1
  return files.slice(0, end).reverse()
}

function isJoined(reader: RecordingReader, next: RecordingReader): boolean {
  return next.firstMilliseconds - reader.lastMilliseconds <= JOIN_MILLISECONDS_MAX
}

function notRecorded(before: number | undefined, after: number | undefined, reason: string | undefined): NotRecorded {
  return {
    kind: 'not-recorded',
    ...(before === undefined ? {} : { beforeMilliseconds: before }),
    ...(after === undefined ? {} : { afterMilliseconds: after }),
    ...(reason === undefined ? {} : { reason }),
  }
}

async function readBook(reader: RecordingReader, request: PastBookRequest): Promise<PastBook | NotRecorded> {
  const { symbol, milliseconds, executionsMax } = request
  const index = reader.header.markets.findIndex(({ definition }) => definition.symbol === symbol)
  if (index < 0) {
    return { kind: 'not-recorded', reason: `the recording of this time contains no market ${symbol}` }
  }
  const start = executionsMax > 0 ? milliseconds - EXECUTIONS_MILLISECONDS : milliseconds
  // If the clock was set back, a keyframe can contain later commits. An earlier one is then used.
  for (let from = start + 1; ; from -= HOUR_MILLISECONDS / 60) {
    const reading = new Reading(index, request)
    const isPast = await reading.read(new RecordingSteps(reader, from))
    if (!isPast || from <= reader.firstMilliseconds) return reading.result(reader)
  }
}

/** Follows one recorded market up to the time. */
class Reading {
  readonly #index: number
  readonly #request: PastBookRequest
  #state = new RecordedState('nothing was recorded for this market')
  #executions: PastExecution[] = []
  /** Why the state is not known. */
  #damage: string | undefined
  #lastMilliseconds = 0
  #lastNanoseconds = 0
  #hasEntry = false

  constructor(index: number, request: PastBookRequest) {
    this.#index = index
    this.#request = request
  }

  /** Returns true when the first state is already later than the time. */
  async read(steps: RecordingSteps): Promise<boolean> {
    const { milliseconds } = this.#request
    for (let step = await steps.next(); step !== undefined; step = await steps.next()) {
      if (step.kind === 'gap') {
        this.#damage = step.reason
        continue
      }
      const first = step.entries[0]
      if (first !== undefined && first.atMilliseconds > milliseconds + SKEW_MILLISECONDS_MAX) return false
      // After damage, the next entries begin with the state of every market.
      if (this.#damage !== undefined && first !== undefined && first.atMilliseconds <= milliseconds) {
        this.#damage = undefined
        this.#state = new RecordedState('nothing was recorded for this market')
      }
      for (const entry of step.entries) {
        if (entry.market !== this.#index) continue
        if (!this.#isDue(entry)) return !this.#hasEntry && this.#damage === undefined
        this.#hasEntry = true
        this.#state.follow(entry)
        this.#keepExecutions(entry)
      }
    }
    return false
  }

  result({ path, header }: RecordingReader): PastBook | NotRecorded {
    if (this.#damage !== undefined) return { kind: 'not-recorded', reason: this.#damage }
    const market = header.markets[this.#index]?.definition as MarketDefinition
    const { reason, lostSinceMilliseconds, commit, isWithdrawn, origin, instrument } = this.#state
    const { executionsMax } = this.#request
    return {
      kind: 'found',
      market,
      ...(reason === undefined ? {} : { reason }),
      ...(lostSinceMilliseconds === undefined ? {} : { lostSinceMilliseconds }),
      isWithdrawn,
      ...(commit === undefined ? {} : { commit }),
      ...(origin === undefined ? {} : { origin }),
      ...(instrument === undefined ? {} : { instrument }),
      ...this.#published(market),
      executions: executionsMax === 0 ? [] : this.#executions.slice(-executionsMax),
      file: path,
    }
  }

  /** Whether the entry is not later than the time, by its commit where it has one. */
  #isDue({ commit, atMilliseconds }: RecordedEntry): boolean {
    // A loss has no own time on the commits' scale, which can be ahead of the clock.
    this.#lastNanoseconds = commit?.nanoseconds ?? (atMilliseconds > this.#lastMilliseconds ? 0 : this.#lastNanoseconds)
    this.#lastMilliseconds = commit?.milliseconds ?? Math.max(atMilliseconds, this.#lastMilliseconds)
    const { milliseconds, nanoseconds } = this.#request
    if (this.#lastMilliseconds !== milliseconds) return this.#lastMilliseconds < milliseconds
    return this.#lastNanoseconds <= nanoseconds
  }

  #keepExecutions({ events, atMilliseconds, commit }: RecordedEntry): void {
    const { executionsMax } = this.#request
    if (executionsMax === 0) return
    const committedAtMilliseconds = commit?.milliseconds ?? atMilliseconds
    for (const event of events) {
      if (event.type !== 'update') continue
      for (const execution of event.executions) this.#executions.push({ ...execution, committedAtMilliseconds })
    }
    if (this.#executions.length > 2 * executionsMax) this.#executions = this.#executions.slice(-executionsMax)
  }

  /** The published levels, cut to the requested depth, and how many there were. */
  #published({ depth }: MarketDefinition): Pick<PastBook, 'levels' | 'bidLevels' | 'askLevels'> {
    const all = this.#state.levels()
    const [bids, asks] = [BID, ASK].map((wanted) =>
      all.filter(({ side }) => side === wanted).slice(0, depth === 0 ? all.length : depth),
    ) as [LevelChange[], LevelChange[]]
    const levels = [bids, asks].flatMap((published) => published.slice(0, this.#request.depth))
    return { levels, bidLevels: bids.length, askLevels: asks.length }
  }
}
