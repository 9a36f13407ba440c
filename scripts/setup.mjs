/**
 * The prerequisites for every script: a supported Node, the locked packages, a current build. Uses no package, because
 * it runs before any is installed. Each step returns quickly when its work is already done, and then needs no network.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CLIENT_TYPES, ensureApiTypes } from './api-types.mjs'
import { buildBrowserPages } from './browser-pages.mjs'
import { ensureStoreTemplate } from './ensure-template.mjs'
import { filesBelow, hashOf, ROOT } from './files.mjs'
import { dashboard } from './grafana-dashboard.mjs'
import { createInstallReport, showProgress } from './progress.mjs'

export { ROOT }

const NODE_MINIMUM = [20, 19]
const SOURCE_FOLDER = join(ROOT, 'src')
/** The browser code. */
const PAGE_FOLDERS = ['console', 'demo-page'].map((name) => join(ROOT, 'packages', name))
const OUTPUT_FOLDER = join(ROOT, 'dist')
/** The client for customers' programs: one JavaScript file per source, and its types. */
const CLIENT_SOURCES = join(ROOT, 'packages/client/src')
const CLIENT_OUTPUT = join(ROOT, 'packages/client/dist')
const BUILD_STAMP = join(OUTPUT_FOLDER, '.build-stamp')
const PROGRAM = join(OUTPUT_FOLDER, 'main.js')
/** The program's threads and processes with their own start file: path in dist without its extension, and source. */
const THREADS = {
  'program/embedded-worker': 'src/platform/store/embedded-worker.ts',
  'program/gateway-process': 'src/service/parts/streaming/gateway-process.ts',
  'program/past-book-thread': 'src/streaming/recordings/past-book-thread.ts',
  'program/watchdog-thread': 'src/service/process/watchdog-thread.ts',
}
/** A package that reads files in its own folder, and an optional dependency of `pg`. */
const UNBUNDLED = ['@electric-sql/pglite', 'pg-native']

/** Ends the process with one line when the user has to do something first. */
export function fail(message) {
  process.stderr.write(`tidegate: ${message}\n`)
  process.exit(1)
}

/** Runs a JavaScript file from an installed package with the same Node, and returns its exit code. */
export function runNode(file, args = [], options = {}) {
  const result = spawnSync(process.execPath, [file, ...args], { cwd: ROOT, stdio: 'inherit', ...options })
  if (result.error) fail(`cannot run ${file}: ${result.error.message}`)
  return result.status ?? 1
}

export const TYPESCRIPT = join(ROOT, 'node_modules/typescript-native/bin/tsc')
export const BIOME = join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
export const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
export const TSX = join(ROOT, 'node_modules/tsx/dist/cli.mjs')

export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1])) return
  fail(`needs Node ${NODE_MINIMUM.join('.')} or newer, this is ${process.versions.node} (https://nodejs.org)`)
}

/** Installs exactly the lockfile's packages, unless they are installed already. */
export async function ensureInstalled() {
  requireNode()
  if (installationMatchesLockfile()) return
  let progress
  const report = createInstallReport(packagesOfThisMachine().length, (line) => progress.note(line))
  progress = showProgress((seconds) => report.text(seconds))
  // The npm that runs this script, if there is one. Always with development packages, which the build needs.
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

/** Runs a program and passes on each output line. Resolves to its exit. */
function run(file, args, onLine, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine)
    child.on('error', (error) => resolve({ error }))
    child.on('close', (code) => resolve({ code: code ?? 1 }))
  })
}

/**
 * As the last step of an installation npm writes a copy of the lockfile to node_modules: if it equals the lockfile, the
 * folder is complete and current.
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

/** The lockfile's packages that this machine needs: paths with their entries. */
function packagesOfThisMachine() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries(packages).filter(
    ([path, entry]) => path !== '' && (entry.optional !== true || isForThisMachine(entry)),
  )
}

/**
 * Packages for a specific C library are skipped, because Node does not report the C library and npm has already chosen.
 */
function isForThisMachine(entry) {
  if (entry.libc !== undefined || (entry.os === undefined && entry.cpu === undefined)) return false
  const fits = (list, value) => list === undefined || list.includes(value)
  return fits(entry.os, process.platform) && fits(entry.cpu, process.arch)
}

/**
 * Builds packages/client, and bundles src with its packages, and the browser pages, into dist, if a source, a build
 * script or the lockfile changed since the last successful build. A program that loads ten files instead of 1,800
 * starts in a third of the time.
 */
export async function ensureBuilt() {
  await ensureInstalled()
  await ensureApiTypes([CLIENT_TYPES])
  const scripts = ['setup', 'api-types', 'browser-pages', 'grafana-dashboard'].map((name) => `scripts/${name}.mjs`)
  const configurations = ['tsconfig.json', 'packages/client/tsconfig.json', 'package-lock.json', ...scripts]
  const stamp = hashOf([
    ...filesBelow(SOURCE_FOLDER),
    ...filesBelow(CLIENT_SOURCES),
    ...PAGE_FOLDERS.flatMap(filesBelow),
    ...configurations.map((name) => join(ROOT, name)),
  ])
  const isBuilt = [PROGRAM, CLIENT_OUTPUT].every((path) => existsSync(path))
  if (isBuilt && existsSync(BUILD_STAMP) && readFileSync(BUILD_STAMP, 'utf8') === stamp) return
  // Other users run the program too, whatever this user's umask is.
  const umask = process.umask(0o022)
  try {
    await build(stamp)
  } finally {
    process.umask(umask)
  }
}

async function build(stamp) {
  rmSync(BUILD_STAMP, { force: true })
  const progress = showProgress((seconds) => `building, ${seconds} s`)
  mkdirSync(OUTPUT_FOLDER, { recursive: true })
  // An earlier build may have created it for its user only.
  chmodSync(OUTPUT_FOLDER, 0o755)
  await bundle()
  buildClient()
  progress.end()
  // The installed program is a symbolic link to this file, in a folder on PATH.
  chmodSync(PROGRAM, 0o755)
  ensureStoreTemplate()
  writeFileSync(join(OUTPUT_FOLDER, 'grafana-dashboard.json'), `${JSON.stringify(dashboard(), null, 2)}\n`)
  writeFileSync(BUILD_STAMP, stamp)
}

/** Not bundled, so that its users' bundlers can leave out what they do not need. */
function buildClient() {
  rmSync(CLIENT_OUTPUT, { recursive: true, force: true })
  const code = runNode(TYPESCRIPT, ['-p', 'packages/client/tsconfig.json', '--noEmit', 'false'])
  if (code !== 0) fail('the build of packages/client failed (tsc)')
}

/**
 * Writes `dist/main.js`, which loads chunks from `dist/program/`: the code of the program and its packages, and one
 * file for each thread. A chunk's `import.meta.url` is in that folder. The threads, the version and the store template
 * are located relative to it. Types are checked by `npm run check` and `npm test`.
 */
async function bundle() {
  const esbuild = await import('esbuild')
  const { metafile } = await esbuild
    .build({
      absWorkingDir: ROOT,
      entryPoints: { main: 'src/main.ts', ...THREADS },
      outdir: 'dist',
      chunkNames: 'program/[name]-[hash]',
      bundle: true,
      splitting: true,
      platform: 'node',
      format: 'esm',
      target: `node${NODE_MINIMUM.join('.')}`,
      sourcemap: 'linked',
      sourcesContent: false,
      legalComments: 'linked',
      external: UNBUNDLED,
      // For packages in CommonJS format: an ES module has no `require`.
      banner: {
        js: "import { createRequire as createRequireOfModule } from 'node:module'; const require = createRequireOfModule(import.meta.url);",
      },
      metafile: true,
      logLevel: 'warning',
    })
    .catch(() => fail('the build failed (esbuild)'))
  const pages = await buildBrowserPages(esbuild, ROOT).catch(() => fail('the build of the pages failed (esbuild)'))
  removeAllBut(new Set([...Object.keys(metafile.outputs).map((path) => join(ROOT, path)), ...pages]))
}

/** Deletes files from earlier builds, so that no outdated file is run. */
function removeAllBut(outputs) {
  for (const entry of readdirSync(OUTPUT_FOLDER, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    const isOutput = /\.(js|js\.map|LEGAL\.txt)$/.test(entry.name)
    if (entry.isFile() && isOutput && !outputs.has(file)) rmSync(file)
  }
}
