/**
 * `npm run faults [-- --only NAME] [--json]`: plants the faults in test/faults one at a time, in a temporary copy of the
 * repository, and runs the suite named for each, which has to fail. First every such suite has to pass without a fault.
 * Exits with 1 when a fault is not caught. Suites on PostgreSQL need its programs.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { showProgress } from './progress.mjs'
import { ensureInstalled, fail, ROOT, VITEST } from './setup.mjs'

/** Not copied: what git, npm and the build have made. */
const LEFT_OUT = new Set(['.git', 'node_modules', 'dist'])
/** A suite that runs longer than this hangs. */
const SUITE_MILLISECONDS_MAX = 900_000

const { values } = parseArgs({ options: { only: { type: 'string' }, json: { type: 'boolean', default: false } } })
await ensureInstalled()
const { register } = await import('tsx/esm/api')
register()
const { editsOf, FAULTS } = await import('../test/faults/faults.ts')
const faults = FAULTS.filter(({ name }) => values.only === undefined || name === values.only)
if (faults.length === 0) fail(`no fault ${values.only}; there are: ${FAULTS.map(({ name }) => name).join(', ')}`)

const folder = mkdtempSync(join(tmpdir(), 'tidegate-faults-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
cpSync(ROOT, folder, { recursive: true, filter: (path) => !LEFT_OUT.has(path.slice(ROOT.length + 1)) })
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))

const suites = [...new Map(faults.map((fault) => [fault.suite, fault])).values()]
let step = 'copying'
const progress = showProgress((seconds) => `${step}, ${seconds} s`)
for (const [index, fault] of suites.entries()) {
  step = `without a fault, ${index + 1} of ${suites.length}: ${fault.suite}`
  const { failed, passed } = await runSuite(fault)
  if (failed.length > 0) fail(`${fault.suite} fails without a fault: ${failed[0]}`)
  if (passed === 0) fail(`no test of ${fault.suite} ran`)
}
const results = []
for (const [index, fault] of faults.entries()) {
  step = `fault ${index + 1} of ${faults.length}: ${fault.name}`
  const began = Date.now()
  const { failed } = await withFault(fault, () => runSuite(fault))
  const { name, suite } = fault
  results.push({ name, suite, caughtBy: failed[0] ?? null, seconds: Math.round((Date.now() - began) / 1_000) })
  progress.note(`${failed.length > 0 ? 'caught' : 'NOT CAUGHT'}: ${name}`)
}
progress.end()

const missed = results.filter(({ caughtBy }) => caughtBy === null)
if (values.json) console.log(JSON.stringify(results, null, 2))
else {
  for (const { name, suite, caughtBy, seconds } of results)
    console.log(`${name.padEnd(26)} ${caughtBy === null ? 'NOT CAUGHT by' : 'caught by'} ${suite}, ${seconds} s`)
  console.log(`${results.length - missed.length} of ${results.length} faults caught`)
}
process.exit(missed.length === 0 ? 0 : 1)

/** Calls `act` while the copy has the fault. */
async function withFault(fault, act) {
  const originals = new Map()
  for (const { file, text, replacement } of editsOf(fault)) {
    const path = join(folder, file)
    const before = readFileSync(path, 'utf8')
    const parts = before.split(text)
    if (parts.length !== 2) fail(`fault ${fault.name}: its text occurs ${parts.length - 1} times in ${file}`)
    if (!originals.has(path)) originals.set(path, before)
    writeFileSync(path, parts.join(replacement))
  }
  try {
    return await act()
  } finally {
    for (const [path, original] of originals) writeFileSync(path, original)
  }
}

/** The names of a suite's failed tests, and how many passed. A file that does not load has none, so it catches nothing. */
async function runSuite({ suite, project = 'embedded' }) {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const args = ['run', '--project', project, '--bail=1', '--reporter=json', `--outputFile=${report}`, suite]
  const env = { ...process.env, ...(suite.endsWith('.long.ts') ? { TIDEGATE_LONG: '1' } : {}) }
  await new Promise((resolve) => {
    const options = { cwd: folder, env, stdio: 'ignore', timeout: SUITE_MILLISECONDS_MAX, signal: interruption.signal }
    const child = spawn(process.execPath, [VITEST, ...args], options)
    child.on('error', (error) => interruption.signal.aborted || fail(`cannot run vitest: ${error.message}`))
    child.on('close', resolve)
  })
  if (interruption.signal.aborted) process.exit(1)
  let tests = []
  try {
    tests = JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap(({ assertionResults }) => assertionResults)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)
  return { failed, passed: tests.filter(({ status }) => status === 'passed').length }
}
