/**
 * Tokens of an outside issuer, made by an unmodified oidc-provider: what they grant, and how its keys are fetched and
 * used.
 */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAuthority } from '../../../src/access/clients/authority.ts'
import { changeClient, ensureClient } from '../../../src/access/clients/clients.ts'
import { changeCustomer, ensureCustomer } from '../../../src/access/clients/customers.ts'
import type { Directory } from '../../../src/access/clients/directory.ts'
import { type KeySet, readKeySet } from '../../../src/access/clients/jwk-set.ts'
import { createOutsideIssuer, type OutsideIssuerOptions } from '../../../src/access/clients/outside-issuer.ts'
import { OutsideKeys } from '../../../src/access/clients/outside-keys.ts'
import { createTokenVerifier } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { AuthNode, write } from '../../support/auth-node.ts'
import { captureLog } from '../../support/captured-log.ts'
import { OUTSIDE_AUDIENCE, OutsideIssuer } from '../../support/outside-issuer.ts'
import { createSlowClock } from '../../support/slow-clock.ts'
import { openTemporaryStore } from '../../support/test-store.ts'
import { NodeClock } from '../../support/virtual-clock.ts'

const silent = createLog('silent')
const ACCOUNTS = 'identity:read_account'
const DEFAULT_CLAIMS = { client: 'client_id', customer: 'customer_id', scope: 'scope' }

let db: Db
let customerId: string
let clientId: string
let issuer: OutsideIssuer
let clock: NodeClock
let node: AuthNode

beforeAll(async () => {
  db = await openTemporaryStore(silent, createSlowClock())
  await migrate(db, silent)
  await readAuthority(db, '')
  await write(db, async (transaction) => {
    const { customer } = await ensureCustomer(transaction, 'test', { name: 'acme', streaming: true })
    const known = { name: 'known', scopes: [STREAM_SCOPE] } as const
    clientId = (await ensureClient(transaction, 'test', customer.id, known)).client.client_id
    customerId = customer.id
  })
})
afterAll(() => db?.close())

function trusted(directory: Directory): OutsideIssuerOptions {
  const settings = { issuer: issuer.url, audience: OUTSIDE_AUDIENCE, jwksUrl: issuer.jwksUrl }
  return { ...settings, claims: DEFAULT_CLAIMS, directory, clock, log: silent }
}

function open(options: Partial<OutsideIssuerOptions> = {}): Promise<AuthNode> {
  return AuthNode.open({
    db,
    clock,
    verifierOf: (directory) => {
      const outside = createOutsideIssuer({ ...trusted(directory), ...options })
      return createTokenVerifier({ directory, clock, issuer: outside })
    },
  })
}

beforeEach(async () => {
  clock = new NodeClock(Date.now())
  issuer = await OutsideIssuer.start(
    [
      { name: 'known', claims: { customer_id: 'acme' } },
      { name: 'unknown', claims: { customer_id: customerId, 'https://acme.test/who': { name: 'acme' } } },
      { name: 'stray', claims: { customer_id: 'nobody' } },
      { name: 'bare', claims: {} },
    ],
    `${STREAM_SCOPE} ${ACCOUNTS}`,
  )
  node = await open()
})
afterEach(async () => {
  await node.close()
  await issuer.close()
})

async function detailOf(token: string, at = node): Promise<string> {
  const response = await fetch(at.url, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { detail: string }).detail
}

describe('a token of an outside issuer', () => {
  it("an outside issuer's token opens the stream for a customer named by id or name, with or without a client record here", async () => {
    for (const client of ['known', 'unknown']) {
      const { socket } = await node.stream(await issuer.token(client, STREAM_SCOPE))
      expect(socket.readyState).toBe(socket.OPEN)
    }
  })

  it("an outside issuer's token is refused without scope or customer, for another audience, or with a changed signature", async () => {
    expect(await node.status(await issuer.token('known', ACCOUNTS))).toBe(403)
    expect(await detailOf(await issuer.token('stray', STREAM_SCOPE))).toContain('claim customer_id names no customer')
    expect(await detailOf(await issuer.token('bare', STREAM_SCOPE))).toContain('claim customer_id names no customer')
    const elsewhere = await issuer.token('known', STREAM_SCOPE, 'https://elsewhere.test')
    expect(await detailOf(elsewhere)).toContain('its issuer is not the one this service trusts')
    expect(await node.status(`${(await issuer.token('known', STREAM_SCOPE)).slice(0, -4)}AAAA`)).toBe(401)
  })

  it("an outside issuer's token is limited by the current scopes, state and revocations of our client of the same name", async () => {
    const token = await issuer.token('known', STREAM_SCOPE)
    const changes = [
      [{ scopes: [ACCOUNTS] }, 403],
      [{ enabled: false }, 403],
    ] as const
    for (const [change, refused] of changes) {
      const { closed } = await node.stream(token)
      await write(db, (transaction) => changeClient(transaction, 'test', clientId, change))
      expect(await closed).toBe(4003)
      expect(await node.status(token)).toBe(refused)
      expect(await node.status(await issuer.token('unknown', STREAM_SCOPE))).toBe(426)
      const restored = { scopes: [STREAM_SCOPE], enabled: true } as const
      await write(db, (transaction) => changeClient(transaction, 'test', clientId, restored))
      await node.until((directory) => directory.client(clientId)?.enabled === true)
      await node.until((directory) => directory.client(clientId)?.scopes.has(STREAM_SCOPE) === true)
    }
  })

  it("an outside issuer's token is limited by its customer", async () => {
    const { closed } = await node.stream(await issuer.token('unknown', STREAM_SCOPE))
    await write(db, (transaction) => changeCustomer(transaction, 'test', customerId, { streaming: false }))
    expect(await closed).toBe(4003)
    await write(db, (transaction) => changeCustomer(transaction, 'test', customerId, { streaming: true }))
  })

  it("an outside issuer's token is accepted for 30 seconds after its expiry, to allow for clock skew", async () => {
    const token = await issuer.token('known', STREAM_SCOPE)
    const { exp } = JSON.parse(atob(token.split('.')[1] as string)) as { exp: number }
    const verdict = await createOutsideIssuer(trusted(node.directory)).read(token, clock.wallInstant().milliseconds)
    expect(verdict).toMatchObject({ ok: true, token: { expiresAtMilliseconds: (exp + 30) * 1000 } })
    // The issuer's clock is real, so its times may be later than this clock.
    clock.advance((exp + 30) * 1000 - 1 - clock.wallInstant().milliseconds)
    expect(await node.status(token)).toBe(426)
    clock.advance(1)
    expect(await detailOf(token)).toContain('it has expired')
  })

  it("an outside issuer's token may name customer and client in claims of any name or depth", async () => {
    const claims = { client: 'sub', customer: 'https://acme.test/who', scope: 'scope' }
    const other = await open({ claims })
    expect(await detailOf(await issuer.token('unknown', STREAM_SCOPE), other)).toContain(
      'https://acme.test/who names no',
    )
    await other.close()
  })

  it("an outside issuer's token leaves no endpoint of our own: no token endpoint, revocation, keys or metadata", async () => {
    for (const path of [
      '/oauth2/token',
      '/oauth2/revoke',
      '/.well-known/jwks.json',
      '/.well-known/oauth-authorization-server',
    ]) {
      expect((await fetch(node.url + path)).status, path).toBe(404)
    }
  })
})

describe('the keys of an outside issuer', () => {
  it("an outside issuer's keys are fetched again when they change, but not for every invalid token", async () => {
    expect(await node.status(await issuer.token('known', STREAM_SCOPE))).toBe(426)
    expect(issuer.keyRequests).toBe(1)
    issuer.replaceKey('outside-2')
    const token = await issuer.token('known', STREAM_SCOPE)
    const flood = () => Promise.all(Array.from({ length: 50 }, (_, index) => node.status(`${token}${index}`)))
    expect(new Set(await flood())).toEqual(new Set([401]))
    expect(issuer.keyRequests).toBe(1)
    clock.advance(5_000)
    expect(await node.status(token)).toBe(426)
    expect(issuer.keyRequests).toBe(2)
    issuer.replaceKey('outside-3')
    const unknown = await issuer.token('known', STREAM_SCOPE)
    await flood()
    for (let index = 0; index < 20; index++) await node.status(unknown)
    expect(issuer.keyRequests).toBe(2)
  })

  it.each([
    ['is gone', 0, ''],
    ['fails', 500, 'no'],
    ['sends elsewhere', 302, ''],
    ['answers noise', 200, 'noise'],
    ['answers no key set', 200, '{}'],
    ['answers without end', 200, `"${'x'.repeat(2_000_000)}"`],
  ])("an outside issuer's keys stay in use while its key endpoint %s", async (_what, status, body) => {
    expect(await node.status(await issuer.token('known', STREAM_SCOPE))).toBe(426)
    const token = await issuer.token('unknown', STREAM_SCOPE)
    const asked = issuer.keyRequests
    if (status === 0) await issuer.close()
    else issuer.keyFault = { status, body }
    clock.advance(400_000)
    expect(await node.status(token)).toBe(426)
    if (status !== 0) await expect.poll(() => issuer.keyRequests).toBe(asked + 1)
    clock.advance(10_000)
    expect(await node.status(token)).toBe(426)
  })

  it("an outside issuer's keys that were never fetched answer with 503, not 401, until they are available", async () => {
    issuer.keyFault = { status: 500, body: '' }
    const late = await open()
    const token = await issuer.token('known', STREAM_SCOPE)
    expect(await late.status(token)).toBe(503)
    issuer.keyFault = undefined
    expect(await late.status(token)).toBe(503)
    clock.advance(5_000)
    expect(await late.status(token)).toBe(426)
    await late.close()
  })

  it("an outside issuer's keys are waited for at most five seconds", async () => {
    // The node has its keys: it asks no more.
    expect(await node.status(await issuer.token('known', STREAM_SCOPE))).toBe(426)
    const asked = issuer.keyRequests
    const keys = new OutsideKeys({ url: issuer.jwksUrl, algorithms: ['ES256'], clock, log: silent })
    issuer.keyFault = 'silence'
    const none = keys.current()
    await expect.poll(() => issuer.keyRequests).toBe(asked + 1)
    clock.advance(5_000)
    expect(await none).toBeUndefined()
    issuer.keyFault = undefined
    expect(await keys.current()).toBeDefined()
  })
})

describe('a token signed by the outside issuer', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = () => {
    const now = Math.floor(clock.wallInstant().milliseconds / 1000)
    const people = { client_id: 'known', org: { customer: 'acme' } }
    return {
      iss: 'https://outside.test/',
      aud: ['a', OUTSIDE_AUDIENCE],
      exp: now + 60,
      iat: now,
      scp: [STREAM_SCOPE],
      ...people,
    }
  }
  const forge = (header: object, payload: object, key: KeyObject = pair.privateKey) => {
    const input = `${encode(header)}.${encode(payload)}`
    return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const header = { alg: 'ES256', kid: 'k' }
  let keys: ReturnType<typeof createServer>
  let strange: AuthNode
  beforeEach(async () => {
    const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256' }
    const secret = { kty: 'oct', kid: 's', k: Buffer.from('shared').toString('base64url') }
    keys = createServer((_request, response) => void response.end(JSON.stringify({ keys: [jwk, secret] })))
    await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
    strange = await open({
      issuer: 'https://outside.test/',
      jwksUrl: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/`,
      claims: { client: 'client_id', customer: 'org.customer', scope: 'scp' },
    })
  })
  afterEach(async () => {
    await strange.close()
    keys.closeAllConnections()
    keys.close()
  })

  it.each<[string, () => string]>([
    ['no type', () => forge(header, claims())],
    ['the type JWT', () => forge({ ...header, typ: 'JWT' }, claims())],
    ['the type at+jwt', () => forge({ ...header, typ: 'at+jwt' }, claims())],
    ['the type in full', () => forge({ ...header, typ: 'application/at+JWT' }, claims())],
    ['no key id, with one key that fits', () => forge({ alg: 'ES256' }, claims())],
    ['scopes as text', () => forge(header, { ...claims(), scp: `x ${STREAM_SCOPE}` })],
  ])('a token signed by the outside issuer is accepted with %s', async (_what, token) => {
    expect(await strange.status(token())).toBe(426)
  })

  it.each<[string, () => string]>([
    ['another type', () => forge({ ...header, typ: 'logout+jwt' }, claims())],
    ['no expiry', () => forge(header, { ...claims(), exp: undefined })],
    ['another issuer', () => forge(header, { ...claims(), iss: 'https://outside.test' })],
    ['no client', () => forge(header, { ...claims(), client_id: undefined })],
    ['a client that is no text', () => forge(header, { ...claims(), client_id: 7 })],
    ['a customer that is no text', () => forge(header, { ...claims(), org: { customer: ['acme'] } })],
    ['a path through text', () => forge(header, { ...claims(), org: 'acme' })],
    ['a path through nothing', () => forge(header, { ...claims(), org: null })],
    ['scopes that are no texts', () => forge(header, { ...claims(), scp: [1] })],
    ['a time in which it is not good yet', () => forge(header, { ...claims(), nbf: claims().iat + 60 })],
    ['another key', () => forge(header, claims(), generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)],
    [
      'a shared secret, even a published one',
      () => {
        const input = `${encode({ alg: 'HS256', kid: 's' })}.${encode(claims())}`
        return `${input}.${createHmac('sha256', 'shared').update(input).digest('base64url')}`
      },
    ],
    ['no algorithm', () => `${encode({ alg: 'none', kid: 'k' })}.${encode(claims())}.`],
  ])('a token signed by the outside issuer is refused with %s', async (_what, token) => {
    expect(await strange.status(token())).toBe(401)
  })

  it('a token signed by the outside issuer grants nothing without the scopes claim', async () => {
    expect(await strange.status(forge(header, { ...claims(), scp: undefined }))).toBe(403)
  })
})

describe('a key that cannot be used', () => {
  const rsa = (modulusLength: number, publicExponent = 65_537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent })
  const good = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const weak = rsa(1_024)
  const short = rsa(2_040)
  const strong = rsa(2_048)
  const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' }) as Record<string, unknown>
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = (alg: string, kid: string, key: KeyObject) => {
    const now = Math.floor(clock.wallInstant().milliseconds / 1000)
    const claims = { iss: 'https://outside.test/', aud: OUTSIDE_AUDIENCE, exp: now + 60, iat: now }
    const grants = { client_id: 'known', customer_id: 'acme', scope: STREAM_SCOPE }
    const input = `${part({ alg, kid })}.${part({ ...claims, ...grants })}`
    const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }
  const lines: string[] = []
  let keys: unknown[] = []
  let server: ReturnType<typeof createServer>
  let relying: AuthNode
  beforeEach(async () => {
    lines.length = 0
    server = createServer((_request, response) => void response.end(JSON.stringify({ keys })))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    await relying.close()
    server.closeAllConnections()
    server.close()
  })
  async function trust(published: unknown[]): Promise<void> {
    keys = [...published, { ...jwkOf(good.publicKey), kid: 'good' }]
    const { log, lines: written } = captureLog()
    const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    relying = await open({ issuer: 'https://outside.test/', jwksUrl, log })
    // The next key set is requested after this one has arrived.
    expect(await relying.status(signed('ES256', 'good', good.privateKey))).toBe(426)
    lines.push(...written.filter((line) => line.includes('are not used')))
  }

  it.each([
    ['1,024 bits', weak, 'n: has 1024 bits, fewer than 2048'],
    ['2,040 bits', short, 'n: has 2040 bits, fewer than 2048'],
  ])('an RSA key of %s is skipped with a log line, and its tokens are 401', async (_what, pair, reason) => {
    await trust([{ ...jwkOf(pair.publicKey), kid: 'weak' }])
    for (const alg of ['RS256', 'PS256']) expect(await relying.status(signed(alg, 'weak', pair.privateKey))).toBe(401)
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 40, keys: [{ keyId: 'weak', reason }] })
  })

  it('an RSA key of 2,048 bits is usable', async () => {
    await trust([{ ...jwkOf(strong.publicKey), kid: 'strong' }])
    expect(await relying.status(signed('RS256', 'strong', strong.privateKey))).toBe(426)
    expect(lines).toEqual([])
  })

  const unusable: [string, unknown][] = [
    ['nothing', null],
    ['text', 'key'],
    ['a list', []],
    ['no kind', { kid: 'odd' }],
    ['a kind that is not known', { kty: 'LATTICE', kid: 'odd' }],
    ['a kind that is no text', { kty: 7, kid: 'odd' }],
    ['a shared secret', { kty: 'oct', kid: 'odd', k: part('secret') }],
    ['for encryption', { ...jwkOf(strong.publicKey), kid: 'odd', use: 'enc' }],
    ['another operation', { ...jwkOf(strong.publicKey), kid: 'odd', key_ops: ['encrypt'] }],
    ['operations that are no list', { ...jwkOf(strong.publicKey), kid: 'odd', key_ops: 'verify' }],
    ['an algorithm that is not accepted', { ...jwkOf(strong.publicKey), kid: 'odd', alg: 'HS256' }],
    ['an algorithm that is no text', { ...jwkOf(strong.publicKey), kid: 'odd', alg: ['RS256'] }],
    ['the private part in it', { ...jwkOf(strong.privateKey), kid: 'odd' }],
    ['no modulus', { kty: 'RSA', kid: 'odd', e: 'AQAB' }],
    ['an empty modulus', { kty: 'RSA', kid: 'odd', e: 'AQAB', n: '' }],
    ['a modulus that is no text', { kty: 'RSA', kid: 'odd', e: 'AQAB', n: 7 }],
    ['an even exponent', { ...jwkOf(strong.publicKey), kid: 'odd', e: 'Ag' }],
    ['the exponent 1', { ...jwkOf(strong.publicKey), kid: 'odd', e: 'AQ' }],
    ['a long exponent', { ...jwkOf(strong.publicKey), kid: 'odd', e: Buffer.alloc(200, 7).toString('base64url') }],
    ['a point that is not on its curve', { ...jwkOf(good.publicKey), kid: 'odd', x: part('x').padEnd(43, 'A') }],
    ['another curve', { ...jwkOf(good.publicKey), kid: 'odd', crv: 'secp256k1' }],
    ['a curve that is none', { ...jwkOf(good.publicKey), kid: 'odd', crv: '__proto__' }],
    ['a short point', { kty: 'OKP', crv: 'Ed25519', kid: 'odd', x: 'AAAA' }],
    ['a key for agreement', { ...jwkOf(generateKeyPairSync('x25519').publicKey), kid: 'odd' }],
    ['an id that is no text', { ...jwkOf(strong.publicKey), kid: { odd: true } }],
  ]
  it.each(unusable)('a key that is %s is skipped, and every token that names it is 401', async (_what, key) => {
    await trust([key])
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'none', 'ES384', 'RSA-OAEP']) {
      expect(await relying.status(signed(alg, 'odd', strong.privateKey)), alg).toBe(401)
    }
    expect(lines).toHaveLength(1)
  })

  it.each([
    ['ext', 'yes'],
    ['alg', 'ES256'],
    ['n', `${strong.publicKey.export({ format: 'jwk' }).n}==`],
    ['key_ops', ['verify', 'verify']],
  ])('a usable key is refused at no further cost when its member %s is malformed', async (member, value) => {
    await trust([{ ...jwkOf(strong.publicKey), kid: 'odd', [member]: value }])
    for (const alg of ['RS256', 'ES256', 'EdDSA']) {
      expect([401, 426], alg).toContain(await relying.status(signed(alg, 'odd', strong.privateKey)))
    }
  })

  it("an outside issuer's keys after the first hundred are unusable; a set of such keys alone refuses every token", async () => {
    const { keys: read, skipped } = readKeySet({ keys: Array.from({ length: 5_000 }, () => jwkOf(good.publicKey)) }, [
      'ES256',
    ]) as KeySet
    expect(read).toHaveLength(100)
    expect(skipped).toEqual([{ reason: '4900 more: at most 100 keys are read' }])
    await trust([])
    keys = [{ ...jwkOf(weak.publicKey), kid: 'weak' }]
    clock.advance(400_000)
    // The old keys stay in use while the new ones are fetched.
    await relying.status(signed('ES256', 'good', good.privateKey))
    await expect.poll(() => relying.status(signed('RS256', 'weak', weak.privateKey))).toBe(401)
    await expect.poll(() => relying.status(`${signed('ES256', 'good', good.privateKey)}`)).toBe(401)
  })
})
