/**
 * The data folder's ownership and permissions. Other users can read nothing in it: the store is in a subfolder with
 * mode 700, and every file made directly in the data folder has mode 600. The folder itself may be readable, because it
 * can be a volume whose mode this process does not choose. A folder is rejected when it belongs to another user, or
 * when every user can replace files in it. A folder that its group can write is accepted.
 */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmdirSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../platform/base/log.ts'
import { syncFoldersAbove } from '../../platform/store/folder-sync.ts'

/** Mode bits of group and others. */
export const OTHERS = 0o077
const OTHERS_WRITE = 0o002
const STICKY = 0o1000

/** Where the embedded store keeps its files. */
export function storeFolder(dataFolder: string): string {
  return join(dataFolder, 'store')
}

/**
 * Makes the folder when it is missing, and syncs its name to the disk. Sets the umask, so whatever this process makes
 * from now on is accessible to its owner alone. Throws when the folder cannot be used or written (`dataFolderProblem`).
 */
export function prepareDataFolder(folder: string): void {
  process.umask(OTHERS)
  attempt(`data_dir ${folder} cannot be created`, () => {
    const firstMade = mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (firstMade !== undefined) syncFoldersAbove(folder, firstMade)
  })
  const problem = dataFolderProblem(folder, statSync(folder))
  if (problem !== undefined) throw new Error(`data_dir ${problem.detail}: ${problem.next}`)
  // A write is the only reliable check: beside permissions, the file system can be read-only.
  attempt(`data_dir ${folder} cannot be written`, () => rmdirSync(mkdtempSync(join(folder, '.start-'))))
}

/** Replaces a system error by one line with the remedy. */
function attempt(what: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const user = process.geteuid === undefined ? 'this user' : `this user (uid ${process.geteuid()})`
    throw new Error(`${what} by ${user} (${code}): name a writable folder with --data_dir`)
  }
}

/** Gives mode 700 to a store that an earlier version left readable to other users. The folder's lock must be held. */
export function closeStoreFolder(dataFolder: string, log: Log): void {
  const path = storeFolder(dataFolder)
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isDirectory() || !isOursOrRoots(stats)) throw new Error(`${path} is not a folder owned by this user`)
  if ((stats.mode & OTHERS) === 0) return
  chmodSync(path, 0o700)
  const mode = modeText(stats)
  log.warn({ path, mode }, 'other users could read the store. It has mode 700 now: see docs/how-to/custody.md')
}

/** Why a data folder cannot be used (`detail`), and the remedy (`next`). Undefined when it can be used. */
export function dataFolderProblem(
  path: string,
  stats: Stats,
): { readonly detail: string; readonly next: string } | undefined {
  if (!isOursOrRoots(stats)) {
    const detail = `${path} belongs to another user (uid ${stats.uid})`
    return { detail, next: `run tidegate as that user, or make uid ${process.geteuid?.()} its owner` }
  }
  if ((stats.mode & OTHERS_WRITE) !== 0 && (stats.mode & STICKY) === 0) {
    return { detail: `${path} can be written by every user (mode ${modeText(stats)})`, next: `chmod o-w ${path}` }
  }
  return undefined
}

/** Whether a file belongs to this user or to root, which can change any file. True on systems without user ids. */
export function isOursOrRoots({ uid }: Stats): boolean {
  const ours = process.geteuid?.()
  return ours === undefined || uid === ours || uid === 0
}

export function modeText({ mode }: Stats): string {
  return (mode & 0o7777).toString(8)
}
