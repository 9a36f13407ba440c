/** The client in Chromium, bundled for browsers, under every scenario of `tidegate torture` that applies to a page. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, expect, it } from 'vitest'
import { newPage } from '../examples/browser-suite.ts'
import { startBrowser } from '../examples/services.ts'
import { CHROMIUM, titleWith } from '../support/foreign-programs.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { runTorture } from '../support/torture-run.ts'

const CLIENT = join(import.meta.dirname, '../../packages/client')
const NOT_PLAYED = ['silence', 'handshake-403', 'large-snapshot']

const folder = temporaryFolder()
afterAll(() => folder.remove())

it.skipIf(CHROMIUM.isSkipped)(titleWith('the client reacts rightly in a page', CHROMIUM, 'chromium'), async () => {
  const contents = `import { StreamClient } from './src/index.ts'
globalThis.follow = async (credentials) => {
  const book = await new StreamClient({ credentials }).book('BTCUSD')
  for await (const { status } of book) document.title = status
}`
  const stdin = { contents, resolveDir: CLIENT, loader: 'js' } as const
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'iife', platform: 'browser' })
  const run = runTorture(folder.path, ['--pace', '300'])
  let isOver = false
  const ended = run.ended.finally(() => {
    isOver = true
    run.stderr.write('')
  })
  const chromium = await startBrowser('')
  try {
    const page = await newPage(chromium)
    await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
    const asked = () => run.stderr.text.split('waiting for the client').length - 1
    // The page starts at first, and again after each scenario that has stopped it.
    for (let count = 1; ; count++) {
      await run.stderr.until('a question', () => isOver || asked() >= count)
      if (isOver) break
      const credentials = readFileSync(run.credentialsPath, 'utf8')
      await page.evaluate(`void follow(${credentials}).catch((error) => { document.title = error.message })`)
    }
    const { error, results } = await ended
    const others = results.filter(({ outcome }) => outcome !== 'right')
    expect({ error, wrong: others.filter(({ outcome }) => outcome === 'wrong') }).toEqual({ error: '', wrong: [] })
    expect(others.filter(({ name }) => !NOT_PLAYED.includes(name))).toEqual([])
  } finally {
    run.interrupt()
    await chromium.close()
  }
})
