/**
 * Files that only the owner of the process can read, made once in the life of a data folder: whole or not at all, and
 * never over one that is there.
 */
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The text of the file, which is made with `text()` when there is none. */
export function readOrCreatePrivateFile(path: string, text: () => string): string {
  createOnce(path, text())
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
