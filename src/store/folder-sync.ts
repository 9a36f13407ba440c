/** Syncs files and folders to the disk (`fsync`), and copies folders. */
import { closeSync, constants, type Dirent, fsyncSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { hasCode } from '../base/error-code.ts'

/** Syncs one file, or the names in one folder; a missing one is ignored. */
export function syncPath(path: string): void {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Enough to use every thread of Node's pool: a disk executes several operations in parallel. */
const CALLS_AT_ONCE = 16

/** Syncs every file in a folder and below, and every folder: a thousand in 0.3 s, 3 s one after the other. */
export async function syncTree(folder: string): Promise<void> {
  const { files, folders } = listTree(folder)
  await severalAtOnce([...files, ...folders], async (path) => {
    const file = await open(path, constants.O_RDONLY)
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  })
}

/**
 * Copies the files and folders below `source` to a folder that does not exist yet; only the owner can read the new folders.
 * It does not sync. It takes an eighth of the processor time of `cp` of `node:fs/promises`.
 */
export async function copyTree(source: string, target: string): Promise<void> {
  const { files, folders } = listTree(source)
  const inTarget = (path: string): string => join(target, relative(source, path))
  // The list contains a folder before its content.
  for (const folder of folders) mkdirSync(inTarget(folder), { mode: 0o700 })
  await severalAtOnce(files, (path) => copyFile(path, inTarget(path)))
}

/** All files, and all folders, each folder before those inside it. */
function listTree(folder: string): { readonly files: readonly string[]; readonly folders: readonly string[] } {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  const pathsOf = (kept: readonly Dirent[]): string[] => kept.map(({ parentPath, name }) => join(parentPath, name))
  return {
    files: pathsOf(entries.filter((entry) => entry.isFile())),
    folders: [folder, ...pathsOf(entries.filter((entry) => entry.isDirectory()))],
  }
}

async function severalAtOnce(paths: readonly string[], run: (path: string) => Promise<void>): Promise<void> {
  let next = 0
  async function runRest(): Promise<void> {
    while (next < paths.length) await run(paths[next++] as string)
  }
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, runRest))
}

/**
 * Syncs the folder that holds `path`, and the folders above it as far as they were made for it.
 *
 * @param firstMade what `mkdir` with `recursive` returned: the topmost folder it made, undefined when it made none
 */
export function syncFoldersAbove(path: string, firstMade: string | undefined): void {
  const top = dirname(firstMade ?? path)
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    syncPath(folder)
    if (folder === top || folder === dirname(folder)) return
  }
}
