/**
 * A service with people, customers and money for tests of the console: the built program with simulated markets, where
 * deliveries are paid by hand. People are set up through the API, each with a role, and their browsers have sessions.
 */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { SCOPES } from '../../src/contract/scopes.ts'
import { DEMO_DEFAULTS } from '../../src/service/config/markets.ts'
import { accountPublicKey } from '../support/address-keys.ts'
import { answerFaults } from '../support/documented-answers.ts'
import { ensureBuilt, type ServiceProcess, startServiceProcess, temporaryFolder } from '../support/running-service.ts'
import { fetchToken, SampleClient } from '../support/sample-client.ts'

export const PASSWORD = 'correct horse battery staple'
/** An address that no customer has. */
export const ELSEWHERE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const DESTINATION = ELSEWHERE
const DEPOSIT_SCOPES = Object.keys(SCOPES).filter((scope) => !/publish|sandbox/.test(scope))

export type Role = 'viewer' | 'reviewer' | 'treasurer' | 'admin'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
type Body = any

export interface ConsoleStage {
  readonly service: ServiceProcess
  /** The console's address, such as `http://127.0.0.1:8081/console`. */
  readonly url: string
  /** The link of the first admin. */
  readonly setupLink: string
  readonly customer: CustomerOnStage
  /** A call of the operator API with the single token. */
  call(method: string, path: string, body?: object): Promise<Body>
  /** Creates an operator, sets up the login and opens a browser with the session. */
  person(browser: Browser, name: string, role: Role, options?: Parameters<Browser['newContext']>[0]): Promise<Person>
  /**
   * Reports a payment to the customer's address, or to another one. The rule that is active makes a delivery of USDC, which
   * is the asset if none is given; other assets are credited only.
   */
  deposit(amount: string, payment?: { to?: string; asset?: string; status?: string }): Promise<Body>
  stop(): Promise<void>
}

export interface CustomerOnStage {
  readonly id: string
  readonly name: string
  readonly clientId: string
  /** An account that waits for review. */
  readonly pendingAccountId: string
  /** A rule that waits for approval. */
  readonly pendingRuleId: string
  readonly profileId: string
  call(method: string, path: string, body?: object): Promise<Body>
  /** Opens a connection to the stream, in the extended protocol. */
  connect(): Promise<SampleClient>
}

export interface Person {
  readonly name: string
  /** The secret of the authenticator, as it is shown. */
  readonly secret: string
  readonly context: BrowserContext
  readonly page: Page
  /** What must not happen on any page: errors, refused resources, requests to another origin. */
  readonly faults: string[]
  /** Gives the session to another browser. */
  shareWith(other: BrowserContext): Promise<void>
  /** A call of the page's session. */
  call(method: string, path: string, body?: object): Promise<{ status: number; body: Body }>
}

const ENGINE = join(import.meta.dirname, '../fixtures/two-books.mjs')

/** Settings of a stage with recordings, and with a market that has two sources. */
export const RECORDED_AND_JOINED = {
  'recording.dir': 'recordings',
  markets: JSON.stringify([
    ...DEMO_DEFAULTS.markets,
    {
      symbol: 'XBTUSD',
      base_asset: 'XBT',
      quote_asset: 'USD',
      price_decimals: 2,
      amount_decimals: 8,
      depth: 100,
      sources: [`module:${ENGINE}:BTCUSD`, `module:${ENGINE}:BTCEUR`],
    },
  ]),
}

/** What an authenticator shows (RFC 6238); `later` steps ahead, because each code is accepted once. */
export function codeOf(secret: string, later = 0): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later))
  const hash = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const place = (hash.at(-1) ?? 0) & 15
  return String((hash.readUInt32BE(place) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

function fromBase32(text: string): Uint8Array {
  const bits = [...text.replaceAll(' ', '')]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}

export async function openConsoleStage(flags: Readonly<Record<string, string | number>> = {}): Promise<ConsoleStage> {
  ensureBuilt()
  const folder = temporaryFolder()
  const service = await startServiceProcess('serve', folder.path, {
    'custody.evm.xpub': accountPublicKey(5),
    'rules.approval': 'required',
    'destinations.approval': 'required',
    ...flags,
  })
  const { operator } = service
  const call = (method: string, path: string, body?: object): Promise<Body> =>
    operator.call(method as 'GET', path, body ?? (method === 'GET' ? undefined : {}))
  const setupLink = readFileSync(join(folder.path, 'console-setup'), 'utf8').trim()
  // A call that needs a second person has a comment, and no other may have one.
  const comment = String(flags['operator.four_eyes']).includes('approvals') ? { comment: 'set up by the test' } : {}
  const { customer, address } = await openCustomer(service, call, comment)
  let payments = 0
  return {
    service,
    url: `${operator.url}/console`,
    setupLink,
    customer,
    call,
    person: (browser, name, role, options) => openPerson(browser, operator.url, call, { name, role, options }),
    deposit: (amount, { to = address, asset = 'USDC', status = 'COMPLETED' } = {}) => {
      const txHash = `0x${(++payments).toString(16).padStart(64, '0')}`
      return call('POST', '/deposits', {
        source: 'custody',
        external_id: `payment-${payments}`,
        asset,
        amount,
        status,
        crypto: { network: 'ETHEREUM', address: to, tx_hash: txHash, tx_index: 0 },
        occurred_at: new Date().toISOString(),
      })
    },
    async stop() {
      await service.stop()
      folder.remove()
    },
  }
}

/** A customer with two accounts: one that waits for review, and one with a rule that is active and one that waits. */
async function openCustomer(service: ServiceProcess, operator: ConsoleStage['call'], approval: object) {
  const name = 'Northwind Securities'
  const { id } = await operator('POST', '/customers', { name, streaming: true })
  const client = await operator('POST', `/customers/${id}/clients`, { name: 'onboarding', scopes: DEPOSIT_SCOPES })
  const token = await fetchToken({
    authUrl: service.http,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    scope: DEPOSIT_SCOPES.join(' '),
  })
  const call = async (method: string, path: string, body?: object): Promise<Body> => {
    const answer = await fetch(service.http + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
    return answer.json()
  }
  const connect = () => SampleClient.connect({ wsUrl: service.ws, token, protocols: ['tidegate.v1'] })
  const account = (identity: string) =>
    call('POST', '/v2/identity/accounts', { account: { identity_id: identity }, create_profile: true })
  const pending = await account('ada.north')
  const { profile_id: profileId } = await account('birch-gmbh')
  const rule = async (reference: string): Promise<Body> => {
    const answer = await call('POST', '/v2/orchestration/rules', {
      ref_id: reference,
      profile_id: profileId,
      source_asset: 'USDC',
      destination_asset: 'USDG',
      source: { crypto: { network: 'ETHEREUM' } },
      destination: { crypto: { network: 'ETHEREUM', address: DESTINATION } },
    })
    return answer.rule ?? answer
  }
  const { id: activeRuleId } = await rule('payout-monthly')
  const active = await operator('POST', `/rules/${activeRuleId}/approve`, approval)
  const { id: pendingRuleId } = await rule('payout-weekly')
  const clientId: string = client.client_id
  const customer = { id, name, clientId, pendingAccountId: pending.id, pendingRuleId, profileId, call, connect }
  // With four eyes there is only a request, and no rule is active.
  return { customer, address: (active.source?.crypto.address ?? '') as string }
}

/** Creates an operator, sets up the login and opens a browser with the session. */
export async function openPerson(
  browser: Browser,
  origin: string,
  operator: ConsoleStage['call'],
  person: { readonly name: string; readonly role: Role; readonly options?: Parameters<Browser['newContext']>[0] },
): Promise<Person> {
  const { name, role } = person
  const { setup_link: link } = await operator('POST', '/operators', { name, role })
  const token = link.split('#setup=')[1]
  const post = (path: string, body: object) =>
    fetch(`${origin}/admin/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { totp } = (await (await post('/setup', { token, password: PASSWORD })).json()) as Body
  const answer = await post('/setup/confirm', { token, totp: codeOf(totp.secret) })
  const [cookie = ''] = answer.headers.getSetCookie()
  const { csrf_token: csrfToken } = (await answer.json()) as Body
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...person.options })
  const [cookieName = '', value = ''] = (cookie.split(';')[0] as string).split('=')
  // What the page of the login would have kept. A tab that has logged in again has its own.
  const keepSecret = `sessionStorage.getItem('tidegate-session') ?? sessionStorage.setItem('tidegate-session', '${csrfToken}')`
  await context.addInitScript(keepSecret)
  await context.addCookies([{ name: cookieName, value, url: origin, sameSite: 'Strict', httpOnly: true }])
  const { page, faults } = await watchedPage(context, origin)
  return {
    name,
    secret: totp.secret,
    context,
    page,
    faults,
    async shareWith(other) {
      await other.addInitScript(keepSecret)
      await other.addCookies(await context.cookies())
    },
    async call(method, path, body) {
      const response = await fetch(`${origin}/admin/v1${path}`, {
        method,
        headers: {
          cookie: `${cookieName}=${value}`,
          origin,
          'x-csrf-token': csrfToken,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    },
  }
}

/**
 * A page that records every error, every answer of the operator API that is not as documented, what its policy refuses (the
 * browser reports it as an error), and every request to another origin.
 */
export async function watchedPage(context: BrowserContext, origin: string): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  const faults: string[] = []
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (!pathname.startsWith('/admin/v1/')) return
    const compare = (body: unknown) =>
      faults.push(...answerFaults(response.request().method(), pathname, response.status(), body))
    // A page that was left meanwhile has no answer.
    response.json().then(compare, () => undefined)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    // The browser reports calls refused on purpose, and those that a busy store could not answer in time: the page
    // repeats them.
    const isRefusal = /Failed to load resource: the server responded with a status of (4\d\d|503)/.test(message.text())
    if (message.type() === 'error' && !isRefusal) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const own = [origin, origin.replace(/^http/, 'ws'), 'data:', 'blob:']
    if (!own.some((start) => request.url().startsWith(start))) faults.push(`request to ${request.url()}`)
  })
  return { page, faults }
}
