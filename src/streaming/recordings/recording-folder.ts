/**
 * A service's recording folder: the file names, and which files have expired. A file belongs to the UTC hour in its
 * name, `2026-11-23T14.recording`. Further files for the hour, after a restart or another change, are
 * `2026-11-23T14-2.recording` and so on. Files with other names are never listed and never removed.
 */
import { type FileHandle, lstat, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../../platform/base/error-code.ts'

export const HOUR_MILLISECONDS = 3_600_000
/** Further files per hour. A service that is restarted more often records nothing more in this hour. */
const FILES_OF_HOUR_MAX = 999
const NAME = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2})(?:-([1-9][0-9]{0,2}))?\.recording$/

export interface FolderFile {
  readonly path: string
  /** Its UTC hour's start, milliseconds since the epoch. */
  readonly hourMilliseconds: number
  /** 1, 2, 3 … within the hour. */
  readonly number: number
}

/** A folder's recordings, the earliest first. None when it does not exist. */
export async function listRecordings(folder: string): Promise<FolderFile[]> {
  let names: readonly string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
  const files = names.flatMap((name) => parseName(folder, name) ?? [])
  return files.sort((left, right) => left.hourMilliseconds - right.hourMilliseconds || left.number - right.number)
}

function parseName(folder: string, name: string): FolderFile | undefined {
  const [, hour, number = '1'] = NAME.exec(name) ?? []
  const hourMilliseconds = Date.parse(`${hour}:00:00Z`)
  if (Number.isNaN(hourMilliseconds)) return undefined
  return { path: join(folder, name), hourMilliseconds, number: Number(number) }
}

/**
 * Creates the hour's next file, readable by its owner alone. It never opens an existing file.
 * @throws errors from `node:fs`
 */
export async function createRecordingFile(
  folder: string,
  atMilliseconds: number,
): Promise<{ readonly path: string; readonly file: FileHandle }> {
  const hourMilliseconds = Math.floor(atMilliseconds / HOUR_MILLISECONDS) * HOUR_MILLISECONDS
  const hour = new Date(hourMilliseconds).toISOString().slice(0, 13)
  const known = (await listRecordings(folder)).filter((file) => file.hourMilliseconds === hourMilliseconds)
  for (let number = (known.at(-1)?.number ?? 0) + 1; number <= FILES_OF_HOUR_MAX; number++) {
    const path = join(folder, `${hour}${number === 1 ? '' : `-${number}`}.recording`)
    try {
      return { path, file: await open(path, 'wx', 0o600) }
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
  throw new Error(`the hour ${hour} has ${FILES_OF_HOUR_MAX} recordings already`)
}

/** Removes the files whose hour ended more than `keptMilliseconds` ago. Returns how many. */
export async function removeExpired(
  folder: string,
  nowMilliseconds: number,
  keptMilliseconds: number,
): Promise<number> {
  let count = 0
  for (const { path, hourMilliseconds } of await listRecordings(folder)) {
    if (hourMilliseconds + HOUR_MILLISECONDS + keptMilliseconds > nowMilliseconds) continue
    // A link or a folder with such a name was not made by a recorder.
    if (!(await lstat(path)).isFile()) continue
    await unlink(path)
    count += 1
  }
  return count
}
