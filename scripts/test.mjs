/**
 * `npm test`: set-up, build, linter, type checker, all tests. Arguments are passed to vitest. The linter and the type checker run concurrently with the tests. Shows one progress
 * line, the text of each failure, and a last line that is sufficient alone. A linter or type error, a file that does
 * not load and a run without any test count as failed. Everything else is in DETAILS_FILE. Where `CI` is set, its
 * summaries are shown.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ensureApiTypes } from './api-types.mjs'
import { showProgress } from './progress.mjs'
import { ensureBuilt, ensureInstalled, ROOT, TSX, VITEST } from './setup.mjs'
import { createTestFolder } from './test-folder.mjs'
import { progressText, summarise, summaryLine, timeReport } from './test-report.mjs'
import { lastLinesOf, run, runBeside, runChecks, testEnvironment } from './test-steps.mjs'

const DETAILS_FILE = join(ROOT, 'node_modules/.cache/test-run.log')
const REPORTER = join(ROOT, 'scripts/test-reporter.mjs')
/** Without a terminal. */
const PROGRESS_LINE_SECONDS = 30

await ensureInstalled()
const installingPostgres = runBeside(TSX, ['scripts/install-postgres.ts'])
await ensureBuilt()
await ensureApiTypes()
process.stdout.write((await installingPostgres).output)
mkdirSync(dirname(DETAILS_FILE), { recursive: true })
const details = openSync(DETAILS_FILE, 'w')
const checking = runChecks()
const tests = await runTests(process.argv.slice(2), details)
const checks = await checking

const budgets = JSON.parse(readFileSync(join(ROOT, 'test/budgets.json'), 'utf8'))
const report = [...timeReport(tests.times, budgets), ...tests.skipped.map((name) => `skipped: ${name}`)]
writeSync(details, [...checks.map(({ output }) => output), ...report.map((line) => `${line}\n`)].join(''))
closeSync(details)
if (process.env.CI) for (const line of report) console.log(line)
const failedChecks = checks.filter(({ code }) => code !== 0)
for (const { output } of failedChecks) process.stdout.write(output)
process.stdout.write(tests.failureText)
const failures = [...failedChecks.map(({ name }) => name), ...tests.failures]
for (const name of failures) console.log(`failed: ${name}`)
console.log(`${summaryLine({ ...tests, failures })}; details: ${relative(ROOT, DETAILS_FILE)}`)
process.exitCode = failures.length === 0 ? 0 : 1

/** Runs vitest with its output in the details file, and shows the progress meanwhile. */
async function runTests(vitestArguments, details) {
  const folder = createTestFolder()
  const files = []
  let count
  let failureText = ''
  const progress = showProgress((seconds) => progressText(files, count, seconds), {
    lineSeconds: PROGRESS_LINE_SECONDS,
  })
  const options = { env: testEnvironment(folder), stdio: ['ignore', details, details, 'ipc'] }
  const { code } = await run(
    VITEST,
    ['run', '--no-color', `--reporter=${REPORTER}`, ...vitestArguments],
    options,
    (child) => {
      child.on('message', (message) => {
        if (message.file) files.push(message.file)
        count = message.count ?? count
        failureText = message.failureText ?? failureText
      })
    },
  )
  progress.end()
  rmSync(folder, { recursive: true, force: true })
  const summary = summarise(files)
  if (summary.passed + summary.failures.length === 0) summary.failures.push('no test ran')
  // Errors outside of any test (such as an unhandled rejection) fail the run without failing a test.
  if (code !== 0 && summary.failures.length === 0) summary.failures.push('vitest: an error outside of the tests')
  // Vitest ended before it could report: its output states the reason.
  if (code !== 0 && failureText === '') failureText = lastLinesOf(DETAILS_FILE)
  // Vitest's processes may colour a failure's values themselves.
  return { ...summary, failureText: stripVTControlCharacters(failureText) }
}
