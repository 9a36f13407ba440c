/** Named pipes, for tests of code that must not block on one. */
import { execFileSync, spawnSync } from 'node:child_process'

/** Whether this machine has mkfifo. Tests that need it are skipped by name otherwise. */
export const canMakeFifo = spawnSync('mkfifo', ['--version']).error === undefined

export function makeFifo(path: string): void {
  execFileSync('mkfifo', [path])
}
