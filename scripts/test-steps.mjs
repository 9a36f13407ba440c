/** The steps that `npm test` and `npm run test:long` share: the linter and type checkers, and a program with tests. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { BIOME, fail, ROOT, TYPESCRIPT } from './setup.mjs'

/** The environment variables that control a test run. */
const RUN_VARIABLES =
  /^TIDEGATE_(LONG|SEED|(?:SOAK|KILLS|CHAIN|CLUSTER|GATEWAY|POWER_LOSS|SIMULATION)_\w+|KILLS|OUTAGES)$/
/** Lines of a program's output, where it ended without a report. */
const LINES_WITHOUT_REPORT = 40

/** One after the other, so that the tests keep a core to themselves. */
export async function runChecks() {
  const types = (project) => [TYPESCRIPT, ['--noEmit', '-p', project, '--singleThreaded']]
  const checks = [
    ['linter: biome check', BIOME, ['check']],
    ['type checker: tsc --noEmit', ...types('tsconfig.json')],
    ['type checker: the client', ...types('packages/client/tsconfig.json')],
    ['type checker: the adapters', ...types('packages/fix-adapter/tsconfig.json')],
    ['type checker: the console', ...types('packages/console/tsconfig.json')],
  ]
  const results = []
  for (const [name, file, args] of checks) results.push({ name, ...(await runBeside(file, args)) })
  return results
}

/** The environment without a service's configuration, which the shell may contain for another purpose. */
export function testEnvironment(folder, variables = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_') || RUN_VARIABLES.test(name))
  return { ...Object.fromEntries(kept), TESTS_ARE_BUILT: '1', TMPDIR: folder, ...variables }
}

/** Runs a package's JavaScript file and collects its output, so that it is not mixed with other output. */
export async function runBeside(file, programArguments) {
  const parts = []
  const { code } = await run(file, programArguments, { stdio: ['ignore', 'pipe', 'pipe'] }, (child) => {
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part))
  })
  return { code, output: Buffer.concat(parts).toString() }
}

export function run(file, programArguments, options, onStart = () => undefined) {
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

export function lastLinesOf(file) {
  return `${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LINES_WITHOUT_REPORT).join('\n')}\n`
}
