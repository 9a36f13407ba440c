/**
 * The order in which a request is checked, on a route as modules declare them: 431, 404, 405, 401, 403, 429, 415, 413,
 * 400. Each request here is wrong in everything that comes after the check that answers it.
 */
import { Type } from 'typebox'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { Problem } from '../../../src/platform/http/problem.ts'
import { createRateLimitHook, RateLimiter } from '../../../src/platform/http/rate-limit.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openSocket, type RawAnswer, readToEnd, sendRaw, splitAnswers } from '../../support/raw-http.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const BODY_BYTES_MAX = 1_048_576
const clock = new VirtualClock()
const options = {
  listener: 'public',
  log: captureLog().log,
  metrics: createMetricsRegistry(),
  headerBytesMax: 16_384,
  requestMilliseconds: 30_000,
  translate: () => undefined,
} as const
const app = createHttpServer(options)
let handled = 0
let lastQuery: unknown
const limiter = new RateLimiter(clock, { name: 'default', perSecond: 1, burst: 1 })
app.route({
  method: 'POST',
  url: '/things',
  schema: {
    body: Type.Object({ count: Type.Integer() }, { additionalProperties: false }),
    querystring: Type.Object({ color: Type.Optional(Type.Enum(['red', 'blue'])) }),
  },
  onRequest: [
    async ({ headers }) => {
      if (headers.authorization === undefined) throw new Problem('unauthorized', 'a bearer token is required')
      if (headers.authorization === 'Bearer disabled') throw new Problem('disabled', 'the client is disabled')
      if (headers.authorization !== 'Bearer good') throw new Problem('insufficient_scope', 'the scope is missing')
    },
    createRateLimitHook(limiter, () => 'one client'),
  ],
  handler: async ({ body, query }) => {
    handled++
    lastQuery = query
    return { body }
  },
})

let url: string
beforeAll(async () => {
  url = await listenOnFreePort(app)
})
afterAll(() => app.close())
beforeEach(() => {
  handled = 0
  clock.advance(1_000)
})

interface Wrongs {
  readonly target?: string
  readonly method?: string
  readonly token?: string
  readonly type?: string
  readonly body?: string
  readonly fields?: string
}

const HUGE = 'x'.repeat(BODY_BYTES_MAX + 1)

async function send(wrongs: Wrongs): Promise<RawAnswer> {
  const { target = '/things', method = 'POST', token, type = 'application/json', body = '', fields = '' } = wrongs
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization}${fields}`
  const [answer] = await sendRaw(url, `${head}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  return answer as RawAnswer
}

describe('the first check that fails answers', () => {
  it.each<[number, string, Wrongs]>([
    [431, 'headers_too_large', { target: '/nothing', fields: `X: ${'x'.repeat(20_000)}\r\n`, type: 'text/plain' }],
    [404, 'not_found', { target: '/nothing?color=green', type: 'text/plain', body: HUGE }],
    [405, 'method_not_allowed', { method: 'PUT', target: '/things?color=green', type: 'text/plain', body: HUGE }],
    [401, 'unauthorized', { target: '/things?color=green', type: 'text/plain', body: HUGE }],
    [403, 'disabled', { token: 'disabled', target: '/things?color=green', type: 'text/plain', body: HUGE }],
    [403, 'insufficient_scope', { token: 'poor', target: '/things?color=green', type: 'text/plain', body: HUGE }],
    [415, 'unsupported_media_type', { token: 'good', target: '/things?color=green', type: 'text/plain', body: HUGE }],
    [413, 'body_too_large', { token: 'good', target: '/things?color=green', body: HUGE }],
    [400, 'invalid_request', { token: 'good', target: '/things?color=green', body: '{"count":"many"}' }],
    [400, 'invalid_request', { token: 'good', body: '{"count":1,"count":2}' }],
  ])('%i %s', async (status, code, wrongs) => {
    const answer = await send(wrongs)
    expect([answer.status, JSON.parse(answer.body).code, handled]).toEqual([status, code, 0])
  })

  it('the first failing check decides the response: 429 after 403, before 415', async () => {
    expect((await send({ token: 'good', body: '{"count":1}' })).status).toBe(200)
    expect((await send({ token: 'poor', type: 'text/plain' })).status).toBe(403)
    const answer = await send({ token: 'good', type: 'text/plain', body: HUGE })
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([429, 'rate_limited'])
    expect(answer.headers).toMatchObject({
      'retry-after': '1',
      ratelimit: '"default";r=0;t=1',
      'ratelimit-policy': '"default";q=1;w=1',
    })
  })

  it('refused requests use up nothing of the rate', async () => {
    for (let count = 0; count < 5; count++) await send({})
    expect((await send({ token: 'good', body: '{"count":1}' })).status).toBe(200)
  })
})

describe('the query', () => {
  it('the query of an unauthorized request is not read', async () => {
    // One that could not be read without an error, and that takes long to read.
    const target = `/things?${'%&'.repeat(5_000)}`
    for (const token of [undefined, 'disabled', 'poor'])
      expect((await send({ target, ...(token && { token }) })).status).not.toBe(400)
    expect((await send({ token: 'good', target, body: '{"count":1}' })).status).toBe(400)
  })

  it('the query is read where a route describes it, a repeated name as an array', async () => {
    expect((await send({ token: 'good', target: '/things?color=red&x=%41', body: '{"count":1}' })).status).toBe(200)
    expect(lastQuery).toEqual({ color: 'red', x: 'A' })
    clock.advance(1_000)
    const answer = await send({ token: 'good', target: '/things?color=red&color=red', body: '{"count":1}' })
    expect([answer.status, JSON.parse(answer.body).errors[0].parameter]).toEqual([400, 'color'])
  })

  it('a query of 480 KB costs next to nothing without a token', async () => {
    const own = createHttpServer({ ...options, headerBytesMax: 524_288 })
    const seen: unknown[] = []
    own.get('/guarded', {
      schema: { querystring: Type.Object({}) },
      onRequest: async () => {
        throw new Problem('unauthorized', 'a bearer token is required')
      },
      handler: async () => ({}),
    })
    own.addHook('onRequest', async ({ query }) => void seen.push(query))
    const head = `GET /guarded?${'a&'.repeat(240_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const address = await listenOnFreePort(own)
    await sendRaw(address, head)
    const repetitions = 30
    const before = process.cpuUsage()
    for (let count = 0; count < repetitions; count++) expect((await sendRaw(address, head))[0]?.status).toBe(401)
    const { user, system } = process.cpuUsage(before)
    await own.close()
    // Milliseconds each, those of the client included; parsing it took 37 to 50 more.
    expect((user + system) / 1_000 / repetitions).toBeLessThan(25)
    expect(seen.every((query) => Object.keys(query as object).length === 0)).toBe(true)
  })
})

describe('the head decides before the body has come', () => {
  const head = (authorization: string, rest: string) =>
    `POST /things HTTP/1.1\r\nHost: x\r\n${authorization}${rest}\r\n\r\n`
  it.each([
    ['401', '', 'Content-Type: application/json\r\nContent-Length: 500000', 401],
    ['415', 'Authorization: Bearer good\r\n', 'Content-Type: text/plain\r\nContent-Length: 500000', 415],
    ['413', 'Authorization: Bearer good\r\n', 'Content-Type: application/json\r\nContent-Length: 1048577', 413],
  ])(
    'a request that its head makes %s is answered before the body has come',
    async (_name, authorization, rest, status) => {
      const socket = openSocket(url)
      const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
      socket.write(head(authorization, rest))
      expect(splitAnswers(await answered).map((answer) => answer.status)).toEqual([status])
      socket.destroy()
    },
  )

  it('a body without a length is cut off at the limit', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    const rest = 'Content-Type: application/json\r\nTransfer-Encoding: chunked'
    socket.write(head('Authorization: Bearer good\r\n', rest))
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    for (let count = 0; count < 17; count++) socket.write(chunk)
    const [answer] = splitAnswers(await text)
    expect([answer?.status, answer?.headers.connection]).toEqual([413, 'close'])
  })

  it('a body of exactly the limit is accepted', async () => {
    const body = '{"count":1}'.padEnd(BODY_BYTES_MAX, ' ')
    expect((await send({ token: 'good', body })).status).toBe(200)
  })
})
