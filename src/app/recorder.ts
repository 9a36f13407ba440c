/**
 * Records what the configured markets commit, without serving it: sources and writers as the service has them, on a bus
 * whose commits go to a file. It ends by itself when the file cannot be written any more.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { createMetricsRegistry } from '../base/metrics.ts'
import { programVersion } from '../base/version.ts'
import { createMemoryBus } from '../channel/bus-memory.ts'
import { createSequencerMetrics } from '../channel/sequencer.ts'
import type { Config } from '../config/settings.ts'
import { sourceText } from '../config/sources.ts'
import type { RecordingHeader } from '../feed/replay/recording.ts'
import { openRecordingWriter, type RecordingCounts } from '../feed/replay/writer.ts'
import { CommitRecorder } from './commit-recorder.ts'
import { MarketData } from './market-data.ts'
import { createSources } from './start-markets.ts'

/** Whoever reads from a place reads what was recorded since the keyframe before it, and no more. */
const KEYFRAME_MILLISECONDS = 60_000
/** Readers of the service keep executions for those who are behind; here nobody reads. */
const EXECUTIONS_KEPT = 1

export interface RecorderOptions {
  readonly config: Config
  readonly path: string
  /** Replace a file that is there. */
  readonly overwrites: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** The file cannot be written any more; it is whole up to what `counts` says. */
  readonly onFailure: (error: Error) => void
}

export interface Recorder {
  readonly counts: RecordingCounts
  /** Markets whose sources are not live now, with the reason. */
  readonly lost: readonly { readonly market: string; readonly reason: string }[]
  /** Ends the recording; resolves when the file is whole on the disk. */
  stop(): Promise<void>
}

export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { config, path, overwrites, clock, random, log, onFailure } = options
  const header = headerOf(config, clock)
  const writer = await openRecordingWriter({ path, header, overwrites, clock, onFailure })
  const bus = createMemoryBus()
  const metrics = createMetricsRegistry()
  const marketData = new MarketData({
    markets: config.markets,
    executionsKept: EXECUTIONS_KEPT,
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    createSource: createSources({ config, clock, random, log, metrics }),
  })
  const markets = config.markets.map(({ definition }) => definition)
  const recorder = new CommitRecorder({ markets, bus, clock, writer })
  let keyframes: Timer
  const nextKeyframe = (): void => {
    keyframes = clock.schedule(KEYFRAME_MILLISECONDS, () => {
      recorder.writeKeyframe()
      nextKeyframe()
    })
  }
  nextKeyframe()
  // Nothing waits for the sources: what they say from now on is recorded, whenever it comes.
  void marketData.start(new Map())
  return {
    get counts() {
      return writer.counts
    },
    get lost() {
      const lost = marketData.replicas.filter(({ live }) => !live)
      return lost.map(({ market, reason }) => ({ market: market.symbol, reason }))
    },
    async stop() {
      keyframes.cancel()
      await marketData.stopSources()
      recorder.stop()
      marketData.stopReplicas()
      await writer.close()
    },
  }
}

function headerOf({ markets }: Config, clock: Clock): RecordingHeader {
  return {
    writtenBy: `tidegate ${programVersion()}`,
    startedAtMilliseconds: clock.wallInstant().milliseconds,
    markets: markets.map(({ definition, sources }) => ({ definition, sources: sources.map(sourceText) })),
  }
}
