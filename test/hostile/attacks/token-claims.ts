/**
 * Tokens with wrong claims, each validly signed by the outside issuer that the service trusts: an issuer with errors,
 * or with other customers whose tokens are for other services.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Attack, Findings } from './attack.ts'
import { bearer, send } from './requests.ts'
import { signedToken } from './token-forging.ts'

const ISSUER = 'https://issuer.test'
const AUDIENCE = 'https://tidegate.test/api'
const SCOPE = 'identity:read_account'
/** An hour: beyond any permitted clock skew. */
const HOUR = 3_600

type Claims = Readonly<Record<string, unknown>>

interface ClaimCase {
  readonly name: string
  change(good: Claims & { readonly iss: string; readonly exp: number }): Claims
}

const CLAIM_CASES: readonly ClaimCase[] = [
  { name: 'no issuer', change: () => ({ iss: undefined }) },
  { name: 'another issuer', change: () => ({ iss: 'https://elsewhere.test' }) },
  { name: 'an issuer with a slash more', change: ({ iss }) => ({ iss: `${iss}/` }) },
  { name: 'a list of issuers', change: ({ iss }) => ({ iss: [iss] }) },
  { name: 'no audience', change: () => ({ aud: undefined }) },
  { name: 'another audience', change: () => ({ aud: 'https://tidegate.test/other' }) },
  { name: 'an audience that begins alike', change: () => ({ aud: `${AUDIENCE}/more` }) },
  {
    name: 'a list of other audiences',
    change: () => ({ aud: ['https://tidegate.test/other', AUDIENCE.toUpperCase()] }),
  },
  { name: 'no expiry', change: () => ({ exp: undefined }) },
  { name: 'an expiry in the past', change: ({ exp }) => ({ exp: exp - 2 * HOUR }) },
  { name: 'an expiry that is text', change: ({ exp }) => ({ exp: String(exp) }) },
  { name: 'an expiry that is null', change: () => ({ exp: null }) },
  { name: 'a negative expiry', change: ({ exp }) => ({ exp: -exp }) },
  { name: 'not valid yet', change: ({ exp }) => ({ nbf: exp }) },
  { name: 'a beginning that is text', change: () => ({ nbf: 'now' }) },
  { name: 'no customer', change: () => ({ customer_id: undefined }) },
  { name: 'an unknown customer', change: () => ({ customer_id: '00000000-0000-4000-8000-000000000000' }) },
  { name: 'a list of customers', change: ({ customer_id }) => ({ customer_id: [customer_id] }) },
  { name: 'a prototype name as the customer', change: () => ({ customer_id: '__proto__' }) },
  { name: 'an id of a customer with a blank more', change: ({ customer_id }) => ({ customer_id: `${customer_id} ` }) },
  { name: 'no client', change: () => ({ client_id: undefined }) },
  { name: 'an empty client', change: () => ({ client_id: '' }) },
  { name: 'a client that is a number', change: () => ({ client_id: 1 }) },
  { name: 'no scope', change: () => ({ scope: undefined }) },
  { name: 'a scope that is a number', change: () => ({ scope: 1 }) },
  { name: 'a scope in capitals', change: () => ({ scope: SCOPE.toUpperCase() }) },
]

/** An issuer with one key, which it publishes on this machine. */
class Issuer {
  readonly url: string
  readonly #privateKey: KeyObject

  private constructor(server: Server, privateKey: KeyObject) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#privateKey = privateKey
  }

  static async start(): Promise<Issuer> {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'issuer-1', alg: 'ES256', use: 'sig' }
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ keys: [jwk] }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // It runs as long as the attacks do, and does not keep their process alive.
    server.unref()
    return new Issuer(server, privateKey)
  }

  token(claims: Claims): string {
    return signedToken({ alg: 'ES256', typ: 'at+jwt', kid: 'issuer-1' }, claims, this.#privateKey)
  }
}

let issuer: Issuer | undefined

export const tokenClaims: Attack = {
  name: 'token-claims',
  sent: 'tokens of a trusted outside issuer, rightly signed, each with one claim that is wrong',
  holds: 'each is 401 or 403, and the sound token is accepted before and after',
  cases: CLAIM_CASES.map(({ name }) => name),
  // Other customers could not get tokens either: this service issues none.
  isolation: 'once',
  isInTests: false,
  async settings() {
    issuer ??= await Issuer.start()
    return { 'auth.issuer': ISSUER, 'auth.jwks_url': `${issuer.url}/jwks`, 'auth.audience': AUDIENCE }
  },
  async run({ stage }) {
    const findings = new Findings()
    const name = `attack ${process.hrtime.bigint()}`
    const { id } = await stage.operator.call<{ id: string }>('POST', '/customers', { name, streaming: true })
    const now = Math.floor(Date.now() / 1_000)
    const good = {
      iss: ISSUER,
      aud: AUDIENCE,
      exp: now + HOUR,
      iat: now,
      customer_id: id,
      client_id: 'a',
      scope: SCOPE,
    }
    const statusOf = async (claims: Claims) =>
      (await send(`${stage.http}/v2/identity/accounts`, { headers: bearer(issuer?.token(claims) ?? '') })).status
    findings.check((await statusOf(good)) === 200, 'the sound token was refused before')
    for (const { name: what, change } of CLAIM_CASES) {
      const status = await statusOf({ ...good, ...change(good) })
      findings.check(status === 401 || status === 403, `${what} was answered ${status}`)
    }
    findings.check((await statusOf(good)) === 200, 'the sound token was refused after')
    return findings.outcome(`${CLAIM_CASES.length} variants, ${findings.count} accepted or not refused`)
  },
}
