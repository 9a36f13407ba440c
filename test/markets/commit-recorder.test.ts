/** What becomes of each message of a writer; that it leads to the same commits again, `feed/replay/replay` shows. */
import { describe, expect, it } from 'vitest'
import type { Commit } from '../../src/channel/bus.ts'
import { createMemoryBus } from '../../src/channel/bus-memory.ts'
import type { EntryFacts } from '../../src/feed/replay/recording.ts'
import type { LevelChange } from '../../src/market/event.ts'
import { CommitRecorder } from '../../src/markets/commit-recorder.ts'
import { recordedMarket } from '../support/recording-file.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const START = Date.UTC(2026, 0, 1)
const BID: LevelChange = { side: 0, price: 100, amount: 1 }
const ASK: LevelChange = { side: 1, price: 200, amount: 2 }
const TRADE = { price: 150, amount: 3 }

function startRecorder() {
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
      writeKeyframe: (atMilliseconds, states) =>
        void written.push(['keyframe', atMilliseconds - START, ...[...states].map(([, events]) => events[0]!.type)]),
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
  it('writes a book that comes in whole, and what is executed while there is none', () => {
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

  it('writes what is executed when a lost book is withdrawn, and the next book as it is', () => {
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

  it('writes a commit that was only asked for without changes, and a book that starts over whole', () => {
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

  it('writes the epoch, version and time of every commit, and which of them withdrew the book', () => {
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

  it('writes the origin of every commit, and the state of the instrument in the commit that changed it', () => {
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

  it('keeps the books of the markets that another list contains too', () => {
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

  it('includes commits of the same tick in a keyframe, after their entries', () => {
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

  it('keeps its pace when the wall clock is set', () => {
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

  it('writes what it holds when it is stopped, and nothing after', () => {
    const { clock, recorder, written, commit } = startRecorder()
    commit({ executions: [TRADE] })
    recorder.stop()
    commit({ executions: [TRADE] })
    clock.advance(1)
    expect(written).toHaveLength(1)
  })
})
