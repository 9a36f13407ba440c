/**
 * What a person sees who decides about money: every dialog about it, and the records behind them, with an address of 42
 * characters and with a bank account, in light and dark and on a narrow screen. Every character of a destination is shown,
 * none is clipped or covered, and what is copied has no gaps. With TIDEGATE_PICTURES, the name of a folder, it saves a
 * picture of each.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { accessibilityFaults } from './accessibility.ts'
import { type ConsoleStage, ELSEWHERE, openConsoleStage, type Person, watchedPage } from './console-stage.ts'

const PICTURES = process.env.TIDEGATE_PICTURES

const LOOKS = [
  ['light', 1360],
  ['dark', 1360],
  ['light', 390],
  ['dark', 390],
] as const

/** What is paid, to where. */
const CRYPTO = { destination: { crypto: { network: 'ETHEREUM', address: ELSEWHERE } }, texts: [ELSEWHERE] }
const BANK_ACCOUNT = 'DE89370400440532013000'
const MEMO = 'invoice 2026-11, Kestrel'
const BANK = { destination: { fiat: { fiat_account_id: BANK_ACCOUNT, memo: MEMO } }, texts: [BANK_ACCOUNT, MEMO] }
const WIRE = {
  network: 'WIRE',
  sender: 'Kestrel Capital, GB29NWBK60161331926819',
  bank_reference: '20261124MMQFMP3100',
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Body = any

/** A dialog or a page, and the texts that it shows whole. */
interface Sight {
  readonly path: string
  /** Opens the dialog; absent: the page itself. */
  readonly button?: string
  /** Typed before it is looked at. */
  readonly values?: Readonly<Record<string, string>>
  readonly texts: readonly string[]
}

let stage: ConsoleStage
let browser: Browser
let admin: Person
let treasurer: Person
let sights: readonly Sight[]
/** The path of a rule whose memo has characters that are not seen. */
let disguised: string

beforeAll(async () => {
  stage = await openConsoleStage({ 'operator.four_eyes': '[settlements]' })
  browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  admin = await stage.person(browser, 'alex', 'admin')
  treasurer = await stage.person(browser, 'tom', 'treasurer')
  sights = await openSights()
})
afterAll(async () => {
  await browser?.close()
  await stage?.stop()
})

function page(path: string, texts: readonly string[], buttons: readonly string[]): readonly Sight[] {
  return [{ path, texts }, ...buttons.map((button) => ({ path, texts, button }))]
}

/** Records in every state in which a person decides about them, each with an address and with a bank account. */
async function openSights(): Promise<readonly Sight[]> {
  const { call, customer } = stage
  const { profileId } = customer
  const bankRule = async (reference: string, memo = MEMO) => {
    const answer = await customer.call('POST', '/v2/orchestration/rules', {
      ref_id: reference,
      profile_id: profileId,
      source_asset: 'PYUSD',
      destination_asset: 'USD',
      source: { crypto: { network: 'ETHEREUM' } },
      destination: { fiat: { fiat_account_id: BANK_ACCOUNT, memo } },
    })
    return (answer.rule ?? answer).id as string
  }
  const { source } = await call('POST', `/rules/${await bankRule('bank-monthly')}/approve`)
  disguised = `/review/rules/${await bankRule('disguised', 'a\u202Eb\u200Bc\nd')}`
  const rules = [
    ...page(`/review/rules/${customer.pendingRuleId}`, CRYPTO.texts, ['Approve', 'Reject', 'Delete']),
    ...page(`/review/rules/${await bankRule('bank-weekly')}`, BANK.texts, ['Approve', 'Reject', 'Delete']),
  ]
  const pay = async (amount: string) => {
    await stage.deposit(amount)
    await stage.deposit(amount, { asset: 'PYUSD', to: source.crypto.address })
  }
  await pay('100')
  const deliveries = await deliverySights()
  const deposits = await depositSights()
  await pay('200')
  await pay('201')
  // Orchestrations that have no delivery yet would be held before it.
  for (const amount of ['200', '201']) await untilTwo('/deliveries?status=WAITING', amount)
  const [account] = (await call('GET', '/accounts?identity_id=birch-gmbh')).items
  await call('PATCH', `/accounts/${account.id}`, { admin_disabled: true })
  return [...rules, ...deliveries, ...deposits, ...(await orchestrationSights())]
}

/** What the treasurer requests, for the admin to confirm. */
async function requested(path: string, body: object): Promise<string> {
  const answer = await treasurer.call('POST', path, { ...body, comment: 'asked by the customer' })
  expect(answer.status).toBe(202)
  return answer.body.request.id
}

/** What a second person would be asked about: each form of destination, of a payment and of a return. */
async function requestSights(deliveries: readonly Body[], deposits: readonly Body[]): Promise<readonly Sight[]> {
  const sights: Sight[] = []
  for (const { id, attempt, destination } of deliveries) {
    const request = await requested(`/deliveries/${id}/settle`, { reference: `paid ${id}`, attempt })
    sights.push(...page(`/review/requests/${request}`, textsOf({ destination }), ['Confirm']))
  }
  for (const { id, crypto } of deposits) {
    const { destination, texts } = crypto === undefined ? BANK : CRYPTO
    const request = await requested(`/deposits/${id}/return`, { ...destination, reason: 'asked' })
    sights.push(...page(`/review/requests/${request}`, texts, ['Confirm']))
  }
  return sights
}

const textsOf = ({ destination }: { destination: object }) => ('crypto' in destination ? CRYPTO.texts : BANK.texts)

async function untilTwo(path: string, amount: string) {
  return await vi.waitFor(async () => {
    const { items } = await stage.call('GET', path)
    const found = items.filter((item: { amount?: string; source_amount?: string }) =>
      [item.amount, item.source_amount].includes(amount),
    )
    if (found.length < 2) throw new Error(`there are ${found.length} records of ${amount} yet`)
    return found
  }, 60_000)
}

async function deliverySights(): Promise<readonly Sight[]> {
  const sights: Sight[] = []
  for (const delivery of await untilTwo('/deliveries?status=WAITING', '100')) {
    sights.push(...page(`/money/deliveries/${delivery.id}`, textsOf(delivery), ['Fail', 'Settle']))
  }
  const claim = { executor: 'alex', limit: 10, lease_seconds: 86_400 }
  const { items } = await stage.call('POST', '/deliveries/claim', claim)
  return [...sights, ...(await requestSights(items, []))]
}

async function depositSights(): Promise<readonly Sight[]> {
  const { call } = stage
  let payments = 0
  const wire = () =>
    call('POST', '/deposits', {
      source: 'bank',
      external_id: `wire-${++payments}`,
      asset: 'USD',
      amount: '5000',
      fiat: { ...WIRE, bank_reference: `${WIRE.bank_reference}${payments}` },
      occurred_at: new Date().toISOString(),
    })
  const crypto = await stage.deposit('300', { asset: 'USDP' })
  const heldCrypto = await stage.deposit('300', { asset: 'USDP' })
  const [unattributed, fiat, heldFiat] = [await wire(), await wire(), await wire()]
  for (const { id } of [fiat, heldFiat]) {
    await call('POST', `/deposits/${id}/assign`, { profile_id: stage.customer.profileId })
  }
  for (const { id } of [heldCrypto, heldFiat]) await call('POST', `/deposits/${id}/hold`, { reason: 'asked' })
  const cryptoTexts = ({ crypto: { address, tx_hash } }: typeof crypto) => [address, tx_hash]
  const fiatTexts = ({ fiat: { sender, bank_reference } }: typeof fiat) => [sender, bank_reference]
  const path = ({ id }: { id: string }) => `/money/deposits/${id}`
  return [
    ...(await requestSights([], [crypto, fiat])),
    ...page(path(crypto), cryptoTexts(crypto), ['Correct', 'Hold', 'Reverse']),
    ...page(path(heldCrypto), cryptoTexts(heldCrypto), ['Release', 'Reject']),
    ...page(path(unattributed), fiatTexts(unattributed), ['Assign']),
    ...page(path(fiat), fiatTexts(fiat), ['Correct', 'Hold', 'Reverse']),
    ...page(path(heldFiat), fiatTexts(heldFiat), ['Release', 'Reject']),
    { path: path(crypto), button: 'Return', values: { 'Address on ETHEREUM': ELSEWHERE }, texts: [ELSEWHERE] },
    { path: path(fiat), button: 'Return', values: { 'Bank account': BANK_ACCOUNT, Memo: MEMO }, texts: BANK.texts },
  ]
}

async function orchestrationSights(): Promise<readonly Sight[]> {
  const free = await untilTwo('/deliveries?status=WAITING', '200')
  for (const { id } of await untilTwo('/deliveries?status=WAITING', '201')) {
    const request = await requested(`/deliveries/${id}/fail`, { reason: 'not wanted', attempt: 0 })
    const { version } = (await admin.call('GET', `/change-requests/${request}`)).body
    expect((await admin.call('POST', `/change-requests/${request}/confirm`, { version })).status).toBe(200)
  }
  // What leaves is held back when it would be handed out.
  await stage.call('POST', '/deliveries/claim', { executor: 'alex', limit: 10, lease_seconds: 60 })
  const waiting = await untilTwo('/orchestrations?waiting_for=HOLD', '200')
  const failed = await untilTwo('/orchestrations?status=FAILED', '201')
  const path = ({ id }: { id: string }) => `/money/orchestrations/${id}`
  return [
    ...free.flatMap((each: Body) => page(`/money/deliveries/${each.id}`, textsOf(each), ['Claim'])),
    ...waiting.flatMap((each: Body) => page(path(each), textsOf(each), ['Release'])),
    ...failed.flatMap((each: Body) => page(path(each), textsOf(each), ['Retry'])),
  ]
}

/** What this file uses of the page, inside of it. */
interface InPage {
  readonly document: { elementFromPoint(x: number, y: number): unknown }
  getSelection(): { selectAllChildren(element: unknown): void; toString(): string }
}

/** How much of a text a person cannot see, by its groups: outside the screen, clipped, or under something else. */
async function hiddenParts(text: Locator): Promise<readonly string[]> {
  const hidden: string[] = []
  for (const group of await text.locator('.group').all()) {
    const isSeen = await group.evaluate((element) => {
      element.scrollIntoView({ block: 'center' })
      const { document } = globalThis as unknown as InPage
      const parts = [...element.getClientRects()]
      const isUncovered = (x: number, y: number) => element.contains(document.elementFromPoint(x, y) as never)
      return (
        parts.length > 0 &&
        parts.every(({ left, right, top, bottom }) =>
          [left + 1, right - 1].every((x) => isUncovered(x, (top + bottom) / 2)),
        )
      )
    })
    if (!isSeen) hidden.push((await group.textContent()) ?? '')
  }
  return hidden
}

async function look(at: Page, sight: Sight, picture: string): Promise<void> {
  const { path, button, values = {}, texts } = sight
  const name = `${path} ${button ?? ''}`
  await at.goto(stage.url + path)
  await at.getByRole('heading', { level: 1 }).waitFor()
  await at.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' })
  if (button !== undefined) await at.getByRole('button', { name: button, exact: true }).click()
  const scope = button === undefined ? at.locator('main') : at.getByRole('dialog')
  for (const [label, value] of Object.entries(values)) await scope.getByLabel(label).fill(value)
  for (const text of texts) {
    const shown = scope.locator('.exact').filter({ has: at.getByRole('button', { name: `Copy ${text}`, exact: true }) })
    await shown.first().waitFor()
    expect.soft([name, await shown.first().textContent()]).toEqual([name, text])
    expect.soft([name, await hiddenParts(shown.first())]).toEqual([name, []])
  }
  expect.soft([name, await accessibilityFaults(at)]).toEqual([name, []])
  const overflow = await at.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
  expect.soft([name, overflow <= 0]).toEqual([name, true])
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  const [, , kind = ''] = path.split('/')
  const form = texts.some((text) => text.startsWith('0x')) ? 'address' : 'bank'
  await at.screenshot({ path: join(PICTURES, `${kind}-${button ?? 'page'}-${form}-${picture}.png`) })
}

describe.skipIf(CHROMIUM.isSkipped).each(LOOKS)('in %s at %d pixels', (colorScheme, width) => {
  it('every dialog about money and every record shows the whole destination', async () => {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } })
    await admin.shareWith(context)
    const watched = await watchedPage(context, stage.service.operator.url)
    for (const sight of sights) await look(watched.page, sight, `${colorScheme}-${width}`)
    expect(watched.faults).toEqual([])
    await context.close()
  })
})

it.skipIf(CHROMIUM.isSkipped)('an address is copied without gaps, by the button and by a selection', async () => {
  const { page, context } = admin
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${stage.url}/review/rules/${stage.customer.pendingRuleId}`)
  await page.getByRole('button', { name: `Copy ${ELSEWHERE}` }).click()
  await page.getByText('Copied').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(ELSEWHERE)
  const selected = await page
    .locator('.exact')
    .filter({ has: page.getByRole('button', { name: `Copy ${ELSEWHERE}` }) })
    .evaluate((element) => {
      const selection = (globalThis as unknown as InPage).getSelection()
      selection.selectAllChildren(element)
      return selection.toString()
    })
  expect(selected.trim()).toBe(ELSEWHERE)
})

it.skipIf(CHROMIUM.isSkipped)(
  'a memo cannot imitate other text by characters that reorder it or are not seen',
  async () => {
    const { page } = admin
    await page.goto(stage.url + disguised)
    await page.locator('.exact').getByText('a[U+202E]b[U+200B]c[U+000A]d').waitFor()
  },
)
