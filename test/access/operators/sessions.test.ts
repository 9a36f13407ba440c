/** How people sign in, what their sessions may do, and how they end. */
import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EncryptionKey } from '../../../src/access/clients/encryption-key.ts'
import type { OperatorTables } from '../../../src/access/operators/tables.ts'
import { type OperatorNode, openOperatorNode, Person, type Session, sessionOf } from './operator-node.ts'

let node: OperatorNode
let people = 0
beforeAll(async () => {
  node = await openOperatorNode()
})
afterAll(() => node?.close())

const newPerson = (role = 'viewer') => Person.create(node, `person-${++people}`, role)
const whoAmI = (headers: Readonly<Record<string, string>>) => node.ask('GET', '/session', undefined, headers)
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

/** Logs in with other values than the right ones. */
function tryLogin(person: Person, wrong: object, headers: Readonly<Record<string, string>> = {}) {
  const { name, password } = person
  return node.ask('POST', '/session', { name, password, totp: person.code(), ...wrong }, headers)
}

describe('a login', () => {
  it('a login with name, password and code opens a session in a cookie that scripts cannot read', async () => {
    const person = await newPerson('treasurer')
    node.clock.advance(60_000)
    const answer = await tryLogin(person, {})
    expect(answer.body).toMatchObject({ operator: { name: person.name, role: 'treasurer' }, via: 'session' })
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^tidegate-operator=tgs_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const { body } = await whoAmI(sessionOf(node, answer).headers)
    expect(body).toEqual(answer.body)
    const [row] = await node.auditOf(person.name)
    expect(row).toMatchObject({ actor: `operator:${person.name}`, action: 'operator.login' })
    expect((await node.ask('GET', `/operators/${person.name}`)).body).toMatchObject({ has_password: true })
  })

  it('a login fails with one error, whatever is wrong', async () => {
    const person = await newPerson()
    const withoutPassword = (await node.ask('POST', '/operators', { name: 'not-set-up', role: 'viewer' })).body.name
    const disabled = await newPerson()
    await node.ask('PATCH', `/operators/${disabled.name}`, { enabled: false })
    node.clock.advance(60_000)
    const answers = [
      await tryLogin(person, { password: 'something else' }),
      await tryLogin(person, { totp: person.code() === '000000' ? '000001' : '000000' }),
      await tryLogin(person, { name: 'nobody' }),
      await tryLogin(person, { name: 'token' }),
      await tryLogin(person, { name: withoutPassword }),
      await tryLogin(disabled, {}),
    ]
    const [first, ...others] = answers.map(({ status, body }) => [status, body.code, body.detail])
    expect(first?.slice(0, 2)).toEqual([401, 'login_failed'])
    for (const other of others) expect(other).toEqual(first)
    expect(node.failedLogins.length).toBe(6)
    expect(await node.metricsText()).toContain('tidegate_operator_logins_total{result="failed"} 6')
    node.clock.advance(600_000)
  })

  it('a login is counted once, and none of the steps of a setup link before it', async () => {
    const counted = async () =>
      Number(/tidegate_operator_logins_total\{result="succeeded"\} (\d+)/.exec(await node.metricsText())?.[1])
    const before = await counted()
    const { body } = await node.ask('POST', '/operators', { name: `person-${++people}`, role: 'viewer' })
    const token = body.setup_link.split('#setup=')[1]
    expect((await node.ask('POST', '/setup', { token }, {})).status).toBe(200)
    const { person } = await Person.setUp(node, token)
    expect(await counted()).toBe(before + 1)
    await person.logIn()
    expect(await counted()).toBe(before + 2)
  })

  it('a login is 503 when another key has encrypted the authenticator, and counts as failed', async () => {
    const person = await newPerson()
    const secret = EncryptionKey.parse('cd'.repeat(32))?.encrypt(Buffer.alloc(20), 'operators.totp_secret')
    const operators = node.db.tables<OperatorTables>().updateTable('operators')
    await operators.set({ totp_secret: secret }).where('name', '=', person.name).execute()
    const failed = node.failedLogins.length
    expect(codeOf(await tryLogin(person, {}))).toEqual([503, 'encryption_key_missing'])
    expect(node.failedLogins.length).toBe(failed + 1)
    // Without the right password, nothing tells.
    expect(codeOf(await tryLogin(person, { password: 'something else' }))).toEqual([401, 'login_failed'])
    node.clock.advance(600_000)
  })

  it('a login with a code that was used before is refused, also with an earlier one', async () => {
    const person = await newPerson()
    node.clock.advance(60_000)
    const later = person.code(1)
    expect((await tryLogin(person, { totp: later })).status).toBe(200)
    expect(codeOf(await tryLogin(person, { totp: later }))).toEqual([401, 'login_failed'])
    expect(codeOf(await tryLogin(person, { totp: person.code() }))).toEqual([401, 'login_failed'])
    // Of two at the same time, one is accepted.
    node.clock.advance(90_000)
    const both = await Promise.all([1, 2].map(() => tryLogin(person, {})))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    node.clock.advance(600_000)
  })

  it('a login is offered where it is possible', async () => {
    expect((await node.ask('GET', '/login', undefined, {})).body).toMatchObject({ password: true })
    // Through an untrusted proxy, it may have come from anywhere.
    const forwarded = { 'x-forwarded-for': '192.0.2.1' }
    expect((await node.ask('GET', '/login', undefined, forwarded)).body).toMatchObject({
      password: false,
      password_reason: expect.stringContaining('operator.tls'),
    })
    const person = await newPerson()
    expect(codeOf(await tryLogin(person, {}, forwarded))).toEqual([403, 'login_unavailable'])
    expect(codeOf(await tryLogin(person, {}, { origin: 'https://attacker.example' }))).toEqual([403, 'foreign_origin'])
  })
})

describe('a session', () => {
  let person: Person
  let session: Session
  beforeAll(async () => {
    person = await newPerson('admin')
    session = await person.logIn()
  })
  const create = (headers: Readonly<Record<string, string>>) =>
    node.ask('POST', '/operators', { name: `made-${++people}`, role: 'viewer' }, headers)

  it('a session changes something only for a page of this listener, with the token of the session', async () => {
    const { headers, cookie, csrf } = session
    expect((await create(headers)).status).toBe(200)
    const other = await (await newPerson('admin')).logIn()
    const without: [string, Record<string, string>][] = [
      ['the token', { cookie, origin: node.url }],
      ['the right token', { ...headers, 'x-csrf-token': other.csrf }],
      ['an origin', { cookie, 'x-csrf-token': csrf }],
    ]
    for (const [what, sent] of without)
      expect([what, ...codeOf(await create(sent))]).toEqual([what, 403, 'csrf_failed'])
    expect(codeOf(await create({ ...headers, origin: 'http://127.0.0.1:1' }))).toEqual([403, 'foreign_origin'])
    expect((await whoAmI({ cookie, 'x-csrf-token': csrf })).status).toBe(200)
  })

  it('a session is of no use to a program that has its cookie alone, for any call', async () => {
    const { cookie, csrf } = session
    const { csrf: other } = await person.logIn()
    const derived = createHmac('sha256', cookie.split('=')[1] as string)
      .update('csrf')
      .digest('base64url')
    for (const sent of [undefined, '', 'tgp_guess', derived, other]) {
      const headers = { cookie, origin: node.url, ...(sent === undefined ? {} : { 'x-csrf-token': sent }) }
      for (const [method, path] of [
        ['GET', '/session'],
        ['GET', '/customers'],
        ['DELETE', '/session'],
      ] as const) {
        const answer = await node.ask(method, path, undefined, headers)
        expect([sent, path, ...codeOf(answer)]).toEqual([sent, path, 403, 'csrf_failed'])
        expect(JSON.stringify(answer.body)).not.toContain(csrf)
      }
    }
    expect(codeOf(await whoAmI({ 'x-csrf-token': csrf }))).toEqual([401, 'unauthorized'])
  })

  it('a session does not live longer by calls with its cookie alone', async () => {
    const { cookie, headers } = await person.logIn()
    node.clock.advance(20 * 60_000)
    expect((await whoAmI({ cookie })).status).toBe(403)
    node.clock.advance(10 * 60_000)
    expect(codeOf(await whoAmI(headers))).toEqual([401, 'session_ended'])
    session = await person.logIn()
  })

  it('a session is not accepted as a bearer token, nor a token as a session', async () => {
    const secret = session.cookie.split('=')[1] as string
    expect(codeOf(await whoAmI({ authorization: `Bearer ${secret}` }))).toEqual([401, 'invalid_token'])
    expect(codeOf(await whoAmI({ cookie: 'tidegate-operator=the-token-of-the-operator-for-scripts' }))).toEqual([
      401,
      'session_ended',
    ])
    // The name of encrypted connections means nothing here.
    expect(codeOf(await whoAmI({ cookie: `__Host-tidegate-operator=${secret}` }))).toEqual([401, 'unauthorized'])
  })

  it('a session ends half an hour after the last request', async () => {
    const { headers } = await person.logIn()
    for (let count = 0; count < 3; count++) {
      node.clock.advance(29 * 60_000)
      expect((await whoAmI(headers)).status).toBe(200)
    }
    node.clock.advance(30 * 60_000)
    expect(codeOf(await whoAmI(headers))).toEqual([401, 'session_ended'])
  })

  it('a session ends twelve hours after the login, however it is used', async () => {
    const { headers } = await person.logIn()
    const { body } = await whoAmI(headers)
    const end = Date.parse(body.expires_at)
    while (node.clock.wallInstant().milliseconds < end - 20 * 60_000) {
      node.clock.advance(20 * 60_000)
      expect((await whoAmI(headers)).status).toBe(200)
    }
    node.clock.advance(20 * 60_000)
    expect(codeOf(await whoAmI(headers))).toEqual([401, 'session_ended'])
  })

  it('a session ends when its operator signs out, is disabled, is reset or gets another role', async () => {
    const other = await newPerson('viewer')
    const signedOut = await other.logIn()
    const still = await other.logIn()
    const answer = await node.ask('DELETE', '/session', undefined, signedOut.headers)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
      200,
      'tidegate-operator=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ])
    expect(codeOf(await whoAmI(signedOut.headers))).toEqual([401, 'session_ended'])
    expect((await whoAmI(still.headers)).status).toBe(200)
    await node.ask('PATCH', `/operators/${other.name}`, { role: 'reviewer' })
    expect(codeOf(await whoAmI(still.headers))).toEqual([401, 'session_ended'])
    const again = await other.logIn()
    await node.ask('PATCH', `/operators/${other.name}`, { enabled: false })
    expect(codeOf(await whoAmI(again.headers))).toEqual([401, 'session_ended'])
    await node.ask('PATCH', `/operators/${other.name}`, { enabled: true })
    const last = await other.logIn()
    const reset = await node.ask('POST', `/operators/${other.name}/reset`, {})
    expect(codeOf(await whoAmI(last.headers))).toEqual([401, 'session_ended'])
    await expect(other.logIn()).rejects.toThrow('login_failed')
    const { person: after } = await Person.setUp(node, reset.body.setup_link.split('#setup=')[1])
    expect((await whoAmI((await after.logIn()).headers)).status).toBe(200)
    node.clock.advance(600_000)
  })

  it('a session beyond the tenth ends the one that was used longest ago', async () => {
    const other = await newPerson('viewer')
    const sessions: Session[] = []
    for (let count = 0; count < 11; count++) sessions.push(await other.logIn())
    const statuses = await Promise.all(sessions.map(async ({ headers }) => (await whoAmI(headers)).status))
    // The one that the setup opened ended first.
    expect(statuses).toEqual([401, ...Array(10).fill(200)])
  })
})

describe('a person who is signed in', () => {
  const change = (body: object, headers: Readonly<Record<string, string>>) =>
    node.ask('POST', '/session/password', body, headers)
  const NEW = 'another long password'

  it('a person who is signed in changes the own password, which ends the other sessions and an open link', async () => {
    const person = await newPerson()
    const other = await person.logIn()
    const { headers } = await person.logIn()
    expect((await whoAmI(headers)).body.has_password).toBe(true)
    node.clock.advance(60_000)
    const begun = await node.ask(
      'POST',
      '/session/authenticator',
      { password: person.password, totp: person.code() },
      headers,
    )
    node.clock.advance(60_000)
    const body = { password: person.password, totp: person.code(), new_password: NEW }
    const changed = await change(body, headers)
    // The sessions of the setup and of the first login.
    expect([changed.status, changed.body]).toEqual([200, { ended_sessions: 2 }])
    expect([(await whoAmI(headers)).status, (await whoAmI(other.headers)).status]).toEqual([200, 401])
    expect((await node.ask('POST', '/setup', { token: begun.body.token }, {})).status).toBe(401)
    expect((await node.auditOf(person.name))[0]).toMatchObject({
      actor: `operator:${person.name}`,
      action: 'operator.password',
    })
    node.clock.advance(60_000)
    expect((await tryLogin(person, {})).status).toBe(401)
    node.clock.advance(60_000)
    expect((await tryLogin(person, { password: NEW })).status).toBe(200)
  })

  it('a person who is signed in needs the present password and a code that was not used, and is limited like a login', async () => {
    const person = await newPerson()
    const { headers } = await person.logIn()
    const used = { password: person.password, totp: person.code(), new_password: NEW }
    expect(codeOf(await change(used, headers))).toEqual([401, 'login_failed'])
    node.clock.advance(60_000)
    const right = { ...used, totp: person.code() }
    const short = await change({ ...right, new_password: 'short' }, headers)
    expect([short.status, short.body.errors[0].pointer]).toEqual([400, '/new_password'])
    const { 'x-csrf-token': _, ...withoutToken } = headers
    expect(codeOf(await change(right, withoutToken))).toEqual([403, 'csrf_failed'])
    const codes: number[] = []
    for (let count = 0; count < 21; count++) codes.push((await change({ ...right, password: 'wrong' }, headers)).status)
    expect(codes.at(-1)).toBe(429)
    expect((await whoAmI(headers)).status).toBe(200)
    node.clock.advance(600_000)
    expect((await change({ ...right, totp: person.code() }, headers)).status).toBe(200)
  })

  it('a person who is signed in replaces the own authenticator, with the password as it is', async () => {
    const person = await newPerson()
    const { headers } = await person.logIn()
    node.clock.advance(60_000)
    const begun = await node.ask(
      'POST',
      '/session/authenticator',
      { password: person.password, totp: person.code() },
      headers,
    )
    expect(begun.body).toMatchObject({ token: expect.stringMatching(/^tgl_/), totp: { uri: expect.any(String) } })
    // Until it is confirmed, the old one counts.
    node.clock.advance(60_000)
    expect((await tryLogin(person, {})).status).toBe(200)
    const replaced = person.withSecret(begun.body.totp.secret)
    const { token } = begun.body
    expect((await node.ask('POST', '/setup/confirm', { token, totp: person.code() }, {})).status).toBe(401)
    const confirmed = await node.ask('POST', '/setup/confirm', { token, totp: replaced.code() }, {})
    expect(confirmed.body).toMatchObject({ operator: { name: person.name }, has_password: true })
    expect((await whoAmI(headers)).status).toBe(401)
    node.clock.advance(60_000)
    expect((await tryLogin(person, {})).status).toBe(401)
    node.clock.advance(60_000)
    expect((await tryLogin(replaced, {})).status).toBe(200)
  })

  it('a person who is signed in cannot be a program with a token', async () => {
    const body = { password: 'x', totp: '000000', new_password: NEW }
    const { status, body: problem } = await node.ask('POST', '/session/password', body)
    expect([status, problem.code, problem.meta]).toEqual([409, 'invalid_state', { current: 'no_session' }])
  })
})

describe('a setup link', () => {
  const linkOf = (body: { setup_link: string }) => body.setup_link.split('#setup=')[1] as string
  const newLink = async (name = `person-${++people}`) =>
    linkOf((await node.ask('POST', '/operators', { name, role: 'reviewer' })).body)

  it('a setup link shows for whom it is, and is used once', async () => {
    const token = await newLink('grace')
    const peek = await node.ask('POST', '/setup', { token }, {})
    expect(peek.body).toEqual({ name: 'grace', role: 'reviewer', expires_at: expect.any(String) })
    const { answer } = await Person.setUp(node, token)
    expect(answer.body.operator).toEqual({ name: 'grace', role: 'reviewer' })
    expect((await whoAmI(sessionOf(node, answer).headers)).status).toBe(200)
    for (const path of ['/setup', '/setup/confirm']) {
      const body = path === '/setup' ? { token } : { token, totp: '000000' }
      expect(codeOf(await node.ask('POST', path, body, {}))).toEqual([401, 'setup_link_invalid'])
    }
    const rows = await node.auditOf('grace')
    expect(rows.map(({ action }) => action)).toEqual(['operator.login', 'operator.setup', 'operator.create'])
  })

  it('a setup link is not used up by a wrong code or a missing password', async () => {
    const token = await newLink()
    expect(codeOf(await node.ask('POST', '/setup/confirm', { token, totp: '000000' }, {}))).toEqual([
      409,
      'invalid_state',
    ])
    await node.ask('POST', '/setup', { token, password: 'a long enough password' }, {})
    expect(codeOf(await node.ask('POST', '/setup/confirm', { token, totp: '000000' }, {}))).toEqual([
      401,
      'login_failed',
    ])
    const short = await node.ask('POST', '/setup', { token, password: 'short' }, {})
    expect([short.status, short.body.errors[0].pointer]).toEqual([400, '/password'])
    expect((await Person.setUp(node, token)).answer.status).toBe(200)
    node.clock.advance(600_000)
  })

  it('a setup link ends after a day, and when there is a newer one', async () => {
    const name = `person-${++people}`
    const first = await newLink(name)
    const second = linkOf((await node.ask('POST', `/operators/${name}/reset`, {})).body)
    expect(codeOf(await node.ask('POST', '/setup', { token: first }, {}))).toEqual([401, 'setup_link_invalid'])
    node.clock.advance(24 * 3_600_000 - 1)
    expect((await node.ask('POST', '/setup', { token: second }, {})).status).toBe(200)
    node.clock.advance(1)
    expect(codeOf(await node.ask('POST', '/setup', { token: second }, {}))).toEqual([401, 'setup_link_invalid'])
  })
})

describe('the first admin', () => {
  it('the first admin is set up with the link in a file that only this user can read, which is removed then', async () => {
    const fresh = await openOperatorNode()
    try {
      const read = () => readFileSync(fresh.setupFile, 'utf8').trim().split('#setup=')[1] as string
      expect((await fresh.ask('GET', '/login', undefined, {})).body.needs_setup).toBe(true)
      await fresh.setup.prepare()
      expect(statSync(fresh.setupFile).mode & 0o777).toBe(0o600)
      const first = read()
      await fresh.setup.prepare()
      expect(read()).toBe(first)
      const renewed = await fresh.ask('POST', '/operators/setup-link', {})
      expect(renewed.body).toMatchObject({ file: fresh.setupFile })
      expect(read()).not.toBe(first)
      expect((await fresh.ask('POST', '/setup', { token: first }, {})).status).toBe(401)
      // After its end, a start makes another.
      const second = read()
      fresh.clock.advance(24 * 3_600_000)
      await fresh.setup.prepare()
      expect(read()).not.toBe(second)
      const unnamed = await fresh.ask('POST', '/setup', { token: read(), password: 'a long enough password' }, {})
      expect([unnamed.status, unnamed.body.errors]).toEqual([400, [{ pointer: '/name', detail: expect.any(String) }]])
      const taken = await fresh.ask('POST', '/setup', { token: read(), name: 'token', password: 'a long password' }, {})
      expect(codeOf(taken)).toEqual([409, 'already_exists'])
      const { answer } = await Person.setUp(fresh, read(), 'ada')
      expect(answer.body.operator).toEqual({ name: 'ada', role: 'admin' })
      expect(existsSync(fresh.setupFile)).toBe(false)
      expect((await fresh.ask('GET', '/login', undefined, {})).body.needs_setup).toBe(false)
      expect(codeOf(await fresh.ask('POST', '/operators/setup-link', {}))).toEqual([409, 'invalid_state'])
      // Whoever could end the logins of the admins could otherwise become the only one.
      await fresh.ask('PATCH', '/operators/ada', { enabled: false })
      expect(codeOf(await fresh.ask('POST', '/operators/setup-link', {}))).toEqual([409, 'invalid_state'])
      await fresh.setup.prepare()
      expect(existsSync(fresh.setupFile)).toBe(false)
    } finally {
      await fresh.close()
    }
  })

  it('the first admin gets the link from the next start when the file could not be written at the first one', async () => {
    const fresh = await openOperatorNode()
    try {
      // A folder in the place of the temporary file stands for a full disk.
      mkdirSync(`${fresh.setupFile}.new`)
      await expect(fresh.setup.prepare()).rejects.toThrow()
      rmdirSync(`${fresh.setupFile}.new`)
      await fresh.setup.prepare()
      const token = readFileSync(fresh.setupFile, 'utf8').trim().split('#setup=')[1] as string
      expect((await Person.setUp(fresh, token, 'ada')).answer.status).toBe(200)
    } finally {
      await fresh.close()
    }
  })

  it('the first admin has one link, of several nodes that start at once, which every node accepts', async () => {
    const first = await openOperatorNode()
    const second = await openOperatorNode({ db: first.db })
    try {
      const nodes = [first, second]
      await Promise.all(nodes.map(({ setup }) => setup.prepare()))
      const writers = nodes.filter(({ setupFile }) => existsSync(setupFile))
      expect(writers).toHaveLength(1)
      const [writer] = writers as [OperatorNode]
      const other = writer === first ? second : first
      const token = readFileSync(writer.setupFile, 'utf8').trim().split('#setup=')[1] as string
      expect((await Person.setUp(other, token, 'ada')).answer.status).toBe(200)
      // Its node has not heard of it, and removes it with the next start.
      expect((await writer.ask('POST', '/setup', { token }, {})).status).toBe(401)
      await writer.setup.prepare()
      expect(nodes.filter(({ setupFile }) => existsSync(setupFile))).toEqual([])
    } finally {
      await second.close()
      await first.close()
    }
  })

  it('the first admin is not set up with the link when there is an admin already', async () => {
    const fresh = await openOperatorNode()
    try {
      await fresh.setup.prepare()
      const token = readFileSync(fresh.setupFile, 'utf8').trim().split('#setup=')[1] as string
      await Person.create(fresh, 'ada', 'admin')
      expect(codeOf(await fresh.ask('POST', '/setup', { token }, {}))).toEqual([401, 'setup_link_invalid'])
    } finally {
      await fresh.close()
    }
  })
})

describe('behind a proxy that terminates TLS', () => {
  it('a session has the cookie of encrypted connections, and the origin of the public address', async () => {
    const origin = 'https://operator.example'
    const proxied = await openOperatorNode({ publicUrl: `${origin}/`, trustedProxies: ['127.0.0.1'] })
    try {
      const through = { host: 'operator.example', 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
      const person = await Person.create(proxied, 'ada', 'admin')
      proxied.clock.advance(60_000)
      const { name, password } = person
      const login = { name, password, totp: person.code() }
      const answer = await proxied.ask('POST', '/session', login, { ...through, origin })
      expect(answer.headers.getSetCookie()[0]).toMatch(
        /^__Host-tidegate-operator=tgs_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      )
      const { cookie, csrf } = sessionOf(proxied, answer)
      const headers = { ...through, cookie, origin, 'x-csrf-token': csrf }
      expect((await proxied.ask('GET', '/session', undefined, headers)).status).toBe(200)
      expect((await proxied.ask('POST', '/operators', { name: 'b', role: 'viewer' }, headers)).status).toBe(200)
      // The proxy says that the browser's connection was not encrypted.
      const plain = { ...headers, 'x-forwarded-proto': 'http' }
      expect((await proxied.ask('GET', '/session', undefined, plain)).status).toBe(401)
      expect(codeOf(await proxied.ask('POST', '/session', login, { ...through, 'x-forwarded-proto': 'http' }))).toEqual(
        [403, 'login_unavailable'],
      )
    } finally {
      await proxied.close()
    }
  })
})
