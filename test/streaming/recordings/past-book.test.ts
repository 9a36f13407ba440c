/**
 * Past books of a recorded service, compared with what a replica had at each time: random commits, losses and
 * withdrawals over three hours, with a stop of the service between.
 */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { type PastBook, readPastBook } from '../../../src/streaming/recordings/past-book.ts'
import { PastBooks, PastBooksBusy } from '../../../src/streaming/recordings/past-books.ts'
import { seedOf } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { type Moment, recordService } from '../../support/recorded-service.ts'

const START = Date.UTC(2026, 10, 23, 12, 10, 0)
const MINUTE = 60_000

const folder = mkdtempSync(join(tmpdir(), 'tidegate-past-book-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a past book', () => {
  it("a past book is the replica's book of that time, whatever the time", async () => {
    const seed = seedOf(20_261_123)
    const source = new Random(seed)
    const random = () => source.next()
    const path = join(folder, 'random')
    mkdirSync(path)
    const first = await recordService(path, START, 130, random)
    const restartMilliseconds = START + 140 * MINUTE
    const second = await recordService(path, restartMilliseconds, 20, random)
    expect(readdirSync(path).sort()).toEqual([
      '2026-11-23T12.recording',
      '2026-11-23T13.recording',
      '2026-11-23T14-2.recording',
      '2026-11-23T14.recording',
    ])
    for (const moments of [first, second]) {
      for (let count = 0; count < 40; count++) {
        const index = Math.floor(random() * (moments.length - 1))
        const { atMilliseconds, atNanoseconds, book, executions } = moments[index] as Moment
        // A loss is recorded with its millisecond, a commit with its nanosecond.
        const later = moments.slice(index + 1, index + 9).filter((next) => next.atMilliseconds === atMilliseconds)
        if (later.some((next) => next.atNanoseconds === atNanoseconds || next.book.reason !== book.reason)) continue
        const request = { folder: path, symbol: 'BTCUSD', milliseconds: atMilliseconds, nanoseconds: atNanoseconds }
        const past = await readPastBook({ ...request, depth: 1_000, executionsMax: 2 })
        const { kind, market, file, executions: last, bidLevels, askLevels, ...rest } = past as PastBook
        expect(rest, `seed ${seed}, moment ${index}`).toEqual(book)
        expect(bidLevels + askLevels).toBe(book.levels.length)
        const [best] = book.levels
        const cut = (await readPastBook({ ...request, depth: 1, executionsMax: 0 })) as PastBook
        expect([cut.levels[0], cut.bidLevels, cut.askLevels]).toEqual([best, bidLevels, askLevels])
        const ids = last.map(({ id }) => id)
        expect(executions.map(({ id }) => id).slice(-ids.length || executions.length)).toEqual(ids)
      }
    }
  })

  it('a past book names the nearest recorded times, and why nothing was recorded', async () => {
    const path = join(folder, 'gaps')
    mkdirSync(path)
    const source = new Random(1)
    await recordService(path, START, 1, () => source.next())
    await recordService(path, START + 10 * MINUTE, 1, () => source.next())
    const ask = (milliseconds: number, symbol = 'BTCUSD') =>
      readPastBook({ folder: path, symbol, milliseconds, nanoseconds: 0, depth: 5, executionsMax: 0 })
    const before = await ask(START - 1)
    expect(before).toEqual({ kind: 'not-recorded', afterMilliseconds: START })
    const between = (await ask(START + 5 * MINUTE)) as { readonly beforeMilliseconds: number }
    expect(between).toMatchObject({ kind: 'not-recorded', afterMilliseconds: START + 10 * MINUTE })
    expect(await ask(between.beforeMilliseconds)).toMatchObject({ kind: 'found' })
    expect(await ask(between.beforeMilliseconds + 1)).toMatchObject({ kind: 'not-recorded' })
    expect(await ask(START + 60 * MINUTE)).not.toHaveProperty('afterMilliseconds')
    expect(await ask(START + 10, 'XXXUSD')).toMatchObject({
      kind: 'not-recorded',
      reason: 'the recording of this time contains no market XXXUSD',
    })
    expect(await ask(START, 'BTCUSD')).toMatchObject({ kind: 'found' })
    expect(await readPastBook({ ...request(), folder: join(path, 'none') })).toEqual({ kind: 'not-recorded' })
  })
})

describe('past books', () => {
  it('past books are read in a thread, one at a time, and a few wait', async () => {
    const path = join(folder, 'thread')
    mkdirSync(path)
    const source = new Random(2)
    const moments = await recordService(path, START, 3, () => source.next())
    const { atMilliseconds, book } = moments.at(-3) as Moment
    const books = new PastBooks({ folder: path, clock: createSystemClock(), flush: () => Promise.resolve() })
    const all = Array.from({ length: 6 }, () => books.read({ ...request(), milliseconds: atMilliseconds }))
    const settled = await Promise.allSettled(all)
    const refused = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(refused).toHaveLength(1)
    for (const reason of refused) expect(reason).toBeInstanceOf(PastBooksBusy)
    expect(settled[0]).toMatchObject({ status: 'fulfilled', value: { kind: 'found', levels: book.levels } })
    writeFileSync(join(path, '2026-11-23T12.recording'), 'damaged')
    await expect(books.read({ ...request(), milliseconds: atMilliseconds })).rejects.toThrow('is not a recording')
  })
})

function request() {
  return { symbol: 'BTCUSD', milliseconds: START, nanoseconds: 999_999, depth: 1_000, executionsMax: 0 }
}
