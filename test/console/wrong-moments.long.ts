/** The console in a browser when something fails or is closed at the wrong moment: the person sees what has happened. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { type ConsoleStage, openConsoleStage } from './console-stage.ts'

describe.skipIf(CHROMIUM.isSkipped)('the console at a wrong moment', () => {
  let stage: ConsoleStage
  let browser: Browser
  beforeAll(async () => {
    stage = await openConsoleStage()
    browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
  })

  it('the console reports a refusal that arrives after its dialog was closed', async () => {
    const { page, context } = await stage.person(browser, 'tom', 'treasurer')
    const { id } = await stage.deposit('7.5', { asset: 'USDP' })
    let close: () => void = () => undefined
    const isClosed = new Promise<void>((resolve) => {
      close = resolve
    })
    const problem = { status: 409, code: 'invalid_state', title: 'Conflict', detail: 'it was returned meanwhile' }
    await page.route('**/admin/v1/deposits/*/hold', async (route) => {
      await isClosed
      await route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify(problem) })
    })
    await page.goto(`${stage.url}/money/deposits/${id}`)
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('asked by compliance')
    await dialog.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    close()
    await page.locator('.toast').getByText('Hold: it was returned meanwhile').waitFor()
    await context.close()
  })

  it('a dialog opens although the same one was closed just before', async () => {
    const { page, context } = await stage.person(browser, 'tina', 'treasurer')
    const { id } = await stage.deposit('7.25', { asset: 'USDP' })
    await page.goto(`${stage.url}/money/deposits/${id}`)
    const hold = page.getByRole('button', { name: 'Hold', exact: true })
    await hold.click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    // In one task, before the browser reports that the dialog was closed.
    await page.evaluate(`
      document.querySelector('dialog.action').close()
      Array.from(document.querySelectorAll('main button')).find(({ textContent }) => textContent === 'Hold').click()
    `)
    await dialog.getByLabel('Reason').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await context.close()
  })

  it('a treasurer settles what was paid before a restore, and never handed out since, while deliveries are paused', async () => {
    const { page, context } = await stage.person(browser, 'toby', 'treasurer')
    await stage.call('PATCH', '/controls', { paused: { deliveries: true } })
    await stage.deposit('275')
    const { id } = await vi.waitFor(async () => {
      const { items } = await stage.call('GET', '/deliveries?status=WAITING')
      const found = items.find(({ amount }: { amount: string }) => amount === '275')
      return found ?? Promise.reject(new Error('there is no delivery yet'))
    }, 30_000)
    await page.goto(`${stage.url}/money/deliveries/${id}`)
    await page.getByRole('button', { name: 'Settle', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('It was not handed out by this store').waitFor()
    await dialog.getByLabel('Payment reference').fill('0x275')
    await dialog.getByRole('button', { name: 'Settle', exact: true }).click()
    await page.getByText('The delivery is settled').waitFor()
    await stage.call('PATCH', '/controls', { paused: { deliveries: false } })
    await context.close()
  })

  it('the list of keys stays open when it is opened before the closed palette has reported its end', async () => {
    const { page, context } = await stage.person(browser, 'kay', 'viewer')
    await page.goto(`${stage.url}/`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Find or go to' }).waitFor()
    await page.evaluate(`document.querySelector('dialog').close()
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))`)
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
    // The report is a task of its own, which has run by then.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 100))')
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
    await context.close()
  })

  it('the console names a chart whose file the service does not have any more', async () => {
    const { page, context } = await stage.person(browser, 'cleo', 'viewer')
    await page.route('**/assets/depth-*.js', (route) => route.fulfill({ status: 404 }))
    await page.goto(`${stage.url}/markets/BTCUSD`)
    await page.getByText('The chart was not loaded. Reload the page.').waitFor()
    await context.close()
  })

  it('the dialog with a secret stays open however often Escape is pressed', async () => {
    const { page, context } = await stage.person(browser, 'alex', 'admin')
    await page.goto(`${stage.url}/clients/${stage.customer.clientId}`)
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    const secret = page.getByRole('dialog').locator('.secret-rows code').last()
    await secret.waitFor()
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
    expect(await secret.textContent()).toMatch(/^tgs_/)
    await page.getByRole('dialog').getByRole('button', { name: 'I have it' }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await context.close()
  })

  it("the console tells why a market's candles cannot be read, and not that there is no execution", async () => {
    const { page, context } = await stage.person(browser, 'carl', 'viewer')
    const problem = { status: 503, code: 'unavailable', title: 'Unavailable', detail: 'the store is slow' }
    const answer = { status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }
    await page.route('**/admin/v1/markets/BTCUSD/candles*', (route) => route.fulfill(answer))
    await page.goto(`${stage.url}/markets/BTCUSD`)
    await page.getByText('Not current: the store is slow').waitFor()
    expect(await page.locator('.price-plot').getByText('No execution yet').count()).toBe(0)
    await page.unroute('**/admin/v1/markets/BTCUSD/candles*')
    await expect.poll(() => page.locator('.candle-values').textContent()).toMatch(/ C [\d,]+\.\d\d {1,2}Vol /)
    await context.close()
  })

  it('a past book that is still shown while the next one is read keeps its own time', async () => {
    const { page, context } = await stage.person(browser, 'rosa', 'viewer')
    let answer: () => void = () => undefined
    const isAsked = new Promise<void>((resolve) => {
      answer = resolve
    })
    let calls = 0
    await page.route('**/markets/BTCUSD/book*', async (route) => {
      if (++calls > 1) await isAsked
      const book = { symbol: 'BTCUSD', live: true, version: calls, depth: 150, bid_levels: 0, ask_levels: 0 }
      await route.fulfill({ json: { ...book, bids: [], asks: [], executions: [], recording: 'made up' } })
    })
    await page.goto(`${stage.url}/markets/BTCUSD`)
    await page.getByRole('button', { name: 'Ten seconds ago' }).click()
    const time = page.locator('.past-book .facts div').filter({ hasText: 'Book at' }).locator('dd')
    const before = await time.textContent()
    await page.getByRole('slider').focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => calls).toBe(2)
    expect(await time.textContent()).toBe(before)
    answer()
    await expect.poll(() => time.textContent()).not.toBe(before)
    await context.close()
  })

  it('the login over a page stays open however often Escape is pressed', async () => {
    const { page, context, call } = await stage.person(browser, 'vera', 'viewer')
    await page.goto(`${stage.url}/markets`)
    await page.getByRole('heading', { name: 'Markets', level: 1 }).waitFor()
    expect((await call('DELETE', '/session')).status).toBe(200)
    const login = page.getByRole('dialog').getByRole('heading', { name: 'Your session has ended' })
    await login.waitFor()
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
    // A browser closes it, and it opens again.
    await login.waitFor()
    await context.close()
  })
})

it.skipIf(CHROMIUM.isSkipped)('an open page asks for the comment that a reloaded configuration requires', async () => {
  const folder = temporaryFolder()
  const config = join(folder.path, 'config.yaml')
  writeFileSync(config, 'operator: {}\n')
  const stage = await openConsoleStage({ config })
  const browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  const { page } = await stage.person(browser, 'tom', 'treasurer')
  const { id } = await stage.deposit('8.5', { asset: 'USDP' })
  await page.goto(`${stage.url}/money/deposits/${id}`)
  await page.getByRole('button', { name: 'Reverse', exact: true }).click()
  writeFileSync(config, 'operator: { four_eyes: [settlements] }\n')
  stage.service.command.child.kill('SIGHUP')
  await vi.waitFor(async () => expect((await stage.call('GET', '/session')).four_eyes).toEqual(['settlements']), 30_000)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('the bank called it back')
  await dialog.getByRole('button', { name: 'Reverse', exact: true }).click()
  await dialog.getByLabel('Comment for the second person').fill('see the statement')
  expect(await dialog.getByLabel('Reason').inputValue()).toBe('the bank called it back')
  await dialog.getByRole('button', { name: 'Request: reverse' }).click()
  await page.locator('.toast').getByText('A second person has to confirm it').waitFor()
  await browser.close()
  await stage.stop()
  folder.remove()
})
