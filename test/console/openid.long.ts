/**
 * Logins at an OpenID Connect issuer in a real browser: console and issuer are different sites, the console behind a
 * TLS proxy.
 */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newCertificate } from '../support/certificates.ts'
import { CHROMIUM } from '../support/foreign-programs.ts'
import { OPENID_CLIENT, OpenidProvider } from '../support/openid-provider.ts'
import { temporaryFolder } from '../support/running-service.ts'
import { accessibilityFaults } from './accessibility.ts'
import { type ConsoleStage, openConsoleStage } from './console-stage.ts'

const folder = temporaryFolder()
let proxy: Server
let origin: string
let provider: OpenidProvider
let stage: ConsoleStage
let browser: Browser
let context: BrowserContext
let page: Page

beforeAll(async () => {
  proxy = createServer(await newCertificate('127.0.0.1'))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  origin = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  provider = await OpenidProvider.start(`${origin}/admin/v1/login/openid/callback`, ['ada-0001', 'eve-0003'])
  const secretFile = join(folder.path, 'openid-secret')
  writeFileSync(secretFile, OPENID_CLIENT.secret, { mode: 0o600 })
  stage = await openConsoleStage({
    'operator.public_url': origin,
    'http.trusted_proxies': '[127.0.0.1]',
    'operator.oidc.issuer': provider.url,
    'operator.oidc.client_id': OPENID_CLIENT.id,
    'operator.oidc.client_secret_file': secretFile,
  })
  const { port } = new URL(stage.service.operator.url)
  proxy.on('request', (incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
    const { url: path = '', method = '' } = incoming
    const forwarded = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await stage.call('POST', '/operators', { name: 'ada', role: 'admin', subject: 'ada-0001' })
  browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  context = await browser.newContext({ ignoreHTTPSErrors: true })
  page = await context.newPage()
})
afterAll(async () => {
  await browser?.close()
  await stage?.stop()
  await provider?.close()
  proxy?.closeAllConnections()
  proxy?.close()
  folder.remove()
})

/** Begins at a page of the console, and clicks a name at the issuer. */
async function logIn(at: string, who: string): Promise<void> {
  await page.goto(`${origin}/console${at}`)
  await page.getByRole('link', { name: /^Log in with localhost:/ }).click()
  await page.getByRole('button', { name: who }).click()
}

it.skipIf(CHROMIUM.isSkipped)(
  'a person without an operator reads the reason and the own id, and an address cannot show another one',
  async () => {
    await logIn('/', 'eve-0003')
    const alert = page.getByRole('alert')
    await alert.waitFor()
    expect(await alert.innerText()).toMatch(/no operator has your identity[\s\S]*eve-0003/)
    expect(page.url()).toBe(`${origin}/console/`)
    expect(await accessibilityFaults(page)).toEqual([])
    const stranger = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
    await stranger.goto(`${origin}/console/?refusal=unknown_operator&subject=mallory#login-error=oidc_unknown_operator`)
    await stranger.getByRole('link', { name: /^Log in with localhost:/ }).waitFor()
    expect(await stranger.getByRole('alert').count()).toBe(0)
    await stranger.context().close()
  },
)

it.skipIf(CHROMIUM.isSkipped)('an admin signs in, returns to the page, and binds the person', async () => {
  await context.clearCookies()
  await logIn('/operators', 'ada-0001')
  await page.getByRole('heading', { name: 'Operators', level: 1 }).waitFor()
  expect(page.url()).toBe(`${origin}/console/operators`)
  await page.getByRole('button', { name: 'New operator' }).click()
  await page.getByLabel('Name', { exact: false }).first().fill('eve')
  await page.getByLabel('Subject at the issuer').fill('eve-0003')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: 'eve', level: 1 }).waitFor()
  await page.getByText('eve-0003').first().waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.goto(`${origin}/console/login`)
  await page.getByText('the issuer', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Operators' }).click()
  await page.getByRole('button', { name: 'New operator' }).click()
  await page.getByLabel('Name', { exact: false }).first().fill('finn')
  // The session ends; what was typed stays while the person signs in beside it.
  for (const role of ['viewer', 'admin']) await stage.call('PATCH', '/operators/ada', { role })
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const comeBack = () => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  const overlay = page.getByRole('heading', { name: 'Your session has ended' })
  await overlay.waitFor()
  await comeBack()
  const [beside] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: /^Log in with localhost:.*in a new tab/ }).click(),
  ])
  await beside.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await beside.close()
  await comeBack()
  await overlay.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: /Set-up link for finn/ }).waitFor()
  await page.goto(`${origin}/console/login`)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('link', { name: /^Log in with localhost:/ }).waitFor()
  await page.getByText('may still know you').waitFor()
  expect(await accessibilityFaults(page)).toEqual([])
  await page.getByRole('link', { name: 'sign out there too' }).click()
  await page.getByText('Do you want to sign-out').waitFor()
  expect(new URL(page.url()).origin).toBe(provider.url)
})

it.skipIf(CHROMIUM.isSkipped)('a bound person can sign in, and a disabled one cannot', async () => {
  await context.clearCookies()
  await logIn('/', 'eve-0003')
  await page.getByText('viewer').first().waitFor()
  await stage.call('PATCH', '/operators/eve', { enabled: false })
  await context.clearCookies()
  await logIn('/', 'eve-0003')
  await page.getByText('Your operator is disabled.').waitFor()
})
