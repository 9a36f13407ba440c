/**
 * The Python client: its own tests, its types, and the program of its README under `tidegate torture`: every scenario in the
 * long run, and in every run the one that covers most.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SCENARIOS } from '../../src/conformance/stimulus/torture/scenarios.ts'
import { pythonWith, titleWith } from '../support/foreign-programs.ts'
import {
  PYTHON_CLIENT as CLIENT,
  PYTHON_ENVIRONMENT as environment,
  writeReadmeProgram,
} from '../support/python-client.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { runTorture } from '../support/torture-run.ts'

const ROOT = join(import.meta.dirname, '../..')
const PYTHON = pythonWith('websockets')
const isLong = process.env.TIDEGATE_LONG === '1'
/** Resumes over a lost connection, in about a second. */
const BROADEST = 'resume-cursor'
/** Played in real time only. */
const SILENCE = 'silence'

const folder = temporaryFolder()
afterAll(() => folder.remove())

function runPython(...args: string[]): { status: number | null; output: string } {
  const env = { ...process.env, ...environment }
  const { status, stdout, stderr } = spawnSync(PYTHON.file, args, { cwd: CLIENT, env, encoding: 'utf8' })
  return { status, output: status === 0 ? '' : stdout + stderr }
}

describe('the Python client', () => {
  const test = PYTHON.isSkipped ? it.skip : it
  const title = (text: string) => titleWith(text, PYTHON, 'python3 with websockets')

  test(title('passes its own tests'), () => {
    expect(runPython('-m', 'unittest', 'discover', 'tests')).toEqual({ status: 0, output: '' })
  })

  /** Plays scenarios against the program of the README; resolves to the outcome of each, or why it was skipped. */
  async function outcomesOf(...options: string[]): Promise<Record<string, string>> {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const command = ['/usr/bin/env', ...variables, PYTHON.file, writeReadmeProgram(folder.path)]
    const { error, results } = await runTorture(folder.path, [...options, '--', ...command]).ended
    expect(error).toBe('')
    return Object.fromEntries(results.map(({ name, outcome, detail }) => [name, detail ?? outcome]))
  }

  test(title('reacts rightly to what a service may do'), async () => {
    const names = isLong ? SCENARIOS.map(({ name }) => name).filter((name) => name !== SILENCE) : [BROADEST]
    const only = isLong ? [] : ['--only', BROADEST]
    const { [SILENCE]: _, ...outcomes } = await outcomesOf('--pace', '300', ...only)
    expect(outcomes).toEqual(Object.fromEntries(names.map((name) => [name, 'right'])))
  })

  const inLongRun = isLong ? test : it.skip
  inLongRun(title('takes a silent connection for lost'), async () => {
    expect(await outcomesOf('--only', SILENCE)).toEqual({ [SILENCE]: 'right' })
  })

  it('the Python client has the version of the service', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(readFileSync(join(CLIENT, 'pyproject.toml'), 'utf8')).toContain(`\nversion = "${version}"\n`)
  })
})
