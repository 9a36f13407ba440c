/**
 * Files that only the owner of the process can read, made once in the life of a data folder: whole or not at all, and
 * never over one that is there. A file that another user put there is not read: that user knows what is in it.
 */
import { chmodSync, linkSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isOursOrRoots } from './data-folder.ts'

/** The text of the file, which is made with `text()` when there is none. */
export function readOrCreatePrivateFile(path: string, text: () => string): string {
  createOnce(path, text())
  // Both, because a symbolic link of another user may lead to a file of ours.
  for (const stats of [lstatSync(path), statSync(path)]) {
    if (!isOursOrRoots(stats)) throw new Error(`${path} belongs to another user (uid ${stats.uid}): delete it`)
  }
  return readFileSync(path, 'utf8')
}

/** A link is made whole or not at all, and never over a file that is there. */
function createOnce(path: string, text: string): void {
  const temporary = `${path}.new`
  rmSync(temporary, { force: true })
  writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' })
  // What the process' mask takes away from 0600 would lock us out ourselves.
  chmodSync(temporary, 0o600)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
