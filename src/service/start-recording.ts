/**
 * The recorder of the service: whether its folder can be used, and its start. A folder that cannot be written ends the
 * start; a disk that is full does not.
 */
import { accessSync, constants, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Clock } from '../platform/base/clock.ts'
import { hasCode } from '../platform/base/error-code.ts'
import type { Log } from '../platform/base/log.ts'
import type { MetricsRegistry } from '../platform/base/metrics.ts'
import { createRecordingMetrics, ServiceRecorder } from '../streaming/markets/service-recorder.ts'
import type { Bus } from '../streaming/sequencing/bus.ts'
import type { ConfigProblem } from './config/problem-list.ts'
import type { Config, SettingKey } from './config/settings.ts'
import type { Lifecycle } from './lifecycle.ts'

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
 * Starts to record, when `recording.dir` is set. To be called before the sources start, so that no commit is missed.
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

/** The check of `check-config`; it creates nothing. */
export function checkRecordingFolder(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
): { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly string[] } {
  const folder = config['recording.dir']
  const problem = folder === '' ? undefined : folderProblem(folder, false)
  if (problem === undefined) return { problems: [], warnings: [] }
  return { problems: [{ key: 'recording.dir', origin: origins['recording.dir'], message: problem }], warnings: [] }
}

/** @param creates make the folder, for its owner alone, when it is missing; otherwise its parent must be writable */
function folderProblem(folder: string, creates: boolean): string | undefined {
  const path = resolve(folder)
  try {
    if (!creates && statSync(path, { throwIfNoEntry: false }) === undefined) {
      accessSync(existingParent(path), constants.W_OK | constants.X_OK)
      return undefined
    }
    mkdirSync(path, { recursive: true, mode: 0o700 })
    // A write is the only reliable check: beside permissions, the file system can be read-only.
    rmdirSync(mkdtempSync(join(path, '.start-')))
    return undefined
  } catch (error) {
    // When the disk has space again, the recording begins; the stream does not depend on it.
    if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT')) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    return `cannot be used: ${path} cannot be written (${code ?? message})`
  }
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return parent === path || statSync(parent, { throwIfNoEntry: false }) !== undefined ? parent : existingParent(parent)
}
