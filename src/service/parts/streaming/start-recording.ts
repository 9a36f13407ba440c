/** Starts the service's recorder. An unwritable folder ends the start, but a full disk does not. */
import type { Clock } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import type { MetricsRegistry } from '../../../platform/base/metrics.ts'
import { createRecordingMetrics, ServiceRecorder } from '../../../streaming/recordings/service-recorder.ts'
import type { Bus } from '../../../streaming/sequencing/bus.ts'
import type { Config } from '../../config/settings.ts'
import { folderProblem } from '../../doctor/recording-folder.ts'
import type { Lifecycle } from '../../process/lifecycle.ts'

export interface RecordingParts {
  readonly config: Config
  readonly current: { readonly config: Config }
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly lifecycle: Lifecycle
}

/**
 * Starts to record when `recording.dir` is set. To be called before the sources start, so no commit is missed.
 * @throws {Error} when the folder cannot be written
 */
export function startRecording(parts: RecordingParts): ServiceRecorder | undefined {
  const { config, current, clock, metrics: registry, lifecycle } = parts
  const metrics = createRecordingMetrics(registry, clock)
  const folder = config['recording.dir']
  if (folder === '') return undefined
  const problem = folderProblem(folder, true)
  if (problem !== undefined) throw new Error(`recording.dir ${problem}`)
  const keepHours = (): number => current.config['recording.keep_hours']
  const recorder = new ServiceRecorder({ ...parts, folder, keepHours, markets: config.markets, metrics })
  recorder.start()
  lifecycle.started('recording', () => recorder.stop())
  return recorder
}
