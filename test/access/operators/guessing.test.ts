/**
 * Guessing at passwords, codes and links: it locks out no person who knows the secrets, is limited, and is shown to the
 * person.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RawPeer } from '../../hostile/raw-peer.ts'
import { type Answer, type OperatorNode, openOperatorNode, Person, sessionOf } from './operator-node.ts'

const PROXY = { 'x-forwarded-proto': 'https', host: 'operator.example' }
/** Every password is hashed with its full cost. */
const RIGHT_LOGINS = process.env.TIDEGATE_LONG === '1' ? 27 : 9

let node: OperatorNode
let people = 0
beforeAll(async () => {
  node = await openOperatorNode({ publicUrl: 'https://operator.example', trustedProxies: ['127.0.0.1'] })
})
afterAll(() => node?.close())

const newPerson = async () => {
  const name = `person-${++people}`
  const { body } = await node.ask('POST', '/operators', { name, role: 'viewer' })
  return (await Person.setUp(node, body.setup_link.split('#setup=')[1], undefined, from('192.0.2.250'))).person
}
const from = (address: string) => ({ ...PROXY, 'x-forwarded-for': address })
const codeOf = ({ status, body }: Answer) => [status, body.code]

interface Attempt {
  readonly address?: string
  readonly name?: string
  readonly password?: string
  readonly totp?: string
  readonly cookie?: string
}

/** A login with the right secrets and a code that was not used, except where the attempt has others. */
function attempt(person: Person, { address = '192.0.2.1', cookie, ...other }: Attempt = {}): Promise<Answer> {
  const { name, password } = person
  const headers = { ...from(address), ...(cookie === undefined ? {} : { cookie }) }
  return node.ask('POST', '/session', { name, password, totp: person.code(), ...other }, headers)
}

/** The cookie by which the browser of an answer is known. */
const knownCookie = ({ headers }: Answer) => headers.getSetCookie()[1]?.split(';')[0] as string
const wrongCode = (person: Person) => (person.code() === '000000' ? '000001' : '000000')

describe('a person who knows the secrets', () => {
  const guesses: [where: string, guess: (person: Person, count: number) => Attempt][] = [
    ['at the name from other addresses', (_, count) => ({ address: `198.51.100.${count}`, password: 'a guess' })],
    ['at other names from the same address', (_, count) => ({ name: `nobody-${count}`, password: 'a guess' })],
    ['at the name from the same address', () => ({ password: 'a guess' })],
  ]
  it.each(guesses)('a person who knows the secrets signs in while a program guesses %s', async (_, guess) => {
    const person = await newPerson()
    const statuses: number[] = []
    for (let login = 0; login < RIGHT_LOGINS; login++) {
      node.clock.advance(30_000)
      const guessed = Array.from({ length: 8 }, (_, count) => attempt(person, guess(person, count)))
      statuses.push((await attempt(person)).status)
      for (const { status } of await Promise.all(guessed)) expect([401, 429]).toContain(status)
    }
    expect(statuses).toEqual(Array(RIGHT_LOGINS).fill(200))
  })

  it('a person who knows the secrets sets up a login with a link while a program guesses links from the same address', async () => {
    const statuses: number[] = []
    for (let count = 0; count < 12; count++) {
      const answer = await node.ask('POST', '/setup', { token: `tgl_guess-${count}` }, from('192.0.2.250'))
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    const person = await newPerson()
    node.clock.advance(30_000)
    // Guesses of links used up nothing of the logins.
    const wrong = await attempt(person, { address: '192.0.2.250', password: 'a typing error' })
    expect(codeOf(wrong)).toEqual([401, 'login_failed'])
    expect((await attempt(person, { address: '192.0.2.250' })).status).toBe(200)
  })
})

describe('failed logins', () => {
  it('failed logins are limited by name and address', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const statuses: number[] = []
    for (let count = 0; count < 12; count++) statuses.push((await attempt(person, { password: 'a guess' })).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    const limited = await attempt(person, { password: 'a guess' })
    expect([...codeOf(limited), limited.headers.get('retry-after')]).toEqual([429, 'rate_limited', '5'])
    expect((await attempt(person, { password: 'a guess', address: '192.0.2.2' })).status).toBe(401)
    expect((await attempt(other, { password: 'a guess' })).status).toBe(401)
    node.clock.advance(5_000)
    expect((await attempt(person, { password: 'a guess' })).status).toBe(401)
  })

  it('failed logins of one connection are checked one at a time', async () => {
    const person = await newPerson()
    const answers = await pipelined(node.url, 3, { name: person.name, password: 'a guess', totp: '000000' })
    expect(answers.filter((status) => status === 429)).toHaveLength(2)
    expect(answers.filter((status) => status === 401)).toHaveLength(1)
  })

  it('failed logins are shown to the person at the next login, and the warning and the audit trail name the operator', async () => {
    const person = await newPerson()
    node.clock.advance(60_000)
    for (let count = 0; count < 3; count++) await attempt(person, { address: '198.51.100.9', password: 'a guess' })
    await attempt(person, { name: 'my-password-typed-here' })
    node.clock.advance(60_000)
    await attempt(person, { address: '198.51.100.9', password: 'a guess' })
    const answer = await attempt(person)
    expect(answer.body.failed_logins).toEqual({ count: 4, last_at: expect.stringMatching(/Z$/) })
    const { headers } = sessionOf(node, answer)
    const again = await node.ask('GET', '/session', undefined, {
      ...from('192.0.2.1'),
      ...headers,
      origin: 'https://operator.example',
    })
    expect(again.body.failed_logins).toEqual(answer.body.failed_logins)
    const warnings = node.lines.filter((line) => line.includes(`"operator":"${person.name}"`))
    expect(warnings.map((line) => JSON.parse(line).msg)).toContain('failed operator login')
    const rows = (await node.auditOf(person.name)).filter(({ action }) => action === 'operator_login.reject')
    expect(rows.map(({ detail }) => detail)).toEqual([
      { count: 1, addresses: { '198.51.100.9': 1 } },
      { count: 3, addresses: { '198.51.100.9': 3 } },
    ])
    expect(node.lines.join('')).not.toContain('my-password-typed-here')
    node.clock.advance(60_000)
    expect((await attempt(person)).body.failed_logins).toBeUndefined()
  })
})

describe('wrong codes after the right password', () => {
  it('wrong codes are limited before the next check, except in a browser in which the person has signed in', async () => {
    const person = await newPerson()
    node.clock.advance(60_000)
    const cookie = knownCookie(await attempt(person))
    node.clock.advance(60_000)
    for (let count = 0; count < 10; count++) await attempt(person, { totp: wrongCode(person) })
    // The right code, by chance, is not found.
    expect(codeOf(await attempt(person))).toEqual([429, 'rate_limited'])
    expect((await attempt(person, { address: '192.0.2.2' })).status).toBe(200)
    node.clock.advance(30_000)
    for (let count = 0; count < 10; count++) await attempt(person, { totp: wrongCode(person) })
    expect((await attempt(person, { cookie })).status).toBe(200)
  })

  it('wrong codes after the right password are limited over all addresses together', async () => {
    const person = await newPerson()
    node.clock.advance(60_000)
    const codes: unknown[] = []
    for (let count = 0; count < 100; count++) {
      codes.push((await attempt(person, { address: `198.51.100.${count}`, totp: wrongCode(person) })).body.code)
    }
    expect(new Set(codes)).toEqual(new Set(['login_failed']))
    expect(codeOf(await attempt(person, { address: '198.51.100.200' }))).toEqual([429, 'rate_limited'])
  })
})

describe('a browser in which a person has signed in', () => {
  it('a browser in which a person has signed in is known by an HttpOnly cookie, for this person and password alone', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    node.clock.advance(60_000)
    const answer = await attempt(person)
    expect(answer.headers.getSetCookie()[1]).toMatch(
      /^__Host-tidegate-known-[0-9a-f]{16}=[\w.-]{50,90}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=15552000$/,
    )
    const cookie = knownCookie(answer)
    const value = cookie.split('=')[1] as string
    const [id, end, signature = ''] = value.split('.')
    const useless = [
      // Of another person, forged, and with a later end.
      `${knownCookie(await attempt(other)).split('=')[0]}=${value}`,
      cookie.replace(value, [id, end, signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))].join('.')),
      cookie.replace(value, [id, Number(end) + 1, signature].join('.')),
    ]
    node.clock.advance(60_000)
    for (let count = 0; count < 10; count++) {
      await attempt(person, { totp: wrongCode(person) })
      await attempt(other, { totp: wrongCode(other) })
    }
    expect((await attempt(other, { cookie: useless[0] as string })).status).toBe(429)
    for (const forged of useless.slice(1)) expect((await attempt(person, { cookie: forged })).status).toBe(429)
    const signedIn = await attempt(person, { cookie })
    expect(signedIn.status).toBe(200)
    node.clock.advance(60_000)
    const { cookie: sessionCookie, headers } = sessionOf(node, signedIn)
    const page = { ...from('192.0.2.1'), ...headers, cookie: sessionCookie, origin: 'https://operator.example' }
    const body = { password: person.password, totp: person.code(), new_password: 'another long password' }
    const changed = await node.ask('POST', '/session/password', body, page)
    expect([changed.status, changed.headers.getSetCookie()]).toEqual([200, [expect.stringContaining('-known-')]])
    for (let count = 0; count < 12; count++) {
      await attempt(person, { password: 'another long password', totp: wrongCode(person) })
    }
    node.clock.advance(30_000)
    // The old cookie is worthless, and so is nothing else: time passed for six codes.
    const renewed = changed.headers.getSetCookie()[0]?.split(';')[0] as string
    for (let count = 0; count < 6; count++) {
      await attempt(person, { password: 'another long password', totp: wrongCode(person), cookie })
    }
    expect((await attempt(person, { password: 'another long password', cookie })).status).toBe(429)
    expect((await attempt(person, { password: 'another long password', cookie: renewed })).status).toBe(200)
  })

  it('a browser in which a person has signed in counts as unknown while it fails too often', async () => {
    const person = await newPerson()
    node.clock.advance(60_000)
    const cookie = knownCookie(await attempt(person))
    const statuses: number[] = []
    for (let count = 0; count < 21; count++)
      statuses.push((await attempt(person, { password: 'a guess', cookie })).status)
    expect(statuses).toEqual([...Array(20).fill(401), 429])
    node.clock.advance(60_000)
    expect((await attempt(person, { cookie })).status).toBe(200)
  })
})

/** The statuses of requests that are sent over one connection before the first answer. */
async function pipelined(url: string, count: number, body: object): Promise<number[]> {
  const { hostname, port } = new URL(url)
  const text = JSON.stringify(body)
  const fields = { ...from('192.0.2.77'), 'content-type': 'application/json', 'content-length': text.length }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST /admin/v1/session HTTP/1.1\r\n${lines.join('')}\r\n${text}`
  const peer = await RawPeer.connect({ host: hostname, port: Number(port) })
  peer.send(request.repeat(count))
  const statuses = () =>
    [...peer.received.toString().matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  await peer.until('all answers', () => statuses().length === count)
  peer.destroy()
  return statuses()
}
