import type { FastifyRequest } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Directory } from '../../../../src/access/clients/directory.ts'
import { hashSecret, newSecret } from '../../../../src/access/clients/secrets.ts'
import { registerTokenEndpoints } from '../../../../src/access/clients/token-endpoint/token-routes.ts'
import { createTokenVerifier } from '../../../../src/access/clients/token-verifier.ts'
import { SCOPES, type Scope, servedScopes } from '../../../../src/contract/scopes.ts'
import { createMetricsRegistry } from '../../../../src/platform/base/metrics.ts'
import { createHttpServer } from '../../../../src/platform/http/server.ts'
import type { Db } from '../../../../src/platform/store/db.ts'
import { listenOnFreePort, newAuthority, newSigningKey } from '../../../support/auth-fixtures.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

const STREAM = 'exchange:read_aggregated_marketdata_stream'
const READ_ACCOUNT = 'identity:read_account'
const HELD: readonly Scope[] = [STREAM, READ_ACCOUNT]

const authority = newAuthority()
const key = newSigningKey('key-1')
const secret = newSecret()
const secondSecret = newSecret()
const clock = new VirtualClock()
const metrics = createMetricsRegistry()
const { log, lines } = captureLog()
const directory = new Directory()
let url: string
let revokeUrl: string

function truth(enabled = true, customerEnabled = true) {
  return {
    customers: [{ id: 'customer-1', name: 'acme', enabled: customerEnabled, streaming: false }],
    clients: [{ clientId: 'client-1', customerId: 'customer-1', name: 'feed', scopes: new Set(HELD), enabled }],
    secrets: [secret, secondSecret].map((text) => ({ clientId: 'client-1', hash: hashSecret(authority.pepper, text) })),
    keys: [key],
    authority,
  }
}

const RATE = 5
const BURST = 20

let requests = 0
/**
 * The dependencies of the endpoint besides a directory; every request comes from another address, so that none is
 * rate-limited.
 */
function endpoint() {
  const never = () => expect.unreachable('a grant reads memory alone')
  return {
    clock,
    tokenSeconds: 3600,
    scopes: servedScopes(true, true),
    db: new Proxy({} as Db, { get: never }),
    refreshDirectory: never,
    addressOf: ({ headers, id }: FastifyRequest) => String(headers['x-test-address'] ?? id),
    tokenRatePerSecond: RATE,
  }
}

const app = createHttpServer({
  listener: 'public',
  log,
  metrics,
  headerBytesMax: 16_384,
  requestMilliseconds: 30_000,
  translate: () => undefined,
})
registerTokenEndpoints(app, { ...endpoint(), directory, log, metrics })
beforeAll(async () => {
  directory.replace(truth())
  const address = await listenOnFreePort(app)
  url = `${address}/oauth2/token`
  revokeUrl = `${address}/oauth2/revoke`
})
afterAll(() => app.close())

type FormBody = string | URLSearchParams | FormData

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, string | number>
}

async function post(body: FormBody | undefined, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, ...(body === undefined ? {} : { body }) })
  return answerOf(response)
}

/** Posts from one fixed address, however many requests there were before. */
function at(address: string, body: FormBody, headers: Record<string, string> = {}): Promise<Answer> {
  return post(body, { ...headers, 'x-test-address': address })
}

async function answerOf(response: Response): Promise<Answer> {
  const body = (await response.json()) as Answer['body']
  return { status: response.status, headers: response.headers, body }
}

const RIGHT = { grant_type: 'client_credentials', client_id: 'client-1', client_secret: secret, scope: STREAM }

function form(changes: Record<string, string | undefined> = {}): URLSearchParams {
  const entries = Object.entries({ ...RIGHT, ...changes })
  return new URLSearchParams(entries.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

function basic(id: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}` }
}

/** Checks what every error has in common. */
function expectError(answer: Answer, status: number, error: string, description?: string | RegExp): void {
  expect(answer.body).toEqual({ error, error_description: expect.any(String) })
  expect(answer.status).toBe(status)
  if (description !== undefined) expect(answer.body.error_description).toMatch(description)
  // RFC 6749 section 5.2: printable ASCII without quote and backslash.
  expect(answer.body.error_description).toMatch(/^[ !#-[\]-~]+$/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
}

describe('a token grant', () => {
  it('a token grant returns the members that RFC 6749 names with no-store, and the token verifies', async () => {
    const answer = await post(form())
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('pragma')).toBe('no-cache')
    expect(Object.keys(answer.body)).toEqual(['access_token', 'expires_in', 'token_type', 'scope'])
    expect(answer.body).toMatchObject({ expires_in: 3600, token_type: 'bearer', scope: STREAM })
    const verdict = await createTokenVerifier({ directory, clock }).verify(answer.body.access_token as string)
    expect(verdict).toMatchObject({ ok: true, token: { clientId: 'client-1', customerId: 'customer-1' } })
  })

  it('a token grant contains a JWT as RFC 9068 specifies', async () => {
    const { body } = await post(form({ scope: `${READ_ACCOUNT} ${STREAM}` }))
    const [header, payload] = String(body.access_token)
      .split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' })
    const now = Math.floor(clock.wallInstant().milliseconds / 1000)
    expect(payload).toEqual({
      iss: authority.issuer,
      aud: authority.audience,
      sub: 'client-1',
      client_id: 'client-1',
      customer_id: 'customer-1',
      tokens_valid_from: 0,
      scope: `${READ_ACCOUNT} ${STREAM}`,
      iat: now,
      exp: now + 3600,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  it.each<[string, () => FormBody | undefined, Record<string, string>]>([
    ['with the second live secret', () => form({ client_secret: secondSecret }), {}],
    ['by HTTP Basic', () => form({ client_id: undefined, client_secret: undefined }), basic('client-1', secret)],
    [
      'by HTTP Basic with the same client_id in the body',
      () => form({ client_secret: undefined }),
      basic('client-1', secret),
    ],
    [
      'by form-encoded HTTP Basic',
      () => form({ client_id: undefined, client_secret: undefined }),
      basic('client%2D1', secret),
    ],
    [
      'with a scheme in another case',
      () => form({ client_id: undefined, client_secret: '' }),
      {
        authorization: basic('client-1', secret).authorization.replace('Basic', 'BASIC'),
      },
    ],
    [
      'by multipart/form-data',
      () => {
        const data = new FormData()
        for (const [name, value] of form()) data.append(name, value)
        return data
      },
      {},
    ],
    [
      'with several scopes, spaces and repetitions',
      () => form({ scope: ` ${STREAM}  ${READ_ACCOUNT} ${STREAM} ` }),
      {},
    ],
    ['with parameters it does not know', () => form({ audience: 'x' }), {}],
    ['with a charset', () => String(form()), { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }],
    ['beside an Authorization header of another scheme', () => form(), { authorization: 'Bearer old' }],
  ])('a token grant succeeds %s', async (_how, body, headers) => {
    expect(await post(body(), headers)).toMatchObject({ status: 200, body: { token_type: 'bearer' } })
  })

  it('a token grant for several scopes names each once, in the requested order', async () => {
    expect((await post(form({ scope: `${READ_ACCOUNT} ${STREAM} ${READ_ACCOUNT}` }))).body.scope).toBe(
      `${READ_ACCOUNT} ${STREAM}`,
    )
  })

  it('a token grant does not depend on whether the customer may stream', async () => {
    expect(directory.customer('customer-1')?.streaming).toBe(false)
    expect((await post(form())).status).toBe(200)
  })
})

describe('the order of the checks', () => {
  it('the order of the checks is request, client, grant, scope: each runs only when those before it have passed', async () => {
    const wrong = { client_secret: 'wrong', grant_type: 'password', scope: 'nothing' }
    const twice = form(wrong)
    twice.append('scope', 'nothing')
    expectError(await post(twice), 400, 'invalid_request')
    expectError(await post(form(wrong)), 401, 'invalid_client')
    expectError(await post(form({ ...wrong, client_secret: secret })), 400, 'unsupported_grant_type')
    expectError(await post(form({ scope: 'nothing' })), 400, 'invalid_scope')
    expect((await post(form())).status).toBe(200)
  })
})

describe('invalid_request', () => {
  it.each(['grant_type', 'client_id', 'client_secret', 'scope', 'unknown'])(
    'invalid_request is returned when %s is sent twice',
    async (name) => {
      const body = form({ unknown: 'x' })
      body.append(name, '')
      expectError(await post(body), 400, 'invalid_request', `a parameter is sent twice: ${name}`)
    },
  )

  it('invalid_request is returned when credentials come in the body and as HTTP Basic', async () => {
    expectError(await post(form(), basic('client-1', secret)), 400, 'invalid_request', /both/)
    const otherId = form({ client_secret: undefined, client_id: 'client-2' })
    expectError(await post(otherId, basic('client-1', secret)), 400, 'invalid_request', /client_id differs/)
  })

  it.each([undefined, ''])('invalid_request is returned when grant_type is missing or empty', async (grantType) => {
    expectError(await post(form({ grant_type: grantType })), 400, 'invalid_request', 'grant_type is required')
  })

  it('invalid_request is returned when a multipart body is broken or contains a file', async () => {
    expectError(await post('x', { 'content-type': 'multipart/form-data; boundary=y' }), 400, 'invalid_request')
    expectError(await post('x', { 'content-type': 'multipart/form-data' }), 400, 'invalid_request')
    const data = new FormData()
    data.append('client_id', new Blob(['client-1']), 'id.txt')
    expectError(await post(data), 400, 'invalid_request', /file/)
  })

  it('invalid_request has a description that parameter names cannot break', async () => {
    const body = form()
    body.append('"\\\u{1F980}\n', '')
    body.append('"\\\u{1F980}\n', '')
    expectError(await post(body), 400, 'invalid_request', 'a parameter is sent twice: ')
  })
})

describe('invalid_client', () => {
  it.each<[string, Record<string, string | undefined>]>([
    ['nothing at all', { client_id: undefined, client_secret: undefined }],
    ['no secret', { client_secret: undefined }],
    ['an empty secret', { client_secret: '' }],
    ['no client_id', { client_id: undefined }],
    ['a wrong secret', { client_secret: newSecret() }],
    ['a secret in another case', { client_secret: secret.toUpperCase() }],
    ['an unknown client', { client_id: 'client-2' }],
    ['the name of a member of every object', { client_id: '__proto__' }],
  ])('invalid_client is returned for %s, without a challenge', async (_what, changes) => {
    const answer = await post(form(changes))
    expectError(answer, 401, 'invalid_client')
    expect(answer.headers.get('www-authenticate')).toBeNull()
  })

  it.each([
    ['a wrong secret', basic('client-1', 'wrong').authorization],
    ['an unknown client', basic('client-2', secret).authorization],
    ['no colon', `Basic ${Buffer.from('client-1').toString('base64')}`],
    ['no base64', 'Basic !!!'],
    ['nothing', 'Basic'],
    ['broken percent-encoding', basic('client-1', '%zz').authorization],
  ])('invalid_client is returned for HTTP Basic with %s, with a challenge', async (_what, authorization) => {
    const answer = await post(form({ client_id: undefined, client_secret: undefined }), { authorization })
    expectError(answer, 401, 'invalid_client', 'client authentication failed')
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
  })

  it.each([
    ['client', truth(false)],
    ['customer', truth(true, false)],
    ['client without its customer', { ...truth(), customers: [] }],
    ['client without secrets', { ...truth(), secrets: [] }],
  ])(
    'invalid_client is returned for a disabled or incomplete %s, exactly as for a wrong secret',
    async (_what, disabled) => {
      onTestFinished(() => directory.replace(truth()))
      directory.replace(disabled)
      const answer = await post(form())
      expectError(answer, 401, 'invalid_client')
      directory.replace(truth())
      expect(answer.body).toEqual((await post(form({ client_secret: 'wrong' }))).body)
    },
  )

  it('invalid_client is returned for a request without a body', async () => {
    expectError(await post(undefined), 401, 'invalid_client')
  })

  it('invalid_client is returned for credentials in the URL, which are not read', async () => {
    const response = await fetch(`${url}?${form()}`, { method: 'POST' })
    expect(response.status).toBe(401)
  })
})

describe('grant type and scope', () => {
  it.each(['password', 'authorization_code', 'Client_Credentials', 'client_credentials '])(
    'the grant type %s returns unsupported_grant_type',
    async (grantType) => {
      expectError(await post(form({ grant_type: grantType })), 400, 'unsupported_grant_type')
    },
  )

  it.each<[string, string | undefined, RegExp]>([
    ['missing', undefined, /required/],
    ['empty', '', /required/],
    ['blank', '  ', /required/],
    ['one that does not exist', 'openid', /does not exist: openid/],
    ['one in another case', STREAM.toUpperCase(), /does not exist/],
    ['one that is not held', 'identity:write_account', /does not hold the scope identity:write_account/],
    ['one good and one that does not exist', `${STREAM} openid`, /does not exist: openid/],
    ['one good and one that is not held', `${STREAM} funding:read_profile`, /does not hold/],
    ['one that would break the description', 'a"b\\c\u{1F980}', /does not exist: a\?b\?c/],
    ['separated by a comma', `${STREAM},${READ_ACCOUNT}`, /does not exist/],
    ['a member of every object', 'constructor', /does not exist/],
  ])('grant type and scope return invalid_scope for %s', async (_what, scope, description) => {
    expectError(await post(form({ scope })), 400, 'invalid_scope', description)
  })

  it('the token endpoint grants each scope of the table to a client that holds it, and to no other', async () => {
    onTestFinished(() => directory.replace(truth()))
    for (const scope of Object.keys(SCOPES) as Scope[]) {
      const [client] = truth().clients
      directory.replace({ ...truth(), clients: [{ ...client!, scopes: new Set([scope]) }] })
      expect((await post(form({ scope }))).body.scope).toBe(scope)
      directory.replace({ ...truth(), clients: [{ ...client!, scopes: new Set() }] })
      expectError(await post(form({ scope })), 400, 'invalid_scope')
    }
  })
})

describe('HTTP errors of the token endpoint', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'a %s request to the token endpoint is 405 in the same shape',
    async (method) => {
      const response = await fetch(url, { method, ...(method === 'PUT' ? { body: '{}' } : {}) })
      const answer = await answerOf(response)
      expectError(answer, 405, 'invalid_request')
      expect(answer.headers.get('allow')).toBe('POST')
    },
  )

  it('a HEAD request to the token endpoint is 405 too', async () => {
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(405)
  })

  it('other media types are 415 at the token endpoint', async () => {
    expectError(await post(JSON.stringify(RIGHT), { 'content-type': 'application/json' }), 415, 'invalid_request')
    expectError(await post('x', { 'content-type': 'text/plain' }), 415, 'invalid_request')
    expectError(await post('x', { 'content-type': 'nonsense' }), 415, 'invalid_request')
  })

  it.each([
    ['exactly 64 KiB is read', 65_536, 200],
    ['one byte more is 413', 65_537, 413],
  ])('the token and revocation endpoints limit a body of %s in both media types', async (_what, length, status) => {
    const padded = form({ x: '' })
    padded.set('x', 'x'.repeat(length - String(padded).length))
    expect([String(padded).length, (await post(padded)).status]).toEqual([length, status])

    const part = (name: string, value: string) =>
      `--next-part\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const parts = [...form()].map(([name, value]) => part(name, value)).join('')
    const rest = length - `${parts}${part('x', '')}--next-part--\r\n`.length
    const multipart = `${parts}${part('x', 'x'.repeat(rest))}--next-part--\r\n`
    const answer = await post(multipart, { 'content-type': 'multipart/form-data; boundary=next-part' })
    expect([multipart.length, answer.status, answer.body.error_description]).toEqual([
      length,
      status,
      status === 200 ? undefined : 'body: must not be over 65536 bytes',
    ])

    const { client_id, client_secret } = RIGHT
    const revocation = new URLSearchParams({ client_id, client_secret, token: '' })
    revocation.set('token', 'x'.repeat(length - String(revocation).length))
    const { status: revoked } = await fetch(revokeUrl, { method: 'POST', body: revocation })
    expect([String(revocation).length, revoked]).toEqual([length, status])
  })

  it('the token endpoint returns 503 with Retry-After without a directory, and 500 without details after an internal error', async () => {
    const empty = new Directory()
    const failing = { ...captureLog(), metrics: createMetricsRegistry() }
    const other = createHttpServer({
      listener: 'public',
      log: failing.log,
      metrics: failing.metrics,
      headerBytesMax: 16_384,
      requestMilliseconds: 30_000,
      translate: () => undefined,
    })
    registerTokenEndpoints(other, { ...endpoint(), directory: empty, log: failing.log, metrics: failing.metrics })
    onTestFinished(() => other.close())
    const otherUrl = `${await listenOnFreePort(other)}/oauth2/token`
    const ask = async (): Promise<Answer> => {
      const response = await fetch(otherUrl, { method: 'POST', body: form() })
      return answerOf(response)
    }
    const notLoaded = await ask()
    expectError(notLoaded, 503, 'temporarily_unavailable')
    expect(notLoaded.headers.get('retry-after')).toBe('1')
    empty.replace(truth())
    empty.client = () => {
      throw new Error('a bug with details')
    }
    const bug = await ask()
    expectError(bug, 500, 'server_error')
    expect(JSON.stringify(bug.body)).not.toContain('details')
    expect(failing.lines.join('')).toContain('a bug with details')
  })
})

describe('repeated authentication failures', () => {
  it('repeated authentication failures are answered 429 with a growing Retry-After, while the right secret is accepted', async () => {
    const wrong = form({ client_secret: 'wrong' })
    for (let count = 0; count < 5; count++) expectError(await at('a', wrong), 401, 'invalid_client')
    const waits: (string | null)[] = []
    for (let count = 0; count < 4; count++) {
      const answer = await at('a', wrong)
      expectError(answer, 429, 'temporarily_unavailable', /^client authentication failed too often: try again in/)
      expect(answer.headers.get('www-authenticate')).toBeNull()
      waits.push(answer.headers.get('retry-after'))
      expect((await at('a', form())).status).toBe(200)
      expect(
        (await at('a', form({ client_id: undefined, client_secret: undefined }), basic('client-1', secret))).status,
      ).toBe(200)
      clock.advance(400)
    }
    expect(waits).toEqual(['1', '2', '4', '7'])
  })

  it('repeated authentication failures are counted for unknown clients, disabled clients and HTTP Basic in the same way', async () => {
    onTestFinished(() => directory.replace(truth()))
    const answersOf = async (address: string, body: FormBody, headers = {}) => {
      const answers: Answer[] = []
      for (let count = 0; count < 7; count++) answers.push(await at(address, body, headers))
      return answers.map(({ status, body, headers }) => [status, body, headers.get('retry-after')])
    }
    const wrong = await answersOf('c', form({ client_secret: 'wrong' }))
    expect(wrong.map(([status]) => status)).toEqual([401, 401, 401, 401, 401, 429, 429])
    expect(await answersOf('d', form({ client_id: 'nobody' }))).toEqual(wrong)
    const nothing = form({ client_id: undefined, client_secret: undefined })
    expect(await answersOf('e', nothing, basic('client-1', 'wrong'))).toEqual(wrong)
    directory.replace(truth(false))
    expect(await answersOf('f', form())).toEqual(wrong)
  })

  it('repeated authentication failures of an unknown client cost the same steps as a wrong secret', async () => {
    const steps: string[] = []
    const watched = new Directory()
    watched.replace(truth())
    const other = createHttpServer({
      listener: 'public',
      log,
      metrics: createMetricsRegistry(),
      headerBytesMax: 16_384,
      requestMilliseconds: 30_000,
      translate: () => undefined,
    })
    const seen = new Proxy(watched, {
      get(target, name) {
        steps.push(String(name))
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    registerTokenEndpoints(other, { ...endpoint(), directory: seen, log, metrics: createMetricsRegistry() })
    onTestFinished(() => other.close())
    const otherUrl = `${await listenOnFreePort(other)}/oauth2/token`
    const taken: string[][] = []
    for (const client_id of ['client-1', 'nobody']) {
      steps.length = 0
      await fetch(otherUrl, { method: 'POST', body: form({ client_id, client_secret: 'wrong' }) })
      taken.push([...steps])
    }
    // The customer is looked up only for an existing client, after the secret has been compared in either case.
    expect(taken[0]).toEqual(['authority', 'secretHashes', 'client', 'customer'])
    expect(taken[1]).toEqual(['authority', 'secretHashes', 'client'])
  })
})

describe('the request rate of an address', () => {
  const wrong = () => form({ client_id: `unknown ${++requests}`, client_secret: 'wrong' })
  const at = (address: string, body: FormBody, headers: Record<string, string> = {}) => {
    return post(body, { ...headers, 'x-test-address': address })
  }

  it('failing requests of an address beyond its rate are 429, and the right secret is accepted from there every time', async () => {
    const address = 'shared'
    for (let count = 0; count < BURST; count++) {
      const answer = await at(address, wrong())
      expectError(answer, 401, 'invalid_client')
      expect(answer.headers.get('ratelimit')).toContain(`"token-failures";r=${BURST - count - 1};`)
    }
    for (let count = 0; count < BURST; count++) {
      const refused = await at(address, wrong())
      expectError(refused, 429, 'temporarily_unavailable', 'too many requests: try again in 1 second')
      expect(refused.headers.get('retry-after')).toBe('1')
      expect(refused.headers.get('ratelimit')).toBe('"token-failures";r=0;t=1')
      const admitted = await at(address, form())
      expect(admitted.status, `attempt ${count}`).toBe(200)
      expect(admitted.headers.get('ratelimit')).toContain(`"token";r=${BURST - count - 1};`)
    }
    // Requests with valid credentials have a limit of their own per address.
    const more = await at(address, form())
    expectError(more, 429, 'temporarily_unavailable', 'too many requests')
    expect(more.headers.get('ratelimit')).toBe('"token";r=0;t=1')
  })

  it('the address rate counts concurrent requests before their response, and a successful one returns its token', async () => {
    const answers = await Promise.all(Array.from({ length: 2 * BURST }, () => at('crowd', wrong())))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(BURST)
    for (let count = 0; count < BURST; count++) expect((await at('fleet', form())).status).toBe(200)
    clock.advance(4_000)
    for (let count = 0; count < BURST; count++) expect((await at('fleet', form())).status).toBe(200)
    for (let count = 0; count < BURST; count++) expectError(await at('fleet', wrong()), 401, 'invalid_client')
  })

  it("an address's requests beyond ten times the rate are refused unread, and large or unsized bodies at once", async () => {
    const address = 'flood'
    for (let count = 0; count < BURST; count++) await at(address, wrong())
    const large = form({ padding: 'x'.repeat(8_192) })
    expectError(await at(address, large), 429, 'temporarily_unavailable', 'too many requests')
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(String(form())))
        controller.close()
      },
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-test-address': address }
    const chunked = { method: 'POST', body: chunks, headers, duplex: 'half' } as RequestInit
    expectError(await answerOf(await fetch(url, chunked)), 429, 'temporarily_unavailable', 'too many requests')
    for (let count = 0; count < 10 * RATE; count++) await at(address, wrong())
    expectError(await at(address, form()), 429, 'temporarily_unavailable', 'too many requests')
    clock.advance(100)
    expect((await at(address, form())).status).toBe(200)
  })
})

describe('a form with too many parameters', () => {
  it('a form with too many parameters is 400 before it is parsed, in both media types; a hundred parameters are read', async () => {
    for (const [count, status] of [
      [96, 200],
      [97, 400],
    ] as const) {
      const many = form(Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 'y'])))
      expect((await post(many)).status).toBe(status)
      const data = new FormData()
      for (const [name, value] of many) data.append(name, value)
      expect((await post(data)).status).toBe(status)
    }
  })
})

describe('the revocation endpoint', () => {
  const revoke = async (body: FormBody, headers: Record<string, string> = {}) => {
    const response = await fetch(revokeUrl, { method: 'POST', body, headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) } as Answer
  }
  const CREDENTIALS = { client_id: 'client-1', client_secret: secret }

  it('the revocation endpoint checks request, client and token in that order, by the rules of the token endpoint', async () => {
    const twice = new URLSearchParams({ ...CREDENTIALS, client_secret: 'wrong' })
    twice.append('client_id', 'client-1')
    expectError(await revoke(twice), 400, 'invalid_request', /twice/)
    const wrong = new URLSearchParams({ ...CREDENTIALS, client_secret: 'wrong' })
    expectError(await revoke(wrong), 401, 'invalid_client')
    const challenged = await revoke(new URLSearchParams({ token: 'x' }), basic('client-1', 'wrong'))
    expectError(challenged, 401, 'invalid_client')
    expect(challenged.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
    expectError(await revoke(new URLSearchParams(CREDENTIALS)), 400, 'invalid_request', 'token is required')
    expectError(await revoke(new URLSearchParams({ ...CREDENTIALS, token: '' })), 400, 'invalid_request')
    expectError(await revoke('{}', { 'content-type': 'application/json' }), 415, 'invalid_request')
    const get = await answerOf(await fetch(revokeUrl))
    expectError(get, 405, 'invalid_request')
    expect(get.headers.get('allow')).toBe('POST')
  })

  it.each(['nonsense', 'a.b.c'])(
    'the revocation endpoint returns 200 for a token that is %s, without reading the store',
    async (token) => {
      for (const hint of [undefined, 'refresh_token', 'whatever']) {
        const body = new URLSearchParams({
          ...CREDENTIALS,
          token,
          ...(hint === undefined ? {} : { token_type_hint: hint }),
        })
        const answer = await revoke(body)
        expect([answer.status, answer.body, answer.headers.get('cache-control')]).toEqual([200, {}, 'no-store'])
      }
    },
  )
})

describe('the log and the metrics', () => {
  it('the log and the metrics of the token endpoint contain no secret, token or header, and a count of every result', async () => {
    const { body } = await post(form())
    const answers = [post(form(), basic('client-1', secret)), post(form({ scope: secret }))]
    await Promise.all(answers)
    await fetch(`${url}?client_secret=${secret}`, {
      method: 'POST',
      body: '%',
      headers: { authorization: 'Basic Zm9v' },
    })
    const text = lines.join('') + (await metrics.metrics())
    expect(text).toContain('"route":"/oauth2/token"')
    const token = String(body.access_token)
    for (const forbidden of [secret, secondSecret, 'tgs_', token, token.split('.')[2] as string, 'Zm9v', 'eyJ']) {
      expect(text).not.toContain(forbidden)
    }
    expect(text).toMatch(/tidegate_token_grants_total\{result="granted"\} \d+/)
    expect(text).toMatch(/tidegate_token_grants_total\{result="invalid_scope"\} \d+/)
  })
})
