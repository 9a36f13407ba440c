/**
 * Writes a raw recording: lines wait at most a second, or until a megabyte is complete, and are compressed outside the event
 * loop. A failed write ends the recording: the file is truncated to its last complete member, and `onFailure` is called
 * once.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import { hasCode } from '../../../platform/base/error-code.ts'
import { RecordingError } from '../recording.ts'
import { type RawEvent, type RawHeader, rawEventLine, rawHeaderLine } from './raw-file.ts'

const compress = promisify(gzip)

const MEMBER_MILLISECONDS_MAX = 1_000
const MEMBER_CHARACTERS = 1_048_576
/** Characters that may wait for the disk; the recording ends when a slow disk exceeds it. */
const WAITING_CHARACTERS_MAX = 64 * MEMBER_CHARACTERS

export interface RawWriterOptions {
  readonly path: string
  readonly header: RawHeader
  /** Replace an existing file; otherwise an existing file is an error. */
  readonly overwrites: boolean
  readonly clock: Clock
  readonly onFailure: (error: Error) => void
}

export async function openRawWriter(options: RawWriterOptions): Promise<RawWriter> {
  const { path, overwrites, header } = options
  // Readable by its owner alone, although it contains no secrets.
  const file = await open(path, overwrites ? 'w' : 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw hasCode(error, 'EEXIST') ? new RecordingError(`${path} already exists`) : error
  })
  const writer = new RawWriter(file, options)
  await writer.writeHeader(rawHeaderLine(header))
  return writer
}

class RawWriter {
  readonly #file: FileHandle
  readonly #options: RawWriterOptions
  #lines: string[] = []
  #characters = 0
  #waitingCharacters = 0
  #timer: Timer | undefined
  #events = 0
  #bytes = 0
  #written: Promise<void> = Promise.resolve()
  #failure: Error | undefined
  #isClosed = false

  constructor(file: FileHandle, options: RawWriterOptions) {
    this.#file = file
    this.#options = options
  }

  /** Events and bytes in the file. */
  get counts(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#events, bytes: this.#bytes }
  }

  /** @throws when the header cannot be written */
  async writeHeader(line: string): Promise<void> {
    try {
      await this.#append([line], 0)
    } catch (error) {
      await this.#file.close()
      throw error
    }
  }

  write(event: RawEvent): void {
    if (this.#isClosed || this.#failure !== undefined) return
    const line = rawEventLine(event)
    this.#lines.push(line)
    this.#characters += line.length
    this.#timer ??= this.#options.clock.schedule(MEMBER_MILLISECONDS_MAX, () => this.#flush())
    if (this.#characters >= MEMBER_CHARACTERS) this.#flush()
  }

  /** Resolves when everything is on the disk. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#flush()
    this.#isClosed = true
    await this.#written
    if (this.#failure === undefined) await this.#file.sync().catch((error: Error) => this.#fail(error))
    await this.#file.close()
  }

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const [lines, characters] = [this.#lines, this.#characters]
    this.#lines = []
    this.#characters = 0
    if (lines.length === 0 || this.#failure !== undefined) return
    this.#waitingCharacters += characters
    if (this.#waitingCharacters > WAITING_CHARACTERS_MAX) {
      this.#fail(new RecordingError('the disk is too slow for this recording'))
      return
    }
    this.#written = this.#written
      .then(async () => {
        if (this.#failure !== undefined) return
        await this.#append(lines, lines.length)
        this.#waitingCharacters -= characters
      })
      .catch((error: Error) => this.#fail(error))
  }

  async #append(lines: readonly string[], events: number): Promise<void> {
    const member = await compress(lines.join(''))
    try {
      for (let done = 0; done < member.length; ) {
        const { bytesWritten } = await this.#file.write(member, done, member.length - done, this.#bytes + done)
        done += bytesWritten
      }
    } catch (error) {
      // A disk that refuses even this leaves an incomplete member, which readers ignore.
      await this.#file.truncate(this.#bytes).catch(() => undefined)
      throw error
    }
    this.#bytes += member.length
    this.#events += events
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#options.onFailure(error)
  }
}
