/**
 * Where recordings of exchanges are: the real ones beside the repository, in `../shared/data`, which are never copied
 * into it; where one is missing, a made one of the same format in `test/fixtures/recordings`. With
 * `TIDEGATE_GENERATED_RECORDINGS=1` only made ones are read, as by whoever has no others.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const MADE_FOLDER = join(import.meta.dirname, '../fixtures/recordings')
const REAL_FOLDER = join(import.meta.dirname, '../../../shared/data')

/** Whether the recordings are made ones: what counts real frames has other numbers then. */
export const areRecordingsGenerated = process.env.TIDEGATE_GENERATED_RECORDINGS === '1' || !existsSync(REAL_FOLDER)

/** Whether the file at this path is a real recording. */
export function isReal(path: string): boolean {
  return !areRecordingsGenerated && existsSync(join(REAL_FOLDER, path))
}

/** The file at this path below the folder of recordings. */
export function recordedFile(path: string): string {
  return join(isReal(path) ? REAL_FOLDER : MADE_FOLDER, path)
}
