/**
 * `npm test`: set-up, build, linter, type checker, all tests. `--long` includes the long counts and files; other
 * arguments are passed to vitest. The linter and the type checker run concurrently with the tests, and their output is
 * printed after them. The last line is always `N passed, N failed, N skipped`; a linter or type error, a file that does
 * not load and a run without any test count as failed, so that the line alone is sufficient.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BIOME, ensureBuilt, ensureInstalled, fail, ROOT, TSX, TYPESCRIPT, VITEST } from './setup.mjs'
import { createTestFolder } from './test-folder.mjs'
import { summarise, timeReport } from './test-report.mjs'

/** The environment variables that control a test run. */
const RUN_VARIABLES = /^TIDEGATE_(LONG|SEED|SOAK_\w+)$/

const args = process.argv.slice(2)
const long = args.includes('--long')

await ensureInstalled()
const installingPostgres = runBeside(TSX, ['scripts/install-postgres.ts'])
await ensureBuilt()
process.stdout.write((await installingPostgres).output)
const checking = runChecks()
const tests = await runTests(args.filter((argument) => argument !== '--long'))
const checks = await checking

for (const { output } of checks) process.stdout.write(output)
const budgets = JSON.parse(readFileSync(join(ROOT, 'test/budgets.json'), 'utf8'))
// The budgets are those of an ordinary run.
for (const line of timeReport(tests.times, long ? undefined : budgets)) console.log(line)
for (const name of tests.skipped.keys()) console.log(`skipped: ${name} (${tests.skipped.get(name)})`)
const failures = [...checks.filter(({ code }) => code !== 0).map(({ name }) => name), ...tests.failures]
for (const name of failures) console.log(`failed: ${name}`)
const skipped = [...tests.skipped.values()].reduce((sum, count) => sum + count, 0)
console.log(`${tests.passed} passed, ${failures.length} failed, ${skipped} skipped`)
process.exitCode = failures.length === 0 ? 0 : 1

/** One after the other, so that the tests keep a core to themselves. */
async function runChecks() {
  const linter = await runBeside(BIOME, ['check'])
  const types = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'tsconfig.json', '--singleThreaded'])
  const client = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'packages/client/tsconfig.json', '--singleThreaded'])
  const adapters = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'adapters/tsconfig.json', '--singleThreaded'])
  const pages = await runBeside(TYPESCRIPT, ['--noEmit', '-p', 'packages/console/tsconfig.json', '--singleThreaded'])
  return [
    { name: 'linter: biome check', ...linter },
    { name: 'type checker: tsc --noEmit', ...types },
    { name: 'type checker: the client', ...client },
    { name: 'type checker: the adapters', ...adapters },
    { name: 'type checker: the console', ...pages },
  ]
}

async function runTests(vitestArguments) {
  const folder = createTestFolder()
  const reportFile = join(folder, 'results.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const { code } = await run(VITEST, ['run', ...reporters, ...vitestArguments], {
    env: environment(folder),
    stdio: 'inherit',
  })
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : { testResults: [] }
  rmSync(folder, { recursive: true, force: true })
  const summary = summarise(report.testResults, ROOT)
  if (summary.passed + summary.failures.length === 0) summary.failures.push('no test ran')
  // Errors outside of any test (such as an unhandled rejection) fail the run without failing a test.
  if (code !== 0 && summary.failures.length === 0) summary.failures.push('vitest: an error outside of the tests')
  return summary
}

/** The environment without the configuration of a service, which the shell may contain for another purpose. */
function environment(folder) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_') || RUN_VARIABLES.test(name))
  return { ...Object.fromEntries(kept), TESTS_ARE_BUILT: '1', TMPDIR: folder, ...(long ? { TIDEGATE_LONG: '1' } : {}) }
}

/** Runs a JavaScript file of a package and collects its output, so that it is not mixed with other output. */
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
    child.on('close', (code) => resolve({ code: code ?? 1 }))
  })
}
