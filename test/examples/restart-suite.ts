/** A restart of the service with every example client: each sees 1012, and those that reconnect get a new book. */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RunningCommand } from '../support/command-line.ts'
import { CHROMIUM, PYTHON, startExample } from '../support/foreign-programs.ts'
import { type Relay, startRelay } from '../support/relay.ts'
import { connectPage, newPage, untilStatus } from './browser-suite.ts'
import { BUILTIN_FLAGS } from './node-suite.ts'
import type { ExampleTargets } from './services.ts'
import { BEST_LINE, firstLines } from './stream-lines.ts'

const FOLDER = join(import.meta.dirname, '../../examples')

export function restartSuite(targets: () => ExampleTargets): void {
  let relay: Relay
  let browser: Browser | undefined
  let page: Page | undefined
  beforeAll(async () => {
    const { http } = targets().of('TCP').service
    relay = await startRelay(Promise.resolve(portOf(http)))
    if (!CHROMIUM.isMissing) browser = await targets().browser()
    page = browser && (await newPage(browser))
  })
  afterAll(async () => {
    await page?.close()
    relay?.close()
  })

  it('a restart is seen as close code 1012, and clients recover from it', async () => {
    const target = targets().of('TCP')
    const address = `127.0.0.1:${relay.port}`
    const path = target.writeCredentials('relayed', { auth_url: `http://${address}`, ws_url: `ws://${address}` })
    const start = (file: string, ...args: string[]) => startExample(file, [...args, 'BTCUSD', path], target.environment)
    const readers = [start(process.execPath, join(FOLDER, 'node/stream.mjs'))]
    if (!PYTHON.isMissing) readers.push(start(PYTHON.file, join(FOLDER, 'python/stream.py')))
    const builtin = start(process.execPath, ...BUILTIN_FLAGS, join(FOLDER, 'node/stream-builtin.mjs'))
    await page?.goto(targets().page.url)
    if (page) await connectPage(page, `ws://${address}/`, await target.token())
    if (page) await untilStatus(page, /live/)
    await Promise.all([...readers, builtin].map((reader) => firstLines(reader, 2)))

    let giveTarget: (port: number) => void = () => undefined
    relay.target = new Promise((resolve) => {
      giveTarget = resolve
    })
    expect((await target.service.stop()).code).toBe(0)
    const isRestart = (line: string) => line === 'closed with 1012 restarting'
    await Promise.all([...readers, builtin].map((reader) => reader.errorLine(isRestart)))
    if (page) await untilStatus(page, /connecting again$/)

    const before = readers.map((reader) => lineCount(reader))
    const builtinBefore = lineCount(builtin)
    const restarted = await targets().startService('TCP')
    giveTarget(portOf(restarted.service.http))
    await Promise.all(readers.map((reader, index) => firstLines(reader, before[index]! + 5)))
    await firstLines(builtin, builtinBefore + 5)
    builtin.child.kill('SIGINT')
    await builtin.result
    if (page) await untilStatus(page, /live/)
    for (const reader of readers) {
      reader.child.kill('SIGINT')
      const lines = (await reader.result).stdout.split('\n').slice(0, -2)
      expect(lines.filter((line) => !BEST_LINE.test(line))).toEqual([])
    }
  })
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function lineCount(program: RunningCommand): number {
  return program.stdout().split('\n').length - 1
}
