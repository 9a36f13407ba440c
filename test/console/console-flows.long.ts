/**
 * The flows of each role in a browser, in light colours on a wide screen and in dark ones at 390 pixels: what a person does,
 * what the page then shows, and what the service has stored. Four eyes, and the keyboard alone.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { StreamClient } from '../../packages/client/src/index.ts'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { accessibilityFaults } from './accessibility.ts'
import {
  type ConsoleStage,
  ELSEWHERE,
  openConsoleStage,
  type Person,
  RECORDED_AND_JOINED,
  type Role,
} from './console-stage.ts'

const LOOKS = [
  { look: 'light colours at 1360 pixels', colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { look: 'dark colours at 390 pixels', colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const

const COMMENT = 'Comment for the second person'
const PAID = 'paid by hand, see the statement'

let browser: Browser
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
})
afterAll(() => browser?.close())

/** Opens the dialog of a button, types into its fields, and confirms. */
async function act(page: Page, name: string, values: Readonly<Record<string, string>> = {}, confirm = name) {
  await page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog')
  for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label).fill(value)
  await dialog.getByRole('button', { name: confirm, exact: true }).click()
}

async function reported(page: Page, text: string | RegExp): Promise<void> {
  await page.locator('.toast').getByText(text).first().waitFor()
}

/** Saves the list or the table that the page shows. */
async function csvOf(page: Page, place = 0): Promise<string[]> {
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).nth(place).click()
  const text = readFileSync(await (await downloading).path(), 'utf8')
  return text.trimEnd().split('\r\n')
}

describe.skipIf(CHROMIUM.isSkipped).each(LOOKS)('in $look', ({ colorScheme, viewport }) => {
  let stage: ConsoleStage
  let people: Readonly<Record<Role, Person>>
  beforeAll(async () => {
    stage = await openConsoleStage(RECORDED_AND_JOINED)
    const person = (name: string, role: Role) => stage.person(browser, name, role, { colorScheme, viewport })
    people = {
      viewer: await person('vera', 'viewer'),
      reviewer: await person('rita', 'reviewer'),
      treasurer: await person('tom', 'treasurer'),
      admin: await person('alex', 'admin'),
    }
  })
  afterEach(() => {
    expect(Object.values(people).flatMap(({ faults }) => faults.splice(0))).toEqual([])
  })
  afterAll(async () => {
    await Promise.all(Object.values(people ?? {}).map(({ context }) => context.close()))
    await stage?.stop()
  })
  it('a treasurer holds, releases, rejects, returns and reverses deposits', async () => {
    const { page } = people.treasurer
    const { id } = await stage.deposit('77.5', { asset: 'USDP' })
    await page.goto(`${stage.url}/money/deposits/${id}`)
    await act(page, 'Hold', { Reason: 'asked by compliance' })
    await page.locator('.facts').getByText('Held').waitFor()
    await act(page, 'Release', { Reason: 'cleared by compliance' })
    await page.locator('.facts').getByText('Completed').waitFor()
    await act(page, 'Hold', { Reason: 'asked by compliance' })
    await page.locator('.facts').getByText('Held').waitFor()
    await act(page, 'Reject', { Reason: 'the sender is sanctioned' })
    await page.locator('.facts').getByText('Rejected').waitFor()
    await page.getByText('the sender is sanctioned').first().waitFor()
    await page.getByRole('button', { name: 'Return', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('never automatically to the sender').waitFor()
    await dialog.getByLabel('Address on ETHEREUM').fill('not an address')
    await dialog.getByLabel('Reason').fill('asked by compliance')
    await dialog.getByRole('button', { name: 'Return' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('asked by compliance')
    await dialog.getByLabel('Address on ETHEREUM').fill(ELSEWHERE)
    await dialog.getByRole('button', { name: 'Return' }).click()
    await page.locator('.facts').getByText('Return', { exact: true }).waitFor()
    const other = await stage.deposit('12', { asset: 'USDP' })
    await page.goto(`${stage.url}/money/deposits/${other.id}`)
    await act(page, 'Reverse', { Reason: 'the bank called it back' })
    await page.locator('.facts').getByText('Reversed').waitFor()
    expect(await page.getByRole('button', { name: /^(Hold|Return|Reverse)$/ }).count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    expect((await stage.call('GET', `/deposits/${other.id}`)).secondary_status).toBe('REVERSED')
  })

  it('a treasurer assigns unattributed funds, after an error that keeps the typed text', async () => {
    const { page } = people.treasurer
    const { id } = await stage.deposit('1200', { to: ELSEWHERE, asset: 'USDP' })
    await page.goto(`${stage.url}/`)
    await page.getByRole('link', { name: '1 unattributed deposit' }).click()
    await page.getByRole('link', { name: /1,200/ }).click()
    await page.getByRole('button', { name: 'Assign' }).click()
    const dialog = page.getByRole('dialog')
    const unknown = '00000000-0000-4000-8000-000000000000'
    await dialog.getByLabel('Profile').fill(unknown)
    await dialog.getByRole('button', { name: 'Assign' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await dialog.getByLabel('Profile').inputValue()).toBe(unknown)
    await dialog.getByLabel('Profile').fill(` ${stage.customer.profileId} `)
    await dialog.getByRole('button', { name: 'Assign' }).click()
    await page.getByRole('link', { name: stage.customer.name }).waitFor()
    expect((await stage.call('GET', `/deposits/${id}`)).profile_id).toBe(stage.customer.profileId)
  })

  it('a treasurer corrects a deposit, and books and reverses a ledger entry', async () => {
    const { page } = people.treasurer
    const { id } = await stage.deposit('5.05', { asset: 'USDP' })
    await page.goto(`${stage.url}/money/deposits/${id}`)
    await act(page, 'Correct', { 'Right amount': '5.5', Reason: 'the report had a wrong digit' })
    await page.getByRole('table', { name: 'Corrections' }).getByText('the report had a wrong digit').waitFor()
    await page.getByRole('heading', { name: '5.5 USDP' }).waitFor()
    await page.goto(`${stage.url}/money/entries`)
    await page.getByRole('button', { name: 'New entry' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Asset bought').waitFor()
    await dialog.getByLabel('Kind').selectOption('desk_funding')
    await dialog.getByLabel('Amount received').fill('1000')
    await dialog.getByLabel('Asset received').fill('USDP')
    await dialog.getByLabel('Reference').fill('wire 7')
    await dialog.getByLabel('When it happened').fill('2026-11-02T09:30:00Z')
    await dialog.getByLabel('Reason').fill('own money')
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Book' }).click()
    await page.getByRole('cell', { name: 'wire 7' }).waitFor()
    await page.getByRole('cell', { name: '2026-11-02 09:30:00' }).waitFor()
    await page
      .getByRole('row', { name: /wire 7/ })
      .getByRole('button', { name: 'Reverse' })
      .click()
    await dialog.getByLabel('Reason').fill('booked twice')
    await dialog.getByRole('button', { name: 'Reverse' }).click()
    await page.getByRole('cell', { name: 'Reversal' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect((await stage.call('GET', '/ledger/entries')).items).toHaveLength(2)
  })

  it('a treasurer pauses an asset and all deliveries, and resumes them', async () => {
    const { page } = people.treasurer
    await page.goto(`${stage.url}/money/controls`)
    await act(page, 'Change assets', { Assets: 'USDP\nBTC' }, 'Change')
    await page.locator('.badges').getByText('BTC').waitFor()
    await act(page, 'Pause all', {}, 'Pause')
    await page.getByText('Paused: no payment leaves').waitFor()
    await page.goto(`${stage.url}/`)
    await page.getByText('BTC, USDP, all deliveries').waitFor()
    await page.goto(`${stage.url}/money/controls`)
    await act(page, 'Change assets', { Assets: 'NO SUCH' }, 'Change')
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('dialog').getByLabel('Assets').fill('')
    await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
    await act(page, 'Resume')
    await page.getByText('Running').waitFor()
    await expect
      .poll(async () => (await stage.call('GET', '/controls')).paused)
      .toMatchObject({ assets: [], deliveries: false })
  })

  it('a treasurer claims deliveries, settles one and fails one', async () => {
    const { page } = people.treasurer
    await stage.deposit('300')
    await stage.deposit('400')
    await vi.waitFor(async () => {
      const { items } = await stage.call('GET', '/deliveries?status=WAITING')
      expect(items.map(({ amount }: { amount: string }) => amount)).toEqual(expect.arrayContaining(['300', '400']))
    }, 30_000)
    await page.goto(`${stage.url}/money/deliveries?status=WAITING`)
    await page.getByRole('link', { name: /^300/ }).click()
    await act(page, 'Claim')
    await reported(page, 'It is yours for one hour')
    await page.locator('.facts').getByText('tom', { exact: true }).waitFor()
    await act(page, 'Settle', { 'Payment reference': '0x300', Fee: '0.1' })
    await reported(page, 'The delivery is settled')
    await page.locator('.facts').getByText('Settled').waitFor()
    await page.goto(`${stage.url}/money/deliveries`)
    await act(page, 'Claim', { 'How many at most': '10' })
    await reported(page, /(delivery|deliveries) claimed/)
    await page.goto(`${stage.url}/money/deliveries?status=CLAIMED`)
    await page.getByRole('link', { name: /^400/ }).click()
    await act(page, 'Fail', { Reason: 'the bank refuses it' })
    await page.locator('.facts').getByText('Failed', { exact: true }).waitFor()
    await act(page, 'Settle late', { 'Payment reference': '0x300' }, 'Settle')
    // A payment settles one delivery.
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.getByRole('dialog').getByLabel('Payment reference').fill('0x400')
    await page.getByRole('dialog').getByRole('button', { name: 'Settle' }).click()
    await page.locator('.facts').getByText('Settled').waitFor()
  })

  it('a treasurer states that an attempt without a result was not paid before the payment is failed', async () => {
    const { page } = people.treasurer
    await stage.deposit('450')
    const claimed = await vi.waitFor(async () => {
      const claim = { executor: 'bank', limit: 1, lease_seconds: 1 }
      const [found] = (await stage.call('POST', '/deliveries/claim', claim)).items
      return found ?? Promise.reject(new Error('there is no delivery yet'))
    }, 30_000)
    await expect.poll(() => Date.now() > Date.parse(claimed.lease_until)).toBe(true)
    await page.goto(`${stage.url}/money/deliveries/${claimed.id}`)
    await page.getByRole('button', { name: 'Fail', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('bank (attempt 1)').waitFor()
    await dialog.getByLabel('Reason').fill('the bank has never seen it')
    await dialog.getByRole('button', { name: 'Fail', exact: true }).click()
    await dialog.getByText('earlier_attempt_unknown').waitFor()
    await dialog.getByLabel('No attempt was paid, and none will be').check()
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Fail', exact: true }).click()
    await page.locator('.facts').getByText('Failed', { exact: true }).waitFor()
  })

  it('a viewer saves every list, the desk, balances and a statement as CSV', async () => {
    const { page } = people.viewer
    for (const [path, column] of [
      ['/money/deposits', 'tx_hash'],
      ['/money/orchestrations', 'destination_amount'],
      ['/money/deliveries', 'reference'],
      ['/money/desk', 'position'],
      ['/audit', 'actor'],
    ] as const) {
      await page.goto(stage.url + path)
      await page.getByRole('row').nth(1).waitFor()
      const [header = '', ...rows] = await csvOf(page)
      expect([path, header.split(',')]).toEqual([path, expect.arrayContaining([column])])
      expect(rows.length).toBeGreaterThan(0)
    }
    await page.goto(`${stage.url}/money/profiles/${stage.customer.profileId}`)
    await page.getByRole('row').nth(1).waitFor()
    expect((await csvOf(page))[0]).toBe('asset,available,in_transit,held,receivable')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { name: /^USDP/ }).waitFor()
    const [header, ...lines] = await csvOf(page, 1)
    expect(header).toBe('asset,posting_id,effective_at,group_id,debit,credit,amount,change,balance')
    expect(lines.some((line) => line.startsWith('USDP,'))).toBe(true)
    // The file has the period that is shown, not the one that was typed since.
    await page.getByLabel('From').fill('2020-01-01')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).nth(1).click()
    const month = new Date().toISOString().slice(0, 7)
    const name = `statement-${stage.customer.profileId}-${month}-01-`
    expect((await downloading).suggestedFilename().slice(0, name.length)).toBe(name)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it('a reviewer approves, denies and rejects, with the consequence stated', async () => {
    const { page } = people.reviewer
    const { pendingAccountId, pendingRuleId } = stage.customer
    await page.goto(`${stage.url}/review/accounts/${pendingAccountId}`)
    await act(page, 'Approve')
    await page.locator('.facts').getByText('Approved').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.locator('.facts').getByText('Approved').waitFor()
    await page.goto(`${stage.url}/review/rules/${pendingRuleId}`)
    await act(page, 'Reject', { Reason: 'the destination is not yours' })
    await page.locator('.facts').getByText('Rejected').waitFor()
    await page.goto(`${stage.url}/review/addresses?address=${ELSEWHERE}`)
    await page.getByText('No customer has this address').waitFor()
  })

  it('an administrator sees a connection, closes it, and revokes the tokens; a new secret is shown once', async () => {
    const { page } = people.admin
    const { id } = await stage.call('POST', '/customers', { name: 'Heron', streaming: true })
    const scopes = ['exchange:read_aggregated_marketdata_stream']
    const made = await stage.call('POST', `/customers/${id}/clients`, { name: 'reader', scopes })
    const events: string[] = []
    const stream = new StreamClient({
      credentials: {
        client_id: made.client_id,
        client_secret: made.client_secret,
        auth_url: stage.service.http,
        ws_url: stage.service.ws,
        base_url: stage.service.http,
      },
      onEvent: ({ type }) => events.push(type),
    })
    const book = await stream.book('BTCUSD')
    await page.goto(`${stage.url}/clients/${made.client_id}`)
    await page.getByRole('cell', { name: 'Current' }).waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).click()
    await reported(page, 'The connection was closed')
    await vi.waitFor(() => expect(events).toContain('DISCONNECTED'), 10_000)
    book.close()
    stream.close()
    await act(page, 'Revoke tokens', {}, 'Revoke')
    await page.getByText('Tokens valid if issued after').waitFor()
    await act(page, 'New secret', {}, 'Create')
    const secret = (await page.locator('.secret-rows code').last().textContent()) ?? ''
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.reload()
    await page.getByText('2 of 2').waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(await page.getByRole('button', { name: 'New secret' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Delete' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('1 of 2').waitFor()
  })

  it('an administrator makes an API token, which is shown once and deleted, and disables an operator', async () => {
    const { page, name } = people.admin
    await stage.call('POST', '/operators', { name: 'olga', role: 'viewer' })
    await page.goto(`${stage.url}/operators/olga`)
    await act(page, 'New token', { Name: 'report' }, 'Create')
    const token = (await page.locator('.secret-rows code').last().textContent()) ?? ''
    expect(token).toMatch(/^tgo_/)
    await page.getByRole('button', { name: 'I have it' }).click()
    // A role finds no dialog that is closed, although its text stays in the page until the next rendering.
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(token)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('refused from now on').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No API token').waitFor()
    await act(page, 'Disable')
    await reported(page, 'olga was disabled')
    await page.goto(`${stage.url}/operators/${name}`)
    await page.getByText('This is you').waitFor()
  })

  it('an administrator makes a machine, whose token is bound to sources and assets', async () => {
    const { page } = people.admin
    await page.goto(`${stage.url}/operators`)
    await page.getByRole('button', { name: 'New operator' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('custody')
    await dialog
      .getByLabel('Role')
      .selectOption({ label: 'deposit_reporter: a machine that reports deposits and reads them' })
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByText('API tokens only').waitFor()
    expect(await page.getByRole('button', { name: /Reset login|Change role/ }).count()).toBe(0)
    await page.getByRole('button', { name: 'New token' }).click()
    await expect
      .poll(() => dialog.getByLabel('Role').locator('option').allTextContents())
      .toEqual(['deposit_reporter: a machine that reports deposits and reads them'])
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByLabel('Name').fill('adapter')
    await dialog.getByLabel('Only these sources').fill('node, custody')
    await dialog.getByLabel('Only these assets').fill('BTC')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'I have it' }).click()
    await page.getByText('deposit_reporter: node, custody, BTC').waitFor()
    expect((await stage.call('GET', '/operators/custody')).tokens).toMatchObject([
      { role: 'deposit_reporter', sources: ['node', 'custody'], assets: ['BTC'] },
    ])
  })

  it('the book page shows the book at a time from a recording, and moves it with the slider', async () => {
    const { page } = people.viewer
    await page.goto(`${stage.url}/markets/BTCUSD`)
    await page.getByRole('button', { name: 'Ten seconds ago' }).click()
    const version = page.locator('.past-book .facts div').filter({ hasText: 'Version' }).locator('dd')
    await version.waitFor()
    const before = Number(await version.textContent())
    const slider = page.getByRole('slider')
    await slider.focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await expect.poll(async () => Number(await version.textContent())).toBeGreaterThan(before)
    await expect.poll(() => page.locator('.past-book .bids .price').count()).toBeGreaterThan(3)
    expect(await accessibilityFaults(page)).toEqual([])
    // Before anything was recorded, the service names the first time.
    await page.getByLabel('Time (UTC)').fill('2020-01-01T00:00:00')
    await page.getByRole('button', { name: /First recorded after/ }).click()
    await version.waitFor()
  })

  it("the market page shows each source's share of the levels", async () => {
    const { page } = people.viewer
    await page.goto(`${stage.url}/markets/XBTUSD`)
    await page.getByRole('cell', { name: /50 %/ }).nth(1).waitFor()
    await expect.poll(() => page.getByText('In the book').count()).toBe(2)
  })

  it('a viewer is offered no change on any page, and every change is refused by the API', async () => {
    const { page, call } = people.viewer
    const { id, clientId, pendingAccountId, pendingRuleId } = stage.customer
    const [delivery] = (await stage.call('GET', '/deliveries')).items
    const [deposit] = (await stage.call('GET', '/deposits')).items
    const pages = ['/customers', `/customers/${id}`, `/clients/${clientId}`, '/review/addresses', '/money/controls']
    pages.push('/plans', '/plans/unlimited', '/usage')
    pages.push(`/review/accounts/${pendingAccountId}`, `/review/rules/${pendingRuleId}`, '/money/deliveries')
    pages.push(`/money/deposits/${deposit.id}`, `/money/deliveries/${delivery.id}`)
    const changes =
      /^New |Change|Disable|Revoke|Approve|Deny|Reject|Hold|Release|Reverse|Return|Settle|Fail|Claim|Pause|Resume|Import|Delete|Remove|Add note/
    for (const path of pages) {
      await page.goto(stage.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
      const offered = page.locator('main').getByRole('button', { name: changes })
      await expect.poll(() => offered.allTextContents(), { message: path }).toEqual([])
    }
    for (const [method, path, body] of [
      ['POST', `/rules/${pendingRuleId}/approve`, {}],
      ['POST', `/deposits/${deposit.id}/hold`, { reason: 'to be checked' }],
      ['POST', `/deliveries/${delivery.id}/settle`, { reference: 'x', attempt: 1 }],
      ['PATCH', '/controls', { paused: { deliveries: true } }],
      ['POST', '/customers', { name: 'x' }],
      ['GET', '/operators', undefined],
    ] as const) {
      const { status, body: problem } = await call(method, path, body)
      expect([path, status, problem.code]).toEqual([path, 403, 'insufficient_role'])
    }
  })
})

describe.skipIf(CHROMIUM.isSkipped)('long lists', () => {
  it('long lists are read page by page, and completely as CSV', async () => {
    const stage = await openConsoleStage()
    for (let index = 0; index < 60; index++) await stage.call('POST', '/customers', { name: `customer ${index}` })
    const { page, context, faults } = await stage.person(browser, 'ada', 'viewer')
    await page.goto(`${stage.url}/customers`)
    await page.getByText('50 shown').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('61 shown, all of them').waitFor()
    const { id } = await stage.call('POST', '/customers', { name: 'with many clients' })
    for (let index = 0; index < 51; index++)
      await stage.call('POST', `/customers/${id}/clients`, { name: `client ${index}`, scopes: [] })
    // A webhook endpoint can be given to any of them.
    const admin = await stage.person(browser, 'alex', 'admin')
    await admin.page.goto(`${stage.url}/customers/${id}`)
    await admin.page.getByText('51 shown, all of them').waitFor()
    await admin.page.getByRole('button', { name: 'New endpoint' }).click()
    await expect.poll(() => admin.page.getByRole('dialog').getByLabel('Client').locator('option').count()).toBe(51)
    await admin.context.close()
    await page.goto(`${stage.url}/audit`)
    await page.getByText('50 shown').waitFor()
    expect((await csvOf(page)).length).toBeGreaterThan(60)
    expect(faults).toEqual([])
    await context.close()
    await stage.stop()
  })
})

describe.skipIf(CHROMIUM.isSkipped)('with four eyes', () => {
  let stage: ConsoleStage
  let first: Person
  let second: Person
  beforeAll(async () => {
    stage = await openConsoleStage({ 'operator.four_eyes': '[settlements, controls]' })
    first = await stage.person(browser, 'tom', 'treasurer')
    second = await stage.person(browser, 'tina', 'treasurer', { colorScheme: 'dark', viewport: LOOKS[1].viewport })
  })
  afterAll(() => stage?.stop())

  it('a settlement is requested by one person and confirmed by another', async () => {
    await stage.deposit('500')
    const delivery = await vi.waitFor(async () => {
      const [found] = (await stage.call('GET', '/deliveries')).items
      return found ?? Promise.reject(new Error('there is no delivery yet'))
    }, 30_000)
    await first.page.goto(`${stage.url}/money/deliveries`)
    await act(first.page, 'Claim')
    await first.page.getByRole('link', { name: /^500/ }).click()
    await act(first.page, 'Settle', { 'Payment reference': '0x500', [COMMENT]: PAID }, 'Request: settle')
    await first.page.getByRole('link', { name: /A second person/ }).click()
    await first.page.getByText('another person has to confirm it').waitFor()
    expect(await first.page.getByRole('button', { name: 'Confirm' }).count()).toBe(0)
    const [request] = (await stage.call('GET', '/change-requests')).items
    const { version } = (await first.call('GET', `/change-requests/${request.id}`)).body
    const own = await first.call('POST', `/change-requests/${request.id}/confirm`, { version })
    expect([own.status, own.body.code]).toEqual([403, 'own_request'])
    expect((await stage.call('GET', `/deliveries/${delivery.id}`)).status).toBe('CLAIMED')
    await second.page.goto(`${stage.url}/review/requests/${request.id}`)
    for (const text of ['0x500', PAID]) await second.page.getByText(text).first().waitFor()
    await second.page
      .getByRole('button', { name: `Copy ${ELSEWHERE}` })
      .first()
      .waitFor()
    await act(second.page, 'Confirm')
    await second.page.getByText('Confirmed and carried out').waitFor()
    expect((await stage.call('GET', `/deliveries/${delivery.id}`)).status).toBe('SETTLED')
    await second.page.goto(`${stage.url}/audit?subject=${delivery.id}`)
    for (const name of ['tom', 'tina'])
      await second.page.locator('main').getByText(name, { exact: true }).first().waitFor()
    expect([...first.faults, ...second.faults]).toEqual([])
  })

  it('a change of a plan is requested by one administrator, shown on its page, and confirmed by another', async () => {
    const comment = { [COMMENT]: 'sold today' }
    const [one, other] = await Promise.all([
      stage.person(browser, 'alex', 'admin'),
      stage.person(browser, 'anna', 'admin'),
    ])
    const confirmed = async (request: Person['page']) => {
      await request.getByRole('link', { name: /A second person/ }).click()
      await request.getByText('another person has to confirm it').waitFor()
      await other.page.goto(request.url())
      await act(other.page, 'Confirm')
      await reported(other.page, 'Confirmed and carried out')
    }
    await one.page.goto(`${stage.url}/plans`)
    await act(one.page, 'New plan', { Name: 'gold', ...comment }, 'Request: create')
    await confirmed(one.page)
    await one.page.goto(`${stage.url}/plans/gold`)
    await act(one.page, 'Change', { Connections: '7', ...comment }, 'Request: save')
    await one.page.getByText('waits for a second person').waitFor()
    await confirmed(one.page)
    expect((await stage.call('GET', '/plans/gold')).connections_max).toBe(7)
    await other.page.getByRole('link', { name: 'gold' }).click()
    await other.page.getByRole('heading', { name: 'gold' }).waitFor()
    expect([...one.faults, ...other.faults]).toEqual([])
  })

  it('a record shows that a change of it waits, and a confirmation of another version shows what has changed', async () => {
    await stage.deposit('600')
    const delivery = await vi.waitFor(async () => {
      const [found] = (await stage.call('GET', '/deliveries?status=WAITING')).items
      return found ?? Promise.reject(new Error('there is no delivery yet'))
    }, 30_000)
    await first.page.goto(`${stage.url}/money/deliveries/${delivery.id}`)
    await act(first.page, 'Fail', { Reason: 'not wanted', [COMMENT]: 'the customer called' }, 'Request: fail')
    await first.page.getByText('waits for a second person').waitFor()
    await second.page.goto(`${stage.url}/money/deliveries/${delivery.id}`)
    await second.page.locator('.notice').getByRole('link').click()
    await second.page.getByText('The record has not changed').waitFor()
    await second.page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await second.page.getByRole('dialog').getByText('the customer called').waitFor()
    await stage.call('POST', '/deliveries/claim', { executor: 'bank', limit: 1, lease_seconds: 3_600 })
    await second.page.getByRole('dialog').getByRole('button', { name: 'Confirm', exact: true }).click()
    await reported(second.page, 'The record has changed')
    // On a narrow screen a row is a card.
    const row = second.page.locator('tr').filter({ has: second.page.getByText('status', { exact: true }) })
    expect(await row.textContent()).toBe('statusWAITINGCLAIMED')
    expect(await accessibilityFaults(second.page)).toEqual([])
    expect((await stage.call('GET', `/deliveries/${delivery.id}`)).status).toBe('CLAIMED')
    await act(second.page, 'Decline')
    expect([...first.faults, ...second.faults]).toEqual([])
  })

  it('a pause is withdrawn by the person who asked for it, and another one is declined', async () => {
    await first.page.goto(`${stage.url}/money/controls`)
    await act(first.page, 'Pause all', { [COMMENT]: 'an incident' }, 'Request: pause')
    await first.page.getByRole('link', { name: /A second person/ }).click()
    await act(first.page, 'Withdraw')
    await first.page.locator('.facts').getByText('Declined').waitFor()
    await first.page.goto(`${stage.url}/money/controls`)
    await act(first.page, 'Pause all', { [COMMENT]: 'an incident' }, 'Request: pause')
    await second.page.goto(`${stage.url}/review/requests?status=PENDING`)
    await second.page.getByRole('link', { name: /Pause or resume/ }).click()
    await act(second.page, 'Decline')
    await second.page.locator('.facts').getByText('Declined').waitFor()
    expect((await stage.call('GET', '/controls')).paused.deliveries).toBe(false)
    expect([...first.faults, ...second.faults]).toEqual([])
  })
})

describe.skipIf(CHROMIUM.isSkipped)('with four eyes on operators', () => {
  it('a token is shown to the person who requests it, and to no other', async () => {
    // People are made before the kind is listed.
    const folder = temporaryFolder()
    const config = join(folder.path, 'config.yaml')
    writeFileSync(config, 'operator: {}\n')
    const stage = await openConsoleStage({ config })
    const first = await stage.person(browser, 'amy', 'admin')
    const second = await stage.person(browser, 'ann', 'admin')
    writeFileSync(config, 'operator: { four_eyes: [operators] }\n')
    stage.service.command.child.kill('SIGHUP')
    await vi.waitFor(async () => expect((await stage.call('GET', '/session')).four_eyes).toEqual(['operators']), 30_000)
    await first.page.goto(`${stage.url}/operators/ann`)
    await act(first.page, 'New token', { Name: 'report', [COMMENT]: PAID }, 'Request: create')
    await first.page.getByText('valid once another person has confirmed').waitFor()
    const token = (await first.page.locator('.secret-rows code').last().textContent()) ?? ''
    expect(await accessibilityFaults(first.page)).toEqual([])
    const whoami = () =>
      fetch(`${stage.service.operator.url}/admin/v1/session`, { headers: { authorization: `Bearer ${token}` } })
    expect((await whoami()).status).toBe(401)
    await second.page.goto(`${stage.url}/review/requests?status=PENDING`)
    await second.page.getByRole('link', { name: /API token/ }).click()
    await act(second.page, 'Confirm')
    await second.page.getByText('Confirmed and carried out').waitFor()
    expect(await second.page.locator('.secret-rows').count()).toBe(0)
    expect((await whoami()).status).toBe(200)
    expect([...first.faults, ...second.faults]).toEqual([])
    await stage.stop()
    folder.remove()
  })
})

describe.skipIf(CHROMIUM.isSkipped)('with the keyboard alone', () => {
  it('the keyboard alone finds, opens, moves between rows, acts, and keeps the focus', async () => {
    const stage = await openConsoleStage()
    const { page, context, faults } = await stage.person(browser, 'kim', 'admin')
    const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""')
    await page.goto(`${stage.url}/`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    // A screen reader begins at the heading; what is above it is reached backwards.
    await expect.poll(focused).toBe('Overview')
    const skip = page.getByRole('link', { name: 'Skip to the content' })
    await skip.focus()
    expect(await skip.isVisible()).toBe(true)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('usd')
    await page.getByRole('option', { name: /ETHUSD/ }).waitFor()
    const chosen = () => page.locator('[role=option][aria-selected=true]').textContent()
    const top = await chosen()
    await page.keyboard.press('ArrowDown')
    expect(await chosen()).not.toBe(top)
    await page.keyboard.press('ArrowUp')
    expect(await chosen()).toBe(top)
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('Skip to the content')
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Review' }).waitFor()
    await page.getByText('payout-weekly').waitFor()
    await expect.poll(() => page.getByText('Loading').count()).toBe(0)
    const rows = await page.locator('main tbody tr').allTextContents()
    const focusedRow = () => page.evaluate<string>('document.activeElement?.closest("tr")?.textContent ?? ""')
    // The oldest is first.
    expect(rows[0]).toContain('ada.north')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    expect(await focusedRow()).toBe(rows[1])
    await page.keyboard.press('k')
    expect(await focusedRow()).toBe(rows[0])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'ada.north' }).waitFor()
    const disable = page.getByRole('button', { name: 'Disable' })
    await disable.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Disable')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Disable')
    expect(faults).toEqual([])
    await context.close()
    await stage.stop()
  })
})
