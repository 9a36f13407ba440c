/** What becomes of each message of a writer; that it leads to the same commits again, `streaming/recordings/replay` shows. */
import { describe, expect, it } from 'vitest'
import { Book } from '../../../src/streaming/market/book.ts'
import type { LevelChange } from '../../../src/streaming/market/event.ts'
import { CommitRecorder } from '../../../src/streaming/recordings/commit-recorder.ts'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import type { EntryFacts } from '../../../src/streaming/recordings/recording.ts'
import { openRecordingWriter } from '../../../src/streaming/recordings/writer.ts'
import type { Commit } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { HEADER, recordedMarket, recordingFolder } from '../../support/recording-file.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const START = Date.UTC(2026, 0, 1)
const BID: LevelChange = { side: 0, price: 100, amount: 1 }
const ASK: LevelChange = { side: 1, price: 200, amount: 2 }
const TRADE = { price: 150, amount: 3 }

/** @param steps of every keyframe */
function startRecorder(steps = 1) {
  const clock = new VirtualClock(START)
  const bus = createMemoryBus()
  const written: unknown[] = []
  const facts: EntryFacts[] = []
  const recorder = new CommitRecorder({
    markets: [recordedMarket('BTC').definition],
    bus,
    clock,
    writer: {
      write(market, atMilliseconds, events, fact = {}) {
        written.push([market, atMilliseconds - START, ...events])
        facts.push(fact)
      },
      *keyframe(atMilliseconds, states) {
        const types = [...states].map(([, content]) => (content instanceof Book ? 'snapshot' : content[0]!.type))
        written.push(['keyframe', atMilliseconds - START, ...types])
        for (let step = 1; step < steps; step++) yield
        if (steps > 1) written.push(['keyframe ends'])
      },
    },
  })
  let version = 0
  const commit = (parts: Partial<Commit>): void => {
    const times = { milliseconds: 0, nanoseconds: 0, receivedMilliseconds: 0 }
    version += 1
    const counted = { epoch: 'one', version, executionNumber: 0, changes: [], executions: [] }
    bus.publish({ type: 'commit', market: 'BTCUSD', ...times, ...counted, ...parts })
  }
  const status = (live: boolean, reason = ''): void =>
    bus.publish({ type: 'status', market: 'BTCUSD', epoch: 'e1', version: 1, live, reason })
  return { clock, bus, recorder, written, facts, commit, status }
}

describe('a recorder of commits', () => {
  it('the commit recorder writes a new book whole, and the executions while there is none', () => {
    const { clock, written, commit, status } = startRecorder()
    status(false, 'connecting')
    commit({ executions: [TRADE] })
    clock.advance(2)
    commit({ changes: [BID, ASK], executions: [TRADE] })
    status(true)
    clock.advance(2)
    status(false, 'gone')
    commit({ changes: [{ ...BID, amount: 0 }] })
    status(true)
    clock.advance(1)
    expect(written).toEqual([
      [0, 0, { type: 'lost', reason: 'connecting' }],
      [0, 0, { type: 'update', changes: [], executions: [TRADE] }],
      [0, 2, { type: 'snapshot', levels: [BID, ASK] }, { type: 'update', changes: [], executions: [TRADE] }],
      [0, 4, { type: 'lost', reason: 'gone' }],
      [0, 4, { type: 'snapshot', levels: [ASK] }],
    ])
  })

  it('the commit recorder writes executions at the withdrawal of a lost book, and the next book as it is', () => {
    const { clock, recorder, written, commit, status } = startRecorder()
    commit({ changes: [BID, ASK] })
    status(true)
    status(false, 'gone')
    clock.advance(1)
    const changes = [BID, ASK].map((level) => ({ ...level, amount: 0 }))
    commit({ changes, executions: [TRADE], withdraws: true })
    clock.advance(1)
    recorder.writeKeyframe()
    commit({ changes: [ASK] })
    status(true)
    clock.advance(1)
    expect(written.slice(2)).toEqual([
      [0, 1, { type: 'update', changes: [], executions: [TRADE] }],
      ['keyframe', 2, 'lost'],
      [0, 2, { type: 'snapshot', levels: [ASK] }],
    ])
  })

  it('the commit recorder writes a requested commit without changes, and a book that starts over whole', () => {
    const { clock, written, commit, status } = startRecorder()
    commit({ changes: [BID] })
    status(true)
    commit({})
    clock.advance(1)
    commit({ book: [ASK], changes: [] })
    clock.advance(1)
    expect(written.slice(1)).toEqual([
      [0, 0, { type: 'update', changes: [], executions: [] }],
      [0, 1, { type: 'snapshot', levels: [ASK] }],
    ])
  })

  it('the commit recorder writes the epoch, version and time of every commit, and which of them withdrew the book', () => {
    const { clock, facts, commit, status } = startRecorder()
    commit({ changes: [BID, ASK], milliseconds: START, nanoseconds: 7 })
    status(true)
    status(false, 'gone')
    clock.advance(1)
    commit({ changes: [], withdraws: true, milliseconds: START + 1 })
    clock.advance(1)
    expect(facts).toEqual([
      { commit: { epoch: 'one', version: 1, milliseconds: START, nanoseconds: 7 } },
      {},
      { commit: { epoch: 'one', version: 2, milliseconds: START + 1, nanoseconds: 0 }, withdrawn: true },
    ])
  })

  it("the commit recorder writes every commit's origin, and the instrument state in the commit that changed it", () => {
    const { clock, facts, commit, status } = startRecorder()
    const instrument = { state: 'HALTED', reason: 'volatility' } as const
    commit({ changes: [BID], origin: 'run.7', instrument })
    status(true)
    clock.advance(1)
    commit({ changes: [ASK], origin: 'run.8' })
    clock.advance(1)
    commit({ instrument: null })
    clock.advance(1)
    expect(facts.map(({ origin, instrument: changed }) => [origin, changed])).toEqual([
      ['run.7', instrument],
      ['run.8', undefined],
      [undefined, null],
    ])
  })

  it('the commit recorder keeps the books of the markets that another list contains too', () => {
    const { clock, bus, recorder, written, commit, status } = startRecorder()
    commit({ changes: [BID] })
    status(true)
    recorder.change([recordedMarket('ETH').definition, recordedMarket('BTC').definition])
    bus.publish({ type: 'status', market: 'ETHUSD', epoch: 'e1', version: 1, live: false, reason: 'connecting' })
    commit({ changes: [ASK] })
    clock.advance(1)
    recorder.writeKeyframe()
    recorder.change([recordedMarket('ETH').definition])
    commit({ changes: [BID] })
    clock.advance(1)
    expect(written.slice(1)).toEqual([
      [0, 0, { type: 'lost', reason: 'connecting' }],
      [1, 0, { type: 'update', changes: [ASK], executions: [] }],
      ['keyframe', 1, 'lost', 'snapshot'],
    ])
  })

  it('the commit recorder includes commits of the same tick in a keyframe, after their entries', () => {
    const { clock, recorder, written, commit, status } = startRecorder()
    commit({ changes: [BID] })
    status(true)
    status(false, 'gone')
    commit({ executions: [TRADE] })
    recorder.writeKeyframe()
    clock.advance(1)
    expect(written.map((entry) => (entry as unknown[])[0])).toEqual([0, 0, 0, 'keyframe'])
    expect(written[3]).toEqual(['keyframe', 0, 'snapshot', 'lost'])
  })

  it('the commit recorder keeps its pace when the wall clock is set', () => {
    const { clock, written, commit, status } = startRecorder()
    commit({ changes: [BID] })
    status(true)
    clock.stepWall(-3_600_000)
    clock.advance(10)
    commit({ changes: [ASK] })
    clock.stepWall(7_200_000)
    clock.advance(10)
    commit({ executions: [TRADE] })
    clock.advance(10)
    expect(written.map((entry) => (entry as unknown[])[1])).toEqual([0, 10, 20])
  })

  it('the commit recorder writes its pending data when it is stopped, and nothing after', () => {
    const { clock, recorder, written, commit } = startRecorder()
    commit({ executions: [TRADE] })
    recorder.stop()
    commit({ executions: [TRADE] })
    clock.advance(1)
    expect(written).toHaveLength(1)
  })

  it("the commit recorder writes commits during a keyframe's encoding after it, with their times", () => {
    const { clock, recorder, written, commit, status } = startRecorder(4)
    commit({ changes: [BID, ASK] })
    status(true)
    written.length = 0
    recorder.writeKeyframe()
    clock.endTick()
    commit({ changes: [{ ...BID, amount: 9 }] })
    clock.endTick()
    status(false, 'gone')
    commit({ changes: [{ ...ASK, amount: 0 }] })
    status(true)
    expect(written).toEqual([['keyframe', 0, 'snapshot']])
    clock.advance(3)
    expect(written).toEqual([
      ['keyframe', 0, 'snapshot'],
      ['keyframe ends'],
      [0, 0, { type: 'update', changes: [{ ...BID, amount: 9 }], executions: [] }],
      [0, 0, { type: 'lost', reason: 'gone' }],
      [0, 0, { type: 'snapshot', levels: [{ ...BID, amount: 9 }] }],
    ])
  })

  it('the commit recorder completes a keyframe when it is stopped, flushed, or given another list of markets', () => {
    for (const request of ['stop', 'releaseAll', 'writeKeyframe', 'change'] as const) {
      const { recorder, written, commit } = startRecorder(1_000)
      recorder.writeKeyframe()
      commit({ executions: [TRADE] })
      if (request === 'change') recorder.change([])
      else recorder[request]()
      const kinds = written.map((entry) => (entry as unknown[])[0])
      expect([request, ...kinds.slice(0, 3)]).toEqual([request, 'keyframe', 'keyframe ends', 0])
    }
  })

  it('the commit recorder completes a keyframe when too much waits for it', () => {
    const { clock, recorder, written, commit } = startRecorder(1_000)
    recorder.writeKeyframe()
    const changes = Array.from({ length: 3_990 }, (_, index) => ({ ...ASK, price: 200 + index }))
    for (const expected of [1, 1, 5]) {
      commit({ changes })
      clock.endTick()
      expect(written.length).toBe(expected)
    }
    // The last commit is written at the end of the keyframe too.
    expect(written.at(-1)).toEqual([0, 0, { type: 'update', changes, executions: [] }])
  })
})

describe('a keyframe of large books', () => {
  const large = (base: string, count: number): LevelChange[] =>
    Array.from({ length: count }, (_, index) =>
      index < count / 3
        ? { side: 0, price: 100_000 - index, amount: 1 + index }
        : { side: 1, price: 100_001 + index, amount: base === 'ETH' ? 10n ** 20n + BigInt(index) : 5 },
    )

  it('a keyframe of large books has the books of its beginning, although they change while it is encoded', async () => {
    const folder = recordingFolder()
    const path = folder.next()
    const clock = new VirtualClock(START)
    const bus = createMemoryBus()
    const onFailure = (error: Error): never => {
      throw error
    }
    const writer = await openRecordingWriter({ path, header: HEADER, overwrites: false, clock, onFailure })
    const recorder = new CommitRecorder({
      markets: HEADER.markets.map(({ definition }) => definition),
      bus,
      clock,
      writer,
    })
    const sizes = { BTC: 25_001, ETH: 12_000 }
    const publish = (base: string, version: number, parts: Partial<Commit>): void => {
      const times = { milliseconds: START + version, nanoseconds: 0, receivedMilliseconds: 0 }
      const commit = { epoch: 'one', version, executionNumber: 0, changes: [], executions: [], ...parts }
      bus.publish({ type: 'commit', market: `${base}USD`, ...times, ...commit })
    }
    for (const [base, size] of Object.entries(sizes)) {
      publish(base, 1, { changes: large(base, size), origin: 'run.1' })
      bus.publish({ type: 'status', market: `${base}USD`, epoch: 'one', version: 1, live: true, reason: '' })
    }
    clock.advance(10)
    recorder.writeKeyframe()
    let ticks = 0
    for (; ticks < 3; ticks++) {
      publish('BTC', 2 + ticks, { changes: [{ side: 0, price: 100_000 - ticks, amount: 0 }] })
      clock.endTick()
    }
    clock.advance(10)
    recorder.stop()
    await writer.close()
    const reader = await openRecording(path)
    const blocks = []
    for (const block of reader.blocks) blocks.push({ kind: block.kind, entries: await reader.readBlock(block) })
    await reader.close()
    folder.remove()
    const keyframe = blocks.filter(({ kind }) => kind !== 'entries').flatMap(({ entries }) => entries)
    expect(keyframe.map(({ market, commit }) => [market, commit?.version])).toEqual([
      [0, 1],
      [1, 1],
    ])
    const levels = keyframe.map(({ events: [event] }) => (event?.type === 'snapshot' ? event.levels : []))
    expect(levels).toEqual(Object.entries(sizes).map(([base, size]) => large(base, size)))
    expect(keyframe.map(({ origin }) => origin)).toEqual(['run.1', 'run.1'])
    const after = blocks.slice(blocks.findLastIndex(({ kind }) => kind !== 'entries') + 1)
    expect(after.flatMap(({ entries }) => entries).map(({ commit }) => commit?.version)).toEqual([2, 3, 4])
  })
})
