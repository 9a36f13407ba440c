import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentHolder } from '../../../src/platform/base/caller.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { Problem } from '../../../src/platform/http/problem.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openSocket, readToEnd } from '../../support/raw-http.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const REQUEST_MILLISECONDS = 200
const HEADER_BYTES_MAX = 16_384

class Unreachable extends Error {}

const { log, lines } = captureLog()
const metrics = createMetricsRegistry()
const options = {
  listener: 'public',
  log,
  metrics,
  headerBytesMax: HEADER_BYTES_MAX,
  translate: (error: unknown) => (error instanceof Unreachable ? new Problem('unavailable', 'gone') : undefined),
} as const
const app = createHttpServer({ ...options, requestMilliseconds: 60_000 })
app.get('/things/:id', async () => ({ fine: true }))
app.post('/things', { schema: { body: Type.Object({ count: Type.Integer() }) } }, async ({ body }) => body)
app.get('/bug', async () => {
  throw Object.assign(new Error('the password is hunter2'), { statusCode: 418 })
})
app.get('/unreachable', async () => {
  throw new Unreachable()
})

app.get('/holder', {
  onRequest: async (request) => {
    request.answeredClient = String(request.headers.client)
  },
  handler: async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return { holder: currentHolder() }
  },
})

/** Has time limits that are too short for other tests. */
const impatient = createHttpServer({ ...options, requestMilliseconds: REQUEST_MILLISECONDS })
impatient.post('/things', { schema: { body: Type.Object({ count: Type.Integer() }) } }, async ({ body }) => body)

let url: string
let impatientUrl: string
beforeAll(async () => {
  url = await listenOnFreePort(app)
  impatientUrl = await listenOnFreePort(impatient)
})
afterAll(() => Promise.all([app.close(), impatient.close()]))

/** Sends bytes as they are and reads until the server ends the connection. */
function sendRaw(bytes: string, to = url): Promise<string> {
  const socket = openSocket(to)
  const text = readToEnd(socket)
  socket.write(bytes)
  return text
}

function problemIn(response: string): Record<string, unknown> {
  const [head, body] = response.split('\r\n\r\n') as [string, string]
  expect(head.toLowerCase()).toContain('content-type: application/problem+json; charset=utf-8')
  expect(head.toLowerCase()).toContain('connection: close')
  return JSON.parse(body)
}

it('the server logs a limited number of rejected requests for each status, and every other one', async () => {
  const clock = new VirtualClock()
  const own = captureLog()
  const server = createHttpServer({ ...options, log: own.log, clock, requestMilliseconds: 60_000 })
  server.get('/things', async () => ({ fine: true }))
  const ask = async (path: string, times: number) => {
    for (let count = 0; count < times; count++) await server.inject(path)
  }
  const logged = (status: number) =>
    own.lines
      .map((line) => JSON.parse(line))
      .filter((line) => line.msg === 'request answered' && line.status === status)
  await ask('/nothing', 150)
  await ask('/things', 150)
  expect([logged(404).length, logged(200).length]).toEqual([100, 150])
  clock.advance(100)
  await ask('/nothing', 2)
  expect(logged(404)).toHaveLength(101)
  expect(logged(404).at(-1)).toMatchObject({ suppressed: 50 })
  expect(logged(404)[0]).not.toHaveProperty('suppressed')
  await server.close()
})

it('a flood of requests is answered in order, some in each tick', async () => {
  const server = createHttpServer({ ...options, requestMilliseconds: 60_000 })
  const order: number[] = []
  const perTick = [0]
  server.get('/slow/:number', (request, reply) => {
    perTick[perTick.length - 1]! += 1
    order.push(Number((request.params as { readonly number: string }).number))
    // More than the requests' share in a tick.
    for (const start = performance.now(); performance.now() - start < 3; );
    void reply.send({ fine: true })
  })
  const to = await listenOnFreePort(server)
  let isCounting = true
  const countTicks = () => {
    perTick.push(0)
    if (isCounting) setImmediate(countTicks)
  }
  countTicks()
  const requests = Array.from({ length: 40 }, (_, number) => {
    return `GET /slow/${number} HTTP/1.1\r\nHost: x\r\n${number === 39 ? 'Connection: close\r\n' : ''}\r\n`
  })
  const text = await sendRaw(requests.join(''), to)
  isCounting = false
  expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(40)
  expect(order).toEqual(Array.from({ length: 40 }, (_, number) => number))
  // One as it arrives, one at the end of the tick.
  expect(Math.max(...perTick)).toBeLessThanOrEqual(2)
  await server.close()
})

describe('problems before there is a request', () => {
  it('a request head just over the limit is 431, and one just under it is not', async () => {
    const head = 'GET /things/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: '
    const fitting = await sendRaw(`${head}${'x'.repeat(HEADER_BYTES_MAX - head.length - 100)}\r\n\r\n`)
    expect(fitting).toMatch(/^HTTP\/1\.1 200 /)
    const over = await sendRaw(`${head}${'x'.repeat(HEADER_BYTES_MAX)}\r\n\r\n`)
    expect(over).toMatch(/^HTTP\/1\.1 431 /)
    expect(problemIn(over)).toMatchObject({ status: 431, code: 'headers_too_large' })
  })

  it('a head or body that does not arrive is 408', async () => {
    for (const start of [
      'GET /things/1 HTTP/1.1\r\nHost: x\r\n',
      'POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"count":',
    ]) {
      const response = await sendRaw(start, impatientUrl)
      expect(response).toMatch(/^HTTP\/1\.1 408 /)
      expect(problemIn(response)).toMatchObject({ status: 408, code: 'request_timeout', title: 'Request Timeout' })
    }
  })

  it('a request that is not HTTP is 400', async () => {
    const response = await sendRaw('hello\r\n\r\n')
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(problemIn(response)).toMatchObject({ status: 400, code: 'invalid_request' })
  })
})

describe('problems of a request', () => {
  it.each([
    ['GET', '/nothing', 404, 'not_found'],
    ['GET', '/things', 405, 'method_not_allowed'],
    ['DELETE', '/things/1', 405, 'method_not_allowed'],
    ['GET', `/things/${'x'.repeat(101)}`, 404, 'not_found'],
    ['GET', '/things/%zz', 400, 'invalid_request'],
    ['PUT', '/things/', 404, 'not_found'],
    ['GET', '/unreachable', 503, 'unavailable'],
    ['GET', '/bug', 500, 'internal'],
  ])('a request for %s %s is %i %s', async (method, path, status, code) => {
    const response = await fetch(url + path, { method })
    const document = (await response.json()) as Record<string, unknown>
    expect(document).toMatchObject({ type: 'about:blank', status, code, request_id: expect.any(String) })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(response.headers.get('x-request-id')).toBe(document.request_id)
  })

  it('a 405 response names the existing methods', async () => {
    expect((await fetch(`${url}/things/1?x`, { method: 'PUT' })).headers.get('allow')).toBe('GET, HEAD')
    expect((await fetch(`${url}/things`, { method: 'GET' })).headers.get('allow')).toBe('POST')
  })

  it('a bug is logged with the request id and not shown to the client', async () => {
    const text = await (await fetch(`${url}/bug`)).text()
    expect(text).not.toContain('hunter2')
    const { request_id } = JSON.parse(text)
    const line = lines.find((each) => each.includes('request failed') && each.includes(request_id))
    expect(line).toContain('hunter2')
  })

  it('a request is handled for its client, so that the resources it waits for are shared fairly', async () => {
    const ask = async (client: string) => (await fetch(`${url}/holder`, { headers: { client } })).json()
    expect(await Promise.all([ask('A'), ask('B')])).toEqual([{ holder: 'A' }, { holder: 'B' }])
  })

  it('HEAD works where GET does', async () => {
    const response = await fetch(`${url}/things/1`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  it('request bodies are not coerced', async () => {
    const post = (body: string) =>
      fetch(`${url}/things`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect((await post('{"count":1}')).status).toBe(200)
    for (const body of ['{"count":"1"}', '{"count":true}', '{"count":null}', '{"count":1.5}', '{"count":[1]}']) {
      expect((await post(body)).status, body).toBe(400)
    }
  })

  it('each problem leaves one line and one count, by the pattern of its route and never by its URL', async () => {
    lines.length = 0
    await (await fetch(`${url}/things/secret-id?token=secret-token`)).text()
    await expect.poll(() => lines.length).toBe(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 30,
      listener: 'public',
      method: 'GET',
      route: '/things/:id',
      status: 200,
      request_id: expect.any(String),
    })
    expect(lines[0]).not.toContain('secret')
    const text = await metrics.metrics()
    expect(text).toContain(
      'tidegate_http_requests_total{listener="public",method="GET",route="/things/:id",status="200"}',
    )
    expect(text).not.toContain('secret')
  })
})

describe('a connection that cannot be accepted', () => {
  const acceptError = (code: string) => Object.assign(new Error(`accept ${code}`), { code, syscall: 'accept' })

  it('a connection that cannot be accepted is a line in the log, and the service continues', async () => {
    const captured = captureLog()
    const own = createHttpServer({ ...options, log: captured.log, requestMilliseconds: 60_000 })
    own.get('/', async () => 'x')
    const address = await listenOnFreePort(own)
    for (const code of ['EMFILE', 'ENFILE', 'ENOBUFS']) own.server.emit('error', acceptError(code))
    const said = captured.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    expect(said.map(({ msg, code }) => [msg, code])).toEqual([['a connection could not be accepted', 'EMFILE']])
    expect((await fetch(address)).status).toBe(200)
    await own.close()
  })

  it('a connection that cannot be accepted is not taken for another error, which ends the process', () => {
    const own = createHttpServer({ ...options, requestMilliseconds: 60_000 })
    expect(() => own.server.emit('error', new Error('a bug'))).toThrow('a bug')
  })
})
