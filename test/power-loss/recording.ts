/** The output of the recorder (recorder.c) for a process: every change of its files, in order, and its marks. */
import { readFileSync } from 'node:fs'

export interface Change {
  /** Open, close, write, truncate, sync, rename, unlink (or rmdir), mkdir, mark. */
  readonly kind: 'O' | 'C' | 'W' | 'T' | 'S' | 'R' | 'U' | 'D' | 'M'
  readonly descriptor: number
  /** Of an open. */
  readonly flags: number
  /** The path, or the text of a mark. */
  readonly text: string
  /** Of a write; the new size of a truncation. */
  readonly offset: number
  /** Of a write; the new path of a rename. */
  readonly data: Buffer
}

const HEADER_BYTES = 32

export function readRecording(path: string): Change[] {
  const bytes = readFileSync(path)
  const changes: Change[] = []
  for (let at = 0; at < bytes.length; ) {
    const textAt = at + HEADER_BYTES
    const dataAt = textAt + bytes.readUInt32LE(at + 12)
    const end = dataAt + Number(bytes.readBigUInt64LE(at + 24))
    changes.push({
      kind: String.fromCharCode(bytes[at] as number) as Change['kind'],
      descriptor: bytes.readInt32LE(at + 4),
      flags: bytes.readInt32LE(at + 8),
      text: bytes.toString('utf8', textAt, dataAt),
      offset: Number(bytes.readBigInt64LE(at + 16)),
      data: bytes.subarray(dataAt, end),
    })
    at = end
  }
  return changes
}
