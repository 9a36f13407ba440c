/** The guard of the REST API on a real server without a store: its refusals and their order. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { DirectoryContent } from '../../../src/access/clients/directory-records.ts'
import { callerOf, createGuard } from '../../../src/access/clients/guard.ts'
import type { AccessToken, TokenVerdict } from '../../../src/access/clients/token-verifier.ts'
import { OPERATIONS } from '../../../src/contract/operations.ts'
import { SCOPES, type Scope } from '../../../src/contract/scopes.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { captureLog } from '../../support/captured-log.ts'
import { acceptInventedAnswers } from '../../support/validated-answers.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const READ: Scope = 'identity:read_account'
const WRITE: Scope = 'identity:write_account'
const PATH = '/v2/identity/accounts'
const BOTH = { customers: [customer('ann'), customer('bob')], clients: [client('a1'), client('a2')] }

function customer(id: string, enabled = true) {
  return { id, name: id, enabled, streaming: false }
}

function client(clientId: string, scopes: readonly Scope[] = [READ, WRITE], enabled = true) {
  return { clientId, customerId: 'ann', name: clientId, scopes: new Set(scopes), enabled }
}

function token(clientId: string, scopes: readonly string[], outsideClientName?: string): AccessToken {
  return {
    clientId,
    customerId: 'ann',
    scopes: new Set(scopes),
    tokenId: 't',
    keyId: 'k',
    issuedAtSeconds: 0,
    expiresAtMilliseconds: 9e15,
    ...(outsideClientName === undefined ? {} : { outsideClientName }),
  }
}

const clock = new VirtualClock()
const directory = new Directory()
const verdicts = new Map<string, TokenVerdict>()
const verifier = {
  verify: async (text: string): Promise<TokenVerdict> => verdicts.get(text) ?? { ok: false, reason: 'it is strange' },
}
const app = createHttpServer({
  listener: 'public',
  log: captureLog().log,
  metrics: createMetricsRegistry(),
  headerBytesMax: 16_384,
  requestMilliseconds: 60_000,
  translate: () => undefined,
})
const guard = createGuard({ directory, verifier, clock, ratePerSecond: 2 })
for (const operation of ['listAccounts', 'createAccount', 'getAccount'] as const) {
  app.route({
    ...guard(operation),
    async handler(request) {
      acceptInventedAnswers()
      return callerOf(request)
    },
  })
}
let url: string
let ordinal = 0

beforeAll(async () => {
  url = await listenOnFreePort(app)
})
afterAll(() => app.close())
beforeEach(() => {
  verdicts.clear()
  directory.replace(BOTH)
  // Every token bucket is full again.
  clock.advance(60_000)
})

async function ask(authorization?: string, method = 'GET', path = PATH) {
  const response = await fetch(url + path, { method, headers: authorization === undefined ? {} : { authorization } })
  const text = await response.text()
  const body = text === '' ? {} : JSON.parse(text)
  return {
    status: response.status,
    headers: response.headers,
    body,
    challenge: response.headers.get('www-authenticate'),
  }
}

/** Sends a request with a token for this client. */
function askWith(given: AccessToken, method?: string, path?: string) {
  const text = `token-${++ordinal}`
  verdicts.set(text, { ok: true, token: given })
  return ask(`Bearer ${text}`, method, path)
}

describe('the bearer guard', () => {
  it('the bearer guard accepts a token that holds the scope and passes on the customer and client', async () => {
    const answer = await askWith(token('a1', ['else', READ]))
    expect(answer).toMatchObject({ status: 200, body: { customerId: 'ann', clientId: 'a1' } })
    expect((await askWith(token('a1', [READ]), 'HEAD')).status).toBe(200)
    expect((await askWith(token('a1', [READ]), 'GET', `${PATH}/x`)).status).toBe(200)
  })

  it('the bearer guard limits a client’s requests for all operations by its plan’s rate', async () => {
    const plans = [{ name: 'slow', restRatePerSecond: 1 }]
    directory.replace({ ...BOTH, customers: BOTH.customers.map((each) => ({ ...each, plan: 'slow' })), plans })
    const answers = []
    for (const path of [PATH, `${PATH}/x`, PATH]) answers.push(await askWith(token('a1', [READ]), 'GET', path))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    expect(answers.at(-1)?.headers.get('ratelimit-policy')).toBe('"plan";q=2;w=2')
    directory.replace(BOTH)
    expect((await askWith(token('a1', [READ]), 'GET', `${PATH}/x`)).status).toBe(200)
  })

  it('a request counts once by a plan that the customer and the client both have', async () => {
    const plan = 'slow'
    const withPlan = <Holder extends object>(holders: readonly Holder[]) => holders.map((each) => ({ ...each, plan }))
    const holders = { customers: withPlan(BOTH.customers), clients: withPlan(BOTH.clients) }
    directory.replace({ ...holders, plans: [{ name: plan, restRatePerSecond: 1 }] })
    const statuses = []
    for (const path of [PATH, `${PATH}/x`, PATH]) {
      statuses.push((await askWith(token('a1', [READ]), 'GET', path)).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })

  it('the bearer guard requires a token', async () => {
    const answer = await ask()
    expect(answer).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'unauthorized' } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  })

  it.each([
    ['Bearer', 'invalid_token', 'Bearer error="invalid_token"'],
    ['Bearer a b', 'invalid_token', 'Bearer error="invalid_token"'],
    ['Basic YTpi', 'unauthorized', 'Bearer'],
    ['', 'unauthorized', 'Bearer'],
  ])('the bearer guard refuses the header %j', async (authorization, code, challenge) => {
    expect(await ask(authorization)).toMatchObject({ status: 401, challenge, body: { code } })
  })

  it('the bearer guard accepts the scheme in any case, and spaces around the token', async () => {
    verdicts.set('good', { ok: true, token: token('a1', [READ]) })
    for (const field of ['bearer good', 'BEARER  good ']) expect((await ask(field)).status).toBe(200)
  })

  it('the bearer guard refuses an invalid token with the reason and without repeating the token', async () => {
    const answer = await ask('Bearer secret-token')
    expect(answer).toMatchObject({
      status: 401,
      challenge: 'Bearer error="invalid_token"',
      body: { code: 'invalid_token', detail: 'the token is not valid: it is strange' },
    })
    expect(JSON.stringify(answer.body)).not.toContain('secret-token')
  })

  it('the bearer guard returns 503 while the directory is not loaded', async () => {
    verdicts.set('later', { ok: false, reason: 'not now', unavailable: true })
    const answer = await ask('Bearer later')
    expect(answer).toMatchObject({ status: 503, challenge: null, body: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('1')
    const starting = createGuard({ directory: new Directory(), verifier, clock, ratePerSecond: 1 })('listAccounts')
    const early = () =>
      starting.onRequest.call(app, { headers: { authorization: 'Bearer x' } } as never, {} as never, () => undefined)
    expect(early).toThrow(expect.objectContaining({ code: 'unavailable' }))
  })

  it('the bearer guard names the scopes of the token and the one that is required', async () => {
    const answer = await askWith(token('a1', ['identity:write_account', 'b']), 'GET')
    expect(answer.status).toBe(403)
    expect(answer.challenge).toBe('Bearer error="insufficient_scope", scope="identity:read_account"')
    expect(answer.body).toMatchObject({
      code: 'insufficient_scope',
      detail: "insufficient scopes: found 'identity:write_account', required one of '[identity:read_account]'",
    })
    const outside = await askWith(token('a9', ['a', 'b'], 'unknown here'))
    expect(outside.body.detail).toBe("insufficient scopes: found 'a b', required one of '[identity:read_account]'")
    const none = await askWith(token('a1', []))
    expect(none.body.detail).toBe("insufficient scopes: found '', required one of '[identity:read_account]'")
  })

  it('the bearer guard counts a scope that the client no longer holds as missing', async () => {
    directory.replace({ ...BOTH, clients: [client('a1', [WRITE])] })
    expect(await askWith(token('a1', [READ, WRITE]))).toMatchObject({
      status: 403,
      body: {
        detail: "insufficient scopes: found 'identity:write_account', required one of '[identity:read_account]'",
      },
    })
  })

  it('the bearer guard accepts the clients of an outside issuer, within the scopes of our client of that name', async () => {
    expect((await askWith(token('ann/x', [READ], 'x'))).status).toBe(200)
    directory.replace({ ...BOTH, clients: [client('x', [])] })
    expect((await askWith(token('ann/x', [READ], 'x'))).body.code).toBe('insufficient_scope')
    directory.replace({ ...BOTH, clients: [client('x', [READ], false)] })
    expect((await askWith(token('ann/x', [READ], 'x'))).body.code).toBe('disabled')
  })

  it.each<[string, DirectoryContent]>([
    ['client', { ...BOTH, clients: [client('a1', [READ], false)] }],
    ['customer', { ...BOTH, customers: [customer('ann', false)] }],
    ['client that is gone', { ...BOTH, clients: [] }],
    ['customer that is gone', { ...BOTH, customers: [] }],
  ])('the bearer guard refuses a disabled %s before it checks scopes', async (_what, truth) => {
    directory.replace(truth)
    const answer = await askWith(token('a1', ['else']))
    expect(answer).toMatchObject({ status: 403, challenge: null, body: { code: 'disabled' } })
  })
})

describe('the request rate', () => {
  it('the request rate has a token bucket per client and operation, counted after every other check and shown in responses', async () => {
    const reader = token('a1', [READ])
    for (let left = 3; left >= 0; left--) {
      const { status, headers } = await askWith(reader)
      expect(status).toBe(200)
      expect(headers.get('ratelimit-policy')).toBe('"list-accounts";q=4;w=2')
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"list-accounts";r=${left};t=\\d$`))
    }
    const refused = await askWith(reader)
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit')).toBe('"list-accounts";r=0;t=1')
    // Requests that were refused earlier took no token; they are refused as before.
    expect((await askWith(token('a1', []))).body.code).toBe('insufficient_scope')
    expect((await ask('Bearer bad')).status).toBe(401)
    // Another client and another operation have buckets of their own.
    expect((await askWith(token('a2', [READ]))).status).toBe(200)
    expect((await askWith(reader, 'GET', `${PATH}/x`)).headers.get('ratelimit-policy')).toBe('"get-account";q=4;w=2')
    clock.advance(500)
    expect((await askWith(reader)).status).toBe(200)
    expect((await askWith(reader)).status).toBe(429)
  })

  it('the request rate is the same for HEAD as for GET', async () => {
    const reader = token('a1', [READ])
    for (let count = 0; count < 4; count++) expect((await askWith(reader, 'HEAD')).status).toBe(200)
    expect((await askWith(reader, 'HEAD')).status).toBe(429)
  })
})

describe('the table of operations', () => {
  it('the table of operations has one path and method per operation, and a scope that exists', () => {
    const operations = Object.values(OPERATIONS)
    const places = operations.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(places).size).toBe(places.length)
    for (const { scope, path } of operations) {
      if (scope !== undefined) expect(Object.keys(SCOPES)).toContain(scope)
      expect(path).toMatch(/^\/v2(\/[a-z-]+){1,2}(\/\{(profile_id|id|market)\}(\/[a-z-]+)?)?$/)
    }
  })
})
