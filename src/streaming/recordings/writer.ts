/**
 * Writes a recording. Entries wait at most a second, or until a block is full. A block is compressed outside the event
 * loop and written with one write. If the process dies, the file has complete blocks and at most one incomplete one. A
 * failed write ends the recording: the file is truncated to its last complete block, and `onFailure` is called once.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { Book } from '../market/book.ts'
import type { MarketEvent } from '../market/event.ts'
import { BlockText, encodeBook, Slice } from './entry-text.ts'
import { encodeBlockHead, encodeHeader } from './format-1.ts'
import type { KeyframeContent } from './recorded-state.ts'
import { type BlockKind, type EntryFacts, RecordingError, type RecordingHeader } from './recording.ts'

const compress = promisify(deflateRaw)

/** The longest time an entry waits in memory. A process crash loses this much data. */
const BLOCK_MILLISECONDS_MAX = 1_000
/** Measured: level 6 takes 2.4 times as long as level 3, and its files are 5 % smaller. */
const COMPRESSION_LEVEL = 3
/** Entry characters in a full block. */
const BLOCK_CHARACTERS = 1_048_576
/** Characters that may wait for the disk. The recording ends when a slow disk exceeds it. */
const WAITING_CHARACTERS_MAX = 64 * BLOCK_CHARACTERS

/** The file functions in use. */
export type WrittenFile = Pick<FileHandle, 'write' | 'truncate' | 'sync' | 'close'>

/** One market's state in a keyframe. */
export type KeyframeState = readonly [market: number, content: KeyframeContent, facts?: EntryFacts]

export interface RecordingWriterOptions {
  readonly path: string
  readonly header: RecordingHeader
  /** Replace an existing file; otherwise an existing file is an error. */
  readonly overwrites: boolean
  readonly clock: Clock
  /** Called when nothing more will be written. The file is complete up to `counts`. */
  readonly onFailure: (error: Error) => void
  /** Called after each block written to the file. */
  readonly onBlock?: () => void
}

type WriterCallbacks = Pick<RecordingWriterOptions, 'clock' | 'onFailure' | 'onBlock'>

/** Entries and bytes in the file. */
export interface RecordingCounts {
  readonly entries: number
  readonly bytes: number
}

/** A block being written. */
interface Block {
  readonly kind: BlockKind
  readonly text: BlockText
  readonly parts: string[]
  entryCount: number
  characters: number
  readonly firstMilliseconds: number
  lastMilliseconds: number
}

/** Opens the file and writes the header before the writer exists, so the caller gets an error for a wrong path. */
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
  readonly #onBlock: (() => void) | undefined
  #entries = 0
  #bytes: number
  #blockNumber = 0
  #lastMilliseconds = 0
  #writtenMilliseconds: number | undefined
  #open: Block | undefined
  #flushTimer: Timer | undefined
  #waitingCharacters = 0
  /** Settles when every submitted block is in the file. */
  #written: Promise<void> = Promise.resolve()
  #isOpen = true
  #failure: Error | undefined

  constructor(file: WrittenFile, headerBytes: number, options: WriterCallbacks) {
    this.#file = file
    this.#bytes = headerBytes
    this.#clock = options.clock
    this.#onFailure = options.onFailure
    this.#onBlock = options.onBlock
  }

  get counts(): RecordingCounts {
    return { entries: this.#entries, bytes: this.#bytes }
  }

  /** The time of the last entry or mark in the file, milliseconds since the epoch. Undefined before the first. */
  get writtenMilliseconds(): number | undefined {
    return this.#writtenMilliseconds
  }

  /** Appends one entry; see `RecordedEntry`. An earlier time than the last entry's counts as the last entry's. */
  write(market: number, atMilliseconds: number, events: readonly MarketEvent[], facts: EntryFacts = {}): void {
    this.#append('entries', atMilliseconds, (text, at) => [
      text.encode({ market, atMilliseconds: at, events, ...facts }),
    ])
  }

  /**
   * States that everything until this time is in the file, even when nothing happened: a block without entries.
   * Resolves when it is in the file, or nothing more will be.
   */
  mark(atMilliseconds: number): Promise<void> {
    this.#flush()
    if (this.#isOpen && this.#failure === undefined) {
      this.#lastMilliseconds = Math.max(this.#lastMilliseconds, atMilliseconds)
      this.#openBlock('entries', this.#lastMilliseconds)
      this.#flush()
    }
    return this.#written
  }

  /**
   * Appends the current state of every market, so that reading can begin here. The steps are short regardless of the
   * books' sizes. Until the last step, nothing else may be written, and no book may change.
   */
  *keyframe(atMilliseconds: number, states: Iterable<KeyframeState>): Generator<void, void> {
    this.#flush()
    const slice = new Slice()
    // Later blocks continue the first one.
    let kind: BlockKind = 'keyframe'
    for (const [market, content, facts = {}] of states) {
      if (!this.#isOpen || this.#failure !== undefined) return
      if (content instanceof Book) {
        const levels = yield* encodeBook(content, slice)
        this.#append(kind, atMilliseconds, (text, at) => text.encodeSnapshot(market, at, levels, facts))
      } else {
        this.#append(kind, atMilliseconds, (text, at) => [
          text.encode({ market, atMilliseconds: at, events: content, ...facts }),
        ])
      }
      kind = 'keyframe-rest'
    }
    this.#flush()
  }

  /** Ends the recording. Resolves when everything is in the file and the file is on disk. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#flush()
    this.#isOpen = false
    await this.#written
    if (this.#failure === undefined) await this.#file.sync().catch((error: Error) => this.#fail(error))
    await this.#file.close()
  }

  #append(
    kind: BlockKind,
    wantedMilliseconds: number,
    encode: (text: BlockText, at: number) => readonly string[],
  ): void {
    if (!this.#isOpen || this.#failure !== undefined) return
    this.#lastMilliseconds = Math.max(this.#lastMilliseconds, wantedMilliseconds)
    const atMilliseconds = this.#lastMilliseconds
    const block = this.#open ?? this.#openBlock(kind, atMilliseconds)
    const line = encode(block.text, atMilliseconds)
    for (const part of line) {
      block.parts.push(part)
      block.characters += part.length
    }
    block.entryCount += 1
    block.lastMilliseconds = atMilliseconds
    if (block.characters >= BLOCK_CHARACTERS) this.#flush()
  }

  #openBlock(kind: BlockKind, firstMilliseconds: number): Block {
    const text = new BlockText(firstMilliseconds)
    const block = {
      kind,
      text,
      parts: [],
      entryCount: 0,
      characters: 0,
      firstMilliseconds,
      lastMilliseconds: firstMilliseconds,
    }
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
    const body = await compress(block.parts.join(''), { level: COMPRESSION_LEVEL })
    const head = encodeBlockHead({
      kind: block.kind,
      number: this.#blockNumber,
      firstMilliseconds: block.firstMilliseconds,
      lastMilliseconds: block.lastMilliseconds,
      entryCount: block.entryCount,
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
    this.#writtenMilliseconds = block.lastMilliseconds
    if (block.kind === 'entries') this.#entries += block.entryCount
    this.#onBlock?.()
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    this.#open = undefined
    this.#onFailure(error)
  }
}

/**
 * A writer that accepts entries while its file is still being opened. A file that cannot be opened, or whose header
 * cannot be written, is a failure like any block's.
 */
export function createRecordingWriter(
  open: () => Promise<WrittenFile>,
  header: RecordingHeader,
  callbacks: WriterCallbacks,
): RecordingWriter {
  const bytes = encodeHeader(header)
  const opened = open().then(async (file) => {
    try {
      await writeWhole(file, bytes, 0)
    } catch (error) {
      await file.close()
      throw error
    }
    return file
  })
  // The first write reports it.
  opened.catch(() => undefined)
  const file = {
    write: (async (buffer: Buffer, offset: number, length: number, position: number) =>
      (await opened).write(buffer, offset, length, position)) as FileHandle['write'],
    truncate: async (length: number) => (await opened).truncate(length),
    sync: async () => (await opened).sync(),
    close: () =>
      opened.then(
        (own) => own.close(),
        () => undefined,
      ),
  }
  return new RecordingWriter(file, bytes.length, callbacks)
}

/** Usually one write. After a partial one, as on a full disk, the rest is written next, which fails with the reason. */
async function writeWhole(file: WrittenFile, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
