/**
 * Revocation with every example client: after a revoked token each reconnects with a new one, after revoked access each
 * ends.
 */
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { CHROMIUM, PYTHON, startExample } from '../support/foreign-programs.ts'
import { connectPage, newPage, untilStatus } from './browser-suite.ts'
import { BUILTIN_FLAGS } from './node-suite.ts'
import type { ExampleTargets } from './services.ts'
import { firstLines } from './stream-lines.ts'

const FOLDER = join(import.meta.dirname, '../../examples')

export function revocationSuite(targets: () => ExampleTargets): void {
  let browser: Browser | undefined
  beforeAll(async () => {
    if (!CHROMIUM.isMissing) browser = await targets().browser()
  })

  it('a revoked token is replaced by a new one, and revoked access ends the client', async () => {
    const target = targets().of('TCP')
    const { operator } = target.service
    const { customerId, clientId, clientSecret } = await operator.createClient()
    const path = target.writeCredentials('revoked', { client_id: clientId, client_secret: clientSecret })
    const start = (file: string, ...args: string[]) => startExample(file, [...args, 'BTCUSD', path], target.environment)
    const readers = [
      start(process.execPath, join(FOLDER, 'node/stream.mjs')),
      start(process.execPath, ...BUILTIN_FLAGS, join(FOLDER, 'node/stream-builtin.mjs')),
    ]
    if (!PYTHON.isMissing) readers.push(start(PYTHON.file, join(FOLDER, 'python/stream.py')))
    const page = browser && (await newPage(browser))
    await page?.goto(targets().page.url)
    await page?.setInputFiles('[name=credentials]', path)
    await page?.click('button')
    if (page) await untilStatus(page, /live/)
    await Promise.all(readers.map((reader) => firstLines(reader, 3)))

    await operator.call('POST', `/clients/${clientId}/revoke-tokens`)
    await Promise.all(readers.map((reader) => reader.errorLine((line) => line === 'closed with 4001 token revoked')))
    await Promise.all(readers.map((reader) => firstLines(reader, reader.stdout().split('\n').length + 3)))
    // The page's earlier connection is closed: a live one has a new token.
    if (page) await untilStatus(page, /live/)

    await operator.call('PATCH', `/customers/${customerId}`, { streaming: false })
    for (const reader of readers) {
      const { code, stderr } = await reader.result
      const closes = /^closed with 4001 token revoked\n(ws:\S+: )?closed with 4003 access revoked(\. Ask .*)?\n$/
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(closes) })
    }
    if (page) expect(await untilStatus(page, /4003/)).toMatch(/closed with 4003 access revoked\. Ask/)
    await page?.close()
  })

  it.skipIf(CHROMIUM.isSkipped)('a page with a pasted token asks for a new one after a revocation', async () => {
    const target = targets().of('TCP')
    const { operator } = target.service
    const { clientId, clientSecret } = await operator.createClient()
    const page = await newPage(browser!)
    await page.goto(targets().page.url)
    const token = await target.token(undefined, { client_id: clientId, client_secret: clientSecret })
    await connectPage(page, `${target.credentials.ws_url}/`, token)
    await untilStatus(page, /live/)
    await operator.call('POST', `/clients/${clientId}/revoke-tokens`)
    await untilStatus(page, /^The service does not accept the token: paste a new one$/)
    await page.close()
  })
}
