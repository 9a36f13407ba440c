/** Named pipes, for what must not wait at one. */
import { execFileSync, spawnSync } from 'node:child_process'

/** Whether this machine has the program that makes them; tests that need one are skipped by name where it has not. */
export const canMakeFifo = spawnSync('mkfifo', ['--version']).error === undefined

export function makeFifo(path: string): void {
  execFileSync('mkfifo', [path])
}
