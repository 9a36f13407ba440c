import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import { ASK, BID, type LevelChange, type MarketEvent } from '../../../src/streaming/market/event.ts'
import { BlockText } from '../../../src/streaming/recordings/entry-text.ts'
import { encodeHeader } from '../../../src/streaming/recordings/format-1.ts'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import { type KeyframeState, openRecordingWriter, RecordingWriter } from '../../../src/streaming/recordings/writer.ts'
import { propertySettings } from '../../support/property.ts'
import {
  anyEntries,
  HEADER,
  RECORDING_START,
  readEntries,
  recordingFolder,
  writeRecording,
} from '../../support/recording-file.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const folder = recordingFolder()
afterAll(() => folder.remove())

const HEADER_BYTES = encodeHeader(HEADER).length
const LOST: MarketEvent = { type: 'lost', reason: 'the venue went away' }

async function openWriter(path: string, clock = new VirtualClock(), failures: Error[] = [], overwrites = false) {
  return openRecordingWriter({ path, header: HEADER, overwrites, clock, onFailure: (error) => failures.push(error) })
}

/** A disk takes what time it takes. */
const until = (isMet: () => boolean) => vi.waitUntil(isMet, { timeout: 45_000, interval: 5 })

describe('a recording', () => {
  it('a recording reads back as it was written, in any blocks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyEntries, { maxLength: 4 }), async (parts) => {
        const path = folder.next()
        let last = RECORDING_START
        const ordered = parts.map((entries) => ({
          entries: entries.map((entry) => {
            last = Math.max(last, entry.atMilliseconds)
            return { ...entry, atMilliseconds: last }
          }),
        }))
        await writeRecording(path, ordered)
        const reader = await openRecording(path)
        await reader.close()
        expect(reader.header).toEqual(HEADER)
        expect(reader.blocks).toHaveLength(ordered.filter(({ entries }) => entries.length > 0).length)
        expect(reader.tornBytes).toBe(0)
        expect(await readEntries(path)).toEqual(ordered.flatMap(({ entries }) => entries))
      }),
      propertySettings(60),
    )
  })

  it('a recording holds lines of JSON behind its heads, for any program', async () => {
    const path = folder.next()
    const changes = [
      { side: 0, price: 100, amount: 5 },
      { side: 1, price: 101, amount: 2n ** 60n },
    ] as const
    const executions = [{ price: 100, amount: 1, executedAtMilliseconds: 7 }]
    await writeRecording(path, [
      { entries: [{ market: 1, atMilliseconds: RECORDING_START, events: [{ type: 'update', changes, executions }] }] },
    ])
    const reader = await openRecording(path)
    await reader.close()
    const bytes = readFileSync(path)
    const { bodyBytes } = reader.blocks[0]!
    const body = inflateRawSync(bytes.subarray(bytes.length - bodyBytes)).toString()
    expect(body).toBe('[1,0,{"update":[[100,5],[101,"1152921504606846976"],[[100,1,7]]]}]\n')
  })

  it('a recording adds members to the events that the first version wrote, and changes none of those', () => {
    const block = new BlockText(RECORDING_START)
    const commit = { epoch: 'one', version: 7, milliseconds: RECORDING_START + 3, nanoseconds: 5 }
    const executions = [
      { price: 100, amount: 1, id: '17', side: 'sell' as const },
      { price: 100, amount: 2 },
      { price: 100, amount: 3, venue: 'kraken' },
    ]
    const update: MarketEvent = { type: 'update', changes: [{ side: 0, price: 100, amount: 5 }], executions }
    const entry = { market: 1, atMilliseconds: RECORDING_START + 4 }
    expect(block.encode({ ...entry, events: [update], commit })).toBe(
      '[1,4,{"update":[[100,5],[],[[100,1],[100,2],[100,3]]],"trades":[["17","sell"],[null,null],[null,null,"kraken"]],"commit":[7,3,5,"one"]}]\n',
    )
    const instrument = { state: 'HALTED', reason: 'volatility' } as const
    const line = block.encode({ ...entry, events: [LOST], origin: 'run.7', instrument })
    expect(line).toBe(
      '[1,4,{"lost":"the venue went away","origin":"run.7","instrument":{"state":"HALTED","reason":"volatility"}}]\n',
    )
    expect(block.decode(line, 2)).toMatchObject({ origin: 'run.7', instrument })
    expect(block.decode(line.replace('HALTED', 'ASLEEP'), 2)).toBeUndefined()
    expect(block.encode({ ...entry, events: [LOST], lostSinceMilliseconds: 9, withdrawn: true, commit })).toBe(
      '[1,4,{"lost":"the venue went away","commit":[7,3,5],"withdrawn":true,"since":9}]\n',
    )
  })

  it('a recording names the time before it in which nothing could be recorded', async () => {
    const path = folder.next()
    const gap = { fromMilliseconds: RECORDING_START - 60_000, toMilliseconds: RECORDING_START, reason: 'ENOSPC' }
    await writeRecording(path, [], { ...HEADER, gap })
    const reader = await openRecording(path)
    await reader.close()
    expect(reader.header).toEqual({ ...HEADER, gap })
  })

  it('a recording never goes back in time, whatever the times it is given', async () => {
    const path = folder.next()
    const times = [RECORDING_START + 5, RECORDING_START + 3, RECORDING_START + 9]
    await writeRecording(path, [
      { entries: times.map((atMilliseconds) => ({ market: 0, atMilliseconds, events: [LOST] })) },
    ])
    const entries = await readEntries(path)
    expect(entries.map(({ atMilliseconds }) => atMilliseconds - RECORDING_START)).toEqual([5, 5, 9])
  })
})

describe('the writer', () => {
  it('the recording writer writes pending data once a second', async () => {
    const path = folder.next()
    const clock = new VirtualClock()
    const writer = await openWriter(path, clock)
    const headerBytes = writer.counts.bytes
    writer.write(0, RECORDING_START, [LOST])
    clock.advance(999)
    // What was handed over by now would be in the file before this is.
    await readFile(path)
    expect(writer.counts).toEqual({ entries: 0, bytes: headerBytes })
    clock.advance(1)
    await until(() => writer.counts.entries === 1)
    expect(statSync(path).size).toBe(writer.counts.bytes)
    await writer.close()
  })

  it('the recording writer writes a full block without waiting', async () => {
    const path = folder.next()
    const writer = await openWriter(path)
    const reason = 'x'.repeat(1_000)
    for (let count = 0; count < 1_100; count++) writer.write(0, RECORDING_START, [{ type: 'lost', reason }])
    await until(() => writer.counts.entries > 0)
    expect(writer.counts.entries).toBeGreaterThan(1_000)
    expect(writer.counts.entries).toBeLessThan(1_100)
    await writer.close()
    expect(writer.counts.entries).toBe(1_100)
  })

  it('the recording writer spreads a keyframe over blocks, of which the first alone begins it', async () => {
    const path = folder.next()
    const writer = await openWriter(path)
    const big: MarketEvent = { type: 'lost', reason: 'x'.repeat(2_000_000) }
    writer.write(0, RECORDING_START, [LOST])
    const states = [0, 1].map((market) => [market, market === 0 ? [big] : [LOST]] as const)
    Array.from(writer.keyframe(RECORDING_START, states))
    writer.write(0, RECORDING_START, [LOST])
    await writer.close()
    const reader = await openRecording(path)
    await reader.close()
    expect(reader.blocks.map(({ kind }) => kind)).toEqual(['entries', 'keyframe', 'keyframe-rest', 'entries'])
    expect(writer.counts.entries).toBe(2)
  })

  it('the recording writer encodes the books of a keyframe in steps, as the same text as their levels', async () => {
    const sides = (count: number): LevelChange[] =>
      ([BID, ASK] as const).flatMap((side) =>
        Array.from({ length: count }, (_, index): LevelChange => {
          const amount = index === 1 ? 10n ** 20n : index + 1
          return { side, price: side === BID ? 50_000 - index : 60_000 + index, amount }
        }),
      )
    const texts: string[] = []
    const commit = { epoch: 'one', version: 7, milliseconds: RECORDING_START, nanoseconds: 0 }
    const encoded: [count: number, steps: number][] = []
    for (const isBook of [true, false]) {
      const path = folder.next()
      const writer = await openWriter(path)
      const states = [0, 3, 10_001, 4_999, 12_500].map((count, market): KeyframeState => {
        const book = new Book()
        book.replace(sides(count))
        return [market % 2, isBook ? book : [{ type: 'snapshot', levels: sides(count) }], market < 3 ? { commit } : {}]
      })
      encoded.push([states.length, Array.from(writer.keyframe(RECORDING_START, states)).length])
      await writer.close()
      texts.push(readFileSync(path, 'base64'))
    }
    expect(texts[0]).toBe(texts[1])
    // 55,006 levels of both sides, 10,000 at once.
    expect(encoded).toEqual([
      [5, 5],
      [5, 0],
    ])
  })

  it('the recording writer does not replace a file unless it is allowed to', async () => {
    const path = folder.next()
    writeFileSync(path, 'precious')
    await expect(openWriter(path)).rejects.toThrow(`${path} already exists`)
    expect(readFileSync(path, 'utf8')).toBe('precious')
    await (await openWriter(path, new VirtualClock(), [], true)).close()
    expect(await readEntries(path)).toEqual([])
  })

  it('the recording writer ends with one error when the disk is full, and accepts no more', async () => {
    const failures: Error[] = []
    // The header fits nowhere either: the device is full.
    await expect(openWriter('/dev/full', new VirtualClock(), failures, true)).rejects.toThrow(/ENOSPC/)
    expect(failures).toEqual([])
  })

  it('the recording writer keeps the file whole up to the block that could not be written', async () => {
    const path = folder.next()
    const failures: Error[] = []
    const clock = new VirtualClock()
    const disk = await openFullDisk(path, 1_000)
    const writer = new RecordingWriter(disk, HEADER_BYTES, { clock, onFailure: (error) => failures.push(error) })
    writer.write(0, RECORDING_START, [LOST])
    clock.advance(1_000)
    await until(() => writer.counts.entries === 1)
    const before = writer.counts
    // Noise, which does not get smaller by packing it.
    const reason = Array.from({ length: 2_000 }, (_, index) => (index * 7_919).toString(36)).join('')
    writer.write(0, RECORDING_START, [{ type: 'lost', reason }])
    clock.advance(1_000)
    await until(() => failures.length > 0)
    writer.write(0, RECORDING_START, [LOST])
    await writer.close()
    expect(failures.map(({ message }) => message)).toEqual(['ENOSPC: no space left on device, write'])
    expect(writer.counts).toEqual(before)
    expect(statSync(path).size).toBe(before.bytes)
    expect(await readEntries(path)).toHaveLength(1)
  })

  it('the recording writer gives up on a disk that accepts nothing for long', async () => {
    const failures: Error[] = []
    const never = new Promise<never>(() => undefined)
    const disk = { write: () => never, truncate: () => never, sync: () => never, close: () => never }
    const writer = new RecordingWriter(disk, 0, {
      clock: new VirtualClock(),
      onFailure: (error) => failures.push(error),
    })
    const megabyte: MarketEvent = { type: 'lost', reason: 'x'.repeat(1_048_576) }
    for (let count = 0; count < 70; count++) writer.write(0, RECORDING_START, [megabyte])
    expect(failures.map(({ message }) => message)).toEqual(['the disk is too slow for this recording'])
  })
})

/** A file on a disk with `capacity` free bytes, which accepts a part of a write and fails the rest. */
async function openFullDisk(path: string, capacity: number) {
  await writeRecording(path, [])
  const file = await open(path, 'r+')
  let left = capacity
  return {
    write: ((bytes: Buffer, offset: number, length: number, position: number) => {
      if (left === 0) return Promise.reject(new Error('ENOSPC: no space left on device, write'))
      const taken = Math.min(left, length)
      left -= taken
      return file.write(bytes, offset, taken, position)
    }) as FileHandle['write'],
    truncate: (length: number) => file.truncate(length),
    sync: () => file.sync(),
    close: () => file.close(),
  }
}
