/**
 * Writes a recording. Entries wait at most a second, or until a block is full. A block is compressed outside the event
 * loop and written with one write, so that the end of the process leaves complete blocks and at most one incomplete
 * one. A failed write ends the recording: the file is truncated to its last complete block, and `onFailure` is called
 * once.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'
import type { Clock, Timer } from '../../base/clock.ts'
import type { MarketEvent } from '../../market/event.ts'
import { encodeEntry } from './entry-text.ts'
import { encodeBlockHead, encodeHeader } from './format-1.ts'
import { type BlockKind, type RecordedEntry, RecordingError, type RecordingHeader } from './recording.ts'

const compress = promisify(deflateRaw)

/** Longest time that an entry waits in memory: the data that a crash of the process loses. */
const BLOCK_MILLISECONDS_MAX = 1_000
/** Characters of entries in a full block. */
const BLOCK_CHARACTERS = 1_048_576
/** Characters that may wait for the disk; the recording ends when a slow disk exceeds it. */
const WAITING_CHARACTERS_MAX = 64 * BLOCK_CHARACTERS

/** The functions of the file that are used. */
type WrittenFile = Pick<FileHandle, 'write' | 'truncate' | 'sync' | 'close'>

export interface RecordingWriterOptions {
  readonly path: string
  readonly header: RecordingHeader
  /** Replace an existing file; otherwise an existing file is an error. */
  readonly overwrites: boolean
  readonly clock: Clock
  /** Called when nothing more will be written; the file is complete up to `counts`. */
  readonly onFailure: (error: Error) => void
}

/** Entries and bytes in the file. */
export interface RecordingCounts {
  readonly entries: number
  readonly bytes: number
}

/** A block that is being written. */
interface Block {
  readonly kind: BlockKind
  readonly lines: string[]
  characters: number
  readonly firstMilliseconds: number
  lastMilliseconds: number
}

export async function openRecordingWriter(options: RecordingWriterOptions): Promise<RecordingWriter> {
  const header = encodeHeader(options.header)
  const file = await open(options.path, options.overwrites ? 'w' : 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new RecordingError(`${options.path} already exists`) : error
  })
  try {
    await writeWhole(file, header, 0)
  } catch (error) {
    await file.close()
    throw error
  }
  return new RecordingWriter(file, header.length, options)
}

export class RecordingWriter {
  readonly #file: WrittenFile
  readonly #clock: Clock
  readonly #onFailure: (error: Error) => void
  #entries = 0
  #bytes: number
  #blockNumber = 0
  #lastMilliseconds = 0
  #open: Block | undefined
  #flushTimer: Timer | undefined
  #waitingCharacters = 0
  /** Settles when every block that was passed on is in the file. */
  #written: Promise<void> = Promise.resolve()
  #isOpen = true
  #failure: Error | undefined

  constructor(file: WrittenFile, headerBytes: number, options: Pick<RecordingWriterOptions, 'clock' | 'onFailure'>) {
    this.#file = file
    this.#bytes = headerBytes
    this.#clock = options.clock
    this.#onFailure = options.onFailure
  }

  get counts(): RecordingCounts {
    return { entries: this.#entries, bytes: this.#bytes }
  }

  /** Appends one entry; see `RecordedEntry`. A time before that of the last entry counts as that of the last entry. */
  write(market: number, atMilliseconds: number, events: readonly MarketEvent[]): void {
    this.#append('entries', { market, atMilliseconds, events })
  }

  /** Appends the current state of every market, so that reading can begin here. */
  writeKeyframe(atMilliseconds: number, states: Iterable<readonly [market: number, events: readonly MarketEvent[]]>) {
    this.#flush()
    let kind: BlockKind = 'keyframe'
    for (const [market, events] of states) {
      this.#append(kind, { market, atMilliseconds, events })
      // A full block was passed on, and the state continues in the next one.
      if (this.#open === undefined) kind = 'keyframe-rest'
    }
    this.#flush()
  }

  /** Ends the recording; resolves when everything is in the file and the file is on the disk. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#flush()
    this.#isOpen = false
    await this.#written
    if (this.#failure === undefined) await this.#file.sync().catch((error: Error) => this.#fail(error))
    await this.#file.close()
  }

  #append(kind: BlockKind, entry: RecordedEntry): void {
    if (!this.#isOpen || this.#failure !== undefined) return
    this.#lastMilliseconds = Math.max(this.#lastMilliseconds, entry.atMilliseconds)
    const atMilliseconds = this.#lastMilliseconds
    const block = this.#open ?? this.#openBlock(kind, atMilliseconds)
    const line = encodeEntry({ ...entry, atMilliseconds }, block.firstMilliseconds)
    block.lines.push(line)
    block.characters += line.length
    block.lastMilliseconds = atMilliseconds
    if (block.characters >= BLOCK_CHARACTERS) this.#flush()
  }

  #openBlock(kind: BlockKind, firstMilliseconds: number): Block {
    const block = { kind, lines: [], characters: 0, firstMilliseconds, lastMilliseconds: firstMilliseconds }
    this.#open = block
    this.#flushTimer = this.#clock.schedule(BLOCK_MILLISECONDS_MAX, () => this.#flush())
    return block
  }

  #flush(): void {
    const block = this.#open
    if (block === undefined) return
    this.#open = undefined
    this.#flushTimer?.cancel()
    this.#waitingCharacters += block.characters
    if (this.#waitingCharacters > WAITING_CHARACTERS_MAX) {
      this.#fail(new RecordingError('the disk is too slow for this recording'))
      return
    }
    this.#written = this.#written.then(() => this.#writeBlock(block)).catch((error: Error) => this.#fail(error))
  }

  async #writeBlock(block: Block): Promise<void> {
    if (this.#failure !== undefined) return
    const body = await compress(block.lines.join(''))
    const head = encodeBlockHead({
      kind: block.kind,
      number: this.#blockNumber,
      firstMilliseconds: block.firstMilliseconds,
      lastMilliseconds: block.lastMilliseconds,
      entryCount: block.lines.length,
      bodyBytes: body.length,
      bodyChecksum: crc32(body),
    })
    const start = this.#bytes
    try {
      await writeWhole(this.#file, Buffer.concat([head, body]), start)
    } catch (error) {
      // A disk that refuses even this leaves an incomplete block, which readers skip.
      await this.#file.truncate(start).catch(() => undefined)
      throw error
    }
    this.#bytes += head.length + body.length
    this.#blockNumber += 1
    this.#waitingCharacters -= block.characters
    if (block.kind === 'entries') this.#entries += block.lines.length
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#open = undefined
    this.#onFailure(error)
  }
}

/** Usually one write; after a partial write, the rest is written again, which then fails with the reason. */
async function writeWhole(file: WrittenFile, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
