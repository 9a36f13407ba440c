/**
 * Records the configured markets' commits without serving them: sources and sequencers as in the service, on a bus
 * whose commits are written to a file. It calls `onFailure` when the file can no longer be written.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { createMetricsRegistry } from '../../platform/base/metrics.ts'
import { programVersion } from '../../platform/base/version.ts'
import { type ConfiguredMarket, sourceText } from '../market/configured-market.ts'
import { CommitRecorder } from '../recordings/commit-recorder.ts'
import type { RecordingHeader } from '../recordings/recording.ts'
import { openRecordingWriter, type RecordingCounts } from '../recordings/writer.ts'
import { createMemoryBus } from '../sequencing/bus-memory.ts'
import { createSequencerMetrics } from '../sequencing/sequencer-metrics.ts'
import { MarketReplicas } from './market-replicas.ts'
import { MarketWriters } from './market-writers.ts'
import { createSources, type SourceSettings } from './sources.ts'

/** A replay that starts at a given position reads only the entries since the keyframe before it. */
const KEYFRAME_MILLISECONDS = 60_000
/** Replicas keep executions for lagging subscribers. A recording has none. */
const EXECUTIONS_KEPT = 1

/** The settings with the same names. */
export interface RecordedConfig extends SourceSettings {
  readonly 'simulator.allowed': boolean
  readonly markets: readonly ConfiguredMarket[]
}

export interface RecorderOptions {
  readonly config: RecordedConfig
  readonly path: string
  /** Whether an existing file is replaced. */
  readonly overwrites: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Called when the file can no longer be written. It is valid up to the entries in `counts`. */
  readonly onFailure: (error: Error) => void
}

export interface Recorder {
  readonly counts: RecordingCounts
  /** Markets whose sources are not live now, with the reason. */
  readonly lost: readonly { readonly market: string; readonly reason: string }[]
  /** Ends the recording. Resolves when the file is complete on disk. */
  stop(): Promise<void>
}

export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { config, path, overwrites, clock, random, log, onFailure } = options
  const header = headerOf(config, clock)
  const writer = await openRecordingWriter({ path, header, overwrites, clock, onFailure })
  const bus = createMemoryBus()
  const metrics = createMetricsRegistry()
  const replicas = new MarketReplicas({ markets: config.markets, bus, executionsKept: EXECUTIONS_KEPT })
  const writers = new MarketWriters({
    markets: config.markets,
    bus,
    clock,
    log,
    metrics: createSequencerMetrics(metrics),
    allowsSimulated: () => config['simulator.allowed'],
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
  // Not awaited: messages are recorded whenever they arrive.
  void writers.start(new Map())
  return {
    get counts() {
      return writer.counts
    },
    get lost() {
      return replicas.lost
    },
    async stop() {
      keyframes.cancel()
      await writers.stop()
      recorder.stop()
      replicas.stop()
      await writer.close()
    },
  }
}

function headerOf({ markets }: RecordedConfig, clock: Clock): RecordingHeader {
  return {
    writtenBy: `tidegate ${programVersion()}`,
    startedAtMilliseconds: clock.wallInstant().milliseconds,
    markets: markets.map(({ definition, sources }) => ({ definition, sources: sources.map(sourceText) })),
  }
}
