/**
 * The console in a browser, one session over the built program: the first admin sets up an account, each role does its work,
 * what a role may not do is refused, and the audit names the people. Every page and the other themes: `console.long.ts`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Browser, chromium, type Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Credentials, StreamClient } from '../../packages/client/src/index.ts'
import { CHROMIUM, pythonWith, titleWith } from '../support/foreign-programs.ts'
import { PYTHON_ENVIRONMENT } from '../support/python-client.ts'
import { STREAM_SCOPE } from '../support/running-service.ts'
import { accessibilityFaults } from './accessibility.ts'
import { type ConsoleStage, codeOf, ELSEWHERE, openConsoleStage, PASSWORD, watchedPage } from './console-stage.ts'

const PYTHON = pythonWith('websockets')

/** What the Python client reads from a credentials file. */
function runPythonReader(file: string): string {
  const code =
    'import sys; from tidegate_client import Credentials; c = Credentials.read(sys.argv[1]); print(c.auth_url, c.ws_url)'
  const { stdout, stderr } = spawnSync(PYTHON.file, ['-c', code, file], {
    env: { ...process.env, ...PYTHON_ENVIRONMENT },
    encoding: 'utf8',
  })
  return stdout + stderr
}

/** Reads until they are as expected: reading them once does not wait for the page. */
const textsOf = (locator: Locator) => expect.poll(() => locator.allTextContents())

describe.skipIf(CHROMIUM.isSkipped)(titleWith('the console', CHROMIUM, 'chromium'), () => {
  let stage: ConsoleStage
  let browser: Browser
  beforeAll(async () => {
    ;[stage, browser] = await Promise.all([
      openConsoleStage(),
      chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] }),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
  })

  it('the console lets the first admin set up an account with the link, log out, and log in again', async () => {
    const context = await browser.newContext()
    const { page, faults } = await watchedPage(context, stage.service.operator.url)
    await page.goto(stage.setupLink)
    const focused = page.locator(':focus')
    await expect.poll(() => focused.getAttribute('name')).toBe('name')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.locator('[name=name]').fill('alex')
    await page.locator('[name=password]').fill(PASSWORD)
    await page.locator('[name=again]').fill(PASSWORD)
    expect(page.url()).not.toContain('setup=')
    await page.getByRole('button', { name: 'Continue' }).click()
    const secret = (await page.locator('.secret').textContent()) ?? ''
    // A screen reader continues at the heading of the next step.
    await expect.poll(() => focused.textContent()).toBe('Your authenticator')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel(/code it shows/).fill(codeOf(secret))
    await page.getByRole('button', { name: 'Finish' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.locator('[name=name]').fill('alex')
    await page.locator('[name=password]').fill('not the right one')
    await page.getByLabel(/^Authenticator code/).fill('000000')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('alex')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.locator('[name=password]').fill(PASSWORD)
    // A code is accepted once; the next one is accepted a step early.
    await page.getByLabel(/^Authenticator code/).fill(codeOf(secret, 1))
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('link', { name: 'Operators' }).waitFor()
    await page.getByText('1 attempt to log in with your name failed').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'I have seen it' }).click()
    // The page keeps its secret when it is reloaded, and gives it to a new tab. Without another tab, the cookie opens nothing.
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await page.getByText('with your name failed').count()).toBe(0)
    const tab = await context.newPage()
    await tab.goto(`${stage.url}/markets/BTCUSD`)
    await tab.locator('.ladder:not(.no-book)').waitFor()
    await Promise.all([page.close(), tab.close()])
    const alone = await context.newPage()
    await alone.goto(`${stage.url}/`)
    await alone.getByRole('button', { name: 'Log in' }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console shows the live book of a market', async () => {
    const { page, faults, context } = await stage.person(browser, 'vera', 'viewer')
    // A service that has just started has no executions yet.
    const candles = '/markets/BTCUSD/candles?interval=1m'
    await expect.poll(async () => (await stage.call('GET', candles)).items?.length ?? 0).toBeGreaterThan(0)
    const trades = page.waitForResponse((response) => response.url().includes('/markets/BTCUSD/trades'))
    await page.goto(`${stage.url}/markets/BTCUSD`)
    const { items } = (await (await trades).json()) as { readonly items: readonly { readonly price: string }[] }
    expect(items[0]?.price).toMatch(/^\d+\.\d\d$/)
    await page.getByRole('img', { name: 'Candles of BTCUSD, 1m each' }).locator('canvas').first().waitFor()
    await expect.poll(() => page.locator('.candle-values').textContent()).toMatch(/ C [\d,]+\.\d\d {1,2}Vol /)
    await page.getByRole('button', { name: '1d', exact: true }).click()
    await expect.poll(() => page.locator('.candle-values').textContent()).toMatch(/00:00 O /)
    await page.getByText('Live', { exact: true }).waitFor()
    const best = page.locator('.ladder .bids .price').first()
    await expect.poll(() => best.textContent()).toMatch(/^[\d,]+\.\d\d$/)
    const before = await page.locator('.ladder').textContent()
    await expect.poll(() => page.locator('.ladder').textContent()).not.toBe(before)
    await expect.poll(() => page.locator('.tape .price').first().textContent()).toMatch(/^[\d,]+\.\d\d$/)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console shows everything that waits for a person in one queue, oldest first, with the full destination, and opens it by keyboard', async () => {
    const held = await stage.deposit('77.25', { asset: 'PYUSD' })
    await stage.call('POST', `/deposits/${held.id}/hold`, { reason: 'the sender is not known' })
    const { page, context, faults } = await stage.person(browser, 'quinn', 'reviewer')
    await page.goto(`${stage.url}/review`)
    const rows = page.locator('main tbody tr')
    const kinds = rows.locator('td:first-child')
    await expect.poll(async () => (await kinds.allTextContents()).slice(0, 3)).toEqual(['Account', 'Account', 'Rule'])
    const deposit = rows.filter({ hasText: 'Held deposit' })
    expect(await deposit.textContent()).toContain('the sender is not known')
    await textsOf(rows.filter({ hasText: 'Rule' }).locator('.exact')).toEqual([ELSEWHERE])
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel('Kind').selectOption('Held deposit')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('heading', { name: 'Review' }).click()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${stage.url}/money/deposits/${held.id}`)
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console lets a reviewer approve a rule, a treasurer settle a delivery, and an auditor find both by name', async () => {
    await stage.deposit('1250.50')
    const reviewer = await stage.person(browser, 'rita', 'reviewer')
    await reviewer.page.goto(`${stage.url}/review/rules/${stage.customer.pendingRuleId}`)
    await reviewer.page.getByRole('button', { name: 'Approve' }).click()
    await reviewer.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await reviewer.page.getByText('The rule is active').waitFor()
    const treasurer = await stage.person(browser, 'tom', 'treasurer')
    const { page } = treasurer
    await page.goto(`${stage.url}/money/deliveries`)
    await page.getByRole('button', { name: 'Claim' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Claim' }).click()
    await page.getByText('1 delivery claimed').waitFor()
    await page.getByRole('link', { name: /1,250.5/ }).click()
    await page.getByRole('button', { name: 'Settle' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('First payment to this destination').waitFor()
    await textsOf(dialog.locator('.exact')).toEqual([ELSEWHERE])
    await dialog.getByLabel('Payment reference').fill('0x4e3a')
    await dialog.getByLabel(/Fee/).fill('a lot')
    await dialog.getByRole('button', { name: 'Settle' }).click()
    // The service refuses; what was typed is still there.
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByLabel('Payment reference').inputValue()).toBe('0x4e3a')
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByLabel(/Fee/).fill('')
    await dialog.getByRole('button', { name: 'Settle' }).click()
    await page.getByText('The delivery is settled').waitFor()
    const auditor = await stage.person(browser, 'ada', 'viewer')
    for (const [name, action] of [
      ['rita', 'rule.approve'],
      ['tom', 'delivery.settle'],
    ]) {
      await auditor.page.goto(`${stage.url}/audit?actor=operator:${name}`)
      for (const text of [action, name])
        await auditor.page
          .getByRole('cell', { name: text as string })
          .first()
          .waitFor()
    }
    expect([reviewer, treasurer, auditor].flatMap(({ faults }) => faults)).toEqual([])
    await Promise.all([reviewer, treasurer, auditor].map(({ context }) => context.close()))
  })

  it('the console shows a reviewer the whole destination that a customer has registered, and lets it be approved', async () => {
    const { status } = await stage.customer.call('POST', '/v2/transfer/crypto-destination-addresses', {
      ref_id: 'treasury',
      nickname: 'Cold wallet',
      crypto_network: 'ETHEREUM',
      address: ELSEWHERE,
    })
    expect(status).toBe('PENDING')
    const { page, context, faults } = await stage.person(browser, 'rosa', 'reviewer')
    await page.goto(`${stage.url}/review?kind=Destination`)
    const row = page.locator('main tbody tr')
    await row.filter({ hasText: 'Cold wallet has to be approved' }).waitFor()
    await textsOf(row.locator('.exact')).toEqual([ELSEWHERE])
    await row.getByRole('link', { name: 'Destination' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    const dialog = page.getByRole('dialog')
    await textsOf(dialog.locator('.exact')).toEqual([ELSEWHERE])
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The destination is active').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console does not offer a viewer what only others may do, and the API refuses it', async () => {
    const { page, call, context, faults } = await stage.person(browser, 'victor', 'viewer')
    const { pendingAccountId } = stage.customer
    await page.goto(`${stage.url}/review/accounts/${pendingAccountId}`)
    await page.getByRole('heading', { name: 'ada.north' }).waitFor()
    expect(await page.getByRole('button', { name: /Approve|Deny|Disable/ }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Operators' }).count()).toBe(0)
    const { status, body } = await call('PATCH', `/accounts/${pendingAccountId}`, { summary_status: 'APPROVED' })
    expect([status, body.code]).toEqual([403, 'insufficient_role'])
    expect(faults).toEqual([])
    await context.close()
  })

  it("the console keeps a reviewer's refused note, adds it, and shows it to a viewer", async () => {
    const { pendingAccountId } = stage.customer
    const reviewer = await stage.person(browser, 'nora', 'reviewer')
    await reviewer.page.goto(`${stage.url}/review/accounts/${pendingAccountId}`)
    const field = reviewer.page.getByLabel('New note')
    await field.fill('x'.repeat(2_001))
    await reviewer.page.getByRole('button', { name: 'Add note' }).click()
    await reviewer.page.locator('.note-form').getByRole('alert').waitFor()
    expect(await field.inputValue()).toHaveLength(2_001)
    await field.fill('Asked for the register extract.')
    await reviewer.page.getByRole('button', { name: 'Add note' }).click()
    await reviewer.page.locator('.notes').getByText('Asked for the register extract.').waitFor()
    await expect.poll(() => field.inputValue()).toBe('')
    const viewer = await stage.person(browser, 'vito', 'viewer')
    await viewer.page.goto(`${stage.url}/review/accounts/${pendingAccountId}`)
    await viewer.page.locator('.notes').getByText('nora').waitFor()
    expect(await viewer.page.getByLabel('New note').count()).toBe(0)
    expect(await accessibilityFaults(reviewer.page)).toEqual([])
    const { status, body } = await viewer.call('POST', `/accounts/${pendingAccountId}/notes`, { text: 'x' })
    expect([status, body.code]).toEqual([403, 'insufficient_role'])
    // The refused note is the only failed call.
    expect([...reviewer.faults, ...viewer.faults]).toEqual([])
    await Promise.all([reviewer, viewer].map(({ context }) => context.close()))
  })

  it('the console saves the credentials of a new client as a file with which both clients work', async () => {
    const { page, faults, context } = await stage.person(browser, 'carmen', 'admin')
    const saved = async () => {
      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Save as file' }).click()
      const file = await (await downloading).path()
      await page.getByRole('button', { name: 'I have it' }).click()
      return file
    }
    await page.goto(`${stage.url}/customers/${stage.customer.id}`)
    await page.getByRole('button', { name: 'New client' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('ladder')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const files = [await saved()]
    await page.getByRole('link', { name: 'ladder' }).click()
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    files.push(await saved())
    for (const file of files) {
      const credentials: Credentials = JSON.parse(readFileSync(file, 'utf8'))
      const { http, ws } = stage.service
      expect(credentials).toEqual({
        client_id: expect.any(String),
        client_secret: expect.stringMatching(/^tgs_/),
        scopes: [STREAM_SCOPE],
        base_url: http,
        auth_url: http,
        ws_url: ws,
      })
      const stream = new StreamClient({ credentials })
      const book = await stream.book('BTCUSD')
      expect(book.status).toBe('LIVE')
      book.close()
      stream.close()
      if (!PYTHON.isMissing) expect(runPythonReader(file)).toBe(`${http} ${ws}\n`)
    }
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console shows a connection as its client is served, and lets an admin close it', async () => {
    const client = await stage.customer.connect()
    await client.subscribeAll('BTCUSD')
    const { page, faults, context } = await stage.person(browser, 'carla', 'admin')
    await page.goto(`${stage.url}/customers/${stage.customer.id}`)
    await page.getByRole('table', { name: 'Connections' }).getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Connection from 127.0.0.1' }).waitFor()
    const row = page.getByRole('row', { name: /BTCUSD/ })
    await row.getByText(/^[0-9a-f]{16}$/).waitFor()
    expect(await row.textContent()).toContain('market_data, market_data.top_of_book, execution_data')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByText('The connection was closed').waitFor()
    await client.untilClosed()
    expect(client.closed?.code).toBe(1001)
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console creates a webhook endpoint, shows its secret once, pauses it and deletes it', async () => {
    const { page, faults, context } = await stage.person(browser, 'walter', 'admin')
    const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
    await page.goto(`${stage.url}/customers/${stage.customer.id}`)
    await page.getByRole('button', { name: 'New endpoint' }).click()
    await page.getByRole('dialog').getByLabel('Address').fill('https://webhooks.invalid/tidegate')
    await confirm('Create')
    await page
      .getByRole('dialog')
      .getByText(/^whsec_/)
      .waitFor()
    await page.getByRole('button', { name: 'I have it' }).click()
    await page
      .getByRole('table', { name: 'Webhook endpoints' })
      .getByRole('link', { name: /webhooks\.invalid/ })
      .click()
    await page.getByRole('heading', { name: 'Webhook endpoint', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await confirm('Pause')
    await page.getByText('The endpoint is paused').waitFor()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await confirm('Send')
    await page.getByText('A test event is on its way').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm('Delete')
    await page.getByText('The endpoint was deleted').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console shows usage in a period by the chosen group, and reports a period that is not one', async () => {
    const { page, faults, context } = await stage.person(browser, 'ulla', 'viewer')
    await page.goto(`${stage.url}/usage?from=2026-01-01&to=2026-01-02`)
    await page.getByText('No client used the stream or the REST API in this period').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.locator('select').selectOption('day')
    await expect.poll(() => page.url()).toContain('group=day')
    expect(faults).toEqual([])
    await page.goto(`${stage.url}/usage?from=yesterday`)
    await page
      .getByText(/must be an RFC 3339 time/)
      .first()
      .waitFor()
    await context.close()
  })

  it('the console creates a plan, changes it, gives it to a client, and deletes it when it has no user', async () => {
    const { page, faults, context } = await stage.person(browser, 'paula', 'admin')
    const dialog = page.getByRole('dialog')
    const confirm = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
    const choose = async (plan: string) => {
      await page.goto(`${stage.url}/clients/${stage.customer.clientId}`)
      await page.getByRole('button', { name: 'Change plan' }).click()
      await dialog.getByLabel('Plan').selectOption(plan)
      await confirm('Save')
      await page.getByText('onboarding has the plan').waitFor()
    }
    await page.goto(`${stage.url}/plans`)
    await page.getByRole('link', { name: 'unlimited' }).waitFor()
    await page.getByRole('button', { name: 'New plan' }).click()
    await dialog.getByLabel('Name').fill('basic')
    await dialog.getByLabel('Levels per side').selectOption('10')
    await dialog.getByLabel('Connections').fill('many')
    await dialog.getByLabel('publication').uncheck()
    expect(await accessibilityFaults(page)).toEqual([])
    await confirm('Create')
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Connections').fill('5')
    await confirm('Create')
    await page.getByText('basic was created').waitFor()
    await page.getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('Markets').fill('BTCUSD, ETHUSD')
    await dialog.getByLabel('Levels per side').selectOption('')
    await confirm('Save')
    await page.getByText('basic was changed').waitFor()
    expect(await stage.call('GET', '/plans/basic')).toEqual({
      name: 'basic',
      markets: ['BTCUSD', 'ETHUSD'],
      channels: ['events', 'execution_data', 'market_data', 'market_data.top_of_book'],
      connections_max: 5,
      created_at: expect.any(String),
    })
    expect(await accessibilityFaults(page)).toEqual([])
    await choose('basic')
    await page.getByRole('link', { name: 'basic' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm('Delete')
    await dialog.getByText(/the plan is in use/).waitFor()
    await choose('')
    await page.goto(`${stage.url}/plans/basic`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm('Delete')
    await page.getByText('basic was deleted').waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'basic' }).count()).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  })

  it('the console finds a customer by the beginning of its name, in the filter of a list and in the palette', async () => {
    await stage.call('POST', '/customers', { name: 'Northern Lights' })
    const { page, faults, context } = await stage.person(browser, 'fiona', 'viewer')
    // Typed as soon as the field is there.
    await page.addInitScript(`new MutationObserver((_, observer) => {
      const field = document.querySelector('[list=customers-offered]')
      if (field === null) return
      observer.disconnect()
      field.value = 'north'
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }).observe(document, { childList: true, subtree: true })`)
    await page.goto(`${stage.url}/review/accounts`)
    const filter = page.getByLabel('Customer')
    await page.locator('datalist option[value="Northern Lights"]').waitFor({ state: 'attached' })
    await filter.press('Enter')
    // Two names begin so: what was typed stays.
    await page.getByText('No single customer matches').waitFor()
    expect(await filter.inputValue()).toBe('north')
    await filter.fill('northw')
    await filter.press('Enter')
    await page.waitForURL(`**/review/accounts?customer=${stage.customer.id}`)
    await expect.poll(() => filter.inputValue()).toBe(stage.customer.name)
    await page.getByRole('table').getByRole('link', { name: stage.customer.name }).first().waitFor()
    await page.getByLabel('Identity').fill('ada.north')
    // Not before Enter.
    expect(await page.evaluate('location.search')).toBe(`?customer=${stage.customer.id}`)
    await page.getByLabel('Identity').press('Enter')
    await page.waitForURL('**identity=ada.north')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find or go to' }).fill(stage.customer.id)
    for (const kind of ['Client', 'Connection', 'Destination', 'Screening', 'Request', 'Webhook endpoint'])
      await page.getByRole('option', { name: new RegExp(`^${kind}`) }).waitFor()
    await page.getByRole('combobox', { name: 'Find or go to' }).fill('NORTHW')
    await page.getByRole('option', { name: stage.customer.name }).click()
    await page.getByRole('heading', { name: stage.customer.name }).waitFor()
    // A filter from a link is shown: without it, the list would seem to be complete.
    await page.goto(`${stage.url}/money/deliveries?orchestration=${stage.customer.id}`)
    expect(await page.getByLabel('Orchestration', { exact: true }).inputValue()).toBe(stage.customer.id)
    expect(faults).toEqual([])
    await context.close()
  })
})
