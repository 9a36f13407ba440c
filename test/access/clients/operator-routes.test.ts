import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '../../../src/contract/scopes.ts'
import { type OperatorFixture, openOperatorFixture, PUBLIC_URL, STREAM_URL } from '../../support/auth-fixtures.ts'

const NO_ONE = '0190a000-0000-7000-8000-000000000000'
const PUBLISH_SCOPE = 'exchange:publish_marketdata'
const STREAM = 'exchange:read_aggregated_marketdata_stream'

let side: OperatorFixture
beforeAll(async () => {
  side = await openOperatorFixture()
})
afterAll(() => side?.close())

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
  readonly body: any
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${side.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${side.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

async function auditCount(): Promise<number> {
  return (await ask('GET', '/audit?limit=1000')).body.items.length
}

let number = 0
async function newCustomer(streaming = false): Promise<{ id: string; name: string }> {
  return (await ask('POST', '/customers', { name: `customer ${++number}`, streaming })).body
}

async function newClient(scopes: readonly string[] = [STREAM]) {
  const customer = await newCustomer(true)
  return (await ask('POST', `/customers/${customer.id}/clients`, { name: 'feed', scopes })).body
}

describe('the guard of the operator API', () => {
  it.each([
    ['nothing', {}, 'unauthorized', 'Bearer'],
    ['another scheme', { authorization: 'Basic YTpi' }, 'unauthorized', 'Bearer'],
    ['two tokens', { authorization: 'Bearer a b' }, 'invalid_token', 'Bearer error="invalid_token"'],
    ['another token', { authorization: 'Bearer wrong' }, 'invalid_token', 'Bearer error="invalid_token"'],
  ])('the operator API guard refuses %s', async (_what, headers, code, challenge) => {
    const response = await fetch(`${side.url}/admin/v1/customers`, { headers: headers as Record<string, string> })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(await response.json()).toMatchObject({ status: 401, code })
  })

  it('the operator API guard accepts the scheme of the token in any case', async () => {
    expect((await ask('GET', '/customers', undefined, { authorization: `bearer ${side.token}` })).status).toBe(200)
  })

  it('the operator API guard runs after the 404 and 405 checks, and does not cover the health endpoints', async () => {
    expect((await fetch(`${side.url}/admin/v1/nothing`)).status).toBe(404)
    const wrongMethod = await fetch(`${side.url}/admin/v1/customers`, { method: 'PUT' })
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    expect((await fetch(`${side.url}/livez`)).status).toBe(200)
    expect(await (await fetch(`${side.url}/readyz`)).json()).toEqual({ ready: true, checks: [] })
    const metrics = await fetch(`${side.url}/metrics`)
    expect(metrics.headers.get('content-type')).toContain('application/openmetrics-text')
    expect(await metrics.text()).toMatch(/tidegate_http_requests_total\{listener="operator".*# EOF\n$/s)
    expect((await fetch(`${side.url}/livez`, { method: 'HEAD' })).status).toBe(200)
  })
})

describe('customers', () => {
  it('customers are created, shown, listed and changed; each write leaves one audit row and reaches the directory', async () => {
    const before = await auditCount()
    const created = await ask('POST', '/customers', { name: 'acme' })
    expect(created).toMatchObject({ status: 200, body: { name: 'acme', enabled: true, streaming: false } })
    expect(created.headers.get('cache-control')).toBe('no-store')
    expect(created.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(Object.keys(created.body)).toEqual([
      'id',
      'name',
      'enabled',
      'streaming',
      'security_contacts',
      'plan',
      'created_at',
    ])
    expect(created.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const { id } = created.body
    expect(side.directory.customer(id)).toEqual({ id, name: 'acme', enabled: true, streaming: false })
    expect((await ask('GET', `/customers/${id}`)).body).toEqual(created.body)
    expect((await ask('GET', '/customers')).body.items).toContainEqual(created.body)

    const changed = await ask('PATCH', `/customers/${id.toUpperCase()}`, { streaming: true, enabled: false })
    expect(changed.body).toEqual({ ...created.body, streaming: true, enabled: false })
    expect(side.directory.customer(id)).toMatchObject({ enabled: false, streaming: true })
    expect(await auditCount()).toBe(before + 2)
    expect((await ask('GET', '/audit?limit=2')).body.items).toMatchObject([
      { actor: 'operator', action: 'customer.update', subject: id, detail: { streaming: true, enabled: false } },
      { actor: 'operator', action: 'customer.create', subject: id, detail: { name: 'acme', streaming: false } },
    ])
    const actionsOf = async (query: string) =>
      (await ask('GET', `/audit?${query}`)).body.items.map(({ action }: { action: string }) => action)
    expect(await actionsOf(`subject=${id}`)).toEqual(['customer.update', 'customer.create'])
    expect(await actionsOf(`subject=${id}&actor=operator&order=ASC`)).toEqual(['customer.create', 'customer.update'])
    expect(await actionsOf('actor=operator&limit=2')).toEqual(['customer.update', 'customer.create'])
    expect(await actionsOf(`actor=client:${id}`)).toEqual([])
  })

  it('customers that already have the requested values are returned without an audit row', async () => {
    const { id } = await newCustomer(true)
    const before = await auditCount()
    expect(await ask('PATCH', `/customers/${id}`, { streaming: true })).toMatchObject({ status: 200, body: { id } })
    expect(await auditCount()).toBe(before)
  })

  it("customers have unique names: a second request is answered with the first customer's id, also a concurrent one", async () => {
    const before = await auditCount()
    const answers = await Promise.all(
      [1, 2, 3].map(() => ask('POST', '/customers', { name: 'twice', streaming: true })),
    )
    const winner = answers.find(({ status }) => status === 200)
    const losers = answers.filter(({ status }) => status === 409)
    expect(losers).toHaveLength(2)
    for (const { body } of losers) {
      expect(body).toMatchObject({ code: 'already_exists', meta: { existing: winner?.body } })
    }
    expect(await auditCount()).toBe(before + 1)
  })

  it.each([
    ['no body', undefined, '/name', 'is required'],
    ['an empty name', { name: '' }, '/name', 'must have at least 1 characters'],
    ['201 characters', { name: '\u{1F980}'.repeat(201) }, '/name', 'must have at most 200 characters'],
    ['a number as name', { name: 7 }, '/name', 'must be of type string'],
    ['text as boolean', { name: 'x', streaming: 'true' }, '/streaming', 'must be of type boolean'],
    ['null', { name: 'x', streaming: null }, '/streaming', 'must be of type boolean'],
    ['an unknown member', { name: 'x', strange: 1 }, '/strange', 'is not a known member: known are name, streaming'],
    ['an array', [], '', 'must be of type object'],
    ['no JSON', '{"name":', '', 'is not valid JSON (SyntaxError)'],
    ['a member twice', '{"name":"x","name":"y"}', '/name', 'is a duplicate member'],
    ['__proto__', '{"name":"x","__proto__":{}}', '/__proto__', 'is not a known member: known are name, streaming'],
    ['U+0000', '{"name":"a\\u0000"}', '/name', 'contains U+0000 or a lone surrogate'],
  ])('a customer with %s is refused with pointer and rule', async (_what, body, pointer, detail) => {
    const answer = await ask('POST', '/customers', body)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(answer.body).toMatchObject({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      code: 'invalid_request',
      detail: `${pointer || 'body'}: ${detail}`,
      errors: [{ pointer, detail }],
      request_id: answer.headers.get('x-request-id'),
    })
  })

  it('customers accept a name of 200 characters, counted as code points', async () => {
    expect((await ask('POST', '/customers', { name: '\u{1F980}'.repeat(200) })).status).toBe(200)
  })

  it('customers reject other media types, other charsets, and bodies over 1 MiB', async () => {
    expect((await ask('POST', '/customers', 'name=x', { 'content-type': 'text/plain' })).status).toBe(415)
    const latin = await ask('POST', '/customers', '{"name":"x"}', {
      'content-type': 'application/json; charset=latin1',
    })
    expect(latin).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
    const large = await ask('POST', '/customers', { name: 'x'.repeat(1_048_576) })
    expect(large).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    const fine = await ask('POST', '/customers', '{"name":"utf"}', { 'content-type': 'application/json;charset=UTF-8' })
    expect(fine.status).toBe(200)
  })

  it('unknown customers are 404, also for malformed ids; an empty change is 400', async () => {
    expect(await ask('GET', `/customers/${NO_ONE}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await ask('GET', `/customers/${'x'.repeat(300)}`)).status).toBe(404)
    expect((await ask('PATCH', '/customers/%00', { enabled: true })).status).toBe(404)
    expect((await ask('PATCH', `/customers/${NO_ONE}`, { enabled: true })).status).toBe(404)
    expect((await ask('PATCH', `/customers/${NO_ONE}`, {})).body.detail).toBe('body: must have at least 1 members')
  })
})

describe('lists', () => {
  it('lists page through every record once, newest first or oldest first', async () => {
    for (let count = 0; count < 5; count++) await newCustomer()
    const all = (await ask('GET', '/customers?limit=1000')).body
    expect(all).not.toHaveProperty('next_page_cursor')
    const seen: unknown[] = []
    let path = '/customers?limit=2'
    for (;;) {
      const { body } = await ask('GET', path)
      seen.push(...body.items)
      if (body.next_page_cursor === undefined) break
      expect(body.items).toHaveLength(2)
      path = `/customers?limit=2&page_cursor=${body.next_page_cursor}`
    }
    expect(seen).toEqual(all.items)
    expect((await ask('GET', '/customers?limit=1000&order=ASC')).body.items).toEqual(all.items.toReversed())
  })

  it.each(['0', '1001', '00001', '-1', '1.5', 'ten', ''])('lists refuse the parameter limit=%s', async (limit) => {
    expect((await ask('GET', `/customers?limit=${limit}`)).body).toMatchObject({
      code: 'invalid_request',
      errors: [{ parameter: 'limit', detail: 'must be a whole number from 1 to 1000' }],
    })
  })

  it('lists refuse a repeated limit, an unknown order, and the cursor of another list', async () => {
    expect((await ask('GET', '/customers?limit=1&limit=2')).body.detail).toBe('limit: must be of type string')
    expect((await ask('GET', '/customers?order=desc')).body.detail).toBe('order: "desc" is none of ASC, DESC')
    const { next_page_cursor: cursor } = (await ask('GET', '/audit?limit=1')).body
    expect((await ask('GET', `/customers?page_cursor=${cursor}`)).body).toMatchObject({ code: 'invalid_cursor' })
    expect((await ask('GET', '/customers?page_cursor=%2B')).body).toMatchObject({ code: 'invalid_cursor' })
  })
})

describe('clients', () => {
  it('clients are created with a secret that is shown once and never again', async () => {
    const customer = await newCustomer()
    const created = await ask('POST', `/customers/${customer.id}/clients`, { name: 'feed', scopes: [STREAM] })
    expect(created.status).toBe(200)
    const { client_secret: secret, base_url, auth_url, ws_url, ...shown } = created.body
    expect([base_url, auth_url, ws_url]).toEqual([PUBLIC_URL, PUBLIC_URL, STREAM_URL])
    expect(secret).toMatch(/^tgs_[\w-]{43}$/)
    expect(shown).toMatchObject({ customer_id: customer.id, name: 'feed', scopes: [STREAM], enabled: true })
    expect((await ask('GET', `/clients/${shown.client_id}`)).body).toEqual(shown)
    expect((await ask('GET', `/customers/${customer.id}/clients`)).body).toEqual({ items: [shown] })
    const again = await ask('POST', `/customers/${customer.id}/clients`, { name: 'feed', scopes: [] })
    expect(again).toMatchObject({ status: 409, body: { code: 'already_exists', meta: { existing: shown } } })
    expect(JSON.stringify(again.body)).not.toContain(secret)
    expect(JSON.stringify((await ask('GET', '/audit')).body)).not.toContain(secret)
    expect(side.directory.client(shown.client_id)).toMatchObject({ name: 'feed', enabled: true })
    expect(side.directory.secretHashes(shown.client_id)).toHaveLength(1)
  })

  it('clients may have the same name under different customers', async () => {
    expect((await newClient()).name).toBe((await newClient()).name)
  })

  it('clients are changed; the same scopes in another order are no change', async () => {
    const scopes = Object.keys(SCOPES)
    const { client_id: id } = await newClient(scopes)
    const before = await auditCount()
    expect((await ask('PATCH', `/clients/${id}`, { scopes: scopes.toReversed(), enabled: true })).status).toBe(200)
    expect(await auditCount()).toBe(before)
    expect((await ask('PATCH', `/clients/${id}`, { scopes: [STREAM], enabled: false })).body).toMatchObject({
      scopes: [STREAM],
      enabled: false,
    })
    expect(await auditCount()).toBe(before + 1)
    expect([...(side.directory.client(id)?.scopes ?? [])]).toEqual([STREAM])
    expect((await ask('PATCH', `/clients/${id}`, { scopes: [] })).body.scopes).toEqual([])
  })

  it('clients have a list of markets that they may publish, which is replaced as a whole and audited', async () => {
    const { id: customer } = await newCustomer()
    const scopes = [PUBLISH_SCOPE]
    const wanted = { name: 'engine', scopes, publish_markets: ['BTCUSD', 'ETHUSD'] }
    const { client_id: id } = (await ask('POST', `/customers/${customer}/clients`, wanted)).body
    const made = (await ask('GET', `/clients/${id}`)).body
    expect(made.publish_markets).toEqual(['BTCUSD', 'ETHUSD'])
    expect((await ask('GET', `/customers/${customer}/clients`)).body.items).toEqual([made])
    expect([...(side.directory.client(id)?.publishMarkets ?? [])]).toEqual(['BTCUSD', 'ETHUSD'])

    const before = await auditCount()
    const reordered = { publish_markets: ['ETHUSD', 'BTCUSD'] }
    expect((await ask('PATCH', `/clients/${id}`, reordered)).body).toEqual(made)
    expect(await auditCount()).toBe(before)
    const changed = (await ask('PATCH', `/clients/${id}`, { publish_markets: ['ETHUSD'] })).body
    expect(changed).toEqual({ ...made, publish_markets: ['ETHUSD'] })
    expect([...(side.directory.client(id)?.publishMarkets ?? [])]).toEqual(['ETHUSD'])
    expect((await ask('PATCH', `/clients/${id}`, { enabled: false })).body.publish_markets).toEqual(['ETHUSD'])
    expect((await ask('PATCH', `/clients/${id}`, { publish_markets: [] })).body.publish_markets).toEqual([])
    expect(side.directory.client(id)?.publishMarkets).toBeUndefined()
    const { items } = (await ask('GET', `/audit?subject=${id}&order=ASC`)).body
    expect(items.map(({ detail }: { detail: { publish_markets?: unknown } }) => detail.publish_markets)).toEqual([
      ['BTCUSD', 'ETHUSD'],
      ['ETHUSD'],
      undefined,
      [],
    ])
  })

  it('clients hold the publishing scope without a market, and markets without the scope', async () => {
    const { client_id: id, publish_markets } = await newClient([PUBLISH_SCOPE])
    expect(publish_markets).toEqual([])
    const body = { scopes: [], publish_markets: ['BTCUSD'] }
    expect((await ask('PATCH', `/clients/${id}`, body)).body).toMatchObject(body)
  })

  it.each([
    ['small letters', ['btcusd']],
    ['a separator', ['BTC/USD']],
    ['no character', ['']],
    ['21 characters', ['A'.repeat(21)]],
    ['a number', [7]],
    ['a symbol twice', ['BTCUSD', 'ETHUSD', 'BTCUSD']],
    ['1,001 symbols', Array.from({ length: 1_001 }, (_, index) => `M${index}`)],
    ['no list', 'BTCUSD'],
  ])('clients are refused with %s as markets', async (_what, publish_markets) => {
    const { id } = await newCustomer()
    const created = await ask('POST', `/customers/${id}/clients`, { name: 'x', scopes: [], publish_markets })
    const { client_id } = await newClient()
    const before = await auditCount()
    const changed = await ask('PATCH', `/clients/${client_id}`, { publish_markets })
    for (const { status, body } of [created, changed]) {
      expect([status, body.code]).toEqual([400, 'invalid_request'])
      expect(JSON.stringify(body.errors[0].pointer)).toContain('/publish_markets')
    }
    expect(await auditCount()).toBe(before)
  })

  it('clients may publish 1,000 markets', async () => {
    const { client_id: id } = await newClient()
    const publish_markets = Array.from({ length: 1_000 }, (_, index) => `M${index}`)
    expect((await ask('PATCH', `/clients/${id}`, { publish_markets })).status).toBe(200)
    expect(side.directory.client(id)?.publishMarkets?.size).toBe(1_000)
  })

  it('clients are refused with an unknown scope, which is named, a duplicate scope, or an unknown customer', async () => {
    const { id } = await newCustomer()
    const unknown = await ask('POST', `/customers/${id}/clients`, { name: 'x', scopes: [STREAM, 'exchange:rule'] })
    expect(unknown).toMatchObject({ status: 400, body: { errors: [{ pointer: '/scopes/1' }] } })
    expect(unknown.body.detail).toContain('"exchange:rule" is none of exchange:read_aggregated_marketdata_stream, ')
    const twice = await ask('POST', `/customers/${id}/clients`, { name: 'x', scopes: [STREAM, STREAM] })
    expect(twice.body.detail).toBe('/scopes: entries 0 and 1 are equal')
    expect((await ask('POST', `/customers/${NO_ONE}/clients`, { name: 'x', scopes: [] })).status).toBe(404)
    expect((await ask('GET', `/customers/${NO_ONE}/clients`)).status).toBe(404)
    expect((await ask('PATCH', `/clients/${NO_ONE}`, { enabled: false })).status).toBe(404)
    expect((await ask('GET', `/clients/${NO_ONE}`)).status).toBe(404)
  })
})

describe('client secrets', () => {
  it('client secrets are two at most, also when created concurrently; deleting is idempotent', async () => {
    const { client_id: id, secrets: first } = await newClient()
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', `/clients/${id}/secrets`)))
    const made = answers.filter(({ status }) => status === 200)
    expect(made).toHaveLength(1)
    expect(made[0]?.body).toMatchObject({ client_id: id, client_secret: expect.stringMatching(/^tgs_/) })
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.body).toMatchObject({
      code: 'invalid_state',
      meta: { current: 'two_secrets', secrets: [first[0], {}] },
    })
    expect(side.directory.secretHashes(id)).toHaveLength(2)

    const before = await auditCount()
    const path = `/clients/${id}/secrets/${first[0].id}`
    const deleted = await ask('DELETE', path)
    expect(deleted.body.secrets).toEqual([{ id: made[0]?.body.secret_id, created_at: made[0]?.body.created_at }])
    expect(side.directory.secretHashes(id)).toHaveLength(1)
    expect(await ask('DELETE', path)).toMatchObject({ status: 200, body: deleted.body })
    expect(await auditCount()).toBe(before + 1)
    expect((await ask('POST', `/clients/${id}/secrets`, {})).status).toBe(200)
  })

  it('client secrets of another client, and unknown ones, are 404; a body with members is 400', async () => {
    const one = await newClient()
    const other = await newClient()
    expect((await ask('DELETE', `/clients/${one.client_id}/secrets/${other.secrets[0].id}`)).status).toBe(404)
    expect((await ask('DELETE', `/clients/${NO_ONE}/secrets/${NO_ONE}`)).status).toBe(404)
    expect((await ask('POST', `/clients/${NO_ONE}/secrets`)).status).toBe(404)
    expect((await ask('POST', `/clients/${one.client_id}/secrets`, { secret: 'mine' })).status).toBe(400)
    expect((await ask('DELETE', `/clients/${one.client_id}/secrets`)).status).toBe(405)
  })
})

describe('the log', () => {
  it('the log never contains a secret or the operator token, even without redaction', async () => {
    const { client_secret: secret } = await newClient()
    await fetch(`${side.url}/admin/v1/customers?token=${secret}`, { headers: { authorization: 'Bearer nonsense' } })
    const text = side.lines.join('')
    expect(text).toContain('"route":"/admin/v1/customers/:id/clients"')
    for (const forbidden of [secret, side.token, 'nonsense', 'tgs_']) expect(text).not.toContain(forbidden)
  })
})

describe('signing keys', () => {
  it('signing keys are listed, rotated and revoked; each write leaves an audit row, and a repetition leaves none', async () => {
    const list = async () => (await ask('GET', '/signing-keys?order=ASC')).body.items
    const [first] = await list()
    expect(first).toEqual({
      id: expect.any(String),
      state: 'signing',
      algorithm: 'ES256',
      signs_from: expect.stringMatching(/Z$/),
      created_at: expect.stringMatching(/Z$/),
    })
    const count = await auditCount()
    const coming = (await ask('POST', '/signing-keys')).body
    expect(coming).toMatchObject({ state: 'coming' })
    expect((await ask('POST', '/signing-keys', {})).body).toEqual(coming)
    expect(await auditCount()).toBe(count + 1)
    expect(await list()).toMatchObject([{ ...first, signs_until: coming.signs_from }, coming])

    const revoked = await ask('DELETE', `/signing-keys/${first.id}`)
    expect(revoked).toMatchObject({ status: 200, body: { state: 'revoked', revoked_at: expect.any(String) } })
    expect((await ask('DELETE', `/signing-keys/${first.id}`)).body).toEqual(revoked.body)
    expect(await auditCount()).toBe(count + 2)
    expect((await list())[1]).toMatchObject({ id: coming.id, state: 'signing' })
    expect(side.directory.keys.map(({ keyId }) => keyId)).toEqual([coming.id])
    expect(JSON.stringify(await list())).not.toContain('"d"')
  })

  it('unknown signing keys are 404', async () => {
    expect((await ask('DELETE', `/signing-keys/${NO_ONE}`)).status).toBe(404)
    expect((await ask('DELETE', '/signing-keys/x')).status).toBe(404)
    expect((await ask('POST', '/signing-keys', { state: 'x' })).status).toBe(400)
  })
})

describe('all tokens of a client', () => {
  it('all tokens of a client are revoked from the next second on, each time it is requested, and the client shows the time', async () => {
    const { client_id } = await newClient()
    expect((await ask('GET', `/clients/${client_id}`)).body).not.toHaveProperty('tokens_valid_from')
    const before = side.clock.wallInstant().milliseconds
    const first = (await ask('POST', `/clients/${client_id}/revoke-tokens`)).body
    expect(Date.parse(first.tokens_valid_from)).toBeGreaterThan(before)
    expect(Date.parse(first.tokens_valid_from) % 1000).toBe(0)
    expect(side.directory.client(client_id)?.tokensValidFromSeconds).toBe(Date.parse(first.tokens_valid_from) / 1000)
    const second = (await ask('POST', `/clients/${client_id}/revoke-tokens`, {})).body
    expect(second.tokens_valid_from > first.tokens_valid_from).toBe(true)
    expect((await ask('GET', `/clients/${client_id}`)).body).toEqual(second)
    expect((await ask('POST', `/clients/${NO_ONE}/revoke-tokens`)).status).toBe(404)
    const [entry] = (await ask('GET', '/audit?limit=1')).body.items
    expect(entry).toMatchObject({ actor: 'operator', action: 'client.revoke_tokens', subject: client_id })
  })
})
