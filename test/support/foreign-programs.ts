/**
 * The third-party programs used by the examples, and whether they are installed. A missing one is skipped by name,
 * except where CI is `true`: there its tests fail.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type RunningCommand, startProgram } from './command-line.ts'

const ROOT = join(import.meta.dirname, '../..')

const PYTHON_MODULES = 'websockets, requests, requests_oauthlib'

export interface ForeignProgram {
  /** The command that starts it. */
  readonly file: string
  readonly isMissing: boolean
  /** Whether its tests are left out. */
  readonly isSkipped: boolean
}

/** A Python with the modules that the examples import. */
export const PYTHON = pythonWith(PYTHON_MODULES)

export const CURL = firstThat(['curl'], (file) => runs(file, ['--version']))

export const NATS_SERVER = firstThat(['nats-server', '/usr/sbin/nats-server'], (file) => runs(file, ['--version']))

export const CHROMIUM = firstThat(
  ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  existsSync,
)

/** A Python with these modules, separated by commas. */
export function pythonWith(modules: string): ForeignProgram {
  return firstThat(['python3', '/usr/bin/python3'], (file) => runs(file, ['-c', `import ${modules}`]))
}

/** For test titles: names what is missing. */
export function titleWith(title: string, program: ForeignProgram, needs: string): string {
  return program.isMissing ? `${title} (needs ${needs})` : title
}

const started = new Set<RunningCommand>()

/** Starts an example with a clean environment. Its standard input stays open. */
export function startExample(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): RunningCommand {
  const { HOME, PATH = '' } = process.env
  const program = startProgram(file, args, {
    cwd: ROOT,
    env: { HOME, PATH: [join(ROOT, 'node_modules/.bin'), PATH].join(delimiter), ...environment },
  })
  started.add(program)
  return program
}

/** Ends everything that a failed test has left running. */
export function endExamples(): void {
  for (const { child } of started) child.kill('SIGKILL')
  started.clear()
}

function firstThat(files: readonly string[], isThere: (file: string) => boolean): ForeignProgram {
  const file = files.find(isThere)
  const isMissing = file === undefined
  return { file: file ?? files[0]!, isMissing, isSkipped: isMissing && process.env.CI !== 'true' }
}

function runs(file: string, args: readonly string[]): boolean {
  return spawnSync(file, args, { stdio: 'ignore' }).status === 0
}
