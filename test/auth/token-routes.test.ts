import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Directory } from '../../src/auth/directory.ts'
import { hashSecret, newSecret } from '../../src/auth/secrets.ts'
import { registerTokenEndpoint } from '../../src/auth/token-routes.ts'
import { createTokenVerifier } from '../../src/auth/token-verifier.ts'
import { createMetricsRegistry } from '../../src/base/metrics.ts'
import { SCOPES, type Scope } from '../../src/contract/scopes.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { captureLog, listenAnywhere, newAuthority, newSigningKey } from '../support/door.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

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

function truth(enabled = true, customerEnabled = true) {
  return {
    customers: [{ id: 'customer-1', name: 'acme', enabled: customerEnabled, streaming: false }],
    clients: [{ clientId: 'client-1', customerId: 'customer-1', name: 'feed', scopes: new Set(HELD), enabled }],
    secrets: [secret, secondSecret].map((text) => ({ clientId: 'client-1', hash: hashSecret(authority.pepper, text) })),
    keys: [key],
    authority,
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
registerTokenEndpoint(app, { directory, clock, tokenSeconds: 3600, log, metrics })
beforeAll(async () => {
  directory.replace(truth())
  url = `${await listenAnywhere(app)}/oauth2/token`
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

/** What holds of every error, whatever it is. */
function expectError(answer: Answer, status: number, error: string, description?: string | RegExp): void {
  expect(answer.body).toEqual({ error, error_description: expect.any(String) })
  expect(answer.status).toBe(status)
  if (description !== undefined) expect(answer.body.error_description).toMatch(description)
  // RFC 6749 section 5.2: printable ASCII without quote and backslash.
  expect(answer.body.error_description).toMatch(/^[ !#-[\]-~]+$/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
}

describe('a grant', () => {
  it('answers what RFC 6749 names, not to be stored, and the token verifies', async () => {
    const answer = await post(form())
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('pragma')).toBe('no-cache')
    expect(Object.keys(answer.body)).toEqual(['access_token', 'expires_in', 'token_type', 'scope'])
    expect(answer.body).toMatchObject({ expires_in: 3600, token_type: 'bearer', scope: STREAM })
    const verdict = await createTokenVerifier({ directory, clock }).verify(answer.body.access_token as string)
    expect(verdict).toMatchObject({ ok: true, token: { clientId: 'client-1', customerId: 'customer-1' } })
  })

  it('is a JWT as RFC 9068 says', async () => {
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
      'with several scopes, blanks and repetitions',
      () => form({ scope: ` ${STREAM}  ${READ_ACCOUNT} ${STREAM} ` }),
      {},
    ],
    ['with parameters it does not know', () => form({ audience: 'x' }), {}],
    ['with a charset', () => String(form()), { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }],
    ['beside an Authorization header of another scheme', () => form(), { authorization: 'Bearer old' }],
  ])('is made %s', async (_how, body, headers) => {
    expect(await post(body(), headers)).toMatchObject({ status: 200, body: { token_type: 'bearer' } })
  })

  it('for several scopes names each once, in the order asked for', async () => {
    expect((await post(form({ scope: `${READ_ACCOUNT} ${STREAM} ${READ_ACCOUNT}` }))).body.scope).toBe(
      `${READ_ACCOUNT} ${STREAM}`,
    )
  })

  it('does not ask whether the customer may stream', async () => {
    expect(directory.customer('customer-1')?.streaming).toBe(false)
    expect((await post(form())).status).toBe(200)
  })
})

describe('the order of the checks', () => {
  it('is request, client, grant, scope: each is seen only when those before it pass', async () => {
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
  it.each(['grant_type', 'client_id', 'client_secret', 'scope', 'unknown'])('when %s is sent twice', async (name) => {
    const body = form({ unknown: 'x' })
    body.append(name, '')
    expectError(await post(body), 400, 'invalid_request', `a parameter is sent twice: ${name}`)
  })

  it('when credentials come in the body and as HTTP Basic', async () => {
    expectError(await post(form(), basic('client-1', secret)), 400, 'invalid_request', /both/)
    const otherId = form({ client_secret: undefined, client_id: 'client-2' })
    expectError(await post(otherId, basic('client-1', secret)), 400, 'invalid_request', /client_id differs/)
  })

  it.each([undefined, ''])('when grant_type is missing or empty', async (grantType) => {
    expectError(await post(form({ grant_type: grantType })), 400, 'invalid_request', 'grant_type is required')
  })

  it('when a multipart body is broken or holds a file', async () => {
    expectError(await post('x', { 'content-type': 'multipart/form-data; boundary=y' }), 400, 'invalid_request')
    expectError(await post('x', { 'content-type': 'multipart/form-data' }), 400, 'invalid_request')
    const data = new FormData()
    data.append('client_id', new Blob(['client-1']), 'id.txt')
    expectError(await post(data), 400, 'invalid_request', /file/)
  })

  it('names of parameters cannot break the description', async () => {
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
  ])('for %s, without a challenge', async (_what, changes) => {
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
  ])('for HTTP Basic with %s, with a challenge', async (_what, authorization) => {
    const answer = await post(form({ client_id: undefined, client_secret: undefined }), { authorization })
    expectError(answer, 401, 'invalid_client', 'client authentication failed')
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="/)
  })

  it.each([
    ['client', truth(false)],
    ['customer', truth(true, false)],
    ['client without its customer', { ...truth(), customers: [] }],
    ['client without secrets', { ...truth(), secrets: [] }],
  ])('for a disabled or incomplete %s, told like a wrong secret', async (_what, disabled) => {
    onTestFinished(() => directory.replace(truth()))
    directory.replace(disabled)
    const answer = await post(form())
    expectError(answer, 401, 'invalid_client')
    directory.replace(truth())
    expect(answer.body).toEqual((await post(form({ client_secret: 'wrong' }))).body)
  })

  it('for no body at all', async () => {
    expectError(await post(undefined), 401, 'invalid_client')
  })

  it('for credentials in the URL, which are not read', async () => {
    const response = await fetch(`${url}?${form()}`, { method: 'POST' })
    expect(response.status).toBe(401)
  })
})

describe('grant and scope', () => {
  it.each(['password', 'authorization_code', 'Client_Credentials', 'client_credentials '])(
    'unsupported_grant_type for %s',
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
  ])('invalid_scope for %s', async (_what, scope, description) => {
    expectError(await post(form({ scope })), 400, 'invalid_scope', description)
  })

  it('each scope of the table can be granted to a client that holds it, and to no other', async () => {
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

describe('what HTTP refuses', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is 405 in the same shape', async (method) => {
    const response = await fetch(url, { method, ...(method === 'PUT' ? { body: '{}' } : {}) })
    const answer = await answerOf(response)
    expectError(answer, 405, 'invalid_request')
    expect(answer.headers.get('allow')).toBe('POST')
  })

  it('HEAD is 405 too', async () => {
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(405)
  })

  it('other media types are 415', async () => {
    expectError(await post(JSON.stringify(RIGHT), { 'content-type': 'application/json' }), 415, 'invalid_request')
    expectError(await post('x', { 'content-type': 'text/plain' }), 415, 'invalid_request')
    expectError(await post('x', { 'content-type': 'nonsense' }), 415, 'invalid_request')
  })

  it('a body of 1 MiB is read, one byte more is 413', async () => {
    const room = 1_048_576 - String(form()).length - '&x='.length
    expect((await post(form({ x: 'x'.repeat(room) }))).status).toBe(200)
    expectError(await post(form({ x: 'x'.repeat(room + 1) })), 413, 'invalid_request')
  })

  it('a directory that is not loaded is 503 with Retry-After, a bug 500 without a word', async () => {
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
    registerTokenEndpoint(other, {
      directory: empty,
      clock,
      tokenSeconds: 60,
      log: failing.log,
      metrics: failing.metrics,
    })
    onTestFinished(() => other.close())
    const otherUrl = `${await listenAnywhere(other)}/oauth2/token`
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

describe('what is left behind', () => {
  it('no secret, token or header in the log or the metrics, and a count of every result', async () => {
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
