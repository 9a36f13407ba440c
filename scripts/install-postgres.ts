/**
 * Runs before the tests on a machine used only for tests (`CI` is set, and the user is root), and installs PostgreSQL's
 * server programs if they are missing. Elsewhere nothing is installed, and the suites that need a server are skipped by
 * name. Never fails: without a network those suites are skipped too.
 */
import { spawnSync } from 'node:child_process'
import { findPostgresPrograms } from '../test/support/postgres-programs.ts'

/** Waits for another installation to end. Gives up early without a network, instead of after many minutes. */
const APT_OPTIONS = ['DPkg::Lock::Timeout=60', 'Acquire::Retries=1', 'Acquire::http::Timeout=20'].flatMap((option) => [
  '-o',
  option,
])

if (process.env.CI !== undefined && process.getuid?.() === 0 && findPostgresPrograms() === undefined) install()

function install(): void {
  console.log('installing postgresql-15 with apt-get, for the suites of the second store engine')
  try {
    if (!apt('install', '-y', '-qq', '--no-install-recommends', 'postgresql-15')) {
      // The package lists may be missing or outdated.
      apt('update', '-qq')
      apt('install', '-y', '-qq', '--no-install-recommends', 'postgresql-15')
    }
    if (findPostgresPrograms() === undefined) throw new Error('apt-get says why above')
  } catch (error) {
    console.log(`it was not installed, and those suites are skipped: ${(error as Error).message}`)
  }
}

/** Whether the command succeeded. Throws without apt-get, or after a timeout. */
function apt(...args: readonly string[]): boolean {
  const { status, error } = spawnSync('apt-get', [...APT_OPTIONS, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
  })
  if (error !== undefined) throw error
  return status === 0
}
