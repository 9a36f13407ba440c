/**
 * All pages of the console in light and dark, on a wide screen and at 390 pixels, with the flows that the short test leaves
 * out, and the budgets: the size of the scripts and the time of the first paint.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { accessibilityFaults } from './accessibility.ts'
import { type ConsoleStage, codeOf, openConsoleStage, PASSWORD, type Person, watchedPage } from './console-stage.ts'

const SCRIPT_BYTES_MAX = 250_000
const FIRST_PAINT_MILLISECONDS_MAX = 1_000

const LOOKS = [
  ['light', 1360],
  ['dark', 1360],
  ['light', 390],
  ['dark', 390],
] as const

let stage: ConsoleStage
let browser: Browser
let admin: Person
let paths: readonly string[]
beforeAll(async () => {
  stage = await openConsoleStage()
  browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  admin = await stage.person(browser, 'alex', 'admin')
  const deposit = await stage.deposit('98000.25')
  const delivery = await vi.waitFor(async () => {
    const [found] = (await stage.call('GET', '/deliveries')).items
    return found ?? Promise.reject(new Error('there is no delivery yet'))
  }, 30_000)
  const { id, clientId, pendingAccountId, pendingRuleId, profileId } = stage.customer
  const longName = await stage.call('POST', '/customers', {
    name: 'Österreichische Wertpapierverwahrungsgesellschaft mit beschränkter Haftung',
  })
  await (await stage.customer.connect()).subscribeAll('BTCUSD')
  const [connection] = (await stage.call('GET', '/connections')).items
  paths = [
    ...[
      '/',
      '/markets',
      '/markets/BTCUSD',
      '/customers',
      '/plans',
      '/usage',
      '/plans/unlimited',
      `/customers/${id}`,
      `/customers/${longName.id}`,
      `/clients/${clientId}`,
      `/customers/connections/${connection.id}`,
    ],
    ...[
      '/review',
      '/review/accounts',
      '/review/destinations',
      '/review/screening',
      '/review/rules',
      '/review/addresses',
      `/review/accounts/${pendingAccountId}`,
    ],
    ...[`/review/rules/${pendingRuleId}`, '/money/deposits', `/money/deposits/${deposit.id}`],
    ...['/money/orchestrations', `/money/orchestrations/${delivery.orchestration_id}`, '/money/deliveries'],
    ...[`/money/deliveries/${delivery.id}`, '/money/balances', `/money/profiles/${profileId}`, '/money/desk'],
    ...[
      '/money/controls',
      '/audit',
      '/settings',
      '/doctor',
      '/operators',
      '/operators/alex',
      '/login',
      '/nothing-here',
      '/markets/NOSUCH',
      '/money/profiles/00000000-0000-4000-8000-000000000000',
    ],
  ]
})
afterAll(async () => {
  await browser?.close()
  await stage?.stop()
})

describe.skipIf(CHROMIUM.isSkipped).each(LOOKS)('in %s at %d pixels', (colorScheme, width) => {
  it('every page of the console is accessible, fits the screen, and requests nothing elsewhere', async () => {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } })
    await admin.shareWith(context)
    const { page, faults } = await watchedPage(context, stage.service.operator.url)
    for (const path of paths) {
      await page.goto(stage.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
      expect([path, await accessibilityFaults(page)]).toEqual([path, []])
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
      expect([path, overflow <= 0]).toEqual([path, true])
    }
    expect(faults).toEqual([])
    await context.close()
  })
})

describe.skipIf(CHROMIUM.isSkipped)('the flows', () => {
  it('an admin creates a customer and a client in the console, whose secret is shown once, and disables the client', async () => {
    const { page } = admin
    await page.goto(`${stage.url}/customers`)
    await page.getByRole('button', { name: 'New customer' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Kestrel Capital')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Kestrel Capital' }).waitFor()
    await page.getByRole('button', { name: 'New client' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('feed')
    await page.getByRole('button', { name: 'Create' }).click()
    const secret = await page.locator('.secret-rows code').last().textContent()
    expect(secret).toMatch(/^.{20,}$/)
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => page.content()).not.toContain(secret)
    await page.getByRole('link', { name: 'feed' }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByText('its connections are closed at once').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByText('feed was disabled').waitFor()
  })

  it('an admin creates an operator in the console, whose set-up link is shown once, and changes the role', async () => {
    const { page } = admin
    await page.goto(`${stage.url}/operators`)
    await page.getByRole('button', { name: 'New operator' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('olga')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText(/#setup=/).waitFor()
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.getByRole('button', { name: 'Change role' }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption('reviewer')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await page.getByText('The role was changed').waitFor()
  })

  it('an operator changes the own password in the console, and replaces the own authenticator', async () => {
    const person = await stage.person(browser, 'nina', 'viewer')
    const { page } = person
    await page.goto(`${stage.url}/`)
    await page.getByRole('link', { name: 'nina' }).click()
    const card = (title: string) => page.locator('section', { has: page.getByRole('heading', { name: title }) })
    const password = card('Password')
    await password.getByLabel('New password', { exact: false }).first().fill('another long password')
    await password.getByLabel('New password again').fill('another long password')
    await password.getByLabel('Your current password').fill(PASSWORD)
    await password.getByLabel('Authenticator code').fill(codeOf(person.secret, 1))
    await password.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password was changed').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const authenticator = card('Authenticator')
    await authenticator.getByLabel('Your current password').fill('a wrong password')
    await authenticator.getByLabel('Authenticator code').fill('000000')
    await authenticator.getByRole('button', { name: 'Replace the authenticator' }).click()
    await authenticator.getByText('password or code is wrong').waitFor()
    expect(person.faults).toEqual([])
  })

  it('an operator holds and releases a deposit in the console, and pauses and resumes all deliveries', async () => {
    const { page, context } = await stage.person(browser, 'tamara', 'treasurer')
    await stage.call('PATCH', '/controls', { paused: { pairs: ['USDC/USDG'] } })
    const { id } = await stage.deposit('77')
    await page.goto(`${stage.url}/money/deposits/${id}`)
    await page
      .getByText(/is credited|is recorded/)
      .first()
      .waitFor()
    await page.goto(`${stage.url}/money/controls`)
    await page.getByText('USDC/USDG').waitFor()
    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused: no payment leaves').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Running').waitFor()
    await context.close()
  })

  it('the console saves a list as CSV', async () => {
    const { page } = admin
    await page.goto(`${stage.url}/money/deposits`)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const text = readFileSync(await (await downloading).path(), 'utf8')
    const [header, first] = text.split('\r\n')
    expect(header).toMatch(/^id,occurred_at,completed_at,asset,amount,status,/)
    expect(first).toMatch(/USDC/)
  })

  it('an operator goes to a market and a page in the console by the keyboard alone', async () => {
    const { page } = admin
    await page.goto(`${stage.url}/`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find or go to' }).waitFor()
    await page.keyboard.type('ethusd')
    await page.getByRole('option', { name: /ETHUSD/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'ETHUSD' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
  })
})

it.skipIf(CHROMIUM.isSkipped)('the console is within its budgets', async () => {
  const folder = join(import.meta.dirname, '../../dist/console/assets')
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
  expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX)
  const { page } = admin
  await page.goto(`${stage.url}/`)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  expect(paint).toBeLessThan(FIRST_PAINT_MILLISECONDS_MAX)
})

describe.skipIf(CHROMIUM.isSkipped)('with four eyes', () => {
  let guarded: ConsoleStage
  beforeAll(async () => {
    guarded = await openConsoleStage({ 'operator.four_eyes': '[approvals, settlements]' })
  })
  afterAll(() => guarded?.stop())

  it('an approval waits for a second person, who confirms it in the console', async () => {
    const [first, second] = await Promise.all([
      guarded.person(browser, 'rita', 'reviewer'),
      guarded.person(browser, 'ralf', 'reviewer'),
    ])
    await first.page.goto(`${guarded.url}/review/rules/${guarded.customer.pendingRuleId}`)
    await first.page.getByRole('button', { name: 'Approve' }).click()
    await first.page.getByRole('dialog').getByText('Four eyes').waitFor()
    await first.page.getByLabel('Comment for the second person').fill('the customer has confirmed the address')
    await first.page.getByRole('button', { name: 'Request: approve' }).click()
    await first.page.getByText(/A second person has to confirm it/).click()
    await first.page.getByText('another person has to confirm it').waitFor()
    expect(await first.page.getByRole('button', { name: 'Confirm' }).count()).toBe(0)
    await second.page.goto(`${guarded.url}/review/requests?status=PENDING`)
    await second.page.getByRole('row', { name: /rita/ }).getByRole('link').first().click()
    await second.page.getByRole('button', { name: 'Confirm' }).click()
    await second.page.getByRole('dialog').waitFor()
    expect(await accessibilityFaults(second.page)).toEqual([])
    await second.page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click()
    await second.page.getByText('Confirmed and carried out').waitFor()
    await second.page.goto(`${guarded.url}/review/rules/${guarded.customer.pendingRuleId}`)
    await second.page.locator('.facts').getByText('Active').waitFor()
    expect([...first.faults, ...second.faults]).toEqual([])
  })
})
