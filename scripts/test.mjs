/**
 * `npm test`: set-up, build, linter, type checker, every test. `--long` adds the long counts and files; other
 * arguments go to vitest. The last line is always `N passed, N failed, N skipped`; a linter or type error, a file
 * that does not load and a run without any test count as failed, so that the line alone tells the truth.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { BIOME, ensureBuilt, ROOT, runNode, TYPESCRIPT, VITEST } from './setup.mjs'

/** What a run of the tests is told by variables. */
const RUN_VARIABLES = /^TIDEGATE_(LONG|SEED|SOAK_\w+)$/

const args = process.argv.slice(2)
const long = args.includes('--long')
const failures = []

await ensureBuilt()
if (runNode(BIOME, ['check']) !== 0) failures.push('linter: biome check')
if (runNode(TYPESCRIPT, ['--noEmit', '-p', 'tsconfig.json']) !== 0) failures.push('type checker: tsc --noEmit')
const tests = runTests(args.filter((argument) => argument !== '--long'))

printTimes(tests.times)

for (const name of tests.skipped.keys()) console.log(`skipped: ${name} (${tests.skipped.get(name)})`)
for (const name of [...failures, ...tests.failures]) console.log(`failed: ${name}`)
const failed = failures.length + tests.failures.length
const skipped = [...tests.skipped.values()].reduce((sum, count) => sum + count, 0)
console.log(`${tests.passed} passed, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed === 0 ? 0 : 1

function runTests(vitestArguments) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-test-'))
  const reportFile = join(folder, 'results.json')
  const code = runNode(
    VITEST,
    ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`, ...vitestArguments],
    { env: environment() },
  )
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : { testResults: [] }
  rmSync(folder, { recursive: true })
  const summary = summarise(report.testResults)
  if (summary.passed + summary.failures.length === 0) summary.failures.push('no test ran')
  // Errors outside of any test (an unhandled rejection) fail the run without failing a test.
  if (code !== 0 && summary.failures.length === 0) summary.failures.push('vitest: an error outside of the tests')
  return summary
}

/** The environment without configuration of a service, which the shell may have for another purpose. */
function environment() {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_') || RUN_VARIABLES.test(name))
  return { ...Object.fromEntries(kept), ...(long ? { TIDEGATE_LONG: '1' } : {}) }
}

/** Counts tests; skipped ones are gathered under the outermost describe that names what is missing. */
function summarise(files) {
  const summary = { passed: 0, failures: [], skipped: new Map(), times: [] }
  for (const file of files) {
    const path = relative(ROOT, file.name)
    summary.times.push({ path, seconds: (file.endTime - file.startTime) / 1000 })
    const failedBefore = summary.failures.length
    for (const test of file.assertionResults) {
      if (test.status === 'passed') summary.passed++
      else if (test.status === 'failed') summary.failures.push(`${path}: ${test.fullName}`)
      else {
        const name = `${path}: ${test.ancestorTitles[0] ?? test.title}`
        summary.skipped.set(name, (summary.skipped.get(name) ?? 0) + 1)
      }
    }
    if (file.status === 'failed' && summary.failures.length === failedBefore)
      summary.failures.push(`${path}: does not load`)
  }
  return summary
}

/** Where the time went: seconds per folder of test/ and the ten slowest files, two of which run at a time. */
function printTimes(times) {
  const folders = new Map()
  for (const { path, seconds } of times) {
    const folder = path.split('/')[1] ?? ''
    folders.set(folder, (folders.get(folder) ?? 0) + seconds)
  }
  const longestFirst = (left, right) => right[1] - left[1]
  const line = ([name, seconds]) => `${seconds.toFixed(1).padStart(8)}  ${name}`
  console.log('seconds per folder:')
  for (const entry of [...folders].sort(longestFirst)) console.log(line(entry))
  if (times.length <= 10) return
  console.log('seconds of the slowest files:')
  const files = times.map(({ path, seconds }) => [path, seconds])
  for (const entry of files.sort(longestFirst).slice(0, 10)) console.log(line(entry))
}
