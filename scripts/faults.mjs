/**
 * `npm run faults [-- --only planted|mutants|NAME] [--seed N] [--mutants N] [--json]`: plants the faults in test/faults
 * one at a time, in a temporary copy of the repository, and runs the suite named for each, which has to fail. First every
 * such suite has to pass without a fault. Then mutants of the cores (scripts/mutants.mjs), 200 unless given, from the
 * seed, 1 unless given. Exits with 1 when a planted fault is not caught; the mutants have a score instead. Suites on
 * PostgreSQL need its programs.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutantReport, runMutants } from './mutants.mjs'
import { showProgress } from './progress.mjs'
import { ensureBuilt, ensureInstalled, fail, ROOT, VITEST } from './setup.mjs'

/** Not copied: what git, npm, the build and `npm start` have made. A running service's socket cannot be copied. */
const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'data'])
/** A suite that runs longer than this hangs. */
const SUITE_MILLISECONDS_MAX = 900_000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    mutants: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
  },
})
const [seed, count] = [Number(values.seed), Number(values.mutants)]
if (!Number.isSafeInteger(seed) || seed < 0) fail('--seed must be a whole number')
if (!(Number.isSafeInteger(count) && count > 0)) fail('--mutants must be a whole number above 0')
await ensureInstalled()
const { register } = await import('tsx/esm/api')
register()
const { editsOf, FAULTS } = await import('../test/faults/faults.ts')
const isPart = ['planted', 'mutants', undefined].includes(values.only)
const faults = FAULTS.filter(({ name }) => (isPart ? values.only !== 'mutants' : name === values.only))
if (!isPart && faults.length === 0)
  fail(`--only must be planted, mutants or a fault: ${FAULTS.map(({ name }) => name).join(', ')}`)
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
let step = 'starting'
const progress = showProgress((seconds) => `${step}, ${seconds} s`)
const folder = faults.length === 0 ? undefined : createCopy()
const planted = await runPlanted()
const mutants = isPart && values.only !== 'planted' ? await sampleMutants() : []
progress.end()
if (values.json) console.log(JSON.stringify({ planted, seed, mutants }, null, 2))
else for (const line of [...plantedReport(planted), ...mutantReport(mutants, seed)]) console.log(line)
process.exit(planted.every(({ caughtBy }) => caughtBy !== null) ? 0 : 1)

async function sampleMutants() {
  await ensureBuilt()
  const show = (text) => {
    step = text
  }
  process.once('SIGINT', () => process.exit(1))
  return await runMutants({ seed, count, note: progress.note, show })
}

function createCopy() {
  const copy = mkdtempSync(join(tmpdir(), 'tidegate-faults-'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 3 }))
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(path.slice(ROOT.length + 1)) })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

async function runPlanted() {
  const suites = [...new Map(faults.map((fault) => [fault.suite, fault])).values()]
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
  return results
}

function plantedReport(results) {
  if (results.length === 0) return []
  const lines = results.map(
    ({ name, suite, caughtBy, seconds }) =>
      `${name.padEnd(26)} ${caughtBy === null ? 'NOT CAUGHT by' : 'caught by'} ${suite}, ${seconds} s`,
  )
  const caught = results.filter(({ caughtBy }) => caughtBy !== null).length
  return [...lines, `${caught} of ${results.length} faults caught`]
}

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
