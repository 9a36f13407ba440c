/**
 * The template for new embedded stores (src/platform/store/store-template.ts), created when it is missing or outdated.
 * Several test files may need it at the same moment: one process creates it, and the others wait.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesBelow, hashOf, ROOT } from './files.mjs'

const OUTPUT_FOLDER = join(ROOT, 'dist')
const STAMP_FILE = join(OUTPUT_FOLDER, '.store-template-stamp')
const LOCK_FILE = join(OUTPUT_FOLDER, '.store-template-lock')
const LOCK_POLL_MILLISECONDS = 50
const MIGRATIONS_FOLDER = join(ROOT, 'src/platform/store/migrations')
const SCRIPT = 'scripts/store-template.ts'
/** The sources of the template's content, besides PGlite and the migrations. */
const SOURCES = [join(ROOT, SCRIPT), join(ROOT, 'src/platform/store/store-template.ts')]

/** Creates the template if PGlite's version, a migration, the script or the format changed since the last one. */
export function ensureStoreTemplate() {
  const packages = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
  const { version } = packages['node_modules/@electric-sql/pglite']
  const stamp = `${version} ${hashOf([...filesBelow(MIGRATIONS_FOLDER), ...SOURCES])}`
  const isCurrent = () => existsSync(STAMP_FILE) && readFileSync(STAMP_FILE, 'utf8') === stamp
  if (isCurrent()) return
  // Otherwise the store would create it for its own user only.
  mkdirSync(OUTPUT_FOLDER, { recursive: true })
  takeLock(LOCK_FILE)
  try {
    if (isCurrent()) return
    rmSync(STAMP_FILE, { force: true })
    // WebAssembly that runs for seconds only is not worth optimising.
    const args = ['--liftoff-only', '--import', import.meta.resolve('tsx'), SCRIPT]
    const { status, error } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error('the template of the embedded store could not be created', { cause: error })
    writeFileSync(STAMP_FILE, stamp)
  } finally {
    rmSync(LOCK_FILE, { force: true })
  }
}

/**
 * Waits until no running process holds the lock, a file with its holder's process id. Two processes may take it from a
 * killed one: the lock only saves duplicate work, and protects nothing.
 *
 * @param {string} path
 */
export function takeLock(path) {
  while (!create(path)) {
    if (isHeld(path)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MILLISECONDS)
    else rmSync(path, { force: true })
  }
}

/** @param {string} path */
function create(path) {
  try {
    writeFileSync(path, `${process.pid}`, { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** @param {string} path */
function isHeld(path) {
  try {
    // The file is empty while its holder writes it: 0, which exists.
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** @param {unknown} error */
const codeOf = (error) => /** @type {{ code?: string }} */ (error).code
