/**
 * Reads a recording: finds its blocks by their heads, and decompresses one at a time. An incomplete block at the end,
 * left by a crash, is ignored and only counted. Bytes in the middle that are not a block are skipped, and the next
 * block is marked as not continuous. A damaged body is an error with its offset. Entries are never read from bytes with
 * a wrong checksum.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'
import { FORMAT_1 } from './format-1.ts'
import {
  type BlockHead,
  type RecordedEntry,
  RecordingError,
  type RecordingFormat,
  type RecordingHeader,
  readSignature,
  SIGNATURE_BYTES_MAX,
  UnwrittenRecording,
} from './recording.ts'

const decompress = promisify(inflateRaw)

/** Every format ever written, by version. */
const FORMATS: ReadonlyMap<number, RecordingFormat> = new Map([[1, FORMAT_1]])

const HEADER_BYTES_MAX = 64 * 1024 * 1024
/** Largest decompressed body. No writer exceeds it. */
const BODY_BYTES_MAX = 512 * 1024 * 1024
/** Bytes searched at once for the next block after damage. */
const SEARCH_BYTES = 1_048_576

export interface RecordedBlock extends BlockHead {
  /** Its head's offset in the file. */
  readonly offset: number
  /** Whether its number follows the preceding block's. */
  readonly isContinuous: boolean
}

/**
 * Opens a recording and finds its blocks.
 * @throws {RecordingError} when the file is not a readable recording
 */
export async function openRecording(path: string): Promise<RecordingReader> {
  // Without O_NONBLOCK, opening a pipe blocks until it has a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw new RecordingError(`the recording ${path} cannot be opened: ${error.code ?? error.message}`)
  })
  try {
    if (!(await file.stat()).isFile()) throw new RecordingError(`${path} is not a recording: it is not a regular file`)
    return await RecordingReader.read(path, file)
  } catch (error) {
    await file.close()
    throw error
  }
}

export class RecordingReader {
  readonly path: string
  readonly formatVersion: number
  readonly header: RecordingHeader
  readonly blocks: readonly RecordedBlock[]
  /** The file's length. */
  readonly bytes: number
  /** Bytes in an incomplete block at the end. */
  readonly tornBytes: number
  readonly #file: FileHandle
  readonly #format: RecordingFormat

  private constructor(path: string, file: FileHandle, beginning: Beginning, scan: Scan) {
    this.path = path
    this.#file = file
    this.#format = beginning.format
    this.formatVersion = beginning.version
    this.header = beginning.header
    this.blocks = scan.blocks
    this.bytes = scan.bytes
    this.tornBytes = scan.tornBytes
  }

  static async read(path: string, file: FileHandle): Promise<RecordingReader> {
    const beginning = await readBeginning(path, file)
    const scan = await findBlocks(file, beginning)
    const reader = new RecordingReader(path, file, beginning, scan)
    const last = scan.blocks.at(-1)
    if (last === undefined || (await reader.#isIntact(last))) return reader
    // A machine crash can leave a block with the right length whose content was never written.
    const tornBytes = scan.bytes - last.offset
    return new RecordingReader(path, file, beginning, { ...scan, blocks: scan.blocks.slice(0, -1), tornBytes })
  }

  /** The first and last entries' times, milliseconds since the epoch; equal when there is none. */
  get firstMilliseconds(): number {
    return this.blocks[0]?.firstMilliseconds ?? this.header.startedAtMilliseconds
  }

  get lastMilliseconds(): number {
    return this.blocks.at(-1)?.lastMilliseconds ?? this.header.startedAtMilliseconds
  }

  /**
   * One block's entries.
   * @throws {RecordingError} when its body is damaged
   */
  async readBlock(block: RecordedBlock): Promise<RecordedEntry[]> {
    const packed = await this.#readBody(block)
    if (crc32(packed) !== block.bodyChecksum) throw this.#damaged(block, 'its checksum does not match')
    try {
      const body = await decompress(packed, { maxOutputLength: BODY_BYTES_MAX })
      const entries = this.#format.decodeEntries(body, block, this.header.markets.length)
      if (entries.length !== block.entryCount) throw new RecordingError('its entry count differs from its head')
      return entries
    } catch (error) {
      throw this.#damaged(block, (error as Error).message)
    }
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  async #isIntact(block: RecordedBlock): Promise<boolean> {
    return crc32(await this.#readBody(block)) === block.bodyChecksum
  }

  #readBody(block: RecordedBlock): Promise<Buffer> {
    return readAt(this.#file, block.offset + this.#format.blockHeadBytes, block.bodyBytes)
  }

  #damaged({ offset }: RecordedBlock, why: string): RecordingError {
    return new RecordingError(`the recording ${this.path} is damaged at byte ${offset}: ${why}`)
  }
}

interface Beginning {
  readonly version: number
  readonly format: RecordingFormat
  readonly header: RecordingHeader
  /** The first block's offset. */
  readonly end: number
}

async function readBeginning(path: string, file: FileHandle): Promise<Beginning> {
  const start = await readAt(file, 0, SIGNATURE_BYTES_MAX)
  const signature = readSignature(start)
  if (start.every((byte) => byte === 0)) throw new UnwrittenRecording(`${path} is not a recording: it is empty`)
  if (signature === undefined) throw new RecordingError(`${path} is not a recording`)
  const { version } = signature
  const format = FORMATS.get(version)
  if (format === undefined) {
    const known = [...FORMATS.keys()].join(', ')
    throw new RecordingError(`the recording ${path} has format ${version}, but this program reads ${known}`)
  }
  const problem = `the recording ${path} is damaged in its header`
  const lengths = await readAt(file, signature.bytes, 8)
  if (lengths.length < 8) throw new UnwrittenRecording(problem)
  if (lengths.readUInt32BE(0) > HEADER_BYTES_MAX) throw new RecordingError(problem)
  const text = await readAt(file, signature.bytes + 8, lengths.readUInt32BE(0))
  if (text.length !== lengths.readUInt32BE(0)) throw new UnwrittenRecording(problem)
  if (crc32(text) !== lengths.readUInt32BE(4)) throw new RecordingError(problem)
  return { version, format, header: format.decodeHeader(text.toString('utf8')), end: signature.bytes + 8 + text.length }
}

interface Scan {
  readonly blocks: readonly RecordedBlock[]
  readonly bytes: number
  readonly tornBytes: number
}

async function findBlocks(file: FileHandle, { format, end }: Beginning): Promise<Scan> {
  const { size: bytes } = await file.stat()
  const blocks: RecordedBlock[] = []
  let offset = end
  while (offset < bytes) {
    const head = await readHead(file, format, offset, bytes)
    if (head === undefined) {
      const next = await findNextBlock(file, format, offset + 1, bytes)
      if (next === undefined) return { blocks, bytes, tornBytes: bytes - offset }
      offset = next
      continue
    }
    blocks.push({ ...head, offset, isContinuous: head.number === (blocks.at(-1)?.number ?? -1) + 1 })
    offset += format.blockHeadBytes + head.bodyBytes
  }
  return { blocks, bytes, tornBytes: 0 }
}

/** The head at an offset, when a complete block begins there. */
async function readHead(file: FileHandle, format: RecordingFormat, offset: number, fileBytes: number) {
  const head = format.decodeBlockHead(await readAt(file, offset, format.blockHeadBytes))
  const isWhole = head !== undefined && offset + format.blockHeadBytes + head.bodyBytes <= fileBytes
  return isWhole ? head : undefined
}

async function findNextBlock(file: FileHandle, format: RecordingFormat, start: number, fileBytes: number) {
  const { blockMark } = format
  for (let from = start; from < fileBytes; from += SEARCH_BYTES) {
    // A mark may span the end of the searched bytes.
    const bytes = await readAt(file, from, SEARCH_BYTES + blockMark.length - 1)
    for (let found = bytes.indexOf(blockMark); found >= 0; found = bytes.indexOf(blockMark, found + 1)) {
      if ((await readHead(file, format, from + found, fileBytes)) !== undefined) return from + found
    }
  }
  return undefined
}

/** Reads bytes at an offset. Fewer at the file's end. */
async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}
