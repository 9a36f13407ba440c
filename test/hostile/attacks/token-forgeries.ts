/**
 * Forged tokens: everything an attacker can make from one genuine token of its own and the published keys, to
 * impersonate another customer or to gain another scope. Each is tried on the REST API and at the stream's handshake.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Attack, Findings } from './attack.ts'
import { bearer, send } from './requests.ts'
import { encoded, type Genuine, genuine, OWN_KEYS, sharedSecretToken, signature, signedToken } from './token-forging.ts'

interface Forgery {
  readonly name: string
  /** @param url the attacker's address, which the service must not fetch */
  make(from: Genuine, url: string): string
}

const own = OWN_KEYS.p256.privateKey
/** The order of the curve P-256. */
const ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'

/** The claims that the attacker wants. */
function wanted({ claims }: Genuine): Readonly<Record<string, unknown>> {
  return { ...claims, exp: Number(claims.exp) + 1_000_000, jti: 'forged' }
}

function unsigned(alg: unknown, last: (from: Genuine) => string): Forgery['make'] {
  return (from) => `${encoded({ ...from.header, alg })}.${encoded(wanted(from))}.${last(from)}`
}

const nothing = () => ''
const genuineSignature = ({ parts }: Genuine) => parts[2]

function withSecret(secret: (from: Genuine) => Buffer | string, alg = 'HS256', hash = 'sha256'): Forgery['make'] {
  return (from) => sharedSecretToken({ ...from.header, alg }, wanted(from), secret(from), hash)
}

function withOwnKey(changes: (from: Genuine, url: string) => Readonly<Record<string, unknown>>): Forgery['make'] {
  return (from, url) => signedToken({ ...from.header, ...changes(from, url) }, wanted(from), own)
}

function withSignature(make: (from: Genuine) => string): Forgery['make'] {
  return (from) => `${from.parts[0]}.${from.parts[1]}.${make(from)}`
}

function withHeader(changes: Readonly<Record<string, unknown>>): Forgery['make'] {
  return ({ header, parts }) => `${encoded({ ...header, ...changes })}.${parts[1]}.${parts[2]}`
}

function withClaims(make: (from: Genuine) => string): Forgery['make'] {
  return (from) => `${from.parts[0]}.${encoded(make(from))}.${from.parts[2]}`
}

/** The signature as a sequence of two integers (DER) instead of two concatenated numbers. */
function derSignature({ parts }: Genuine): string {
  const bytes = Buffer.from(parts[2], 'base64url')
  const integer = (part: Buffer) => {
    const padded = (part[0] as number) >= 0x80 ? Buffer.concat([Buffer.alloc(1), part]) : part
    return Buffer.concat([Buffer.from([2, padded.length]), padded])
  }
  const body = Buffer.concat([integer(bytes.subarray(0, 32)), integer(bytes.subarray(32))])
  return Buffer.concat([Buffer.from([0x30, body.length]), body]).toString('base64url')
}

const spki = ({ publicKey }: Genuine, format: 'pem' | 'der') =>
  publicKey.export({ type: 'spki', format } as { type: 'spki'; format: 'der' })
const ownJwk = OWN_KEYS.p256.publicKey.export({ format: 'jwk' })

const FORGERIES: readonly Forgery[] = [
  { name: 'alg none without a signature', make: unsigned('none', nothing) },
  { name: 'alg none with the genuine signature', make: unsigned('none', genuineSignature) },
  { name: 'alg None', make: unsigned('None', nothing) },
  { name: 'alg NONE', make: unsigned('NONE', nothing) },
  { name: 'alg empty', make: unsigned('', nothing) },
  { name: 'alg null', make: unsigned(null, genuineSignature) },
  { name: 'alg missing', make: unsigned(undefined, genuineSignature) },
  { name: 'alg a list', make: unsigned(['ES256'], genuineSignature) },
  { name: 'HS256 with the public key as PEM', make: withSecret((from) => spki(from, 'pem')) },
  { name: 'HS256 with the public key as DER', make: withSecret((from) => spki(from, 'der')) },
  { name: 'HS256 with the public key as JWK', make: withSecret(({ publicJwk }) => JSON.stringify(publicJwk)) },
  {
    name: 'HS256 with the point of the public key',
    make: withSecret(({ publicJwk }) => Buffer.from(`${publicJwk.x}`, 'base64url')),
  },
  { name: 'HS256 with an empty secret', make: withSecret(nothing) },
  { name: 'HS512 with the public key as PEM', make: withSecret((from) => spki(from, 'pem'), 'HS512', 'sha512') },
  {
    name: 'RS256 with an own key',
    make: (from) => signedToken({ ...from.header, alg: 'RS256' }, wanted(from), OWN_KEYS.rsa.privateKey),
  },
  {
    name: 'ES384 with an own key',
    make: (from) => signedToken({ ...from.header, alg: 'ES384' }, wanted(from), OWN_KEYS.p384.privateKey, 'sha384'),
  },
  {
    name: 'ES256K with an own key',
    make: (from) => signedToken({ ...from.header, alg: 'ES256K' }, wanted(from), OWN_KEYS.secp256k1.privateKey),
  },
  {
    name: 'EdDSA with an own key',
    make: (from) => signedToken({ ...from.header, alg: 'EdDSA' }, wanted(from), OWN_KEYS.ed25519.privateKey, null),
  },
  { name: 'an own key under the genuine key id', make: withOwnKey(() => ({})) },
  { name: 'an own key under an unknown key id', make: withOwnKey(() => ({ kid: 'unknown' })) },
  { name: 'an own key without a key id', make: withOwnKey(() => ({ kid: undefined })) },
  { name: 'a key id that is a path', make: withOwnKey(() => ({ kid: '../../../../dev/null' })) },
  { name: 'a key id that is SQL', make: withOwnKey(() => ({ kid: "' or '1'='1" })) },
  { name: 'a key id that is a prototype name', make: withOwnKey(() => ({ kid: '__proto__' })) },
  { name: 'a key id that is a list', make: withOwnKey(({ header }) => ({ kid: [header.kid] })) },
  { name: 'an own key in the header (jwk)', make: withOwnKey(() => ({ jwk: ownJwk })) },
  { name: 'an own key set by address (jku)', make: withOwnKey((_from, url) => ({ jku: `${url}/jku` })) },
  { name: 'an own certificate by address (x5u)', make: withOwnKey((_from, url) => ({ x5u: `${url}/x5u` })) },
  { name: 'an own certificate in the header (x5c)', make: withOwnKey(() => ({ x5c: [ownJwk.x], jwk: ownJwk })) },
  { name: 'an unknown extension that is critical', make: withHeader({ crit: ['exp'], exp: 9_999_999_999 }) },
  { name: 'a payload that is not encoded (b64)', make: withHeader({ b64: false, crit: ['b64'] }) },
  { name: 'another type', make: withHeader({ typ: 'JWT' }) },
  { name: 'a compressed payload (zip)', make: withHeader({ zip: 'DEF' }) },
  { name: 'a signature of zeros', make: withSignature(() => Buffer.alloc(64).toString('base64url')) },
  {
    name: 'a signature of the order of the curve',
    make: withSignature(() => Buffer.from(ORDER + ORDER, 'hex').toString('base64url')),
  },
  { name: 'no signature', make: withSignature(nothing) },
  { name: 'the signature cut short', make: withSignature(({ parts }) => parts[2].slice(0, -2)) },
  { name: 'the signature as DER', make: withSignature(derSignature) },
  {
    name: 'another customer',
    make: withClaims(({ claims }) =>
      JSON.stringify({ ...claims, customer_id: '00000000-0000-4000-8000-000000000000' }),
    ),
  },
  {
    name: 'a member twice',
    make: withClaims(({ claims }) =>
      JSON.stringify(claims).replace(/}$/, ',"scope":"exchange:read_aggregated_marketdata_stream"}'),
    ),
  },
  {
    name: 'the genuine parts in the JSON form of JWS',
    make: ({ parts }) => JSON.stringify({ protected: parts[0], payload: parts[1], signature: parts[2] }),
  },
  {
    name: 'a genuine token within a token',
    make: (from) => {
      const input = `${encoded({ ...from.header, cty: 'JWT' })}.${encoded(from.token)}`
      return `${input}.${signature(input, own)}`
    },
  },
]

export const tokenForgeries: Attack = {
  name: 'token-forgeries',
  sent: 'forged tokens to the REST API and to the handshake of the stream, made from a genuine one and the published keys',
  holds: 'each is 401, no address in a token is fetched, and the genuine token is accepted before and after',
  cases: FORGERIES.map(({ name }) => name),
  isolation: 'shared',
  isInTests: true,
  async run({ stage }) {
    const findings = new Findings()
    let fetched = 0
    const server = createServer((_request, response) => {
      fetched++
      response.end(JSON.stringify({ keys: [ownJwk] }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { token } = await stage.customer()
    const keySet = await send(`${stage.http}/.well-known/jwks.json`)
    const from = genuine(token, JSON.parse(keySet.text))
    const accounts = (text: string) => send(`${stage.http}/v2/identity/accounts`, { headers: bearer(text) })
    // Without an upgrade, the stream checks the token and then requires one: 426 means that it was accepted.
    const stream = (text: string) => send(`${stage.http}/`, { headers: bearer(text) })
    for (const when of ['before', 'after']) {
      const [rest, streamed] = [await accounts(token), await stream(token)]
      const isAccepted = rest.status === 200 && streamed.status === 426
      findings.check(isAccepted, `the genuine token ${when}: ${rest.status} and ${streamed.status}`)
      if (when === 'after') break
      for (const { name, make } of FORGERIES) {
        const forged = make(from, url)
        for (const answer of [await accounts(forged), await stream(forged)]) {
          findings.check(answer.status === 401, `${name} was answered ${answer.status}`)
        }
      }
    }
    server.close()
    findings.check(fetched === 0, `an address in a token was fetched ${fetched} times`)
    return findings.outcome(
      `${FORGERIES.length} forgeries sent twice each, ${findings.count} accepted or not 401; ${fetched} fetches`,
    )
  },
}
