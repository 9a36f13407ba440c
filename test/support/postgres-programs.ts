/**
 * Where PostgreSQL's server programs are on this machine. Imports nothing from the tests, so that their configuration
 * can use it: suites that need a server are skipped by name without one.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const VERSION_MIN = 15
const DEBIAN_FOLDER = '/usr/lib/postgresql'

/** The folder with `initdb` and `postgres` in a supported version. Undefined if there is none. */
export function findPostgresPrograms(): string | undefined {
  const inPath = (process.env.PATH ?? '').split(delimiter)
  const inDebian = readFolder(DEBIAN_FOLDER)
    .sort((left, right) => Number(right) - Number(left))
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
  return [...inPath, ...inDebian].find((folder) => folder !== '' && isNewEnough(folder))
}

function isNewEnough(folder: string): boolean {
  try {
    accessSync(join(folder, 'initdb'), constants.X_OK)
    const version = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
    return Number(/ ([0-9]+)/.exec(version)?.[1]) >= VERSION_MIN
  } catch {
    // Missing, or not executable by this user.
    return false
  }
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
