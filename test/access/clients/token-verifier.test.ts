import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { signAccessToken } from '../../../src/access/clients/access-token.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import {
  createTokenVerifier,
  type TokenIssuer,
  type TokenVerifier,
} from '../../../src/access/clients/token-verifier.ts'
import { newAuthority, newSigningKey } from '../../support/auth-fixtures.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const authority = newAuthority()
const key = newSigningKey('key-1')
const other = newSigningKey('key-2')

let clock: VirtualClock
let directory: Directory
let verifier: TokenVerifier
beforeEach(() => {
  clock = new VirtualClock()
  directory = new Directory()
  directory.replace({ customers: [], clients: [], keys: [key], authority })
  verifier = createTokenVerifier({ directory, clock })
})

function now(): number {
  return clock.wallInstant().milliseconds / 1000
}

function newToken(lifetimeSeconds = 3600): Promise<string> {
  const claims = { clientId: 'client-1', customerId: 'customer-1', scopes: ['a:b', 'c:d'] }
  return signAccessToken(authority, key, { ...claims, issuedAtSeconds: now(), lifetimeSeconds })
}

const HEADER = { alg: 'ES256', typ: 'at+jwt', kid: 'key-1' }

function claims(): Record<string, unknown> {
  return {
    iss: authority.issuer,
    aud: authority.audience,
    sub: 'client-1',
    client_id: 'client-1',
    customer_id: 'customer-1',
    scope: 'a:b',
    iat: now(),
    exp: now() + 60,
    jti: 'token-1',
  }
}

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Signs a token by hand, so that any part of it can be invalid. */
function forge(header: object, payload: object, privateKey: KeyObject = key.privateKey): string {
  const input = `${encode(header)}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

describe('an access token', () => {
  it('an access token issued here is read in full', async () => {
    expect(await verifier.verify(await newToken())).toEqual({
      ok: true,
      token: {
        clientId: 'client-1',
        customerId: 'customer-1',
        scopes: new Set(['a:b', 'c:d']),
        tokenId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        keyId: 'key-1',
        issuedAtSeconds: now(),
        validFromSeconds: 0,
        expiresAtMilliseconds: (now() + 3600) * 1000,
      },
    })
    expect(await verifier.verify(forge(HEADER, claims()))).toMatchObject({ ok: true })
  })

  it.each([false, true])(
    'an access token is valid until its expiry and not a millisecond longer (already cached: %s)',
    async (isSeen) => {
      const token = await newToken(10)
      if (isSeen) expect(await verifier.verify(token)).toMatchObject({ ok: true })
      clock.advance(9_999)
      if (isSeen) expect(await verifier.verify(token)).toMatchObject({ ok: true })
      clock.advance(1)
      expect(await verifier.verify(token)).toEqual({ ok: false, reason: 'it has expired' })
    },
  )

  it.each<[string, (token: string) => string | Promise<string>]>([
    ['nothing', () => ''],
    ['noise', () => 'nonsense'],
    ['three dots', () => '...'],
    ['cut short', (token) => token.slice(0, -1)],
    ['another payload', (token) => token.replace(/\.[^.]+\./, `.${encode({ ...claims(), scope: 'x' })}.`)],
    ['another signature', () => forge(HEADER, claims(), other.privateKey)],
    ['a key that is not live', () => forge({ ...HEADER, kid: 'key-2' }, claims(), other.privateKey)],
    ['no key id', () => forge({ alg: 'ES256', typ: 'at+jwt' }, claims())],
    ['no algorithm', () => `${encode({ ...HEADER, alg: 'none' })}.${encode(claims())}.`],
    [
      'the public key as a shared secret',
      () => {
        const input = `${encode({ ...HEADER, alg: 'HS256' })}.${encode(claims())}`
        const pem = key.publicKey.export({ type: 'spki', format: 'pem' })
        return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
      },
    ],
    [
      'a key of its own',
      () => {
        const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        const jwk = pair.publicKey.export({ format: 'jwk' })
        return forge({ ...HEADER, jwk }, claims(), pair.privateKey)
      },
    ],
    ['another type', () => forge({ ...HEADER, typ: 'JWT' }, claims())],
    ['no type', () => forge({ alg: 'ES256', kid: 'key-1' }, claims())],
    ['another issuer', () => forge(HEADER, { ...claims(), iss: 'https://other.test' })],
    ['another audience', () => forge(HEADER, { ...claims(), aud: 'https://other.test' })],
    ['another subject than client', () => forge(HEADER, { ...claims(), sub: 'client-2' })],
    ['a scope that is no text', () => forge(HEADER, { ...claims(), scope: ['a:b'] })],
    ['a client that is no text', () => forge(HEADER, { ...claims(), client_id: 7, sub: 7 })],
    ['an expiry that is no number', () => forge(HEADER, { ...claims(), exp: 'tomorrow' })],
    ['an extension it does not know', () => forge({ ...HEADER, crit: ['x'], x: 1 }, claims())],
    ...['iss', 'aud', 'sub', 'client_id', 'customer_id', 'scope', 'iat', 'exp', 'jti'].map(
      (name): [string, () => string] => [`no ${name}`, () => forge(HEADER, { ...claims(), [name]: undefined })],
    ),
  ])('an access token with %s is refused', async (_what, change) => {
    expect(await verifier.verify(await change(await newToken()))).toEqual({
      ok: false,
      reason: 'this service did not issue it',
    })
  })

  it('an access token that is too long is refused without being parsed', async () => {
    expect(await verifier.verify('x'.repeat(1_000_000))).toEqual({ ok: false, reason: 'it is too long' })
  })

  it('an access token cannot be verified before the directory is loaded', async () => {
    const empty = createTokenVerifier({ directory: new Directory(), clock })
    expect(await empty.verify(await newToken())).toMatchObject({ ok: false })
  })
})

describe('a revoked token', () => {
  it.each([false, true])('a revoked token is refused (cached before: %s)', async (isSeen) => {
    const token = await newToken()
    const { jti: tokenId } = JSON.parse(atob(token.split('.')[1] as string)) as { jti: string }
    if (isSeen) expect(await verifier.verify(token)).toMatchObject({ ok: true })
    const revokedTokens = [{ tokenId, clientId: 'client', expiresAtMilliseconds: 0 }]
    directory.replace({ customers: [], clients: [], keys: [key], authority, revokedTokens })
    expect(await verifier.verify(token)).toEqual({ ok: false, reason: 'it has been revoked' })
    expect(await verifier.verify(await newToken())).toMatchObject({ ok: true })
  })
})

describe('the cache of verified tokens', () => {
  it('the token cache returns a cached token without using the key again', async () => {
    let lookups = 0
    const token = await newToken()
    const first = await verifier.verify(token)
    const { verificationKey } = directory
    directory.verificationKey = (keyId) => {
      lookups++
      // The same key id with a key that verifies nothing: only a cached result still succeeds.
      return verificationKey.call(directory, keyId) && other.publicKey
    }
    expect(await verifier.verify(token)).toEqual(first)
    expect(lookups).toBe(1)
    expect(await verifier.verify(await newToken())).toMatchObject({ ok: false })
  })

  it('the token cache drops a token together with its key', async () => {
    const token = await newToken()
    expect(await verifier.verify(token)).toMatchObject({ ok: true })
    directory.replace({ customers: [], clients: [], keys: [other], authority })
    expect(await verifier.verify(token)).toMatchObject({ ok: false })
    directory.replace({ customers: [], clients: [], keys: [key, other], authority })
    expect(await verifier.verify(token)).toMatchObject({ ok: true })
  })

  it('the token cache does not keep refused tokens', async () => {
    const token = forge({ ...HEADER, kid: 'key-2' }, claims(), other.privateKey)
    expect(await verifier.verify(token)).toMatchObject({ ok: false })
    directory.replace({ customers: [], clients: [], keys: [key, other], authority })
    expect(await verifier.verify(token)).toMatchObject({ ok: true })
  })

  /** A verifier that accepts every text, of the client that the first word names, unless that is `forged`. */
  function countedVerifier() {
    const reads = new Map<string, number>()
    const issuer: TokenIssuer = {
      async read(text) {
        reads.set(text, (reads.get(text) ?? 0) + 1)
        const [clientId = ''] = text.split(' ')
        if (clientId === 'forged') return { ok: false, reason: 'it is forged' }
        const none = { clientId, customerId: '', tokenId: '', keyId: '', issuedAtSeconds: 0 }
        return { ok: true, token: { ...none, scopes: new Set(), expiresAtMilliseconds: Number.POSITIVE_INFINITY } }
      },
      remembers: () => true,
    }
    return { reads, cached: createTokenVerifier({ directory, clock, issuer }) }
  }

  it('the token cache keeps the token of a client while another client uses any number of them', async () => {
    const { reads, cached } = countedVerifier()
    await cached.verify('B')
    for (let count = 0; count < 12_000; count++) await cached.verify(`A ${count}`)
    await cached.verify('B')
    await cached.verify('A 11000')
    await cached.verify('A 9000')
    expect([reads.get('B'), reads.get('A 11000'), reads.get('A 9000')]).toEqual([1, 1, 2])
  })

  it('the token cache keeps a token in use while many others arrive, and is not filled by refused ones', async () => {
    const { reads, cached } = countedVerifier()
    await cached.verify('used')
    await cached.verify('unused')
    for (let count = 0; count < 25_000; count++) await cached.verify(`forged ${count}`)
    await cached.verify('unused')
    expect([reads.get('used'), reads.get('unused')]).toEqual([1, 1])
    for (let count = 0; count < 12_000; count++) {
      await cached.verify(`${count % 10} other ${count}`)
      if (count % 1_000 === 0) await cached.verify('used')
    }
    await cached.verify('unused')
    expect([reads.get('used'), reads.get('unused')]).toEqual([1, 2])
  })
})
