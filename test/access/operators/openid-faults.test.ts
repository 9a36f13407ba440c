/** What an OpenID Connect issuer may answer wrongly, or not at all: no login, a reason, and everything else works. */
import type { ServerResponse } from 'node:http'
import { generateKeyPair } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { ScriptedIssuer } from '../../support/scripted-issuer.ts'
import { CONSOLE_ORIGIN, ScriptedBrowser } from './openid-browser.ts'
import { type OperatorNode, openOperatorNode, Person } from './operator-node.ts'

const START = `${CONSOLE_ORIGIN}/admin/v1/login/openid`
const DISCOVERY = '/.well-known/openid-configuration'
const SECRET = 'a secret: with/characters+that need=encoding'
let issuer: ScriptedIssuer
let node: OperatorNode

/** @param db of an earlier node; this one has asked the issuer for nothing yet */
function openNode(db?: Db): Promise<OperatorNode> {
  return openOperatorNode({
    ...(db === undefined ? {} : { db }),
    publicUrl: CONSOLE_ORIGIN,
    trustedProxies: ['127.0.0.1'],
    openid: { issuer: issuer.url, clientId: issuer.clientId, clientSecret: SECRET },
  })
}

beforeAll(async () => {
  issuer = await ScriptedIssuer.start()
  node = await openNode()
  await node.ask('POST', '/operators', { name: 'ada', role: 'reviewer', subject: 'subject-0' })
})
beforeEach(() => issuer.reset())
afterAll(async () => {
  await node?.close()
  await issuer?.close()
})

let addresses = 0

/** A whole login; returns the reason of its refusal, or the name of the operator. */
async function logIn(at = node, query?: (state: string) => string): Promise<string | undefined> {
  const browser = new ScriptedBrowser(at, `192.0.2.${++addresses}`)
  const { headers } = await browser.open(START)
  const asked = new URL(headers.get('location') ?? '').searchParams
  issuer.nonce = asked.get('nonce') ?? ''
  const sent = query?.(asked.get('state') ?? '') ?? `code=the-code&state=${asked.get('state')}`
  await browser.open(`${START}/callback?${sent}`)
  const session = await browser.session()
  return typeof session === 'number' ? (await browser.loginWays()).openid.refusal?.reason : session.operator.name
}

/** Of the last login that failed, as it was logged. */
function lastReason(): string | undefined {
  const lines = node.lines.map((line) => JSON.parse(line) as { reason?: string })
  return lines.findLast(({ reason }) => reason !== undefined)?.reason
}

describe('an ID token', () => {
  const seconds = () => Math.floor(Date.now() / 1000)
  const wrong: [string, () => object][] = [
    ['for another login', () => ({ nonce: 'another' })],
    ['for no login', () => ({ nonce: undefined })],
    ['for another client', () => ({ aud: 'another-client' })],
    ['for several clients, of which none is named as the party', () => ({ aud: [issuer.clientId, 'another'] })],
    ['of another issuer', () => ({ iss: 'https://another.example' })],
    ['that has expired', () => ({ iat: seconds() - 400, exp: seconds() - 100 })],
    ['of the future', () => ({ nbf: seconds() + 600 })],
    ['without an end', () => ({ exp: undefined })],
    ['without a subject', () => ({ sub: undefined })],
    ['with an empty subject', () => ({ sub: '' })],
    ['with a subject that is too long', () => ({ sub: 'x'.repeat(256) })],
    ['with a subject that is no text', () => ({ sub: 7 })],
  ]

  it('a right ID token signs in', async () => {
    issuer.claims = { sub: 'subject-0' }
    expect(await logIn()).toBe('ada')
    // The clocks may differ a little.
    issuer.claims = { sub: 'subject-0', exp: seconds() - 10 }
    expect(await logIn()).toBe('ada')
  })

  it.each(wrong)('an ID token %s is refused', async (_name, claims) => {
    issuer.claims = { sub: 'subject-0', ...claims() }
    const earlier = lastReason()
    expect(await logIn()).toBe('failed')
    expect(lastReason()).not.toBe(earlier)
  })

  it('an ID token signed with another key, or not signed, is refused', async () => {
    issuer.claims = { sub: 'subject-0' }
    issuer.signing = await generateKeyPair('RS256')
    expect(await logIn()).toBe('failed')
    const unsigned = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    issuer.answers.set('/token', (response) => {
      const claims = { iss: issuer.url, aud: issuer.clientId, sub: 'subject-0', nonce: issuer.nonce }
      const idToken = `${unsigned({ alg: 'none' })}.${unsigned({ ...claims, iat: seconds(), exp: seconds() + 300 })}.`
      answer(response, 200, { access_token: 'unused', token_type: 'Bearer', id_token: idToken })
    })
    expect(await logIn()).toBe('failed')
    issuer.answers.set('/token', (response) =>
      answer(response, 200, { access_token: 'a-token-without-identity', token_type: 'Bearer' }),
    )
    expect(await logIn()).toBe('failed')
    expect(node.lines.join('')).not.toMatch(/a-token-without-identity|the-code|encoding/)
  })
})

describe('the redirection back', () => {
  const queries: [string, string, (state: string) => string][] = [
    ['without a state', 'expired', () => 'code=the-code'],
    ['with another state', 'expired', () => `code=the-code&state=${'A'.repeat(43)}`],
    ['without a code', 'failed', (state) => `state=${state}`],
    ['with an error of the issuer', 'failed', (state) => `error=server_error&state=${state}`],
    ['that the person cancelled', 'denied', (state) => `error=access_denied&state=${state}`],
    ['of another issuer', 'failed', (state) => `code=the-code&state=${state}&iss=https%3A%2F%2Fanother.example`],
    ['with two states', 'failed', (state) => `code=the-code&state=${state}&state=another`],
    ['with nothing', 'expired', () => ''],
  ]

  it.each(queries)(
    'a redirection back %s is refused as %s, and sends the code nowhere',
    async (_name, reason, query) => {
      issuer.claims = { sub: 'subject-0' }
      expect(await logIn(node, query)).toBe(reason)
      expect(issuer.requests).not.toContain('/token')
    },
  )

  it('a redirection back with a code that was used before is refused', async () => {
    issuer.answers.set('/token', (response) => answer(response, 400, { error: 'invalid_grant' }))
    expect(await logIn()).toBe('failed')
    expect(lastReason()).toContain('invalid_grant')
  })
})

describe('an issuer', () => {
  const failing: [string, (response: ServerResponse) => void][] = [
    ['that is down', (response) => void response.destroy()],
    ['that fails', (response) => answer(response, 503, {})],
    ['that sends elsewhere', (response) => void response.writeHead(302, { location: `${issuer.url}/jwks` }).end()],
    ['whose answer is huge', (response) => answer(response, 200, { text: 'x'.repeat(300_000) })],
  ]

  it.each(failing)('an issuer %s is unavailable, for logins that have begun and for new ones', async (_name, fault) => {
    for (const path of ['/token', '/jwks', DISCOVERY]) {
      issuer.reset()
      issuer.claims = { sub: 'subject-0' }
      // Without keys from earlier logins.
      const fresh = await openNode(node.db)
      try {
        issuer.answers.set(path, fault)
        expect([path, path === DISCOVERY ? await beginning(fresh) : await logIn(fresh)]).toEqual([path, 'unavailable'])
        issuer.answers.clear()
        fresh.clock.advance(5_000)
        expect(await logIn(fresh)).toBe('ada')
      } finally {
        await fresh.close()
      }
    }
  })

  it('an issuer that does not answer in time is unavailable', async () => {
    for (const path of ['/token', DISCOVERY]) {
      issuer.reset()
      const asked = new Promise<void>((resolve) => issuer.answers.set(path, () => resolve()))
      const fresh = await openNode(node.db)
      try {
        const refused = path === DISCOVERY ? beginning(fresh) : logIn(fresh)
        await asked
        fresh.clock.advance(5_000)
        expect([path, await refused]).toEqual([path, 'unavailable'])
      } finally {
        await fresh.close()
      }
    }
  })

  it('an issuer that answers without end is unavailable', async () => {
    issuer.answers.set('/token', (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      // `writable` stays true when the client has closed the connection.
      const more = () => void (response.destroyed || response.write(' '.repeat(65_536), () => setImmediate(more)))
      more()
    })
    expect(await logIn()).toBe('unavailable')
  })

  it('an issuer that names itself otherwise is not used', async () => {
    issuer.answers.set(DISCOVERY, (response) => answer(response, 200, { issuer: 'https://another.example' }))
    const fresh = await openNode(node.db)
    try {
      expect(await beginning(fresh)).toBe('unavailable')
    } finally {
      await fresh.close()
    }
  })

  it('an issuer is asked for its document once by many logins, and not again while it has just failed', async () => {
    issuer.answers.set(DISCOVERY, (response) => answer(response, 503, {}))
    const fresh = await openNode(node.db)
    try {
      const many = await Promise.all(Array.from({ length: 5 }, () => beginning(fresh)))
      expect([new Set(many), issuer.requests]).toEqual([new Set(['unavailable']), [DISCOVERY]])
      expect([await beginning(fresh), issuer.requests.length]).toEqual(['unavailable', 1])
      fresh.clock.advance(5_000)
      issuer.answers.clear()
      expect(await beginning(fresh)).toBeUndefined()
    } finally {
      await fresh.close()
    }
  })

  it('an issuer that fails later is used with the document that is kept, and asked again after an hour', async () => {
    const fresh = await openNode(node.db)
    try {
      expect(await beginning(fresh)).toBeUndefined()
      issuer.answers.set(DISCOVERY, (response) => answer(response, 503, {}))
      fresh.clock.advance(3_600_000)
      expect(await beginning(fresh)).toBeUndefined()
      await expect.poll(() => fresh.lines.join('')).toContain('"kept":true')
      expect(issuer.requests.filter((path) => path === DISCOVERY)).toHaveLength(2)
    } finally {
      await fresh.close()
    }
  })

  it('an unavailable issuer does not matter to passwords', async () => {
    issuer.answers.set(DISCOVERY, (response) => void response.destroy())
    const fresh = await openNode(node.db)
    try {
      expect(await beginning(fresh)).toBe('unavailable')
      const person = await Person.create(fresh, 'paula', 'viewer')
      fresh.clock.advance(60_000)
      const login = { name: 'paula', password: person.password, totp: person.code() }
      expect((await fresh.ask('POST', '/session', login, {})).status).toBe(200)
    } finally {
      await fresh.close()
    }
  })
})

/** Begins a login; returns the reason when the browser is not sent to the issuer. */
async function beginning(at: OperatorNode): Promise<string | undefined> {
  const browser = new ScriptedBrowser(at, `192.0.2.${++addresses}`)
  const { headers } = await browser.open(START)
  if ((headers.get('location') ?? '').startsWith(issuer.url)) return undefined
  return (await browser.loginWays()).openid.refusal?.reason
}

function answer(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}
