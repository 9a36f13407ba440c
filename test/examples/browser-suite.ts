/** The page in headless Chromium, and the checks that only a browser makes of a handshake. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../console/accessibility.ts'
import { CHROMIUM, titleWith } from '../support/foreign-programs.ts'
import { DEEP_MARKET, type ExampleTargets, isLong, PATIENCE_MILLISECONDS, transportsOf } from './services.ts'

export async function newPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MILLISECONDS)
  return page
}

/** Fills in the page's form with a token and presses Connect. */
export async function connectPage(page: Page, address: string, token: string): Promise<void> {
  await page.fill('[name=address]', address)
  await page.fill('[name=token]', token)
  await page.click('button')
}

export async function untilStatus(page: Page, wanted: RegExp): Promise<string> {
  const status = page.getByRole('status').filter({ hasText: wanted })
  await status.waitFor()
  return (await status.textContent()) ?? ''
}

/** The complete ladder and the spread at one instant. */
async function readBook(page: Page) {
  const tables = await page
    .locator('tbody')
    .evaluateAll((bodies) =>
      bodies.map((body) => [...body.children].map((row) => [...row.children].map((cell) => cell.textContent ?? ''))),
    )
  const [asks = [], [[, spread] = []] = [], bids = []] = tables
  return { levels: [...asks, ...bids], spread }
}

/** What the browser recorded about the handshakes of a page. */
async function watchHandshakes(page: Page) {
  const seen = { offered: '', answer: '', protocols: [] as (string | undefined)[], extensions: [] as string[] }
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const header = (headers: Record<string, string>, name: string) =>
    Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  session.on('Network.webSocketWillSendHandshakeRequest', ({ request }) => {
    seen.offered = header(request.headers, 'sec-websocket-extensions') ?? ''
  })
  session.on('Network.webSocketHandshakeResponseReceived', ({ response }) => {
    seen.answer = response.headersText ?? JSON.stringify(response.headers)
    seen.protocols.push(header(response.headers, 'sec-websocket-protocol'))
    seen.extensions.push(header(response.headers, 'sec-websocket-extensions') ?? '')
  })
  return seen
}

export function browserSuite(targets: () => ExampleTargets): void {
  describe.skipIf(CHROMIUM.isSkipped)(titleWith('Chromium', CHROMIUM, 'chromium'), () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await targets().browser()
    })

    describe.each(transportsOf('TCP'))('over %s', (transport) => {
      const target = () => targets().of(transport)
      const address = () => `${target().credentials.ws_url}/`

      it("the browser example shows a live book with exactly the stream's texts", async () => {
        const page = await newPage(browser)
        const errors: string[] = []
        page.on('pageerror', (error) => errors.push(error.message))
        const frames: string[] = []
        page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => frames.push(String(payload))))
        const handshakes = await watchHandshakes(page)
        await page.goto(targets().page.url)
        const token = await target().token()
        await connectPage(page, address(), token)
        expect(await untilStatus(page, /live/)).toBe('BTCUSD, live over tidegate.v1')
        await page.locator('#trades td', { hasText: /\d/ }).first().waitFor()
        const { levels, spread } = await readBook(page)
        expect(handshakes.offered).toContain('permessage-deflate')
        expect(handshakes).toMatchObject({ protocols: ['tidegate.v1'], extensions: [''] })
        expect(handshakes.answer).not.toContain(token.slice(0, 20))
        const texts = levels.map(([price, amount]) => `{"price":"${price}","amount":"${amount}"}`)
        // The page may receive a frame before the debugging protocol reports it.
        await expect.poll(() => texts.filter((text) => !frames.some((frame) => frame.includes(text)))).toEqual([])
        const prices = levels.map(([price = '']) => BigInt(price.replace('.', '')))
        expect(prices).toEqual(prices.toSorted((left, right) => (left < right ? 1 : -1)))
        expect(spread).toMatch(/^\d+\.\d{2}$/)
        // A snapshot in fragments.
        await page.fill('[name=market]', DEEP_MARKET)
        await page.click('button')
        await untilStatus(page, new RegExp(`^${DEEP_MARKET}, live`))
        await page.locator('#asks td', { hasText: '60001.00000000' }).waitFor()
        expect(errors).toEqual([])
        await page.close()
      })

      it('the demo page shows a checked live ladder without credentials, at every name of this machine', async () => {
        for (const host of isLong ? ['127.0.0.1', 'localhost'] : ['localhost']) {
          const page = await newPage(browser)
          const errors: string[] = []
          page.on('pageerror', (error) => errors.push(error.message))
          page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
          await page.goto(`${target().service.http.replace('127.0.0.1', host)}/`)
          await untilStatus(page, /^Live$/)
          await page.getByText('✓ Equal to the service at').waitFor()
          await page.locator('#trades td', { hasText: /\d/ }).first().waitFor()
          const prices = (await page.locator('[part=price]').allTextContents()).map((text) =>
            BigInt(text.replace('.', '')),
          )
          expect(prices.length).toBe(32)
          expect(prices).toEqual(prices.toSorted((left, right) => (left < right ? 1 : -1)))
          expect(await accessibilityFaults(page)).toEqual([])
          await page.selectOption('#market', DEEP_MARKET)
          await page.locator('[part=market]', { hasText: DEEP_MARKET }).waitFor()
          await page.locator('[part=asks] td', { hasText: '60001.00000000' }).waitFor()
          for (const side of ['bids', 'asks'])
            await expect.poll(() => page.locator(`#depth .${side}`).getAttribute('d')).toMatch(/^M1?\d{3} 1000H/)
          expect(errors).toEqual([])
          await page.close()
        }
      })

      it("the demo's token is not given to a page of another origin, even one that may use the REST API", async () => {
        const page = await newPage(browser)
        await page.goto(targets().page.url)
        const ask = (headers: Record<string, string>) =>
          page.evaluate(
            ([url, fields]) =>
              fetch(url, { method: 'POST', headers: fields }).then(
                ({ status }) => String(status),
                (error: Error) => error.message,
              ),
            [`${target().service.http}/demo/token`, headers] as const,
          )
        expect(await ask({})).toBe('403')
        // The header needs a preflight, which does not allow it.
        expect(await ask({ 'x-tidegate-demo': '1' })).toBe('Failed to fetch')
        await page.close()
      })

      it('a page requests its own token where its origin is allowed', async () => {
        const page = await newPage(browser)
        await page.goto(targets().page.url)
        await page.setInputFiles('[name=credentials]', target().credentialsPath)
        await page.click('button')
        await untilStatus(page, /live over tidegate\.v1/)
        // At another name of this machine, which is another origin.
        await page.goto(targets().page.url.replace('127.0.0.1', 'localhost'))
        await page.setInputFiles('[name=credentials]', target().credentialsPath)
        await page.click('button')
        expect(await untilStatus(page, /cannot/)).toMatch(/^cannot reach \S+\/oauth2\/token: Failed to fetch\. Check/)
        await page.close()
      })

      it('a browser is refused with the token but no subprotocol, with an invalid token, and without one', async () => {
        const page = await newPage(browser)
        const logged: string[] = []
        page.on('console', (message) => logged.push(message.text()))
        await page.goto(targets().page.url)
        const token = await target().token()
        const offers = [[`bearer.${token}`], ['tidegate.default', 'bearer.wrong'], ['tidegate.default']]
        for (const protocols of offers) {
          const outcome = await page.evaluate(
            ([url, names]) =>
              new Promise<string>((resolve) => {
                const socket = new WebSocket(url, names)
                socket.onopen = () => resolve('open')
                socket.onclose = ({ code }) => resolve(`closed with ${code}`)
              }),
            [address(), protocols] as const,
          )
          expect(outcome).toBe('closed with 1006')
        }
        // The browser's message about a 401 does not contain the status, and may be reported after the close.
        await expect
          .poll(() => logged.map((text) => text.replace(/^.*failed: /, '')))
          .toEqual([
            'Error during WebSocket handshake: Unexpected response code: 400',
            'HTTP Authentication failed; no valid credentials available',
            'HTTP Authentication failed; no valid credentials available',
          ])
        await connectPage(page, address(), 'wrong')
        await untilStatus(page, /^The service does not accept the token: paste a new one$/)
        await page.close()
      })
    })
  })
}
