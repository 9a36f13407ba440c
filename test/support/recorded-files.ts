/**
 * Locates exchange recordings: the real ones next to the repository, in `../shared/data`, which are never copied into
 * it. A missing one is replaced by a synthetic one in the same format in `test/fixtures/recordings`. With
 * `TIDEGATE_GENERATED_RECORDINGS=1` only synthetic ones are used, as on a machine without the real ones.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const MADE_FOLDER = join(import.meta.dirname, '../fixtures/recordings')
const REAL_FOLDER = join(import.meta.dirname, '../../../shared/data')

/** Whether the recordings are synthetic: tests that count frames then expect other numbers. */
export const areRecordingsGenerated = process.env.TIDEGATE_GENERATED_RECORDINGS === '1' || !existsSync(REAL_FOLDER)

/** Whether the file at this path is a real recording. */
export function isReal(path: string): boolean {
  return !areRecordingsGenerated && existsSync(join(REAL_FOLDER, path))
}

/** This recording file's path. */
export function recordedFile(path: string): string {
  return join(isReal(path) ? REAL_FOLDER : MADE_FOLDER, path)
}
