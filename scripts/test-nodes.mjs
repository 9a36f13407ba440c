/**
 * `npm run test:nodes [-- MAJOR…]`: runs the core suites, and starts the built program, on the newest release of each
 * supported Node line (20, 22, 24, 26). The Node programs are installed through npm, without install scripts, and kept
 * in node_modules/.cache. The last line is `N passed, N failed`, counted in versions.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt, fail, ROOT, VITEST } from './setup.mjs'
import { createTestFolder } from './test-folder.mjs'

const LINES = ['20', '22', '24', '26']
/**
 * The suites that depend on the runtime: streams, sockets, threads, the store, cryptography, the whole program, and
 * several of its processes, which need PostgreSQL and NATS.
 */
const CORE_SUITES = [
  'platform',
  'streaming',
  'access/clients',
  'service/config',
  'cli/service.test.ts',
  'end-to-end/cluster.test.ts',
  'end-to-end/gateway-processes.test.ts',
  'end-to-end/gateway-processes-tls.test.ts',
  'end-to-end/orphaned-gateway-process.test.ts',
  'end-to-end/nats.test.ts',
]

const asked = process.argv.slice(2)
const unknown = asked.find((line) => !LINES.includes(line))
if (unknown !== undefined) fail(`unknown version of Node ${unknown}; choose from ${LINES.join(', ')}`)
await ensureBuilt()
let failed = 0
const lines = asked.length > 0 ? asked : LINES
for (const line of lines) {
  const program = nodeOf(line)
  const version = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim()
  process.stderr.write(`tidegate: core suites on Node ${version}\n`)
  const isGood = runSuites(program) && startsProgram(program)
  console.log(`Node ${version}: ${isGood ? 'passed' : 'failed'}`)
  if (!isGood) failed++
}
console.log(`${lines.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** The path to that line's Node program, which is installed if missing. */
function nodeOf(line) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const folder = join(ROOT, 'node_modules/.cache/nodes', line)
  const program = join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(program)) return program
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--prefix', folder]
  const { status } = spawnSync('npm', ['install', ...options, `${name}@${line}`], { stdio: ['ignore', 2, 2] })
  if (status !== 0 || !existsSync(program)) fail(`Node ${line} could not be installed (${name}@${line})`)
  return program
}

function runSuites(program) {
  const suites = CORE_SUITES.map((name) => `test/${name}`)
  const folder = createTestFolder()
  const { status } = spawnSync(program, [VITEST, 'run', '--reporter=default', ...suites], {
    cwd: ROOT,
    env: { ...process.env, TESTS_ARE_BUILT: '1', TMPDIR: folder },
    stdio: ['ignore', 2, 2],
  })
  rmSync(folder, { recursive: true, force: true })
  return status === 0
}

/** Whether the program creates a store, checks it and exits cleanly. */
function startsProgram(program) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-nodes-'))
  const { status } = spawnSync(program, ['dist/main.js', 'migrate', '--data_dir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
  })
  rmSync(folder, { recursive: true })
  return status === 0
}
