/**
 * Where the server programs of PostgreSQL are on this machine. Knows nothing of the tests, so that their configuration
 * can ask, too: suites that need a server are left out by name where there is none.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const VERSION_MIN = 15
const DEBIAN_FOLDER = '/usr/lib/postgresql'
/** Set in the environment of the run once it was tried. */
const TRIED = 'POSTGRES_INSTALLATION_TRIED'
/** Waits for another installation to end; gives up soon where there is no network, instead of after many minutes. */
const APT_OPTIONS = ['DPkg::Lock::Timeout=60', 'Acquire::Retries=1', 'Acquire::http::Timeout=20'].flatMap((option) => [
  '-o',
  option,
])

/** Folder with `initdb` and `postgres` of a version that will do; undefined when there is none. */
export function findPostgresPrograms(): string | undefined {
  const inPath = (process.env.PATH ?? '').split(delimiter)
  const inDebian = readFolder(DEBIAN_FOLDER)
    .sort((left, right) => Number(right) - Number(left))
    .map((version) => join(DEBIAN_FOLDER, version, 'bin'))
  return [...inPath, ...inDebian].find((folder) => folder !== '' && isNewEnough(folder))
}

/** On a machine that is there for tests alone. Elsewhere nobody expects a test to install anything. */
export function installWhereThatIsExpected(): void {
  if (process.env.CI === undefined || process.getuid?.() !== 0 || findPostgresPrograms() !== undefined) return
  // The configuration is read once for itself and once for each project; without a network every try takes long.
  if (process.env[TRIED] !== undefined) return
  process.env[TRIED] = '1'
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

function isNewEnough(folder: string): boolean {
  try {
    accessSync(join(folder, 'initdb'), constants.X_OK)
    const version = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
    return Number(/ ([0-9]+)/.exec(version)?.[1]) >= VERSION_MIN
  } catch {
    // Not there, or not to be run by us.
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
