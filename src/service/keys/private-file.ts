/**
 * Creates and reads files for the user of the process alone. A file is created atomically, once in the life of a data
 * folder, and an existing one is never replaced. It is on disk before its text is returned, because the store may
 * depend on it: a power loss leaves the whole file or none. A file with another owner is rejected, because its owner
 * knows the content.
 */
import { chmodSync, linkSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../../platform/store/folder-sync.ts'
import { isOursOrRoots } from '../process/data-folder.ts'

/** Returns the file's text. A missing file is created with `text()`. */
export function readOrCreatePrivateFile(path: string, text: () => string): string {
  createOnce(path, text())
  // Also for an existing file: the start that created it may have ended before this.
  syncPath(dirname(path))
  // Both, because another user's symbolic link may point to this user's file.
  for (const stats of [lstatSync(path), statSync(path)]) {
    if (!isOursOrRoots(stats)) throw new Error(`${path} belongs to another user (uid ${stats.uid}): delete it`)
  }
  return readFileSync(path, 'utf8')
}

/** `link` is atomic, and fails when the file exists. */
function createOnce(path: string, text: string): void {
  const temporary = `${path}.new`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  // A strict umask could otherwise remove the owner's permissions.
  chmodSync(temporary, 0o600)
  syncPath(temporary)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
