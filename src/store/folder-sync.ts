/** Makes files, and the names of files in folders, durable on the host: what `fsync` of POSIX promises. */
import { closeSync, constants, fsyncSync, openSync, readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../base/error-code.ts'

/** Syncs one file, or the names in one folder. What is gone by now has nothing to keep. */
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

/** Enough to keep every thread of the runtime's pool at work: the disk answers several syncs at once. */
const SYNCS_AT_ONCE = 16

/** Syncs every file in a folder and below, and every folder: a thousand in 0.3 s, 3 s one after the other. */
export async function syncTree(folder: string): Promise<void> {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  const paths = entries
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
  paths.push(folder)
  let next = 0
  async function syncRest(): Promise<void> {
    while (next < paths.length) {
      const file = await open(paths[next++] as string, constants.O_RDONLY)
      try {
        await file.sync()
      } finally {
        await file.close()
      }
    }
  }
  await Promise.all(Array.from({ length: SYNCS_AT_ONCE }, syncRest))
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
