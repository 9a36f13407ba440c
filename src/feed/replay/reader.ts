/**
 * Reads a recording: finds its blocks by their heads, and unpacks one at a time. What a crash left at the end is not
 * part of the recording and only counted. Bytes in the middle that are no block are passed over, and the block behind
 * them says that something is missing before it; a body that was changed is an error that names its place. No entry is
 * ever read from bytes whose checksum does not match.
 */
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
} from './recording.ts'

const decompress = promisify(inflateRaw)

/** Every format that was ever written, by its version. */
const FORMATS: ReadonlyMap<number, RecordingFormat> = new Map([[1, FORMAT_1]])

const HEADER_BYTES_MAX = 64 * 1024 * 1024
/** A body that unpacks to more was not made by a writer. */
const BODY_BYTES_MAX = 512 * 1024 * 1024
/** How much is searched at once for the next block behind damage. */
const SEARCH_BYTES = 1_048_576

export interface RecordedBlock extends BlockHead {
  /** Where its head stands in the file. */
  readonly offset: number
  /** Whether the block before it is the one that was written before it. */
  readonly isContinuous: boolean
}

/** Opens a recording and finds its blocks. Throws a `RecordingError` when the file is no readable recording. */
export async function openRecording(path: string): Promise<RecordingReader> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new RecordingError(`the recording ${path} cannot be opened: ${error.code ?? error.message}`)
  })
  try {
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
  /** Length of the file. */
  readonly bytes: number
  /** Bytes at the end that are no whole block. */
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
    // A crash of the machine can leave a block of the right length whose content never reached the disk.
    const tornBytes = scan.bytes - last.offset
    return new RecordingReader(path, file, beginning, { ...scan, blocks: scan.blocks.slice(0, -1), tornBytes })
  }

  /** When the first and the last entry were recorded, milliseconds since the epoch; equal when there is none. */
  get firstMilliseconds(): number {
    return this.blocks[0]?.firstMilliseconds ?? this.header.startedAtMilliseconds
  }

  get lastMilliseconds(): number {
    return this.blocks.at(-1)?.lastMilliseconds ?? this.header.startedAtMilliseconds
  }

  /** The entries of one block. Throws a `RecordingError` when its body is damaged. */
  async readBlock(block: RecordedBlock): Promise<RecordedEntry[]> {
    const packed = await this.#readBody(block)
    if (crc32(packed) !== block.bodyChecksum) throw this.#damaged(block, 'its checksum does not match')
    try {
      const body = await decompress(packed, { maxOutputLength: BODY_BYTES_MAX })
      const entries = this.#format.decodeEntries(body, block, this.header.markets.length)
      if (entries.length !== block.entryCount) throw new RecordingError('it does not hold what its head says')
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
  /** Where the first block stands. */
  readonly end: number
}

async function readBeginning(path: string, file: FileHandle): Promise<Beginning> {
  const signature = readSignature(await readAt(file, 0, SIGNATURE_BYTES_MAX))
  if (signature === undefined) throw new RecordingError(`${path} is no recording`)
  const { version } = signature
  const format = FORMATS.get(version)
  if (format === undefined) {
    const known = [...FORMATS.keys()].join(', ')
    throw new RecordingError(`the recording ${path} has format ${version}; this program reads ${known}`)
  }
  const damaged = new RecordingError(`the recording ${path} is damaged in its header`)
  const lengths = await readAt(file, signature.bytes, 8)
  if (lengths.length < 8 || lengths.readUInt32BE(0) > HEADER_BYTES_MAX) throw damaged
  const text = await readAt(file, signature.bytes + 8, lengths.readUInt32BE(0))
  if (text.length !== lengths.readUInt32BE(0) || crc32(text) !== lengths.readUInt32BE(4)) throw damaged
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

/** The head at a place, when a whole block stands there. */
async function readHead(file: FileHandle, format: RecordingFormat, offset: number, fileBytes: number) {
  const head = format.decodeBlockHead(await readAt(file, offset, format.blockHeadBytes))
  const isWhole = head !== undefined && offset + format.blockHeadBytes + head.bodyBytes <= fileBytes
  return isWhole ? head : undefined
}

async function findNextBlock(file: FileHandle, format: RecordingFormat, start: number, fileBytes: number) {
  const { blockMark } = format
  for (let from = start; from < fileBytes; from += SEARCH_BYTES) {
    // One mark may stand across the end of what is searched at once.
    const bytes = await readAt(file, from, SEARCH_BYTES + blockMark.length - 1)
    for (let found = bytes.indexOf(blockMark); found >= 0; found = bytes.indexOf(blockMark, found + 1)) {
      if ((await readHead(file, format, from + found, fileBytes)) !== undefined) return from + found
    }
  }
  return undefined
}

/** What stands at a place: fewer bytes at the end of the file. */
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
