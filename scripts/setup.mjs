/**
 * What every script needs before it can do its work: the right Node, the locked packages, a build that is up to date.
 * Plain Node without any package, because it runs before there is one. Each step does nothing, quickly, when its work
 * is done already, and none of them needs the network then.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createInstallReport, showProgress } from './progress.mjs'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const NODE_MINIMUM = [20, 19]
const SOURCE_FOLDER = join(ROOT, 'src')
const OUTPUT_FOLDER = join(ROOT, 'dist')
const BUILD_STAMP = join(OUTPUT_FOLDER, '.build-stamp')
const TEMPLATE_STAMP = join(OUTPUT_FOLDER, '.store-template-stamp')
const MIGRATIONS_FOLDER = join(SOURCE_FOLDER, 'store/migrations')
const PROGRAM = join(OUTPUT_FOLDER, 'main.js')

/** Ends the process with one line when something that the user must do is missing. */
export function fail(message) {
  process.stderr.write(`tidegate: ${message}\n`)
  process.exit(1)
}

/** Runs a JavaScript file of an installed package with this same Node; returns its exit code. */
export function runNode(file, args = [], options = {}) {
  const result = spawnSync(process.execPath, [file, ...args], { cwd: ROOT, stdio: 'inherit', ...options })
  if (result.error) fail(`cannot run ${file}: ${result.error.message}`)
  return result.status ?? 1
}

export const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc')
export const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
export const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
export const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs')

export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1])) return
  fail(`needs Node ${NODE_MINIMUM.join('.')} or newer, this is ${process.versions.node} (https://nodejs.org)`)
}

/** Installs exactly what the lockfile names, unless that is what stands in node_modules. */
export async function ensureInstalled() {
  requireNode()
  if (installationMatchesLockfile()) return
  let progress
  const report = createInstallReport(packagesOfThisMachine().length, (line) => progress.note(line))
  progress = showProgress((seconds) => report.text(seconds))
  // npm of this very call when there is one; development packages always, since the build needs them.
  const npm = process.env.npm_execpath
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--no-progress', '--loglevel=http']
  const isScript = npm?.endsWith('.js') && existsSync(npm)
  const { code, error } = isScript
    ? await run(process.execPath, [npm, ...args], (line) => report.read(line))
    : await run('npm', args, (line) => report.read(line), { shell: process.platform === 'win32' })
  progress.end()
  if (error) fail(`cannot run npm: ${error.message}`)
  if (code !== 0) fail(report.failure())
}

/** Runs a program and hands out each line that it writes; resolves to how it ended. */
function run(file, args, onLine, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine)
    child.on('error', (error) => resolve({ error }))
    child.on('close', (code) => resolve({ code: code ?? 1 }))
  })
}

/**
 * npm itself leaves a copy of what it installed in node_modules, as its last step: comparing that with the lockfile
 * says whether the folder is whole and current, whoever installed it.
 */
function installationMatchesLockfile() {
  const installedFile = join(ROOT, 'node_modules/.package-lock.json')
  if (!existsSync(installedFile)) return false
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages
  return packagesOfThisMachine().every(([path, entry]) => {
    const present = installed[path]
    return present !== undefined && present.version === entry.version && present.integrity === entry.integrity
  })
}

/** What the lockfile names and this machine needs: paths with their entries. */
function packagesOfThisMachine() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries(packages).filter(
    ([path, entry]) => path !== '' && (entry.optional !== true || isForThisMachine(entry)),
  )
}

/** Packages for one C library are left out: Node does not say which one the machine has, and npm chose already. */
function isForThisMachine(entry) {
  if (entry.libc !== undefined || (entry.os === undefined && entry.cpu === undefined)) return false
  const fits = (list, value) => list === undefined || list.includes(value)
  return fits(entry.os, process.platform) && fits(entry.cpu, process.arch)
}

/** Compiles src into dist when a source, a compiler setting or the lockfile changed since the last good build. */
export async function ensureBuilt() {
  await ensureInstalled()
  const sources = sourceFiles()
  const stamp = hashOf([
    ...sources,
    ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) => join(ROOT, name)),
  ])
  if (existsSync(BUILD_STAMP) && readFileSync(BUILD_STAMP, 'utf8') === stamp && existsSync(PROGRAM)) return
  rmSync(BUILD_STAMP, { force: true })
  const progress = showProgress((seconds) => `building, ${seconds} s`)
  const { code } = await run(process.execPath, [TYPESCRIPT, '-p', 'tsconfig.build.json'], progress.note)
  progress.end()
  if (code !== 0) fail('the build failed (tsc)')
  removeOrphans(sources)
  // A link to it in a folder of PATH is the installed program.
  chmodSync(PROGRAM, 0o755)
  mkdirSync(OUTPUT_FOLDER, { recursive: true })
  ensureStoreTemplate()
  writeFileSync(BUILD_STAMP, stamp)
}

/**
 * Makes the template of a new embedded store (src/store/store-template.ts) when the version of PGlite or a migration
 * changed since the last one was made. Returns whether it did.
 */
export function ensureStoreTemplate() {
  const packages = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
  const { version } = packages['node_modules/@electric-sql/pglite']
  const stamp = `${version} ${hashOf(sourceFiles().filter((file) => file.startsWith(MIGRATIONS_FOLDER)))}`
  if (existsSync(TEMPLATE_STAMP) && readFileSync(TEMPLATE_STAMP, 'utf8') === stamp) return false
  rmSync(TEMPLATE_STAMP, { force: true })
  if (runNode(TSX, ['scripts/store-template.ts'], { stdio: ['ignore', 2, 2] }) !== 0)
    fail('the template of the embedded store could not be made')
  writeFileSync(TEMPLATE_STAMP, stamp)
  return true
}

function sourceFiles() {
  return readdirSync(SOURCE_FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

/** Deletes compiled files whose source is gone, so that nothing runs that is no longer written anywhere. */
function removeOrphans(sources) {
  const expected = new Set(sources.map((file) => relative(SOURCE_FOLDER, file).replace(/\.ts$/, '')))
  for (const entry of readdirSync(OUTPUT_FOLDER, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.js(\.map)?$/.test(entry.name)) continue
    const file = join(entry.parentPath, entry.name)
    if (!expected.has(relative(OUTPUT_FOLDER, file).replace(/\.js(\.map)?$/, ''))) rmSync(file)
  }
}
