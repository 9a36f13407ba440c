/** The REST client: what it sends, which errors it throws, what it repeats, and how it reads lists. */
import { describe, expect, it } from 'vitest'
import { ApiProblem, RestClient } from '../../packages/client/src/index.ts'
import { CREDENTIALS, FakePlatform } from '../support/client-platform.ts'

type Answer = { status: number; headers?: Record<string, string>; body?: unknown } | Error

interface Started {
  readonly rest: RestClient
  readonly platform: FakePlatform
  /** Of the API, without those for tokens. */
  readonly sent: () => { method: string; url: string; body: unknown; token: string }[]
}

/** A client whose requests get these answers, one after the other; its waits take no time. */
function start(answers: readonly Answer[]): Started {
  const platform = new FakePlatform()
  const token = platform.answer
  const left = [...answers]
  platform.answer = (url) =>
    url.endsWith('/oauth2/token') ? token(url) : (left.shift() ?? new Error('no answer left'))
  platform.after = (milliseconds, callback) => {
    // Answers come before that, so a deadline is cancelled.
    const timer = setImmediate(() => {
      waits.set(platform, [...(waits.get(platform) ?? []), milliseconds])
      callback()
    })
    return () => clearImmediate(timer)
  }
  const rest = new RestClient({ credentials: CREDENTIALS, scopes: ['identity:write_account', 'x'] }, platform)
  const sent = () =>
    platform.fetched
      .filter(({ url }) => !url.endsWith('/oauth2/token'))
      .map(({ url, init }) => ({
        method: String(init.method),
        url: url.replace('https://api.example.com', ''),
        body: init.body === undefined ? undefined : JSON.parse(String(init.body)),
        token: (init.headers as Record<string, string>).authorization ?? '',
      }))
  return { rest, platform, sent }
}

const waits = new Map<FakePlatform, number[]>()

function problem(status: number, code: string, members: object = {}, headers = {}): Answer {
  const body = {
    type: 'about:blank',
    title: 'A title',
    status,
    code,
    detail: 'a detail',
    request_id: 'r-1',
    ...members,
  }
  return { status, headers, body }
}

const ACCOUNT = { id: 'a-1', identity_id: 'i', ref_id: 'savings', description: 'Savings', members: [], metadata: {} }
const CREATE = { account: { identity_id: 'i', ref_id: 'savings', description: 'Savings' }, create_profile: true }

describe('a request', () => {
  it('a request fills the path and the query, and carries a token with all scopes', async () => {
    const { rest, sent, platform } = start([
      { status: 200, body: ACCOUNT },
      { status: 200, body: { items: [] } },
    ])
    expect(await rest.get('/v2/identity/accounts/{id}', { path: { id: 'a/1' } })).toEqual(ACCOUNT)
    await rest.get('/v2/orchestration/rules', { query: { status: ['ACTIVE', 'PENDING'], limit: 10 } })
    expect(sent()).toEqual([
      { method: 'GET', url: '/v2/identity/accounts/a%2F1', body: undefined, token: 'Bearer token-1' },
      {
        method: 'GET',
        url: '/v2/orchestration/rules?status=ACTIVE&status=PENDING&limit=10',
        body: undefined,
        token: 'Bearer token-1',
      },
    ])
    expect(platform.fetched[0]?.init.body?.toString()).toContain('scope=identity%3Awrite_account+x')
  })

  it('a request sends bodies as JSON', async () => {
    const { rest, sent } = start([{ status: 200, body: ACCOUNT }])
    expect(await rest.post('/v2/identity/accounts', { body: CREATE })).toEqual(ACCOUNT)
    expect(sent()[0]).toMatchObject({ method: 'POST', url: '/v2/identity/accounts', body: CREATE })
  })

  it('a request is refused before it is sent when it cannot work', async () => {
    const { rest, sent } = start([])
    await expect(rest.get('/v2/profiles/{id}', { path: { id: '' } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    await expect(rest.get('/v2/markets', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
    expect(sent()).toEqual([])
    expect(() => new RestClient({ credentials: CREDENTIALS })).toThrow(/name no scopes/)
    expect(() => new RestClient({ credentials: { ...CREDENTIALS, base_url: 'x' }, scopes: ['y'] })).toThrow(/address/)
  })
})

describe('the types', () => {
  it("the types of the REST client accept the API's members, and nothing else", async () => {
    const { rest } = start([])
    const requests = [
      // @ts-expect-error: there is no such path
      () => rest.get('/v2/nothing'),
      // @ts-expect-error: the path has a name in braces
      () => rest.get('/v2/profiles/{id}'),
      // @ts-expect-error: the list has no such filter
      () => rest.get('/v2/profiles', { query: { colour: 'red' } }),
      // @ts-expect-error: the body needs a profile
      () => rest.post('/v2/transfer/deposit-addresses', { body: { crypto_network: 'BITCOIN' } }),
      // @ts-expect-error: the path has no list
      () => rest.list('/v2/identity/accounts/{id}', { path: { id: 'x' } }),
    ]
    expect(requests).toHaveLength(5)
    const address = async () => (await rest.get('/v2/transfer/deposit-addresses')).items[0]?.address
    expect(address satisfies () => Promise<string | undefined>).toBeTypeOf('function')
  })
})

describe('a list', () => {
  it('a list reads page by page, with the same filters', async () => {
    const pages = [
      { items: [{ id: '1' }, { id: '2' }], next_page_cursor: 'c+1' },
      { items: [], next_page_cursor: 'c2' },
      { items: [{ id: '3' }] },
    ]
    const { rest, sent } = start(pages.map((body) => ({ status: 200, body })))
    const ids: string[] = []
    for await (const { id } of rest.list('/v2/identity/accounts', { query: { identity_id: 'i', limit: 2 } }))
      ids.push(id)
    expect(ids).toEqual(['1', '2', '3'])
    expect(sent().map(({ url }) => url)).toEqual([
      '/v2/identity/accounts?identity_id=i&limit=2',
      '/v2/identity/accounts?identity_id=i&limit=2&page_cursor=c%2B1',
      '/v2/identity/accounts?identity_id=i&limit=2&page_cursor=c2',
    ])
  })

  it('a list requests no page that the loop does not reach', async () => {
    const { rest, sent } = start([{ status: 200, body: { items: [{ id: '1' }, { id: '2' }], next_page_cursor: 'c' } }])
    for await (const { id } of rest.list('/v2/profiles')) if (id === '2') break
    expect(sent()).toHaveLength(1)
  })
})

describe('an error of the service', () => {
  it('an error of the service is thrown with its code, its facts and what to do', async () => {
    const errors = [{ parameter: 'limit', detail: 'must be 1 to 1000' }]
    const { rest } = start([problem(400, 'invalid_request', { errors }), problem(403, 'insufficient_scope')])
    const invalid = (await rest.get('/v2/profiles').catch((error) => error)) as ApiProblem
    expect(invalid).toBeInstanceOf(ApiProblem)
    expect(invalid).toMatchObject({
      status: 400,
      code: 'invalid_request',
      detail: 'a detail',
      requestId: 'r-1',
      errors,
    })
    const scope = (await rest.get('/v2/profiles').catch((error) => error)) as ApiProblem
    expect(scope.message).toBe(
      'GET /v2/profiles was answered 403 insufficient_scope: a detail. ' +
        'What to do: ask the operator for the scope, and name it in `scopes` (request_id r-1)',
    )
  })

  it('an error of a proxy is an error of the service too', async () => {
    const { rest } = start(Array(4).fill({ status: 502, body: 'Bad Gateway' }))
    await expect(rest.get('/v2/profiles')).rejects.toMatchObject({ status: 502, code: 'unavailable' })
  })
})

describe('a request is repeated', () => {
  it.each([
    ['a read without an answer', new TypeError('fetch failed')],
    ['a read that the service cannot serve now', problem(503, 'unavailable')],
    ['a read over its rate', problem(429, 'rate_limited')],
  ])('a request is repeated when it is %s', async (_name, failure) => {
    const { rest, sent } = start([failure, failure, { status: 200, body: { items: [] } }])
    expect(await rest.get('/v2/profiles')).toEqual({ items: [] })
    expect(sent()).toHaveLength(3)
  })

  it('a request is repeated four times at most, and no earlier than Retry-After', async () => {
    const { rest, sent, platform } = start(Array(9).fill(problem(429, 'rate_limited', {}, { 'retry-after': '7' })))
    await expect(rest.get('/v2/profiles')).rejects.toMatchObject({ code: 'rate_limited' })
    expect(sent()).toHaveLength(4)
    expect(waits.get(platform)).toEqual([8_000, 9_000, 11_000])
  })

  it('a request is not repeated when the service asks for a wait of hours', async () => {
    const { rest, sent } = start([problem(429, 'daily_quota_exceeded', {}, { 'retry-after': '7200' })])
    await expect(rest.post('/v2/identity/accounts', { body: CREATE })).rejects.toMatchObject({
      code: 'daily_quota_exceeded',
    })
    expect(sent()).toHaveLength(1)
  })

  it('a request is repeated once with a new token', async () => {
    const { rest, sent } = start([problem(401, 'invalid_token'), problem(401, 'invalid_token')])
    await expect(rest.get('/v2/profiles')).rejects.toMatchObject({ code: 'invalid_token' })
    expect(sent().map(({ token }) => token)).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  it('a request whose token was revoked while the service was unavailable is repeated with a new token', async () => {
    const revoked = problem(401, 'invalid_token')
    const { rest, sent } = start([problem(503, 'unavailable'), revoked, { status: 200, body: { items: [] } }])
    expect(await rest.get('/v2/profiles')).toEqual({ items: [] })
    expect(sent().map(({ token }) => token)).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
    const other = start([problem(503, 'unavailable'), revoked, revoked, { status: 200, body: {} }])
    await expect(other.rest.get('/v2/profiles')).rejects.toMatchObject({ code: 'invalid_token' })
    expect(other.sent()).toHaveLength(3)
  })

  it("a request that creates a record with a ref_id is repeated: an earlier attempt's record is the response", async () => {
    const exists = problem(409, 'already_exists', { meta: { existing: ACCOUNT } })
    const { rest, sent } = start([new TypeError('fetch failed'), exists])
    expect(await rest.post('/v2/identity/accounts', { body: CREATE })).toEqual(ACCOUNT)
    expect(sent()).toHaveLength(2)
    const rule = { id: 'r', ref_id: 'x', profile_id: 'p', source_asset: 'BTC', destination_asset: 'USD' }
    const record = { ...rule, source: { crypto: { network: 'BITCOIN', address: 'bc1' } } }
    const second = start([problem(503, 'unavailable'), problem(409, 'already_exists', { meta: { existing: record } })])
    const { id: _, ...terms } = rule
    const body = { ...terms, source: { crypto: { network: 'BITCOIN' as const } } }
    expect(await second.rest.post('/v2/orchestration/rules', { body })).toEqual({ rule: record })
  })

  it.each([
    [
      'an amount with trailing zeros, and parties',
      '/v2/orchestration/orchestrations',
      { ref_id: 'o', source_amount: '100.00', source_asset: 'USD', parties: { originator: { name: 'A' } } },
      { ref_id: 'o', source_amount: '100', source_asset: 'USD' },
    ],
    [
      'bank numbers, which are masked',
      '/v2/transfer/fiat-accounts',
      { ref_id: 'f', account: { iban: 'de89 3704 0044 0532 0130 00', swift: 'cobadeff', bank_name: 'A bank' } },
      { ref_id: 'f', account: { iban: '****3000', swift: 'COBADEFF', bank_name: 'A bank' } },
    ],
    [
      'an address without its checksum, and the other name of a network',
      '/v2/transfer/crypto-destination-addresses',
      { ref_id: 'c', crypto_network: 'POLYGON', address: `0x${'ab'.repeat(20)}` },
      { ref_id: 'c', crypto_network: 'POLYGON_POS', address: `0x${'aB'.repeat(20)}` },
    ],
  ] as const)(
    "an earlier attempt's record is the response although the service shows %s",
    async (_, path, body, record) => {
      const existing = { id: 'r-1', ...record }
      const exists = problem(409, 'already_exists', { meta: { existing } })
      const { rest } = start([new TypeError('fetch failed'), exists])
      expect(await rest.post(path, { body } as never)).toEqual(existing)
      const [last] = Object.keys(record).slice(-1) as [string]
      const other = problem(409, 'already_exists', { meta: { existing: { ...existing, [last]: '7' } } })
      await expect(start([new TypeError('fetch failed'), other]).rest.post(path, { body } as never)).rejects.toThrow()
    },
  )

  it('a request that cancels is repeated: a cancelled record stays cancelled', async () => {
    const cancelled = { id: 'o-1', status: 'FAILED', fail_reason: { code: 'CANCELLED', detail: 'cancelled' } }
    const { rest, sent } = start([problem(503, 'unavailable'), { status: 200, body: cancelled }])
    const path = '/v2/orchestration/orchestrations/{id}/cancel'
    expect(await rest.post(path, { path: { id: 'o-1' } })).toEqual(cancelled)
    expect(sent().map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill('POST /v2/orchestration/orchestrations/o-1/cancel'),
    )
  })

  it("a repeated request that returns another request's record is an error", async () => {
    const other = problem(409, 'already_exists', { meta: { existing: { ...ACCOUNT, description: 'Other' } } })
    const { rest } = start([new TypeError('fetch failed'), other])
    await expect(rest.post('/v2/identity/accounts', { body: CREATE })).rejects.toMatchObject({ code: 'already_exists' })
    const first = start([problem(409, 'already_exists', { meta: { existing: ACCOUNT } })])
    await expect(first.rest.post('/v2/identity/accounts', { body: CREATE })).rejects.toMatchObject({
      meta: { existing: ACCOUNT },
    })
  })

  it('a request that creates a record without a ref_id is only repeated if it was certainly not executed', async () => {
    const body = { profile_id: 'p', crypto_network: 'BITCOIN' as const }
    const lost = start([new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })])
    await expect(lost.rest.post('/v2/transfer/deposit-addresses', { body })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('ECONNRESET'),
    })
    expect(lost.sent()).toHaveLength(1)
    const refused = start([problem(429, 'rate_limited'), { status: 200, body: { id: 'd' } }])
    expect(await refused.rest.post('/v2/transfer/deposit-addresses', { body })).toEqual({ id: 'd' })
  })
})
