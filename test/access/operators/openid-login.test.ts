/** Logins at a real OpenID Connect issuer, by a browser that follows it there and back. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OPENID_CLIENT, OpenidProvider } from '../../support/openid-provider.ts'
import { CONSOLE_ORIGIN, type Page, ScriptedBrowser } from './openid-browser.ts'
import { type OperatorNode, openOperatorNode, Person } from './operator-node.ts'

const CALLBACK = `${CONSOLE_ORIGIN}/admin/v1/login/openid/callback`
const START = `${CONSOLE_ORIGIN}/admin/v1/login/openid`
let provider: OpenidProvider
let node: OperatorNode

beforeAll(async () => {
  provider = await OpenidProvider.start(CALLBACK, ['ada-0001', 'bob-0002', 'eve-0003'])
  node = await openOperatorNode({
    publicUrl: CONSOLE_ORIGIN,
    trustedProxies: ['127.0.0.1'],
    openid: { issuer: provider.url, clientId: OPENID_CLIENT.id, clientSecret: OPENID_CLIENT.secret },
  })
  await node.ask('POST', '/operators', { name: 'ada', role: 'reviewer', subject: 'ada-0001' })
})
afterAll(async () => {
  await node?.close()
  await provider?.close()
})

let addresses = 0
const newBrowser = () => new ScriptedBrowser(node, `192.0.2.${++addresses}`)
const isCallback = ({ pathname }: URL) => pathname.endsWith('/callback')

/** Goes to the issuer and signs in there; stops before the redirection back, or at the console. */
async function signIn(browser: ScriptedBrowser, who: string, { start = START, toEnd = true } = {}): Promise<Page> {
  const question = await browser.follow(await browser.open(start))
  expect([question.status, question.url.origin]).toEqual([200, provider.url])
  const answer = await browser.open(question.url, { who })
  return await browser.follow(answer, toEnd ? ({ pathname }) => pathname.startsWith('/console/') : isCallback)
}

describe('a login at the issuer', () => {
  it('a login at the issuer is offered with the host of the issuer, and opens a session of the bound operator', async () => {
    const browser = newBrowser()
    expect((await browser.loginWays()).openid).toEqual({ start: START, label: new URL(provider.url).host })
    const first = await browser.open(`${START}?return=/console/review/rules`)
    expect(first.headers.get('set-cookie')).toMatch(
      /^__Host-tidegate-operator-login=begun\.[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
    )
    const asked = new URL(first.headers.get('location') ?? '')
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      client_id: OPENID_CLIENT.id,
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: 'openid',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const page = await signIn(browser, 'ada-0001', { start: `${START}?return=/console/review/rules` })
    expect(page.url.href).toMatch(/^https:\/\/[^/]+\/console\/review\/rules#session=tgp_[\w-]{43}$/)
    expect(page.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-tidegate-operator=tgs_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
      '__Host-tidegate-operator-login=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
    ])
    expect(await browser.session()).toMatchObject({ operator: { name: 'ada', role: 'reviewer' }, via: 'session' })
    const { body } = await node.ask('GET', '/operators/ada')
    expect(body).toMatchObject({ has_password: false, openid: { issuer: `${provider.url}/`, subject: 'ada-0001' } })
    expect(body.last_login_at).toBeDefined()
    expect((await node.auditOf('ada'))[0]).toMatchObject({
      actor: 'operator:ada',
      action: 'operator.login',
      detail: { way: 'openid' },
    })
  })

  it('a login at the issuer has the role, the CSRF protection and the ends of any session', async () => {
    const browser = newBrowser()
    await signIn(browser, 'ada-0001')
    const session = await browser.session()
    if (typeof session === 'number') throw new Error(`no session: ${session}`)
    const cookie = `__Host-tidegate-operator=${browser.cookie('__Host-tidegate-operator')}`
    const through = { cookie, 'x-forwarded-for': '192.0.2.1', origin: CONSOLE_ORIGIN }
    const approve = (headers: object) => node.ask('POST', '/rules/1/approve', {}, { ...through, ...headers })
    expect((await approve({})).body.code).toBe('csrf_failed')
    expect((await approve({ 'x-csrf-token': session.csrf_token })).status).toBe(200)
    const change = { password: 'x', totp: '000000', new_password: 'a long enough password' }
    const own = await node.ask('POST', '/session/password', change, { ...through, 'x-csrf-token': session.csrf_token })
    expect([own.status, own.body.meta]).toEqual([409, { current: 'no_password' }])
    const settle = await node.ask(
      'POST',
      '/deliveries/1/settle',
      {},
      { ...through, 'x-csrf-token': session.csrf_token },
    )
    expect(settle.body.code).toBe('insufficient_role')
    node.clock.advance(30 * 60_000)
    expect(await browser.session()).toBe(401)
  })

  it('a login at the issuer ends with the address at which the issuer asks the person to end its own session too', async () => {
    const browser = newBrowser()
    await signIn(browser, 'ada-0001')
    const session = await browser.session()
    if (typeof session === 'number') throw new Error(`no session: ${session}`)
    const cookie = `__Host-tidegate-operator=${browser.cookie('__Host-tidegate-operator')}`
    const headers = {
      cookie,
      'x-forwarded-for': '192.0.2.1',
      origin: CONSOLE_ORIGIN,
      'x-csrf-token': session.csrf_token,
    }
    const { status, body } = await node.ask('DELETE', '/session', undefined, headers)
    const address = `${provider.url}/session/end?client_id=${OPENID_CLIENT.id}`
    expect([status, body]).toEqual([200, { issuer_logout: address }])
    const page = await browser.open(new URL(address))
    expect([page.status, await browser.session()]).toEqual([200, 401])
    expect(page.text).toContain('Do you want to sign-out')
  })

  it('a login at the issuer without an operator shows the subject to this browser alone, and is in the audit trail', async () => {
    const browser = newBrowser()
    const page = await signIn(browser, 'eve-0003')
    expect([page.url.href, await browser.session()]).toEqual([`${CONSOLE_ORIGIN}/console/`, 401])
    expect((await browser.loginWays()).openid.refusal).toEqual({ reason: 'unknown_operator', subject: 'eve-0003' })
    expect((await newBrowser().loginWays()).openid.refusal).toBeUndefined()
    expect((await node.auditOf('operator'))[0]).toMatchObject({
      actor: 'unknown',
      action: 'operator.login_refused',
      detail: { reason: 'unknown_operator', openid: { issuer: `${provider.url}/`, subject: 'eve-0003' } },
    })
    expect(node.failedLogins.length).toBeGreaterThan(0)
  })

  it('a login at the issuer of a disabled operator is refused, until the operator is enabled', async () => {
    await node.ask('POST', '/operators', { name: 'bob', role: 'viewer', subject: 'bob-0002' })
    await node.ask('PATCH', '/operators/bob', { enabled: false })
    const browser = newBrowser()
    await signIn(browser, 'bob-0002')
    expect([await browser.session(), (await browser.loginWays()).openid.refusal]).toEqual([
      401,
      { reason: 'disabled', subject: 'bob-0002' },
    ])
    expect((await node.auditOf('bob'))[0]).toMatchObject({ actor: 'operator:bob', action: 'operator.login_refused' })
    expect((await node.ask('GET', '/operators/bob')).body.last_login_at).toBeUndefined()
    await node.ask('PATCH', '/operators/bob', { enabled: true })
    const again = newBrowser()
    await signIn(again, 'bob-0002')
    expect(await again.session()).toMatchObject({ operator: { name: 'bob' } })
  })

  it('a login at the issuer that the person cancels is refused', async () => {
    const browser = newBrowser()
    await signIn(browser, 'cancel')
    expect((await browser.loginWays()).openid.refusal).toEqual({ reason: 'denied' })
  })

  it('a login at the issuer is finished once, and only by the browser that began it', async () => {
    const browser = newBrowser()
    const { url } = await signIn(browser, 'ada-0001', { toEnd: false })
    // Another browser, with no login under way, and with one of its own.
    const other = newBrowser()
    for (const begins of [false, true]) {
      if (begins) await other.open(START)
      await other.open(url)
      expect([await other.session(), (await other.loginWays()).openid.refusal]).toEqual([401, { reason: 'expired' }])
    }
    const cookie = browser.cookie('__Host-tidegate-operator-login') as string
    await browser.open(url)
    expect(await browser.session()).toMatchObject({ operator: { name: 'ada' } })
    // The same redirection again: without the cookie, and with a copy of it.
    await browser.open(url)
    expect((await browser.loginWays()).openid.refusal).toEqual({ reason: 'expired' })
    const thief = newBrowser()
    thief.setCookie('__Host-tidegate-operator-login', cookie)
    await thief.open(url)
    expect([await thief.session(), (await thief.loginWays()).openid.refusal]).toEqual([401, { reason: 'failed' }])
  })

  it('a login at the issuer ends after ten minutes', async () => {
    const browser = newBrowser()
    const { url } = await signIn(browser, 'ada-0001', { toEnd: false })
    node.clock.advance(600_000)
    await browser.open(url)
    expect((await browser.loginWays()).openid.refusal).toEqual({ reason: 'expired' })
  })

  it('a login at the issuer returns to a page of the console, and nowhere else', async () => {
    const elsewhere = [
      ...['https://attacker.example/', '//attacker.example/', '/\\attacker.example/', '/console/../admin/v1/login'],
      ...['/console', '/consoles/', '/console/\r\nset-cookie: a=b', '/console/?a=b', '/console/#a', ''],
    ]
    for (const path of elsewhere) {
      const { status } = await newBrowser().open(`${START}?return=${encodeURIComponent(path)}`)
      expect([path, status]).toEqual([path, 400])
    }
    // A cookie with another path does not fit the state.
    const browser = newBrowser()
    const { url } = await signIn(browser, 'ada-0001', { toEnd: false })
    const [begun, at, secret] = (browser.cookie('__Host-tidegate-operator-login') as string).split('.')
    for (const path of ['/console/operators', 'https://attacker.example/']) {
      const changed = [begun, at, secret, Buffer.from(path).toString('base64url')].join('.')
      browser.setCookie('__Host-tidegate-operator-login', changed)
      expect((await browser.open(url)).headers.get('location')).toBe(`${CONSOLE_ORIGIN}/console/`)
      expect(await browser.session()).toBe(401)
    }
  })

  it('a login at the issuer is refused with its reason ten times per address, then as too many, and succeeds in between', async () => {
    const address = '198.51.100.7'
    const refusals: (string | undefined)[] = []
    for (let count = 0; count < 11; count++) {
      const browser = new ScriptedBrowser(node, address)
      await signIn(browser, 'cancel')
      refusals.push((await browser.loginWays()).openid.refusal?.reason)
    }
    expect(refusals).toEqual([...Array(10).fill('denied'), 'rate_limited'])
    const browser = new ScriptedBrowser(node, address)
    await signIn(browser, 'ada-0001')
    expect(await browser.session()).toMatchObject({ operator: { name: 'ada' } })
  })

  it('a login at the issuer begins only where the connection of the browser is encrypted', async () => {
    const { status, body } = await node.ask('GET', '/login/openid', undefined, {})
    expect([status, body.code]).toEqual([403, 'login_unavailable'])
    expect((await node.ask('GET', '/login/openid/callback?code=a&state=b', undefined, {})).status).toBe(403)
  })
})

describe('the subject of an operator', () => {
  it("an operator's subject is set by an admin, replaces the password, and a reset removes it", async () => {
    const person = await Person.create(node, 'carl', 'viewer')
    const login = { name: 'carl', password: person.password, totp: person.code() }
    const session = await person.logIn()
    const set = await node.ask('PATCH', '/operators/carl', { subject: 'carl-0004' })
    expect(set.body).toMatchObject({ has_password: false, openid: { subject: 'carl-0004' } })
    // The session that the password opened has ended, and the password is not accepted any more.
    expect((await node.ask('GET', '/session', undefined, session.headers)).status).toBe(401)
    node.clock.advance(60_000)
    const refused = await node.ask('POST', '/session', { ...login, totp: person.code() }, {})
    expect([refused.status, refused.body.code]).toEqual([401, 'login_failed'])
    const same = await node.ask('PATCH', '/operators/carl', { subject: 'carl-0004' })
    expect(same.status).toBe(200)
    const reset = await node.ask('POST', '/operators/carl/reset', {})
    expect(reset.body.openid).toBeUndefined()
    expect(reset.body.setup_link).toBeDefined()
    const updates = (await node.auditOf('carl')).filter(({ action }) => action === 'operator.update')
    expect(updates).toMatchObject([{ detail: { openid: { issuer: `${provider.url}/`, subject: 'carl-0004' } } }])
  })

  it("an operator's subject ends an open setup link, and is removed by null", async () => {
    const { body } = await node.ask('POST', '/operators', { name: 'dora', role: 'viewer' })
    const token = body.setup_link.split('#setup=')[1]
    await node.ask('PATCH', '/operators/dora', { subject: 'dora-0005' })
    expect((await node.ask('POST', '/setup', { token }, {})).body.code).toBe('setup_link_invalid')
    const removed = await node.ask('PATCH', '/operators/dora', { subject: null })
    expect([removed.body.openid, removed.body.has_password]).toEqual([undefined, false])
  })

  it("an operator's subject belongs to one operator, and needs no setup link", async () => {
    const created = await node.ask('POST', '/operators', { name: 'finn', role: 'viewer', subject: 'finn-0006' })
    expect([created.status, created.body.setup_link]).toEqual([200, undefined])
    const taken = [
      await node.ask('POST', '/operators', { name: 'gina', role: 'viewer', subject: 'finn-0006' }),
      await node.ask('PATCH', '/operators/ada', { subject: 'finn-0006' }),
    ]
    expect(taken.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([409, 'already_exists']))
    expect((await node.ask('GET', '/operators/gina')).status).toBe(404)
    expect((await node.ask('POST', '/operators', { name: 'gina', role: 'viewer', subject: 'ä' })).status).toBe(400)
  })

  it("an operator's subject of an earlier issuer counts for no login at this one", async () => {
    const { db } = node
    const tables = db.tables<{ operators: { name: string; issuer: string } }>()
    await node.ask('POST', '/operators', { name: 'hugo', role: 'admin', subject: 'bob-0002-old' })
    await node.ask('PATCH', '/operators/bob', { subject: null })
    await tables
      .updateTable('operators')
      .set({ issuer: 'https://earlier.example/' })
      .where('name', '=', 'hugo')
      .execute()
    await tables
      .updateTable('operators')
      .set({ issuer_subject: 'bob-0002' } as object)
      .where('name', '=', 'hugo')
      .execute()
    const browser = newBrowser()
    await signIn(browser, 'bob-0002')
    expect((await browser.loginWays()).openid.refusal).toEqual({ reason: 'unknown_operator', subject: 'bob-0002' })
  })

  it("an operator's subject cannot be set without an issuer, which is then not offered either", async () => {
    const plain = await openOperatorNode()
    try {
      const { status, body } = await plain.ask('POST', '/operators', { name: 'ada', role: 'viewer', subject: 'x' })
      expect([status, body.code, body.meta]).toEqual([409, 'invalid_state', { current: 'no_issuer' }])
      expect((await plain.ask('GET', '/login', undefined, {})).body.openid).toBeUndefined()
      for (const path of ['/login/openid', '/login/openid/callback']) {
        expect((await plain.ask('GET', path, undefined, {})).status).toBe(404)
      }
    } finally {
      await plain.close()
    }
  })
})
