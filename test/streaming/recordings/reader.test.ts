import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import type { RecordedEntry } from '../../../src/streaming/recordings/recording.ts'
import { canMakeFifo, makeFifo } from '../../support/fifo.ts'
import { HEADER, RECORDING_START, readEntries, recordingFolder, writeRecording } from '../../support/recording-file.ts'

const folder = recordingFolder()
afterAll(() => folder.remove())

const PARTS: readonly RecordedEntry[][] = [0, 1, 2].map((part) =>
  [0, 1].map((market) => ({
    market,
    atMilliseconds: RECORDING_START + part * 1_000 + market,
    events: [{ type: 'update', changes: [{ side: 0, price: 100 + part, amount: 7 }], executions: [] }],
  })),
)

let bytes: Buffer
/** Where each block ends; the header's end first. */
let ends: number[]

beforeAll(async () => {
  const path = folder.next()
  await writeRecording(
    path,
    PARTS.map((entries) => ({ entries })),
  )
  bytes = readFileSync(path)
  const reader = await openRecording(path)
  await reader.close()
  ends = [...reader.blocks.map(({ offset }) => offset), bytes.length]
})

function fileOf(content: Buffer): string {
  const path = folder.next()
  writeFileSync(path, content)
  return path
}

describe('a recording that was cut off', () => {
  it('a recording that was cut off is read up to its last whole block, wherever it was cut', async () => {
    for (let length = ends[0]!; length <= bytes.length; length++) {
      const path = fileOf(bytes.subarray(0, length))
      const whole = ends.findLastIndex((end) => end <= length)
      const reader = await openRecording(path)
      await reader.close()
      expect([length, reader.blocks.length, reader.tornBytes]).toEqual([length, whole, length - ends[whole]!])
      expect(await readEntries(path)).toEqual(PARTS.slice(0, whole).flat())
    }
  })

  it('a file that was cut off within its header is not a recording', async () => {
    for (let length = 0; length < ends[0]!; length++) {
      await expect(openRecording(fileOf(bytes.subarray(0, length)))).rejects.toThrow(/is not a recording|in its header/)
    }
  })

  it('a recording that was cut off is read without the bytes after its last whole block: zeros, noise, half a block', async () => {
    const tails = [
      Buffer.alloc(5_000),
      Buffer.from('\u0000TGB and no head of a block'),
      bytes.subarray(ends[1]!, ends[2]! - 1),
    ]
    for (const tail of tails) {
      const path = fileOf(Buffer.concat([bytes, tail]))
      const reader = await openRecording(path)
      await reader.close()
      expect([reader.blocks.length, reader.tornBytes]).toEqual([3, tail.length])
    }
  })

  it('a recording that was cut off does not take a last block whose content never reached the disk', async () => {
    const zeroed = Buffer.from(bytes)
    zeroed.fill(0, ends[3]! - 10)
    const path = fileOf(zeroed)
    const reader = await openRecording(path)
    await reader.close()
    expect([reader.blocks.length, reader.tornBytes]).toEqual([2, ends[3]! - ends[2]!])
  })
})

describe('a recording with a byte changed', () => {
  it('a recording with a byte changed never reads an entry that was not written, and shows where something is missing', async () => {
    for (let position = 0; position < bytes.length; position++) {
      const flipped = Buffer.from(bytes)
      flipped[position]! ^= 1 << (position % 8)
      const path = fileOf(flipped)
      const part = ends.findLastIndex((end) => end <= position)
      if (part < 0) {
        await expect(openRecording(path)).rejects.toThrow(/is not a recording|in its header|has format/)
        continue
      }
      const reader = await openRecording(path)
      const read = await Promise.all(
        reader.blocks.map((block) => reader.readBlock(block).catch((error: Error) => error.message)),
      )
      await reader.close()
      const isLast = part === 2
      const isBody = position >= ends[part]! + 44
      if (isLast) expect([position, read, reader.tornBytes]).toEqual([position, PARTS.slice(0, 2), ends[3]! - ends[2]!])
      else if (isBody) {
        expect(read[part]).toContain(`is damaged at byte ${ends[part]}`)
        expect(read.toSpliced(part, 1)).toEqual(PARTS.toSpliced(part, 1))
      } else {
        expect([position, read]).toEqual([position, PARTS.toSpliced(part, 1)])
        expect(reader.blocks[part]!.isContinuous).toBe(false)
      }
    }
  })

  it('a recording with a byte changed shows that a whole block is not there', async () => {
    const path = fileOf(Buffer.concat([bytes.subarray(0, ends[1]), bytes.subarray(ends[2])]))
    const reader = await openRecording(path)
    await reader.close()
    expect(reader.blocks.map(({ isContinuous }) => isContinuous)).toEqual([true, false])
  })
})

describe('opening', () => {
  it('opening an unreadable file names its kind', async () => {
    const other = fileOf(Buffer.from('{"not": "a recording"}\n'))
    await expect(openRecording(other)).rejects.toThrow(`${other} is not a recording`)
    const newer = fileOf(Buffer.concat([Buffer.from('tidegate recording 2\n'), bytes.subarray(21)]))
    await expect(openRecording(newer)).rejects.toThrow(`the recording ${newer} has format 2, but this program reads 1`)
    await expect(openRecording('/nowhere/at.all')).rejects.toThrow(
      'the recording /nowhere/at.all cannot be opened: ENOENT',
    )
    await expect(openRecording('/tmp')).rejects.toThrow('/tmp is not a recording: it is not a regular file')
  })

  it.skipIf(!canMakeFifo)(
    'opening a named pipe (needs mkfifo) fails at once, although nothing writes to it',
    async () => {
      const path = folder.next()
      makeFifo(path)
      await expect(openRecording(path)).rejects.toThrow(`${path} is not a recording: it is not a regular file`)
    },
  )

  it('opening a recording returns the markets as they were configured, and the times', async () => {
    const reader = await openRecording(fileOf(bytes))
    await reader.close()
    expect(reader.header).toEqual(HEADER)
    expect([reader.firstMilliseconds, reader.lastMilliseconds]).toEqual([RECORDING_START, RECORDING_START + 2_001])
  })
})
