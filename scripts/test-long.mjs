/**
 * `npm run test:long [-- FILE…] [--continue] [--seed N] [--longer NAME]…`: set-up, build, linter, type checkers, and every
 * test with its long counts, from one fresh seed, which is printed. Files that need a quiet machine run alone, after the
 * others. `--continue` resumes an interrupted run of the same commit: files that passed are not repeated. `--longer` runs
 * more of one kind of test (scripts/long-plan.mjs). The report is a file, named on the last line.
 */
import { execFileSync } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { ensureApiTypes } from './api-types.mjs'
import { keyOf, LONGER, longerVariables, longProgressText, longReport } from './long-plan.mjs'
import { showProgress } from './progress.mjs'
import { ensureBuilt, ensureInstalled, fail, ROOT, TSX } from './setup.mjs'
import { createTestFolder } from './test-folder.mjs'
import { summarise, summaryLine } from './test-report.mjs'
import { lastLinesOf, run, runBeside, runChecks, testEnvironment } from './test-steps.mjs'

const CACHE = join(ROOT, 'node_modules/.cache')
const DETAILS_FILE = join(CACHE, 'long-run.log')
/** The last run's facts and outcomes, written after each file. */
const STATE_FILE = join(CACHE, 'long-run.json')
/** Seconds of each file on this machine, in place of the recorded ones. */
const OWN_SECONDS_FILE = join(CACHE, 'long-seconds.json')
const RECORDED_SECONDS_FILE = join(ROOT, 'test/long-seconds.json')
const PROGRESS_LINE_SECONDS = 60
/** For vitest to stop what it has started, after an interruption. */
const ENDING_MILLISECONDS_MAX = 20_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    continue: { type: 'boolean', default: false },
    seed: { type: 'string' },
    longer: { type: 'string', multiple: true, default: [] },
  },
})
const seconds = { ...readJson(RECORDED_SECONDS_FILE), ...readJson(OWN_SECONDS_FILE) }
const state = values.continue ? earlierState() : newState()
const { unknown, variables } = longerVariables(state.longer)
if (unknown !== undefined) fail(`--longer must be one of ${Object.keys(LONGER).join(', ')}, not ${unknown}`)
await ensureInstalled()
const installingPostgres = runBeside(TSX, ['scripts/install-postgres.ts'])
await ensureBuilt()
await ensureApiTypes()
process.stdout.write((await installingPostgres).output)
mkdirSync(CACHE, { recursive: true })
console.log(`seed ${state.seed}, which --seed ${state.seed} repeats`)
const failedChecks = (await runChecks()).filter(({ code }) => code !== 0)
for (const { output } of failedChecks) process.stdout.write(output)
const failureText = await runTests()
process.stdout.write(stripVTControlCharacters(failureText))
finish(failedChecks.map(({ name }) => name))

function newState() {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) fail('--seed must be a whole number')
  const began = [new Date().toISOString()]
  return { seed, longer: values.longer, files: positionals, commit: commitOf(), began, outcomes: [] }
}

function earlierState() {
  if (!existsSync(STATE_FILE)) fail('there is no run to continue')
  const earlier = readJson(STATE_FILE)
  if (earlier.commit !== commitOf()) fail(`the run to continue is of another commit: ${earlier.commit}`)
  return { ...earlier, began: [...earlier.began, new Date().toISOString()] }
}

/** Runs the files that have not passed yet, and keeps each outcome. @returns the text of all failures */
async function runTests() {
  const folder = createTestFolder()
  const details = openSync(DETAILS_FILE, 'w')
  const earlier = state.outcomes
  const present = []
  let plan
  let text = ''
  let isInterrupted = false
  let group
  const progress = showProgress(
    (passed) =>
      plan === undefined ? `starting the tests, ${passed} s` : longProgressText(plan, present, seconds, passed),
    { lineSeconds: PROGRESS_LINE_SECONDS },
  )
  const env = testEnvironment(folder, {
    ...variables,
    TIDEGATE_LONG: '1',
    TIDEGATE_SEED: String(state.seed),
    NO_COLOR: '1',
  })
  // A group of its own: a test's process that is busy does not end with its parent.
  const options = { env, stdio: ['ignore', details, details, 'ipc'], detached: true }
  const { code } = await run(join(ROOT, 'scripts/test-long-files.mjs'), [], options, (child) => {
    group = child.pid
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.on(signal, () => {
        isInterrupted = true
        child.kill(signal)
        setTimeout(endAll, ENDING_MILLISECONDS_MAX, group).unref()
      })
    }
    child.send({ files: state.files, outcomes: earlier, seconds })
    child.on('message', (message) => {
      plan = message.plan ?? plan
      text += message.failureText ?? ''
      // Files that were interrupted end too.
      if (message.file === undefined || isInterrupted) return
      present.push(message.file)
      const ended = new Set(present.map(keyOf))
      state.outcomes = [...earlier.filter((outcome) => !ended.has(keyOf(outcome))), ...present]
      writeFileSync(STATE_FILE, JSON.stringify(state))
    })
  })
  endAll(group)
  progress.end()
  closeSync(details)
  rmSync(folder, { recursive: true, force: true })
  const wanted = plan === undefined ? 1 : plan.together.length + plan.alone.length
  if (present.length < wanted) {
    if (!isInterrupted) process.stdout.write(lastLinesOf(DETAILS_FILE))
    fail(`ended after ${present.length} of ${wanted} files; npm run test:long -- --continue runs the others`)
  }
  // Such as an unhandled rejection.
  if (code !== 0 && summarise(present).failures.length === 0) text += 'vitest: an error outside of the tests\n'
  return text
}

function endAll(group) {
  try {
    process.kill(-group, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function finish(checks) {
  const own = Object.fromEntries(state.outcomes.map((outcome) => [keyOf(outcome), Math.round(outcome.seconds)]))
  writeFileSync(OWN_SECONDS_FILE, JSON.stringify({ ...readJson(OWN_SECONDS_FILE), ...own }))
  const report = join(CACHE, `long-run-${state.seed}.txt`)
  const ended = new Date().toISOString()
  writeFileSync(report, `${longReport({ ...state, machine: machine(), ended, checks }).join('\n')}\n`)
  const { passed, failures, skipped } = summarise(state.outcomes)
  const failed = [
    ...checks,
    ...failures,
    ...(failureText !== '' && failures.length === 0 ? ['vitest: an error outside of the tests'] : []),
  ]
  for (const name of failed) console.log(`failed: ${name}`)
  console.log(`${summaryLine({ passed, failures: failed, skipped })}; report: ${relative(ROOT, report)}`)
  process.exit(failed.length === 0 ? 0 : 1)
}

/** With a digest of local changes, if there are any. */
function commitOf() {
  const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 30 })
  const changes = git('status', '--porcelain') + git('diff', 'HEAD')
  const digest = createHash('sha256').update(changes).digest('hex').slice(0, 12)
  return git('rev-parse', 'HEAD').trim() + (changes === '' ? '' : ` with local changes ${digest}`)
}

function machine() {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}, ${memory} GiB, ${process.platform}, Node ${process.version}`
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}
