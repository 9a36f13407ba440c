import { describe, expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { ASK, BID, type Execution, type LevelChange } from '../../../src/streaming/market/event.ts'
import type { Commit, Continuation, MarketMessage, MarketStatus } from '../../../src/streaming/sequencing/bus.ts'
import { createMemoryBus } from '../../../src/streaming/sequencing/bus-memory.ts'
import { Sequencer } from '../../../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../../../src/streaming/sequencing/sequencer-metrics.ts'
import { MarketNoise } from '../../support/market-noise.ts'
import { NaiveBook } from '../../support/naive-book.ts'
import { Random } from '../../support/random.ts'
import { testMarket } from '../../support/stream-simulation.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const WALL = Date.UTC(2026, 0, 1)

const bid = (price: number, amount: number | bigint): LevelChange => ({ side: BID, price, amount })
const ask = (price: number, amount: number | bigint): LevelChange => ({ side: ASK, price, amount })
const BOOK = [bid(100, 10), ask(200, 20)]
const TRADE: Execution = { price: 150, amount: 1 }

class Writer {
  readonly clock = new VirtualClock(WALL)
  readonly bus = createMemoryBus()
  readonly registry = createMetricsRegistry()
  readonly messages: MarketMessage[] = []
  /** Monotonic time of each commit. */
  readonly committedAt: number[] = []
  readonly warnings: unknown[] = []
  readonly rebuilds: string[] = []
  readonly sequencer: Sequencer
  onRebuild: () => void = () => undefined

  constructor(floorMilliseconds = 0, withdrawAfterMilliseconds?: number, continues?: Continuation) {
    this.bus.subscribe('AAAUSD', (message) => {
      this.messages.push(message)
      if (message.type === 'commit') this.committedAt.push(this.clock.monotonicMilliseconds())
    })
    const log = Object.assign(createLog('silent'), { warn: (fields: unknown) => void this.warnings.push(fields) })
    this.sequencer = new Sequencer({
      market: testMarket('AAAUSD', 0),
      epoch: 'e1',
      bus: this.bus,
      clock: this.clock,
      log,
      metrics: createSequencerMetrics(this.registry),
      floorMilliseconds,
      withdrawAfterMilliseconds,
      continues,
      onRebuildNeeded: (reason) => {
        this.rebuilds.push(reason)
        this.onRebuild()
      },
    })
  }

  get commits(): Commit[] {
    return this.messages.filter((message): message is Commit => message.type === 'commit')
  }

  get statuses(): MarketStatus[] {
    return this.messages.filter((message): message is MarketStatus => message.type === 'status')
  }

  snapshot(levels: readonly LevelChange[] = BOOK): void {
    this.sequencer.offer({ type: 'snapshot', levels })
  }

  update(changes: readonly LevelChange[], ...executions: readonly Execution[]): void {
    this.sequencer.offer({ type: 'update', changes, executions })
  }

  /** A writer that is live with `BOOK`, with its messages forgotten. */
  static live(withdrawAfterMilliseconds?: number): Writer {
    const writer = new Writer(0, withdrawAfterMilliseconds)
    writer.snapshot()
    writer.clock.advance(5)
    writer.messages.length = 0
    writer.committedAt.length = 0
    return writer
  }
}

describe('commits', () => {
  test('commits carry epoch, version, time, changes, executions and their number', () => {
    const writer = new Writer()
    writer.clock.advance(1.5)
    writer.snapshot()
    writer.clock.advance(2)
    writer.update([bid(100, 11)], TRADE, TRADE)
    writer.clock.settle()
    expect(writer.messages).toEqual([
      {
        type: 'commit',
        market: 'AAAUSD',
        epoch: 'e1',
        version: 1,
        milliseconds: WALL + 1,
        nanoseconds: 500_000,
        receivedMilliseconds: WALL + 1.5,
        changes: BOOK,
        executions: [],
        executionNumber: 0,
        beginsBook: true,
      },
      {
        type: 'status',
        market: 'AAAUSD',
        epoch: 'e1',
        version: 1,
        live: true,
        reason: '',
      },
      {
        type: 'commit',
        market: 'AAAUSD',
        epoch: 'e1',
        version: 2,
        milliseconds: WALL + 3,
        nanoseconds: 500_000,
        receivedMilliseconds: WALL + 3.5,
        changes: [bid(100, 11)],
        executions: [TRADE, TRADE],
        executionNumber: 2,
      },
    ])
  })

  test('the messages of one tick are one commit with their difference', () => {
    const writer = Writer.live()
    writer.update([bid(100, 11), bid(99, 5)], TRADE)
    writer.update([bid(100, 10), bid(99, 6), bid(98, 1)], TRADE)
    writer.update([bid(98, 0)])
    expect(writer.commits).toEqual([])
    writer.clock.settle()
    expect(writer.commits).toHaveLength(1)
    expect(writer.commits[0]).toMatchObject({ changes: [bid(99, 6)], executions: [TRADE, TRADE] })
  })

  test('a sequencer commits at most once per millisecond, and nothing is lost by that', () => {
    const writer = Writer.live()
    for (let amount = 1; amount <= 100; amount++) {
      writer.update([bid(50, amount)], { price: 1, amount })
      writer.clock.advance(0.1)
    }
    writer.clock.advance(1)
    expect(writer.commits.length).toBeGreaterThanOrEqual(10)
    expect(writer.commits.length).toBeLessThanOrEqual(11)
    for (let index = 1; index < writer.committedAt.length; index++) {
      const distance = Number(writer.committedAt[index]) - Number(writer.committedAt[index - 1])
      expect(distance).toBeGreaterThan(1 - 1e-9)
    }
    expect(writer.commits.at(-1)?.changes).toEqual([bid(50, 100)])
    const amounts = writer.commits.flatMap(({ executions }) => executions.map(({ amount }) => amount))
    expect(amounts).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  })

  test('a message that changes nothing is not committed', () => {
    const writer = Writer.live()
    writer.update([bid(100, 10), ask(300, 0)])
    writer.update([bid(99, 1)])
    writer.update([bid(99, 0)])
    writer.clock.advance(5)
    expect(writer.commits).toEqual([])
  })

  test('an empty commit is made when it is requested, once', () => {
    const writer = Writer.live()
    expect(writer.bus.requestCommit('AAAUSD')).toBe(true)
    expect(writer.bus.requestCommit('AAAUSD')).toBe(true)
    writer.clock.advance(5)
    expect(writer.commits).toHaveLength(1)
    expect(writer.commits[0]).toMatchObject({ version: 2, changes: [], executions: [] })
  })

  test('commits have the place where executions were missed, at once, and count it with the executions', async () => {
    const writer = Writer.live()
    const miss = () => writer.sequencer.offer({ type: 'missed', reason: 'trade 7 came after trade 4' })
    miss()
    writer.clock.advance(1)
    writer.update([], TRADE, TRADE)
    miss()
    writer.update([], TRADE)
    writer.clock.advance(1)
    writer.update([], TRADE)
    miss()
    writer.update([], TRADE)
    miss()
    writer.clock.advance(1)
    writer.update([], TRADE)
    writer.clock.advance(1)
    expect(
      writer.commits.map(({ executions, missedAt, executionNumber }) => [executions.length, missedAt, executionNumber]),
    ).toEqual([
      [0, 0, 1],
      [3, 2, 5],
      [2, 2, 8],
      [1, undefined, 9],
    ])
    expect(await writer.registry.metrics()).toContain('tidegate_executions_missed_total{market="AAAUSD"} 4')
    expect(writer.warnings).toHaveLength(4)
    expect(writer.warnings[0]).toEqual({ market: 'AAAUSD', reason: 'trade 7 came after trade 4' })
  })

  test('commits with a miss are made before there is a book, and while the market is stale', () => {
    const writer = new Writer()
    writer.sequencer.offer({ type: 'missed', reason: 'x' })
    writer.clock.advance(1)
    writer.snapshot()
    writer.clock.advance(1)
    writer.sequencer.offer({ type: 'lost', reason: 'x' })
    writer.sequencer.offer({ type: 'missed', reason: 'x' })
    writer.clock.advance(1)
    expect(writer.commits.map(({ missedAt }) => missedAt)).toEqual([0, undefined, 0])
  })

  test('the versions of commits have no gap', () => {
    const writer = new Writer()
    writer.snapshot()
    for (let amount = 1; amount < 50; amount++) {
      writer.clock.advance(0.7)
      if (amount % 7 === 0) writer.sequencer.offer({ type: 'lost', reason: 'x' })
      else if (amount % 7 === 1) writer.snapshot()
      else writer.update([bid(50, amount)], TRADE)
    }
    writer.clock.advance(5)
    expect(writer.commits.map(({ version }) => version)).toEqual(writer.commits.map((_, index) => index + 1))
  })
})

describe('commit times', () => {
  const times = (writer: Writer) => writer.commits.map(({ milliseconds }) => milliseconds)

  test('commit times rise by at least a millisecond whatever the wall clock does', () => {
    const writer = Writer.live()
    const random = new Random(5)
    for (let amount = 1; amount <= 300; amount++) {
      writer.clock.stepWall(random.integer(2_000) - 1_000)
      writer.update([bid(50, amount)])
      writer.clock.advance(1)
    }
    expect(writer.commits).toHaveLength(300)
    for (let index = 1; index < 300; index++) {
      expect(times(writer)[index]).toBeGreaterThan(Number(times(writer)[index - 1]))
    }
    for (const { nanoseconds } of writer.commits) expect(nanoseconds).toBeLessThan(1_000_000)
  })

  test('commit times stay ahead of a wall clock that was set back, are measured and warned about once, until it catches up', async () => {
    const writer = Writer.live()
    const lead = async () => Number(/clock_lead_milliseconds\{market="AAAUSD"\} (\d+)/.exec(await metrics(writer))?.[1])
    writer.clock.stepWall(-5_000)
    writer.update([bid(50, 1)])
    writer.clock.advance(1)
    expect(times(writer)).toEqual([WALL + 1])
    expect(writer.commits[0]?.nanoseconds).toBe(0)
    expect(await lead()).toBe(4_996)
    writer.update([bid(50, 2)])
    writer.clock.advance(1)
    expect(writer.warnings).toHaveLength(1)
    writer.clock.advance(5_000)
    writer.update([bid(50, 3)])
    writer.clock.advance(1)
    expect(await lead()).toBe(0)
    expect(times(writer).at(-1)).toBe(WALL + 5_007 - 5_000)
    writer.clock.stepWall(-5_000)
    writer.update([bid(50, 4)])
    writer.clock.advance(1)
    expect(writer.warnings).toHaveLength(2)
  })

  test('commit times are later than those of the writer before', () => {
    const writer = new Writer(WALL + 60_000)
    writer.snapshot()
    writer.clock.advance(2)
    expect(times(writer)).toEqual([WALL + 60_001])
  })
})

function metrics(writer: Writer): Promise<string> {
  return writer.registry.metrics()
}

describe('a book that breaks an invariant', () => {
  const BROKEN: readonly (readonly [string, readonly LevelChange[], string])[] = [
    ['crossed', [bid(200, 1)], 'the book is crossed'],
    ['locked by an ask', [ask(100, 1)], 'the book is crossed'],
    ['negative amount', [bid(99, -1)], 'impossible level: price 99, amount -1'],
    [
      'negative amount beyond safe integers',
      [bid(99, -(2n ** 70n))],
      `impossible level: price 99, amount -${2n ** 70n}`,
    ],
    ['price zero', [bid(0, 1)], 'impossible level: price 0, amount 1'],
    ['negative price', [ask(-5, 1)], 'impossible level: price -5, amount 1'],
    ['price that is no safe integer', [ask(2 ** 53, 1)], `impossible level: price ${2 ** 53}, amount 1`],
  ]

  test.each(BROKEN)(
    'a broken book (%s) is not committed and is counted, a rebuild is requested, and executions continue',
    async (_, changes, reason) => {
      const writer = Writer.live()
      writer.update(changes, TRADE)
      writer.clock.advance(2)
      expect(writer.commits).toHaveLength(1)
      expect(writer.commits[0]).toMatchObject({ changes: [], executions: [TRADE] })
      expect(writer.statuses).toEqual([
        {
          type: 'status',
          market: 'AAAUSD',
          epoch: expect.any(String),
          version: expect.any(Number),
          live: false,
          reason,
        },
      ])
      expect(writer.rebuilds).toEqual([reason])
      expect(await metrics(writer)).toContain('tidegate_invariant_violations_total{market="AAAUSD"} 1')
      writer.update([bid(101, 5)], TRADE)
      writer.clock.advance(2)
      expect(writer.commits).toHaveLength(2)
      expect(writer.commits[1]?.changes).toEqual([])
      writer.snapshot([bid(100, 10), ask(199, 7), ask(200, 20)])
      writer.clock.advance(2)
      expect(writer.commits).toHaveLength(3)
      expect(writer.commits[2]).toMatchObject({ changes: [ask(199, 7)], executions: [] })
      expect(writer.statuses.at(-1)?.live).toBe(true)
      expect(writer.rebuilds).toHaveLength(1)
    },
  )

  test.each(BROKEN.slice(2))('a snapshot with an impossible level (%s) replaces no book', (_, levels, reason) => {
    const writer = Writer.live()
    writer.snapshot([ask(300, 1), ...levels])
    writer.clock.advance(2)
    expect(writer.commits).toEqual([])
    expect(writer.statuses).toMatchObject([{ live: false, reason }])
    expect(writer.rebuilds).toEqual([reason])
    writer.snapshot([bid(100, 10), ask(199, 7), ask(200, 20)])
    writer.clock.advance(2)
    expect(writer.commits).toMatchObject([{ changes: [ask(199, 7)] }])
  })

  test('a book that is crossed within a tick and not at its end is not a violation', () => {
    const writer = Writer.live()
    writer.update([bid(201, 1)])
    writer.update([ask(200, 0), ask(300, 1)])
    writer.clock.advance(2)
    expect(writer.rebuilds).toEqual([])
    expect(writer.commits[0]?.changes).toEqual([bid(201, 1), ask(200, 0), ask(300, 1)])
  })

  test('a source that answers a violation at once with a sound book keeps its market live', () => {
    const writer = Writer.live()
    writer.onRebuild = () => writer.snapshot([bid(90, 1), ask(200, 20)])
    writer.update([bid(250, 1)])
    writer.clock.advance(3)
    expect(writer.commits.map(({ changes }) => changes)).toEqual([[bid(100, 0), bid(90, 1)]])
    expect(writer.statuses.map(({ live }) => live)).toEqual([false, true])
  })

  test('a source that answers at once with crossed books, again and again, is asked once per millisecond', () => {
    const writer = Writer.live()
    let answers = 0
    writer.onRebuild = () => {
      answers += 1
      if (answers < 20) writer.snapshot([bid(300, answers), ask(200, 20)])
    }
    writer.update([bid(250, 1)], TRADE)
    writer.clock.advance(10)
    expect(answers).toBeLessThanOrEqual(11)
    writer.clock.advance(50)
    expect(writer.commits.map(({ changes }) => changes)).toEqual([[]])
    expect(writer.statuses.every(({ live }) => !live)).toBe(true)
  })

  test('a first snapshot that is crossed is not accepted as a book', () => {
    const writer = new Writer()
    writer.snapshot([bid(300, 1), ask(200, 1)])
    writer.clock.advance(2)
    expect(writer.commits).toEqual([])
    expect(writer.statuses.map(({ live }) => live)).toEqual([false])
    writer.snapshot()
    writer.clock.advance(2)
    expect(writer.commits[0]?.changes).toEqual(BOOK)
    expect(writer.statuses.at(-1)?.live).toBe(true)
  })
})

describe('a source that is lost', () => {
  test('a lost source leaves the origin of the committed book, not that of changes that were not committed', () => {
    const writer = new Writer()
    writer.sequencer.offer({ type: 'snapshot', levels: BOOK, origin: 'run.1' })
    writer.clock.advance(1)
    writer.sequencer.offer({ type: 'update', changes: [bid(100, 11)], executions: [], origin: 'run.2' })
    writer.sequencer.offer({ type: 'lost', reason: 'cut' })
    writer.update([], TRADE)
    writer.clock.advance(1)
    writer.sequencer.offer({ type: 'snapshot', levels: [bid(100, 11), ask(200, 20)], origin: 'run.2' })
    writer.clock.advance(1)
    expect(writer.commits.map(({ changes, origin }) => [changes.length, origin])).toEqual([
      [2, 'run.1'],
      [0, 'run.1'],
      [1, 'run.2'],
    ])
  })

  test('a lost source leaves the origin of the last commit, not that of an update without effect', () => {
    const writer = new Writer()
    writer.sequencer.offer({ type: 'snapshot', levels: BOOK, origin: 'run.1' })
    writer.clock.advance(2)
    writer.sequencer.offer({ type: 'update', changes: [bid(100, 10)], executions: [], origin: 'run.2' })
    writer.clock.advance(2)
    writer.sequencer.offer({ type: 'lost', reason: 'cut' })
    writer.update([], TRADE)
    writer.clock.advance(2)
    expect(writer.commits.map(({ origin }) => origin)).toEqual(['run.1', 'run.1'])
  })

  test('a lost source leaves the book, its waiting changes are not committed, and the next snapshot is one difference', () => {
    const writer = Writer.live()
    writer.update([bid(99, 1)])
    writer.sequencer.offer({ type: 'lost', reason: 'disconnected' })
    writer.update([bid(98, 1)], TRADE)
    writer.clock.advance(2)
    expect(writer.statuses).toEqual([
      {
        type: 'status',
        market: 'AAAUSD',
        epoch: expect.any(String),
        version: expect.any(Number),
        live: false,
        reason: 'disconnected',
      },
    ])
    expect(writer.commits).toHaveLength(1)
    expect(writer.commits[0]).toMatchObject({ changes: [], executions: [TRADE] })
    writer.snapshot([bid(100, 10), bid(99, 2), ask(201, 1)])
    writer.clock.advance(2)
    expect(writer.commits[1]?.changes).toEqual([bid(99, 2), ask(200, 0), ask(201, 1)])
  })

  test('a snapshot equal to the book of a lost source is a commit without changes, and live again', () => {
    const writer = Writer.live()
    writer.sequencer.offer({ type: 'lost', reason: 'x' })
    writer.snapshot()
    writer.clock.advance(2)
    expect(writer.commits.map(({ changes }) => changes)).toEqual([[]])
    expect(writer.statuses.map(({ live }) => live)).toEqual([false, true])
  })

  test('a snapshot of a source that is lost before its commit is not shown', () => {
    const writer = new Writer()
    writer.snapshot()
    writer.sequencer.offer({ type: 'lost', reason: 'x' })
    writer.clock.advance(2)
    expect(writer.commits).toEqual([])
    expect(writer.statuses.map(({ live }) => live)).toEqual([false])
  })
})

describe('a book that is lost for too long', () => {
  const lose = (writer: Writer) => writer.sequencer.offer({ type: 'lost', reason: 'x' })

  test('a book that is lost for too long is withdrawn by one commit, and the next trusted book is one commit from there', () => {
    const writer = Writer.live(1_000)
    writer.update([bid(99, 1), bid(100, 0)])
    lose(writer)
    writer.clock.advance(999)
    expect(writer.commits).toEqual([])
    writer.update([], TRADE)
    writer.clock.advance(0.5)
    writer.update([], TRADE)
    writer.clock.advance(0.5)
    expect(writer.commits).toMatchObject([
      { changes: [], executions: [TRADE], executionNumber: 1 },
      { changes: [bid(100, 0), ask(200, 0)], executions: [TRADE], executionNumber: 2, withdraws: true },
    ])
    writer.update([bid(98, 1)])
    writer.clock.advance(5_000)
    expect(writer.commits).toHaveLength(2)
    writer.snapshot()
    writer.clock.advance(2)
    expect(writer.commits[2]).toMatchObject({ version: 4, changes: BOOK })
    expect(writer.commits[2]?.withdraws).toBeUndefined()
    expect(writer.statuses.map(({ live }) => live)).toEqual([false, true])
  })

  test('a book that is lost for too long is withdrawn once, also with a crossed book in between, and never before the first', () => {
    const writer = new Writer(0, 1_000)
    lose(writer)
    writer.clock.advance(5_000)
    expect(writer.commits).toEqual([])
    writer.snapshot()
    writer.clock.advance(5)
    lose(writer)
    writer.clock.advance(900)
    writer.snapshot([bid(300, 1), ask(200, 1)])
    writer.clock.advance(100)
    expect(writer.commits[1]).toMatchObject({ changes: [bid(100, 0), ask(200, 0)], withdraws: true })
    lose(writer)
    writer.clock.advance(10_000)
    expect(writer.commits).toHaveLength(2)
  })

  test('a lost book stays when the source answers a violation at the very moment of its withdrawal', () => {
    const writer = Writer.live(1_000)
    lose(writer)
    writer.clock.advance(999.5)
    writer.onRebuild = () => writer.snapshot([bid(90, 1), ask(200, 20)])
    writer.snapshot([bid(300, 1), ask(200, 1)])
    writer.clock.advance(5)
    expect(writer.commits).toMatchObject([{ changes: [bid(100, 0), bid(90, 1)] }])
    writer.clock.advance(5_000)
    expect(writer.commits).toHaveLength(1)
  })

  test('a book that is lost for too long is withdrawn whole when the market was to start over', () => {
    const writer = Writer.live(1_000)
    writer.sequencer.startOver('the test says so')
    lose(writer)
    writer.clock.advance(1_000)
    expect(writer.commits.at(-1)).toMatchObject({ book: [], withdraws: true })
  })

  test('a lost book is not withdrawn by a writer that has stopped', () => {
    const writer = Writer.live(1_000)
    lose(writer)
    writer.sequencer.stop()
    writer.clock.advance(5_000)
    expect(writer.commits).toEqual([])
  })
})

describe('stopping', () => {
  test('a stopping sequencer commits what waits, then nothing, and answers no request', () => {
    const writer = Writer.live()
    writer.update([bid(99, 1)])
    writer.sequencer.stop()
    expect(writer.commits.map(({ changes }) => changes)).toEqual([[bid(99, 1)]])
    expect(writer.bus.requestCommit('AAAUSD')).toBe(false)
    writer.update([bid(98, 1)], TRADE)
    writer.sequencer.stop()
    writer.clock.advance(5)
    expect(writer.commits).toHaveLength(1)
  })

  test('a sequencer that stops within the millisecond of the last commit keeps times rising', () => {
    const writer = Writer.live()
    writer.update([bid(99, 1)])
    writer.clock.settle()
    writer.update([bid(99, 2)])
    writer.sequencer.stop()
    const [first, second] = writer.commits
    expect(second?.milliseconds).toBeGreaterThan(Number(first?.milliseconds))
  })
})

test('a sequencer commits an instrument state only where it differs from the last commit', () => {
  const writer = Writer.live()
  const halted = { state: 'HALTED', reason: '' } as const
  writer.sequencer.setInstrument(halted)
  writer.sequencer.setInstrument(undefined)
  writer.clock.advance(2)
  expect(writer.commits).toEqual([])
  writer.sequencer.setInstrument(halted)
  writer.clock.advance(2)
  writer.sequencer.setInstrument(undefined)
  writer.update([bid(100, 11)])
  writer.sequencer.setInstrument(halted)
  writer.clock.advance(2)
  expect(writer.commits.map(({ instrument }) => instrument)).toEqual([halted, undefined])
})

test('a sequencer that follows another one commits the instrument state at once, also when it is not known', () => {
  const halted = { state: 'HALTED', reason: 'volatility' } as const
  const instrumentsOf = (writer: Writer) => {
    writer.snapshot()
    writer.clock.advance(1)
    writer.update([bid(101, 1)])
    writer.clock.advance(1)
    return writer.commits.map(({ instrument }) => instrument)
  }
  const earlier = { epoch: 'e0', executionNumber: 0 }
  expect(instrumentsOf(new Writer(0, undefined, earlier))).toEqual([null, undefined])
  const knowing = new Writer(0, undefined, earlier)
  knowing.sequencer.setInstrument(halted)
  expect(instrumentsOf(knowing)).toEqual([halted, undefined])
  expect(instrumentsOf(new Writer())).toEqual([undefined, undefined])
})

test('the sum of the commits is the book of the source for random messages', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new Random(seed)
    const noise = new MarketNoise(random, { levels: 20, changesMax: 8 })
    const writer = new Writer()
    const source = new NaiveBook()
    const committed = new NaiveBook()
    writer.bus.subscribe('AAAUSD', (message) => {
      if (message.type === 'commit') committed.apply(message.changes)
    })
    for (let step = 0; step < 200; step++) {
      const event = step === 0 || random.chance(0.05) ? noise.snapshot() : noise.update()
      if (event.type === 'snapshot') {
        source.replace(event.levels)
      } else if (event.type === 'update') {
        source.apply(event.changes)
      }
      writer.sequencer.offer(event)
      if (random.chance(0.5)) writer.clock.advance(random.next() * 2)
    }
    writer.clock.advance(2)
    expect(committed.levels(0), `seed ${seed}`).toEqual(source.levels(0))
    expect(writer.rebuilds, `seed ${seed}`).toEqual([])
  }
})

describe('starting over', () => {
  test('the commit after a sequencer starts over has the whole book, the next one does not, and the source is asked for one', () => {
    const writer = Writer.live()
    writer.sequencer.startOver('the test says so')
    writer.update([bid(99, 5)])
    writer.clock.advance(5)
    writer.update([bid(99, 6)])
    writer.clock.advance(5)
    expect(writer.rebuilds).toEqual(['the test says so'])
    expect(writer.commits.map(({ changes, book }) => ({ changes, book }))).toEqual([
      { changes: [bid(99, 5)], book: [bid(100, 10), bid(99, 5), ask(200, 20)] },
      { changes: [bid(99, 6)], book: undefined },
    ])
  })

  test('a sequencer that starts over waits for a live market when the request makes the source lose its book', () => {
    const writer = Writer.live()
    writer.onRebuild = () => writer.sequencer.offer({ type: 'lost', reason: 'fetched again' })
    writer.sequencer.startOver('the test says so')
    writer.clock.advance(5)
    expect(writer.commits.map(({ book }) => book)).toEqual([undefined])
    writer.snapshot([bid(98, 1), ask(200, 20)])
    writer.clock.advance(5)
    expect(writer.commits.at(-1)).toMatchObject({
      changes: [bid(100, 0), bid(98, 1)],
      book: [bid(98, 1), ask(200, 20)],
    })
  })

  test('the book is settled between commits only when a sequencer starts over', () => {
    const writer = Writer.live()
    expect(writer.sequencer.settledBook?.bids.size).toBe(1)
    writer.update([bid(99, 5)])
    expect(writer.sequencer.settledBook).toBeUndefined()
    writer.clock.advance(5)
    expect(writer.sequencer.settledBook?.bids.size).toBe(2)
    writer.sequencer.offer({ type: 'lost', reason: 'the test says so' })
    expect(writer.sequencer.settledBook).toBeUndefined()
  })
})
