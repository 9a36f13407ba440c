/** Examines whether the folder `recording.dir` can be written, for a start, `check-config` and `doctor`. */
import { accessSync, constants, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { hasCode } from '../../platform/base/error-code.ts'
import type { Check } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'

/** The check for `check-config`. It creates nothing. */
export function checkRecordingFolder(config: Config, origins: Readonly<Record<SettingKey, string>>): Check {
  const folder = config['recording.dir']
  const problem = folder === '' ? undefined : folderProblem(folder, false)
  if (problem === undefined) return { problems: [], warnings: [] }
  return { problems: [{ key: 'recording.dir', origin: origins['recording.dir'], message: problem }], warnings: [] }
}

/** @param creates make a missing folder, for its owner alone. Otherwise its parent must be writable */
export function folderProblem(folder: string, creates: boolean): string | undefined {
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
    // When the disk has space again, the recording begins. The stream does not depend on it.
    if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT')) return undefined
    const { code, message } = error as NodeJS.ErrnoException
    return `cannot be used: ${path} cannot be written (${code ?? message})`
  }
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return parent === path || statSync(parent, { throwIfNoEntry: false }) !== undefined ? parent : existingParent(parent)
}
