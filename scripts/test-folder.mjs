/** The folder where one run's tests write. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder in memory (tmpfs). */
const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 2_000_000_000

/**
 * Returns the folder for everything that tests write: in memory if the machine has enough. A new embedded store's files
 * take 0.8 s of CPU time on a disk and 0.05 s in memory. A power loss is tested in test/power-loss, which simulates its
 * own disks.
 */
export function createTestFolder() {
  if (!hasSpaceInMemory()) return mkdtempSync(join(tmpdir(), 'tidegate-test-'))
  // A killed run leaves its folder, and thereby uses memory.
  for (const name of readdirSync(MEMORY_FOLDER)) {
    const [, pid] = /^tidegate-test-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(MEMORY_FOLDER, name), { recursive: true, force: true })
  }
  const folder = join(MEMORY_FOLDER, `tidegate-test-${process.pid}`)
  mkdirSync(folder)
  // The mode of the system's temporary folder: PostgreSQL servers run as another user, which removes its own files.
  chmodSync(folder, 0o1777)
  return folder
}

function hasSpaceInMemory() {
  if (process.platform !== 'linux' || !existsSync(MEMORY_FOLDER)) return false
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  return bavail * bsize >= MEMORY_BYTES_MIN && freemem() >= 2 * MEMORY_BYTES_MIN
}
