/**
 * Before the tests, on a machine that is there for tests alone (`CI` is set, and the user is root): installs the server
 * programs of PostgreSQL when there are none. Elsewhere nothing is installed, and the suites that need a server are
 * skipped by name. Never fails: where there is no network, those suites are skipped, too.
 */
import { spawnSync } from 'node:child_process'
import { findPostgresPrograms } from '../test/support/postgres-programs.ts'

/** Waits for another installation to end; gives up soon where there is no network, instead of after many minutes. */
const APT_OPTIONS = ['DPkg::Lock::Timeout=60', 'Acquire::Retries=1', 'Acquire::http::Timeout=20'].flatMap((option) => [
  '-o',
  option,
])

if (process.env.CI !== undefined && process.getuid?.() === 0 && findPostgresPrograms() === undefined) install()

function install(): void {
  console.log('installing postgresql-15 with apt-get, for the suites of the second store engine')
  try {
    if (!apt('install', '-y', '-qq', '--no-install-recommends', 'postgresql-15')) {
      // The lists of what there is may be missing, or of an older day.
      apt('update', '-qq')
      apt('install', '-y', '-qq', '--no-install-recommends', 'postgresql-15')
    }
    if (findPostgresPrograms() === undefined) throw new Error('apt-get says why above')
  } catch (error) {
    console.log(`it was not installed, and those suites are skipped: ${(error as Error).message}`)
  }
}

/** Whether it ended well. Throws where there is no apt-get, or it takes too long. */
function apt(...args: readonly string[]): boolean {
  const { status, error } = spawnSync('apt-get', [...APT_OPTIONS, ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
  })
  if (error !== undefined) throw error
  return status === 0
}
