/**
 * The cost of recording: the CPU time for the same minutes of the simulator with and without a recorder on the bus,
 * second by second on a virtual clock, as a fraction of one core in real time; and the growth of the file. The CPU time
 * of the compression threads is included.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../src/base/log.ts'
import { createMetricsRegistry } from '../src/base/metrics.ts'
import { createMemoryBus } from '../src/channel/bus-memory.ts'
import { Sequencer } from '../src/channel/sequencer.ts'
import { createSequencerMetrics } from '../src/channel/sequencer-metrics.ts'
import { loadConfig } from '../src/config/load.ts'
import { DEMO_DEFAULTS } from '../src/config/markets.ts'
import { openRecordingWriter } from '../src/feed/replay/writer.ts'
import { createSimulator } from '../src/feed/simulator/simulator.ts'
import type { MarketDefinition } from '../src/market/event.ts'
import { CommitRecorder } from '../src/markets/commit-recorder.ts'
import { readEntries } from '../test/support/recording-file.ts'
import { VirtualClock } from '../test/support/virtual-clock.ts'
import type { BenchResult } from './result.ts'

/** Book updates per second in each of three markets. */
const RATES = [40, 500, 7_000]
const KEYFRAME_SECONDS = 60
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
  rmSync(folder, { recursive: true })
  return results
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
