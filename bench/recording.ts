/**
 * The cost of recording: the CPU time for the same minutes of the simulator with and without a recorder on the bus,
 * second by second on a virtual clock, as a fraction of one core in real time. Also the file's growth. The compression
 * threads' CPU time is included. Also the longest event-loop tick while a large book's keyframe is written.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { loadConfig } from '../src/service/config/load.ts'
import { DEMO_DEFAULTS } from '../src/service/config/markets.ts'
import type { LevelChange, MarketDefinition } from '../src/streaming/market/event.ts'
import { CommitRecorder } from '../src/streaming/recordings/commit-recorder.ts'
import { openRecordingWriter } from '../src/streaming/recordings/writer.ts'
import { createMemoryBus } from '../src/streaming/sequencing/bus-memory.ts'
import { Sequencer } from '../src/streaming/sequencing/sequencer.ts'
import { createSequencerMetrics } from '../src/streaming/sequencing/sequencer-metrics.ts'
import { createSimulator } from '../src/streaming/sources/simulator/simulator.ts'
import { readEntries } from '../test/support/recording-file.ts'
import { VirtualClock } from '../test/support/virtual-clock.ts'
import type { BenchResult } from './result.ts'

/** Book updates per second in each of three markets. */
const RATES = [40, 500, 7_000]
const KEYFRAME_SECONDS = 60
/** Levels in a keyframe's book. */
const KEYFRAME_LEVELS = [20_000, 100_000, 250_000]
const MARKETS = simulatedMarkets()

function simulatedMarkets(): readonly MarketDefinition[] {
  const input = { flags: {}, environment: {}, file: undefined, readFile: () => '', verbDefaults: DEMO_DEFAULTS }
  const result = loadConfig(input)
  if (!result.ok) throw new Error('the defaults of demo are not valid')
  return result.config.markets.map(({ definition }) => definition)
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const rounds = quick ? 2 : 4
  const results: BenchResult[] = []
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  for (const rate of RATES) {
    const seconds = quick ? 60 : 180
    const name = (what: string) => `3 markets, ${rate} updates/s each: ${what}`
    const without: BenchResult = { name: name('sources and writers'), unit: '% of a core', runs: [] }
    const share: BenchResult = { name: name('the recorder'), unit: '% of a core', runs: [] }
    const growth: BenchResult = { name: name('the file'), unit: 'MB/hour', runs: [] }
    const entries: BenchResult = { name: name('entries'), unit: 'entries/s', runs: [] }
    // The first round warms up the compiler.
    for (let round = 0; round <= rounds; round++) {
      const path = join(folder, `${rate}-${round}`)
      const bare = await simulate(rate, seconds, undefined)
      const recorded = await simulate(rate, seconds, path)
      if (round > 0) {
        without.runs.push((bare / seconds) * 100)
        share.runs.push(((recorded - bare) / seconds) * 100)
        growth.runs.push(((statSync(path).size / seconds) * 3_600) / 1e6)
        entries.runs.push((await readEntries(path)).length / seconds)
      }
      rmSync(path)
    }
    results.push(without, share, entries, growth)
  }
  for (const levels of KEYFRAME_LEVELS) results.push(await keyframeTicks(join(folder, 'keyframe'), levels, rounds * 5))
  rmSync(folder, { recursive: true })
  return results
}

/** The longest ticks while one book's keyframes are encoded and written. */
async function keyframeTicks(path: string, levels: number, rounds: number): Promise<BenchResult> {
  const clock = createSystemClock()
  const bus = createMemoryBus()
  const [definition] = MARKETS as [MarketDefinition]
  const onFailure = (error: Error): never => {
    throw error
  }
  const header = {
    writtenBy: 'bench',
    startedAtMilliseconds: Date.now(),
    markets: [{ definition, sources: ['bench'] }],
  }
  const writer = await openRecordingWriter({ path, header, overwrites: true, clock, onFailure })
  const recorder = new CommitRecorder({ markets: [definition], bus, clock, writer })
  const changes = Array.from({ length: levels }, (_, index): LevelChange => {
    const isBid = index < levels / 2
    return { side: isBid ? 0 : 1, price: 9_000_000 + (isBid ? -index : index), amount: 100_000_000 + index * 7_919 }
  })
  const [epoch, version, market] = ['bench', 1, definition.symbol]
  const times = { milliseconds: Date.now(), nanoseconds: 0, receivedMilliseconds: 0 }
  bus.publish({ type: 'commit', market, epoch, version, ...times, changes, executions: [], executionNumber: 0 })
  bus.publish({ type: 'status', market, epoch, version, live: true, reason: '' })
  const result: BenchResult = { name: `keyframe of ${levels} levels: longest tick`, unit: 'ms', runs: [] }
  // The first rounds warm up the compiler.
  for (let round = -5; round < rounds; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const before = writer.counts.bytes
    let longest = 0
    let last = performance.now()
    recorder.writeKeyframe()
    while (writer.counts.bytes === before) {
      await new Promise((resolve) => setImmediate(resolve))
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
    }
    if (round >= 0) result.runs.push(longest)
  }
  recorder.stop()
  await writer.close()
  return result
}

/** CPU seconds for this many seconds of the simulator. */
async function simulate(rate: number, seconds: number, path: string | undefined): Promise<number> {
  const clock = new VirtualClock()
  const bus = createMemoryBus()
  const log = createLog('silent')
  const metrics = createSequencerMetrics(createMetricsRegistry())
  const onFailure = (error: Error): never => {
    throw error
  }
  const before = process.cpuUsage()
  const markets = MARKETS.map((market) => {
    const sequencer = new Sequencer({
      market,
      epoch: 'bench',
      bus,
      clock,
      log,
      metrics,
      floorMilliseconds: 0,
      onRebuildNeeded: () => undefined,
    })
    return { market, venueSymbol: '', listener: sequencer.offer.bind(sequencer) }
  })
  const header = {
    writtenBy: 'bench',
    startedAtMilliseconds: clock.wallInstant().milliseconds,
    markets: MARKETS.map((definition) => ({ definition, sources: ['simulator'] })),
  }
  const writer =
    path === undefined ? undefined : await openRecordingWriter({ path, header, overwrites: true, clock, onFailure })
  const recorder = writer === undefined ? undefined : new CommitRecorder({ markets: MARKETS, bus, clock, writer })
  const simulator = createSimulator({ markets, seed: 1, updatesPerSecond: rate, clock })
  simulator.start()
  for (let second = 1; second <= seconds; second++) {
    for (let step = 0; step < 1_000; step++) clock.advance(1)
    if (second % KEYFRAME_SECONDS === 0) recorder?.writeKeyframe()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await simulator.stop()
  recorder?.stop()
  await writer?.close()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
