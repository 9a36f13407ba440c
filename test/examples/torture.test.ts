/**
 * The streaming examples under `tidegate torture`, at a pace at which its pauses of three minutes take less than a
 * second: every applicable scenario, all examples concurrently. A missing program is skipped by name.
 */
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SCENARIOS } from '../../src/conformance/stimulus/torture/scenarios.ts'
import { CHROMIUM, PYTHON, titleWith } from '../support/foreign-programs.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { runTorture, type TortureRun } from '../support/torture-run.ts'
import { newPage } from './browser-suite.ts'
import { BUILTIN_FLAGS } from './node-suite.ts'
import { startBrowser, startPageServer } from './services.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')
const PACE = ['--pace', '300']
/** Skipped for every client of the base protocol, or at a pace other than 1. */
const SKIPPED = ['silence', 'resume-cursor', 'resume-refused']

const folder = temporaryFolder()
afterAll(() => folder.remove())

async function check(run: TortureRun, alsoSkipped: readonly string[], expected = SCENARIOS.length): Promise<void> {
  const { error, results } = await run.ended
  const skipped = results.filter(({ outcome }) => outcome === 'skipped').map(({ name }) => name)
  expect({ error, wrong: results.filter(({ outcome }) => outcome === 'wrong'), count: results.length }).toEqual({
    error: '',
    wrong: [],
    count: expected,
  })
  expect(skipped.filter((name) => ![...SKIPPED, ...alsoSkipped].includes(name))).toEqual([])
}

describe('every torture scenario is handled by', () => {
  it.concurrent('node/stream.mjs handles every torture scenario', async () => {
    const program = [process.execPath, join(EXAMPLES, 'node/stream.mjs'), 'BTCUSD']
    await check(runTorture(folder.path, [...PACE, '--', ...program]), ['handshake-403'])
  })

  it.concurrent('node/stream-builtin.mjs handles every torture scenario', async () => {
    const program = [process.execPath, ...BUILTIN_FLAGS, join(EXAMPLES, 'node/stream-builtin.mjs'), 'BTCUSD']
    await check(runTorture(folder.path, [...PACE, '--', ...program]), ['large-snapshot', 'handshake-403'])
  })

  const python = PYTHON.isSkipped ? it.skip : it.concurrent
  python(titleWith('python/stream.py', PYTHON, 'python3 with websockets and requests'), async () => {
    const program = [PYTHON.file, join(EXAMPLES, 'python/stream.py'), 'BTCUSD']
    await check(runTorture(folder.path, [...PACE, '--', ...program]), [])
  })

  const browser = CHROMIUM.isSkipped ? it.skip : it.concurrent
  browser(titleWith('browser/index.html', CHROMIUM, 'chromium'), async () => {
    const run = runTorture(folder.path, PACE)
    let isOver = false
    const checked = check(run, ['handshake-403']).finally(() => {
      isOver = true
      run.stderr.write('')
    })
    const chromium = await startBrowser('')
    const pages = await startPageServer()
    try {
      const page = await newPage(chromium)
      await page.goto(pages.url)
      const asked = () => run.stderr.text.split('waiting for the client').length - 1
      // The page connects at first, and again after each scenario that has stopped it.
      for (let count = 1; ; count++) {
        await run.stderr.until('a question', () => isOver || asked() >= count)
        if (isOver) break
        await page.setInputFiles('[name=credentials]', run.credentialsPath)
        await page.click('button')
      }
      await checked
    } finally {
      run.interrupt()
      await chromium.close()
      pages.close()
    }
  })
})
