/**
 * Writes lines to a descriptor without ever waiting for its reader: lines of one event-loop tick are written together,
 * what the reader does not take is kept up to a number of bytes, and lines beyond that are dropped and counted. Only
 * `flush` waits, for a bounded time. A descriptor that fails (nobody reads it any more, the disk is full) drops lines
 * and is tried again with the next one.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

export interface LineWriterOptions {
  /** Bytes that are kept while the reader takes nothing. */
  readonly bytesMax: number
  /** The line that reports how many lines were dropped. */
  readonly droppedLine: (lines: number) => string
}

/** How often a descriptor that takes nothing is tried again. */
const RETRY_MILLISECONDS = 50
/** The same within `flush`. */
const FLUSH_PAUSE_MILLISECONDS = 5
const LINE_BREAK = 0x0a

export class LineWriter {
  readonly #descriptor: number
  readonly #bytesMax: number
  readonly #droppedLine: (lines: number) => string
  /** What is being written, from `#offset` on; a descriptor may take a part of it. */
  #current = Buffer.alloc(0)
  #offset = 0
  #lines: string[] = []
  /** Of `#lines`. */
  #bytes = 0
  #dropped = 0
  /** Of `#dropped`, those that no line has reported yet. */
  #unreported = 0
  /** How many the report in `#current` names; 0: there is none. */
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

  /** Lines that were dropped since the start. */
  get dropped(): number {
    return this.#dropped
  }

  /** Keeps the line, which ends with a line break, for the end of this tick; or drops it. */
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

  /** Writes what is kept, and waits for the reader at most so long; what it has not taken then stays. */
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

  /** Writes as much as the reader takes at once; false when something is left. */
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

  /** Takes all lines that wait, and before them the report of dropped ones; false when there is nothing to write. */
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

  /** The next line that can be written reports how many are missing. */
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
 * A descriptor for stderr to which writes never wait for a reader: of a pipe or a terminal a description of its own,
 * because its flags are shared with every other process that has it otherwise. Files are written as they are.
 */
export function openStderr(): number {
  const stats = fstatSync(2)
  if (process.platform === 'linux' && (stats.isFIFO() || isatty(2))) {
    try {
      return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    } catch (error) {
      // Another user's pipe, or a system without /proc: then with the shared flags.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error
    }
  }
  // The runtime makes pipes and sockets non-blocking when it makes a stream of them.
  if (stats.isFIFO() || stats.isSocket()) void process.stderr
  return 2
}
