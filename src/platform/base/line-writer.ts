/**
 * Writes lines to a file descriptor without waiting for its reader. The lines written in one event-loop tick are
 * coalesced. Lines that the reader does not take are buffered up to `bytesMax`, and further ones are dropped and
 * counted. Only `flush` waits, for a bounded time. After an error (a closed pipe, a full disk) the pending lines are
 * dropped, and the next line is written again.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

export interface LineWriterOptions {
  /** Buffer size in bytes. */
  readonly bytesMax: number
  /** The line that reports how many lines were dropped. */
  readonly droppedLine: (lines: number) => string
}

/** Time between attempts to write to a full descriptor. */
const RETRY_MILLISECONDS = 50
/** The same, during `flush`. */
const FLUSH_PAUSE_MILLISECONDS = 5
const LINE_BREAK = 0x0a

export class LineWriter {
  readonly #descriptor: number
  readonly #bytesMax: number
  readonly #droppedLine: (lines: number) => string
  /** Being written, from `#offset`. A descriptor may accept only a part. */
  #current = Buffer.alloc(0)
  #offset = 0
  #lines: string[] = []
  /** Size of `#lines`. */
  #bytes = 0
  #dropped = 0
  /** Dropped lines not yet reported. */
  #unreported = 0
  /** The number of dropped lines named by the report in `#current`, or 0 when it contains no report. */
  #reporting = 0
  #isScheduled = false

  constructor(descriptor: number, { bytesMax, droppedLine }: LineWriterOptions) {
    this.#descriptor = descriptor
    this.#bytesMax = bytesMax
    this.#droppedLine = droppedLine
  }

  get descriptor(): number {
    return this.#descriptor
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped
  }

  /**
   * Buffers the line until the end of this tick, or drops it when the buffer is full. The line must end with a line
   * break.
   */
  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#bytes + this.#current.length - this.#offset + bytes > this.#bytesMax) {
      this.#drop(1)
      return
    }
    this.#lines.push(line)
    this.#bytes += bytes
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#run())
  }

  /** Writes the buffer, blocking for at most `millisecondsMax`. Unwritten lines stay buffered. */
  flush(millisecondsMax: number): void {
    const end = performance.now() + millisecondsMax
    const pause = new Int32Array(new SharedArrayBuffer(4))
    while (!this.#writeAll() && performance.now() < end) Atomics.wait(pause, 0, 0, FLUSH_PAUSE_MILLISECONDS)
  }

  #run(): void {
    if (this.#writeAll()) {
      this.#isScheduled = false
      return
    }
    setTimeout(() => this.#run(), RETRY_MILLISECONDS).unref()
  }

  /** Writes until the descriptor is full. Returns false when something is left. */
  #writeAll(): boolean {
    for (;;) {
      if (this.#offset === this.#current.length && !this.#fill()) return true
      try {
        this.#offset += writeSync(this.#descriptor, this.#current, this.#offset)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
        this.#dropCurrent()
        return true
      }
    }
  }

  /**
   * Moves the buffered lines to `#current`, after a report of dropped ones. Returns false when there is nothing to
   * write.
   */
  #fill(): boolean {
    const report = this.#unreported > 0 ? this.#droppedLine(this.#unreported) : ''
    this.#current = Buffer.from(report + this.#lines.join(''))
    this.#offset = 0
    this.#reporting = this.#unreported
    this.#unreported = 0
    this.#lines = []
    this.#bytes = 0
    return this.#current.length > 0
  }

  /** A report with the number of missing lines precedes the next written line. */
  #dropCurrent(): void {
    const rest = this.#current.subarray(this.#offset)
    let lines = 0
    for (let at = rest.indexOf(LINE_BREAK); at >= 0; at = rest.indexOf(LINE_BREAK, at + 1)) lines++
    const isReportLost = this.#reporting > 0 && this.#offset === 0
    this.#current = Buffer.alloc(0)
    this.#offset = 0
    if (isReportLost) this.#unreported += this.#reporting
    this.#drop(isReportLost ? lines - 1 : lines)
  }

  #drop(lines: number): void {
    this.#dropped += lines
    this.#unreported += lines
  }
}

/**
 * A stderr descriptor whose writes never block. A pipe or terminal is opened again, because other processes share the
 * flags of descriptor 2. Files are written through descriptor 2.
 */
export function openStderr(): number {
  const stats = fstatSync(2)
  if (process.platform === 'linux' && (stats.isFIFO() || isatty(2))) {
    try {
      return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    } catch (error) {
      // Another user's pipe, or a system without /proc: descriptor 2 is used.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error
    }
  }
  // Node makes pipes and sockets non-blocking when the stream is first used.
  if (stats.isFIFO() || stats.isSocket()) void process.stderr
  return 2
}
