/** The example of a page with `<tidegate-book>`: its server, its policy and its page, on a service with simulated markets. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { accessibilityFaults } from '../console/accessibility.ts'
import { CHROMIUM, endExamples, startExample, titleWith } from '../support/foreign-programs.ts'
import { ensureBuilt, market, STREAM_SCOPE, startServiceInside, temporaryFolder } from '../support/running-service.ts'

/** A folder for pictures of the page, if they are wanted. */
const pictures = process.env.TIDEGATE_PICTURES

const folder = temporaryFolder()
afterAll(() => {
  endExamples()
  folder.remove()
})

it.skipIf(CHROMIUM.isSkipped)(titleWith('the page shows a live book', CHROMIUM, 'chromium'), async () => {
  ensureBuilt()
  const service = await startServiceInside(folder.path, [market('BTC', 2, 50)])
  onTestFinished(() => service.stop())
  const { clientId: client_id, clientSecret: client_secret } = await service.operator.createClient()
  const credentials = {
    client_id,
    client_secret,
    scopes: [STREAM_SCOPE],
    base_url: service.http,
    auth_url: service.http,
  }
  const file = join(folder.path, 'client.json')
  writeFileSync(file, JSON.stringify({ ...credentials, ws_url: service.ws }))
  const site = startExample(process.execPath, ['examples/page/server.mjs', 'BTCUSD', file, '0'], {})
  const address = await site.line((line) => line.startsWith('http'))
  const browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 390, height: 640 } })
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const faults: string[] = []
    const asked = new Set<string>()
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    page.on('websocket', (socket) => asked.add(new URL(socket.url()).origin))
    await page.goto(address)
    await page.getByText('Equal to the service').waitFor()
    expect(await page.locator('[part=status]').textContent()).toBe('Live')
    expect(await page.locator('[part=bids] [part=price]').first().textContent()).toMatch(/^\d+\.\d\d$/)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(faults).toEqual([])
    expect([...asked]).toEqual([new URL(address).origin, new URL(service.ws).origin])
    if (pictures !== undefined) {
      mkdirSync(pictures, { recursive: true })
      await page.screenshot({ path: join(pictures, `${colorScheme}.png`) })
    }
    await context.close()
  }
  // Such a path is no URL by itself, and must not end the server.
  expect((await fetch(`${address}/`)).status).toBe(404)
  const refused = await fetch(`${address}stream-token`, { method: 'POST' })
  expect(refused.status).toBe(403)
})
