/**
 * `npm test`: set-up, build, linter, type checker, all tests. `--long` includes the long counts and files. Other
 * arguments are passed to vitest. The linter and the type checker run concurrently with the tests. Shows one progress
 * line, the text of each failure, and a last line that is sufficient alone. A linter or type error, a file that does
 * not load and a run without any test count as failed. Everything else is in DETAILS_FILE. Where `CI` is set, its
 * summaries are shown.
 */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { ensureApiTypes } from './api-types.mjs'
import { showProgress } from './progress.mjs'
import { BIOME, ensureBuilt, ensureInstalled, fail, ROOT, TSX, TYPESCRIPT, VITEST } from './setup.mjs'
import { createTestFolder } from './test-folder.mjs'
import { progressText, summarise, summaryLine, timeReport } from './test-report.mjs'

/** The environment variables that control a test run. */
const RUN_VARIABLES = /^TIDEGATE_(LONG|SEED|SOAK_\w+)$/
const DETAILS_FILE = join(ROOT, 'node_modules/.cache/test-run.log')
const REPORTER = join(ROOT, 'scripts/test-reporter.mjs')
/** Without a terminal. */
const PROGRESS_LINE_SECONDS = 30
/** Lines of vitest's output, where it ended without a report. */
const LINES_WITHOUT_REPORT = 40

const args = process.argv.slice(2)
const long = args.includes('--long')

await ensureInstalled()
const installingPostgres = runBeside(TSX, ['scripts/install-postgres.ts'])
await ensureBuilt()
await ensureApiTypes()
process.stdout.write((await installingPostgres).output)
mkdirSync(dirname(DETAILS_FILE), { recursive: true })
const details = openSync(DETAILS_FILE, 'w')
const checking = runChecks()
const tests = await runTests(
  args.filter((argument) => argument !== '--long'),
  details,
)
const checks = await checking

const budgets = JSON.parse(readFileSync(join(ROOT, 'test/budgets.json'), 'utf8'))
// The budgets are for an ordinary run.
const report = [
  ...timeReport(tests.times, long ? undefined : budgets),
  ...tests.skipped.map((name) => `skipped: ${name}`),
]
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

/** One after the other, so that the tests keep a core to themselves. */
async function runChecks() {
  const linter = await runBeside(BIOME, ['check'])
  const types = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'tsconfig.json', '--singleThreaded'])
  const client = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'packages/client/tsconfig.json', '--singleThreaded'])
  const adapters = await runBeside(TYPESCRIPT, [
    '--noEmit',
    '-p',
    'packages/fix-adapter/tsconfig.json',
    '--singleThreaded',
  ])
  const pages = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'packages/console/tsconfig.json', '--singleThreaded'])
  return [
    { name: 'linter: biome check', ...linter },
    { name: 'type checker: tsc --noEmit', ...types },
    { name: 'type checker: the client', ...client },
    { name: 'type checker: the adapters', ...adapters },
    { name: 'type checker: the console', ...pages },
  ]
}

/** Runs vitest with its output in the details file, and shows the progress meanwhile. */
async function runTests(vitestArguments, details) {
  const folder = createTestFolder()
  const files = []
  let count
  let failureText = ''
  const progress = showProgress((seconds) => progressText(files, count, seconds), {
    lineSeconds: PROGRESS_LINE_SECONDS,
  })
  const options = { env: environment(folder), stdio: ['ignore', details, details, 'ipc'] }
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

function lastLinesOf(file) {
  return `${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LINES_WITHOUT_REPORT).join('\n')}\n`
}

/** The environment without a service's configuration, which the shell may contain for another purpose. */
function environment(folder) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_') || RUN_VARIABLES.test(name))
  return { ...Object.fromEntries(kept), TESTS_ARE_BUILT: '1', TMPDIR: folder, ...(long ? { TIDEGATE_LONG: '1' } : {}) }
}

/** Runs a package's JavaScript file and collects its output, so that it is not mixed with other output. */
async function runBeside(file, programArguments) {
  const parts = []
  const { code } = await run(file, programArguments, { stdio: ['ignore', 'pipe', 'pipe'] }, (child) => {
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part))
  })
  return { code, output: Buffer.concat(parts).toString() }
}

function run(file, programArguments, options, onStart = () => undefined) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [file, ...programArguments], { cwd: ROOT, ...options })
    onStart(child)
    child.on('error', (error) => fail(`cannot run ${file}: ${error.message}`))
    child.on('close', (code) => {
      const end = () => resolve({ code: code ?? 1 })
      // Its last messages may not have been read yet.
      if (child.connected) child.once('disconnect', end)
      else end()
    })
  })
}
