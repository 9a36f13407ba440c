import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import type { Instrument, MarketDefinition, MarketEvent } from '../../../src/streaming/market/event.ts'
import { CommitRecorder } from '../../../src/streaming/recordings/commit-recorder.ts'
import { openRecording } from '../../../src/streaming/recordings/reader.ts'
import { RecordedState } from '../../../src/streaming/recordings/recorded-state.ts'
import type { RecordedEntry } from '../../../src/streaming/recordings/recording.ts'
import { openRecordingWriter } from '../../../src/streaming/recordings/writer.ts'
import { until } from '../../support/awaited.ts'
import { MarketNoise } from '../../support/market-noise.ts'
import { bookText, MarketPipeline, replayInto } from '../../support/market-pipeline.ts'
import { Random } from '../../support/random.ts'
import { HEADER, RECORDING_START, readEntries, recordingFolder, writeRecording } from '../../support/recording-file.ts'

const MARKETS: readonly MarketDefinition[] = HEADER.markets.map(({ definition }) => definition)
const INSTRUMENTS: readonly (Instrument | undefined)[] = [
  { state: 'OPEN', reason: '' },
  { state: 'HALTED', reason: 'kraken:BTC/USD: "maintenance"' },
  { state: 'AUCTION', reason: '', simulated: true },
  undefined,
]
const LONG = process.env.TIDEGATE_LONG === '1'
/**
 * The last four have: an update without effect before a loss, an instrument state that returns within a millisecond, a
 * miss after an update without effect, and a keyframe before anything was published.
 */
const SEEDS = LONG ? Array.from({ length: 200 }, (_, index) => index + 1) : [1, 2, 3, 4, 5, 6, 7, 8, 14, 22, 37, 52]

const folder = recordingFolder()
afterAll(() => folder.remove())

/** Markets that trade at random for a while, lose their sources and get them back, and a recording of all they commit. */
async function recordNoise(
  seed: number,
  ticks: number,
): Promise<{ readonly line: MarketPipeline; readonly path: string; readonly beginsWithKeyframe: boolean }> {
  const path = folder.next()
  const line = new MarketPipeline(MARKETS)
  const { clock, bus } = line
  const random = new Random(seed)
  const noises = MARKETS.map(() => new MarketNoise(random, { levels: 12, changesMax: 4 }))
  const onFailure = (error: Error): never => {
    throw error
  }
  const writer = await openRecordingWriter({ path, header: HEADER, overwrites: true, clock, onFailure })
  const recorder = new CommitRecorder({ markets: MARKETS, bus, clock, writer })
  let beginsWithKeyframe = false
  for (let tick = 0; tick < ticks; tick++) {
    for (let count = random.integer(4); count > 0; count--) {
      const market = random.integer(2)
      const event = noiseEvent(random, noises[market]!, tick < 3)
      // The second market is a relay of a publication.
      const hasOrigin = market === 1 && (event.type === 'snapshot' || event.type === 'update')
      line.offer(market, hasOrigin ? { ...event, origin: `run.${tick}` } : event)
    }
    if (random.chance(0.02)) {
      beginsWithKeyframe ||= line.published.every(({ length }) => length === 0)
      recorder.writeKeyframe()
    }
    if (random.chance(0.05)) line.sequencers[random.integer(2)]!.setInstrument(random.pick(INSTRUMENTS))
    // A wall clock that is set, both ways, is no business of a recording.
    if (random.chance(0.01)) clock.stepWall(random.integer(2_000) - 1_000)
    await line.passTime(random.chance(0.1) ? random.integer(300) : random.next() * 2.5)
  }
  clock.advance(5)
  recorder.stop()
  await writer.close()
  return { line, path, beginsWithKeyframe }
}

async function keyframeTimes(path: string): Promise<readonly number[]> {
  const reader = await openRecording(path)
  await reader.close()
  return reader.blocks.flatMap(({ kind, firstMilliseconds }) => (kind === 'keyframe' ? firstMilliseconds : []))
}

function noiseEvent(random: Random, noise: MarketNoise, begins: boolean): MarketEvent {
  if (begins || random.chance(0.05)) return noise.snapshot()
  if (random.chance(0.03)) return { type: 'lost', reason: `lost for the reason ${random.integer(1_000)}` }
  if (random.chance(0.03)) return { type: 'missed', reason: 'a number was left out' }
  const update = noise.update()
  if (update.type !== 'update') return update
  const executions = update.executions.map((execution, index) => {
    const executedAtMilliseconds = RECORDING_START + random.integer(1_000)
    return index % 2 === 0 ? { ...execution, executedAtMilliseconds } : execution
  })
  return { ...update, executions }
}

/** What a replay sends for an entry. */
function eventsOf({ events, origin }: RecordedEntry): readonly MarketEvent[] {
  const has = ({ type }: MarketEvent): boolean => origin !== undefined && (type === 'snapshot' || type === 'update')
  const sent = events.map((event) => (has(event) ? ({ ...event, origin } as MarketEvent) : event))
  const isMissOnly = origin !== undefined && events.every(({ type }) => type === 'missed')
  return isMissOnly ? [...sent, { type: 'update', changes: [], executions: [], origin }] : sent
}

async function playOut(line: MarketPipeline, stepMilliseconds = 1): Promise<void> {
  const hasEnded = (reasons: readonly string[]) => reasons.at(-1)?.endsWith('has ended') === true
  await until(
    "the recording's end",
    () => line.losses.every(hasEnded),
    () => line.passTime(stepMilliseconds),
  )
}

/** What the line that was recorded published, as a replay has it: it begins and ends in its own words. */
function asReplayed(published: readonly string[], path: string, beginsWithKeyframe: boolean): string[] {
  return [
    `lost: the recording ${path} has no entry for this market yet`,
    ...(beginsWithKeyframe ? ['lost: nothing was published yet'] : []),
    ...published,
    `lost: the recording ${path} has ended`,
  ]
}

describe('replaying', () => {
  it('a replay makes the same commits and the same wire bytes at any speed', async () => {
    for (const seed of SEEDS) {
      const { line, path, beginsWithKeyframe } = await recordNoise(seed, 150)
      for (const [speed, step] of [
        [1, 1],
        [1, 0.25],
        [7.5, 3],
        [1_000, 1],
      ] as const) {
        const replayed = new MarketPipeline(MARKETS)
        const { source } = replayInto(replayed, path, { speed })
        await playOut(replayed, step)
        await source.stop()
        for (const market of [0, 1]) {
          const name = `seed ${seed}, speed ${speed}, market ${market}`
          const expected = asReplayed(line.published[market]!, path, beginsWithKeyframe)
          expect([name, ...replayed.published[market]!]).toEqual([name, ...expected])
          expect(Buffer.concat(replayed.wire[market]!).equals(Buffer.concat(line.wire[market]!))).toBe(true)
        }
      }
    }
  })

  it('a replay begins anywhere with the books of that place, and continues as if it had played all before', async () => {
    const { line, path } = await recordNoise(77, 400)
    const entries = await readEntries(path)
    const first = entries[0]!.atMilliseconds
    const length = entries.at(-1)!.atMilliseconds - first
    const random = new Random(5)
    const anywhere = Array.from({ length: LONG ? 200 : 12 }, () => random.integer(length))
    // Just where a keyframe stands, entries of the same millisecond may stand before it.
    const atKeyframes = (await keyframeTimes(path)).map((at) => at - first)
    for (const fromSeconds of [...atKeyframes, ...anywhere].map((milliseconds) => milliseconds / 1_000)) {
      const states = MARKETS.map(() => new RecordedState(`the recording ${path} has no entry for this market yet`))
      const rest = entries.filter((entry) => {
        const isPast = entry.atMilliseconds < first + fromSeconds * 1_000
        if (isPast) states[entry.market]!.play(entry)
        return !isPast
      })
      const replayed = new MarketPipeline(MARKETS)
      const { source, emitted } = replayInto(replayed, path, { speed: 20, fromSeconds })
      await playOut(replayed)
      await source.stop()
      for (const market of [0, 1]) {
        const expected = [
          ...states[market]!.eventsByTick().flat(),
          ...rest.flatMap((entry) => (entry.market === market ? eventsOf(entry) : [])),
          { type: 'lost', reason: `the recording ${path} has ended` },
        ]
        expect([`from ${fromSeconds}`, ...emitted[market]!]).toEqual([`from ${fromSeconds}`, ...expected])
        const commit = replayed.published[market]!.find((text) => text.startsWith('{')) ?? '{}'
        const { instrument } = states[market]!
        if (instrument !== undefined) expect(JSON.parse(commit).instrument, `from ${fromSeconds}`).toEqual(instrument)
        if (replayed.bookText(market) !== line.bookText(market)) expect.fail(`other book, from ${fromSeconds}`)
      }
    }
  })

  it('a replay starts over when it is configured to', async () => {
    const path = folder.next()
    await writeRecording(path, [{ entries: [snapshotEntry(0, 0), updateEntry(0, 500)] }])
    const line = new MarketPipeline(MARKETS.slice(0, 1))
    const { source } = replayInto(line, path, { loops: true })
    await until(
      'the second start of the recording',
      () => line.losses[0]!.length >= 3,
      () => line.passTime(10),
    )
    expect(line.losses[0]!.slice(1)).toEqual(Array.from({ length: 2 }, () => `the recording ${path} starts over`))
    // Half a second of recording and a second's pause, twice.
    expect(line.clock.monotonicMilliseconds()).toBeGreaterThan(3_000)
    await source.stop()
  })

  it('a replay reports how late it is when its speed is too high, and skips nothing', async () => {
    const path = folder.next()
    const updates = Array.from({ length: 3_000 }, (_, index) => updateEntry(0, index + 1))
    await writeRecording(path, [{ entries: [snapshotEntry(0, 0), ...updates] }])
    const line = new MarketPipeline(MARKETS.slice(0, 1))
    const { source, fed } = replayInto(line, path, { speed: 100 })
    await until(
      '2,900 updates',
      () => line.published[0]!.length >= 2_900,
      () => line.passTime(1),
    )
    expect(source.notices(fed[0]!)).toEqual([
      // Time passes too while a part of the file is read.
      expect.stringMatching(/^the replay of .* is [0-9]+ s late: speed 100 is too fast/),
    ])
    await playOut(line)
    expect(line.published[0]!.filter((text) => text.startsWith('{'))).toHaveLength(3_001)
    await source.stop()
  })
})

describe('a damaged recording', () => {
  const NUMBERS = [0, 1, 2, 3, 4, 5]
  /** A block of a second each, with a keyframe before the fourth. */
  async function damagedAt(block: number, damage: (bytes: Buffer, start: number, end: number) => Buffer) {
    const path = folder.next()
    const state = new RecordedState('')
    const blocks = NUMBERS.flatMap((number) => {
      const entry = number === 0 ? snapshotEntry(0, 0) : updateEntry(0, number * 1_000)
      const keyframe = { market: 0, atMilliseconds: RECORDING_START + 4_000, events: state.eventsByTick()[0] ?? [] }
      state.apply(entry.events)
      return [...(number === 4 ? [{ isKeyframe: true, entries: [keyframe] }] : []), { entries: [entry] }]
    })
    await writeRecording(path, blocks)
    const reader = await openRecording(path)
    await reader.close()
    const bytes = readFileSync(path)
    const { offset } = reader.blocks[block]!
    writeFileSync(path, damage(bytes, offset, reader.blocks[block + 1]?.offset ?? bytes.length))
    return { path, offset, book: bookText(state.levels()) }
  }
  const changed = (bytes: Buffer, _: number, end: number) => bytes.fill(0xff, end - 4, end)
  const cutOut = (bytes: Buffer, start: number, end: number) =>
    Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])

  it('a damaged recording is lost from there to the next keyframe, and right again after it', async () => {
    for (const damage of [changed, cutOut]) {
      for (const block of [0, 1, 2, 3]) {
        const { path, offset, book } = await damagedAt(block, damage)
        const line = new MarketPipeline(MARKETS.slice(0, 1))
        const { source, emitted } = replayInto(line, path, { speed: 10 })
        await playOut(line)
        await source.stop()
        const reason = line.losses[0]!.at(-2)
        expect(reason).toMatch(damage === changed ? `is damaged at byte ${offset}: ` : `before byte ${offset}`)
        expect(line.losses[0]).toHaveLength(block === 0 ? 2 : 3)
        // What came before, the keyframe, and what came after it.
        expect(emitted[0]!.filter(({ type }) => type !== 'lost')).toHaveLength(block + 1 + 2)
        expect(line.bookText(0)).toBe(book)
      }
    }
  })

  it('a damaged recording is lost to the end when there is no keyframe any more', async () => {
    const { path } = await damagedAt(5, changed)
    const line = new MarketPipeline(MARKETS.slice(0, 1))
    const { source } = replayInto(line, path)
    await playOut(line, 10)
    await source.stop()
    expect(line.losses[0]!.slice(1)).toEqual([
      expect.stringContaining('is damaged at byte'),
      `the recording ${path} has ended`,
    ])
  })

  it('a damaged recording passes over a damaged keyframe while it needs none', async () => {
    const { path, book } = await damagedAt(4, changed)
    const line = new MarketPipeline(MARKETS.slice(0, 1))
    const { source } = replayInto(line, path)
    await playOut(line, 10)
    await source.stop()
    expect(line.losses[0]!.slice(1)).toEqual([`the recording ${path} has ended`])
    expect(line.bookText(0)).toBe(book)
  })
})

describe('a market of a recording', () => {
  const BTC = MARKETS[0]!
  const ETH = MARKETS[1]!

  async function startedLine(markets: readonly MarketDefinition[], eventCount = 2) {
    const path = folder.next()
    await writeRecording(path, [
      { entries: [snapshotEntry(0, 0), snapshotEntry(1, 5), updateEntry(0, 1_000), updateEntry(0, 100_000)] },
    ])
    const line = new MarketPipeline(markets)
    const { source, fed, emitted } = replayInto(line, path)
    const hasAll = () => emitted.every(({ length }) => length >= eventCount)
    await until(`${eventCount} events per market`, hasAll, () => line.passTime(1))
    return { path, line, source, fed, emitted }
  }

  it('a market of a recording is refused when the recording does not have it', async () => {
    const { path, emitted, source } = await startedLine([{ ...BTC, symbol: 'XRPUSD' }], 1)
    expect(emitted[0]).toEqual([
      { type: 'lost', reason: `the recording ${path} has no market XRPUSD, only BTCUSD, ETHUSD` },
    ])
    await source.stop()
  })

  it('a market of a recording is refused with fewer decimals than were recorded', async () => {
    const { path, line, emitted, source } = await startedLine(
      [
        { ...BTC, priceDecimals: 1 },
        { ...ETH, amountDecimals: 7 },
      ],
      1,
    )
    for (let tick = 0; tick < 20; tick++) await line.passTime(1)
    expect(emitted.map((events) => events.at(-1))).toEqual([
      {
        type: 'lost',
        reason: `the recording ${path} does not fit BTCUSD: it has prices with 2 decimals, and the market has 1`,
      },
      {
        type: 'lost',
        reason: `the recording ${path} does not fit ETHUSD: it has amounts with 8 decimals, and the market has 7`,
      },
    ])
    expect(emitted.map(({ length }) => length)).toEqual([1, 1])
    await source.stop()
  })

  it('a market of a recording is given finer prices and amounts when it has more decimals', async () => {
    const { emitted, source } = await startedLine([{ ...BTC, priceDecimals: 4, amountDecimals: 18 }])
    expect(emitted[0]![1]).toEqual({
      type: 'snapshot',
      levels: [
        { side: 0, price: 10_000, amount: 70_000_000_000 },
        { side: 1, price: 20_000, amount: 80_000_000_000 },
      ],
    })
    await source.stop()
  })

  it('a market of a recording is lost when a price is too large for its decimals', async () => {
    const { path, emitted, source } = await startedLine([{ ...BTC, priceDecimals: 18 }])
    expect(emitted[0]!.at(-1)).toEqual({
      type: 'lost',
      reason: `the recording ${path} does not fit BTCUSD: 18 decimals make its prices too large`,
    })
    await source.stop()
  })

  it('a market of a recording reports why a file cannot be replayed', async () => {
    const line = new MarketPipeline([BTC])
    const { source, fed, emitted } = replayInto(line, '/nowhere/at.all')
    await until(
      'the loss',
      () => emitted[0]!.length > 0,
      () => line.passTime(5),
    )
    const event = { type: 'lost', reason: 'the recording /nowhere/at.all cannot be opened: ENOENT' }
    expect(emitted[0]).toEqual([event])
    source.add({ ...fed[0]!, listener: (late) => emitted[0]!.push(late) })
    await line.passTime(5)
    await line.passTime(5)
    expect(emitted[0]).toEqual([event, event])
    await source.stop()
  })

  it('a market of a recording joins in the middle with the whole book, and leaves without another event', async () => {
    const { path, line, source, fed, emitted } = await startedLine([ETH])
    const late: MarketEvent[] = []
    const joined = { market: BTC, venueSymbol: path, listener: (event: MarketEvent) => late.push(event) }
    for (let tick = 0; tick < 3; tick++) await line.passTime(1_000)
    source.add(joined)
    for (let tick = 0; tick < 3; tick++) await line.passTime(1)
    const levels = [
      { side: 0, price: 100, amount: 1_007 },
      { side: 1, price: 200, amount: 8 },
    ]
    expect(late).toEqual([{ type: 'snapshot', levels }])
    source.remove(fed[0]!)
    source.remove(joined)
    const before = emitted[0]!.length
    await line.passTime(200_000)
    expect([late.length, emitted[0]!.length]).toEqual([1, before])
    // No market names the file any more: it starts from the beginning.
    source.add(joined)
    await until(
      'three events of the market',
      () => late.length >= 3,
      () => line.passTime(1),
    )
    expect(late).toHaveLength(3)
    expect(late[1]).toEqual({ type: 'lost', reason: `the recording ${path} has no entry for this market yet` })
    expect(late[2]).toEqual(snapshotEntry(0, 0).events[0])
    await source.stop()
  })

  it('a market of a recording is given its whole book again when its writer asks for it, once a second', async () => {
    const { line, source, fed, emitted } = await startedLine([BTC])
    const before = emitted[0]!.length
    source.rebuild(fed[0]!, 'a reader held another book')
    source.rebuild(fed[0]!, 'a reader held another book')
    await line.passTime(500)
    expect(emitted[0]).toHaveLength(before)
    for (let tick = 0; tick < 5; tick++) await line.passTime(500)
    expect(emitted[0]!.slice(before).map(({ type }) => type)).toEqual(['snapshot', 'update'])
    await source.stop()
  })

  it('a market of a recording gets no event after one that removes it', async () => {
    const path = folder.next()
    const { events } = updateEntry(0, 1)
    await writeRecording(path, [
      { entries: [snapshotEntry(0, 0), { ...updateEntry(0, 1), events: [...events, ...events] }] },
    ])
    const line = new MarketPipeline([BTC])
    const { source } = replayInto(line, path)
    const heard: string[] = []
    const fed = {
      market: BTC,
      venueSymbol: path,
      listener: ({ type }: MarketEvent) => {
        heard.push(type)
        if (type === 'update') source.remove(fed)
      },
    }
    source.add(fed)
    await playOut(line)
    expect(heard).toEqual(['lost', 'snapshot', 'update'])
    await source.stop()
  })

  it('a market of a recording gets no event after the source has stopped, and two that read one file share one position', async () => {
    const { line, source, emitted } = await startedLine([BTC, ETH])
    expect(emitted.map((events) => events.map(({ type }) => type))).toEqual([
      ['lost', 'snapshot'],
      ['lost', 'snapshot'],
    ])
    await source.stop()
    for (let tick = 0; tick < 5; tick++) await line.passTime(1_000)
    expect(emitted.map(({ length }) => length)).toEqual([2, 2])
  })
})

function snapshotEntry(market: number, afterMilliseconds: number): RecordedEntry {
  const levels = [
    { side: 0, price: 100, amount: 7 },
    { side: 1, price: 200, amount: 8 },
  ] as const
  return { market, atMilliseconds: RECORDING_START + afterMilliseconds, events: [{ type: 'snapshot', levels }] }
}

function updateEntry(market: number, afterMilliseconds: number): RecordedEntry {
  const changes = [{ side: 0, price: 100, amount: 7 + afterMilliseconds }] as const
  return {
    market,
    atMilliseconds: RECORDING_START + afterMilliseconds,
    events: [{ type: 'update', changes, executions: [] }],
  }
}
