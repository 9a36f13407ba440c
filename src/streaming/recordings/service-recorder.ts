/**
 * A service's recorder: it listens to the bus like a replica, and writes published messages to hourly files. Each file
 * can be read alone. It opens a new file at each hour and when the markets change, and removes files older than
 * `recording.keep_hours`.
 *
 * It never delays the stream. A file that cannot be written interrupts the recording until another file can be opened,
 * which is attempted at a bounded rate. The new file names the missing time. It never changes or removes a file that it
 * did not name.
 */
import { unlink } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { withTimeLimit } from '../../platform/base/time-limit.ts'
import { programVersion } from '../../platform/base/version.ts'
import { type ConfiguredMarket, sourceText } from '../market/configured-market.ts'
import type { Bus } from '../sequencing/bus.ts'
import { CommitRecorder } from './commit-recorder.ts'
import { PastBooks } from './past-books.ts'
import { RecordingError, type RecordingGap } from './recording.ts'
import { createRecordingFile, HOUR_MILLISECONDS, removeExpired } from './recording-folder.ts'
import { createRecordingWriter, type RecordingCounts, type RecordingWriter } from './writer.ts'

/** A reader that starts at a given time reads only the entries since the keyframe before it. */
const KEYFRAME_MILLISECONDS = 60_000
/** Between two attempts to write a file after one failed. */
const RETRY_MILLISECONDS = 30_000
/** How long a stop waits for the disk. */
const STOP_MILLISECONDS_MAX = 5_000

export interface RecordingMetrics {
  /** Since when nothing could be recorded, by the monotonic clock. Undefined while recording, and where it is off. */
  gapSinceMilliseconds: number | undefined
  readonly stops: Counter
  readonly bytes: Counter
  readonly entries: Counter
}

export function createRecordingMetrics(registry: MetricsRegistry, clock: Clock): RecordingMetrics {
  const registers = [registry]
  const metrics: RecordingMetrics = {
    gapSinceMilliseconds: undefined,
    stops: new Counter({
      name: 'tidegate_recording_stops_total',
      help: 'Times this node’s recording stopped because a file could not be written',
      registers,
    }),
    bytes: new Counter({ name: 'tidegate_recording_bytes_total', help: 'Bytes written to recordings', registers }),
    entries: new Counter({
      name: 'tidegate_recording_entries_total',
      help: 'Commits and losses written to recordings',
      registers,
    }),
  }
  new Gauge({
    name: 'tidegate_recording_gap_seconds',
    help: 'Time without recording (0 while recording, and without recording.dir)',
    registers,
    collect() {
      const { gapSinceMilliseconds: since } = metrics
      this.set(since === undefined ? 0 : (clock.monotonicMilliseconds() - since) / 1_000)
    },
  })
  return metrics
}

export interface ServiceRecorderOptions {
  readonly folder: string
  /** The current value for `recording.keep_hours`. */
  readonly keepHours: () => number
  readonly markets: readonly ConfiguredMarket[]
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: RecordingMetrics
  /** Creates the file for a time; `createRecordingFile`, or another one in tests. */
  readonly createFile?: typeof createRecordingFile
}

/** A file being written. */
interface OpenFile {
  readonly writer: RecordingWriter
  readonly hourMilliseconds: number
  readonly startedMilliseconds: number
  /** The gap in its header. */
  readonly gap: RecordingGap | undefined
  /** Undefined until it exists. */
  path: string | undefined
  /** The part already counted in the metrics. */
  counted: RecordingCounts
  hasBlock: boolean
}

/** A gap without an end is still open. */
type PendingGap = Omit<RecordingGap, 'toMilliseconds'> & Partial<Pick<RecordingGap, 'toMilliseconds'>>

export class ServiceRecorder {
  /** What was recorded until now. */
  readonly pastBooks: PastBooks
  readonly #options: ServiceRecorderOptions
  readonly #recorder: CommitRecorder
  #markets: readonly ConfiguredMarket[]
  /** Undefined before the first file, and while nothing can be recorded. */
  #current: OpenFile | undefined
  /** What the next file has to name. */
  #gap: PendingGap | undefined
  readonly #closing = new Set<Promise<void>>()
  #timer: Timer | undefined
  #isStopped = false

  /** Listens at once, and writes from `start` on. */
  constructor(options: ServiceRecorderOptions) {
    this.#options = options
    this.#markets = options.markets
    this.pastBooks = new PastBooks({ ...options, flush: () => this.flush() })
    this.#recorder = new CommitRecorder({
      ...options,
      markets: options.markets.map(({ definition }) => definition),
      writer: {
        write: (market, at, events, facts) => this.#current?.writer.write(market, at, events, facts),
        keyframe: (at, states) => this.#current?.writer.keyframe(at, states) ?? [],
      },
    })
  }

  start(): void {
    this.#expire()
    this.#open()
  }

  /** The present time in the recording, milliseconds since the epoch. */
  get nowMilliseconds(): number {
    return this.#recorder.nowMilliseconds
  }

  /**
   * Records other markets from now on, in a new file. To be called when the sequencers for removed markets have
   * stopped, and those for added markets have not started.
   */
  change(markets: readonly ConfiguredMarket[]): void {
    if (this.#isStopped || isDeepStrictEqual(markets, this.#markets)) return
    this.#markets = markets
    const isRecording = this.#current !== undefined
    this.#closeCurrent()
    this.#recorder.change(markets.map(({ definition }) => definition))
    if (isRecording) this.#open()
  }

  /** Resolves when everything up to now is in the file, or cannot be written. */
  async flush(): Promise<void> {
    this.#recorder.releaseAll()
    await this.#current?.writer.mark(this.#recorder.nowMilliseconds)
  }

  /** Ends the recording. Resolves when the last file is complete on disk, or the disk has not accepted it for 5 s. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#timer?.cancel()
    this.#recorder.stop()
    this.#closeCurrent()
    this.#isStopped = true
    const closed = Promise.all(this.#closing).then(() => undefined)
    await withTimeLimit(this.#options.clock, STOP_MILLISECONDS_MAX, closed, () => {
      this.#options.log.warn({ folder: this.#options.folder }, 'the recording was not completely on disk at the stop')
    })
  }

  #open(): void {
    // The new file begins with its keyframe.
    this.#recorder.releaseAll()
    const { clock, folder, createFile = createRecordingFile } = this.#options
    this.#recorder.anchor()
    const startedMilliseconds = this.#recorder.nowMilliseconds
    const gap = this.#gap === undefined ? undefined : { toMilliseconds: startedMilliseconds, ...this.#gap }
    const header = {
      writtenBy: `tidegate ${programVersion()}`,
      startedAtMilliseconds: startedMilliseconds,
      markets: this.#markets.map(({ definition, sources }) => ({ definition, sources: sources.map(sourceText) })),
      ...(gap === undefined ? {} : { gap }),
    }
    const create = async () => {
      const { path, file } = await createFile(folder, startedMilliseconds)
      opened.path = path
      return file
    }
    const writer = createRecordingWriter(create, header, {
      clock,
      onFailure: (error) => this.#fail(opened, error),
      onBlock: () => this.#noteBlock(opened),
    })
    const opened: OpenFile = {
      writer,
      hourMilliseconds: hourOf(startedMilliseconds),
      startedMilliseconds,
      gap,
      path: undefined,
      counted: { entries: 0, bytes: 0 },
      hasBlock: false,
    }
    this.#current = opened
    this.#recorder.writeKeyframe()
    this.#tickLater()
  }

  /** A keyframe every minute, and a new file at every hour. */
  #tickLater(): void {
    this.#timer?.cancel()
    const { clock } = this.#options
    const { milliseconds } = clock.wallInstant()
    const untilHour = hourOf(milliseconds) + HOUR_MILLISECONDS - milliseconds
    this.#timer = clock.schedule(Math.min(KEYFRAME_MILLISECONDS, untilHour), () => this.#tick())
  }

  #tick(): void {
    if (hourOf(this.#options.clock.wallInstant().milliseconds) === this.#current?.hourMilliseconds) {
      this.#recorder.writeKeyframe()
      this.#tickLater()
      return
    }
    this.#expire()
    // A file that has waited for the disk for an hour occupies memory, so there is at most one.
    if (this.#closing.size > 0 && this.#current !== undefined) {
      this.#fail(this.#current, new RecordingError('the disk has not accepted the last recording for an hour'))
      return
    }
    this.#closeCurrent()
    this.#open()
  }

  #retry(): void {
    // Its memory is free when it is closed.
    if (this.#closing.size > 0) {
      this.#retryLater()
      return
    }
    this.#expire()
    this.#open()
  }

  #retryLater(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.schedule(RETRY_MILLISECONDS, () => this.#retry())
  }

  #closeCurrent(): void {
    const file = this.#current
    if (file === undefined) return
    this.#recorder.releaseAll()
    void file.writer.mark(this.#recorder.nowMilliseconds)
    this.#current = undefined
    this.#close(file)
  }

  #close({ writer }: OpenFile): void {
    const closed = writer
      .close()
      .catch((error: Error) => this.#options.log.warn({ reason: error.message }, 'a recording was not closed cleanly'))
      .finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  #noteBlock(file: OpenFile): void {
    const { metrics, log } = this.#options
    const { counts } = file.writer
    metrics.bytes.inc(counts.bytes - file.counted.bytes)
    metrics.entries.inc(counts.entries - file.counted.entries)
    file.counted = counts
    if (file === this.#current) metrics.gapSinceMilliseconds = undefined
    if (file.hasBlock) return
    file.hasBlock = true
    if (file.gap !== undefined) {
      const { fromMilliseconds, toMilliseconds } = file.gap
      const [from, to] = [fromMilliseconds, toMilliseconds].map((time) => new Date(time).toISOString())
      log.info({ file: file.path, from, to }, 'recording continues after a gap')
    }
    this.#gap = undefined
  }

  /** A file could not be written. Without a block it is removed: it would only have its header. */
  #fail(file: OpenFile, error: Error): void {
    const { log, metrics, folder, clock } = this.#options
    const from = file.hasBlock ? file.writer.writtenMilliseconds : file.gap?.fromMilliseconds
    this.#gap ??= {
      fromMilliseconds: from ?? file.startedMilliseconds,
      reason: error.message,
      // A file's end can fail when the next one has begun.
      ...(file === this.#current || this.#current === undefined
        ? {}
        : { toMilliseconds: this.#current.startedMilliseconds }),
    }
    if (metrics.gapSinceMilliseconds === undefined) {
      metrics.gapSinceMilliseconds = clock.monotonicMilliseconds()
      metrics.stops.inc()
      log.error(
        { folder, reason: error.message, retrySeconds: RETRY_MILLISECONDS / 1_000 },
        'recording stopped. The stream continues',
      )
    }
    const { path } = file
    if (path !== undefined && !file.hasBlock) {
      unlink(path).catch(({ code }: NodeJS.ErrnoException) => log.warn({ path, code }, 'empty recording not removed'))
    }
    if (file !== this.#current) return
    this.#current = undefined
    this.#close(file)
    if (!this.#isStopped) this.#retryLater()
  }

  #expire(): void {
    const { folder, keepHours, clock, log } = this.#options
    const now = clock.wallInstant().milliseconds
    removeExpired(folder, now, keepHours() * HOUR_MILLISECONDS).then(
      (count) => {
        if (count > 0) log.info({ folder, count }, 'expired recordings removed')
      },
      ({ message }: Error) => log.warn({ folder, reason: message }, 'expired recordings not removed'),
    )
  }
}

function hourOf(milliseconds: number): number {
  return Math.floor(milliseconds / HOUR_MILLISECONDS) * HOUR_MILLISECONDS
}
