/** What is answered where the parser, or a rule about heads, finds the fault: by bytes on a real socket. */

import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { HEAD_FIELDS_MAX } from '../../../src/platform/http/request-head.ts'
import { createHttpServer } from '../../../src/platform/http/server.ts'
import { listenOnFreePort } from '../../support/auth-fixtures.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openSocket, type RawAnswer, readToEnd, sendRaw, splitAnswers } from '../../support/raw-http.ts'

const REQUEST_MILLISECONDS = 300
const { log, lines } = captureLog()
const metrics = createMetricsRegistry()
const options = { listener: 'public', log, metrics, headerBytesMax: 16_384, translate: () => undefined } as const
const app = createHttpServer({ ...options, requestMilliseconds: 60_000 })
let seen: string[] = []
let release: () => void = () => undefined
app.get('/things', async ({ url }) => {
  seen.push(url)
  return { fine: true }
})
app.post('/things', async ({ body }) => ({ body }))
app.get('/slow', async () => {
  seen.push('/slow')
  await new Promise<void>((resolve) => {
    release = resolve
  })
  return { slow: true }
})
/** Has time limits that are too short for other tests. */
const impatient = createHttpServer({ ...options, requestMilliseconds: REQUEST_MILLISECONDS })
impatient.post('/things', async ({ body }) => ({ body }))
// A part of the listener with errors of its own shape, as the token endpoint has.
impatient.register(async (scope) => {
  scope.setErrorHandler((error, _request, reply) => {
    const status = (error as { status?: number }).status ?? 500
    reply.status(status).send({ error: 'own shape' })
  })
  scope.post('/own', async () => ({}))
})

let url: string
let impatientUrl: string
beforeAll(async () => {
  url = await listenOnFreePort(app)
  impatientUrl = await listenOnFreePort(impatient)
})
afterAll(() => Promise.all([app.close(), impatient.close()]))
beforeEach(() => {
  seen = []
})

const CLOSE = 'Connection: close\r\n'
const JSON_TYPE = 'Content-Type: application/json\r\n'

async function onlyAnswer(...parts: string[]): Promise<RawAnswer> {
  return only(await sendRaw(url, ...parts))
}

function only(answers: readonly RawAnswer[]): RawAnswer {
  expect(answers).toHaveLength(1)
  return answers[0] as RawAnswer
}

/** The answer to a request whose head comes in time, however slow this process is, and whose body never does. */
async function answerToHead(head: string): Promise<RawAnswer> {
  const { server } = impatient
  server.headersTimeout = server.requestTimeout = 60_000
  const arrived = once(server, 'request')
  const answers = sendRaw(impatientUrl, head)
  await arrived
  server.headersTimeout = server.requestTimeout = REQUEST_MILLISECONDS
  return only(await answers)
}

function expectProblem(answer: RawAnswer, status: number, code: string): void {
  expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json; charset=utf-8'])
  expect(JSON.parse(answer.body)).toMatchObject({ status, code, request_id: answer.headers['x-request-id'] })
  expect(answer.headers['x-content-type-options']).toBe('nosniff')
}

describe('a request with two readings', () => {
  it.each([
    ['Content-Length and Transfer-Encoding', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['Transfer-Encoding and Content-Length', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'],
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n'],
    ['a length with a sign', 'Content-Length: +4\r\n'],
    ['a length that is no number', 'Content-Length: 0x4\r\n'],
    ['a length beyond every number', `Content-Length: ${'9'.repeat(30)}\r\n`],
    ['chunked that is not the last coding', 'Transfer-Encoding: chunked, identity\r\n'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n'],
    ['a blank before the colon', 'Content-Length : 4\r\n'],
    ['a folded line', 'X-A: 1\r\n Content-Length: 4\r\n'],
    ['a bare line feed', 'X-A: 1\nContent-Length: 4\r\n'],
    ['a bare carriage return', 'X-A: 1\rContent-Length: 4\r\n'],
    ['a name with a NUL', 'X\0A: 1\r\n'],
    ['a value with a NUL', 'X-A: 1\0\r\n'],
    ['no name', ': 1\r\n'],
  ])('a request with two readings is 400 and ends the connection: %s', async (_case, fields) => {
    const smuggled = 'GET /things?smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
    const answer = await onlyAnswer(`POST /things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}${fields}\r\n${smuggled}`)
    expectProblem(answer, 400, 'invalid_request')
    expect(answer.headers.connection).toBe('close')
    expect(seen).toEqual([])
  })

  it.each([
    ['a chunk size that is no number', 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a negative chunk size', '-2\r\n{}\r\n0\r\n\r\n'],
    ['a chunk longer than its size', '1\r\n{}\r\n0\r\n\r\n'],
    ['a chunk size beyond every number', `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`],
  ])('a request with two readings is 400 in its body too: %s', async (_case, body) => {
    const answer = await onlyAnswer(
      `POST /things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`,
      body,
    )
    expectProblem(answer, 400, 'invalid_request')
    expect(answer.headers.connection).toBe('close')
  })
})

describe('Host', () => {
  it('the Host header must be present exactly once in HTTP/1.1', async () => {
    expectProblem(await onlyAnswer(`GET /things HTTP/1.1\r\n${CLOSE}\r\n`), 400, 'invalid_request')
    const twice = await onlyAnswer(`GET /things HTTP/1.1\r\nHost: a\r\nhOST: b\r\n${CLOSE}\r\n`)
    expectProblem(twice, 400, 'invalid_request')
    expect(twice.body).toContain('Host: must be present exactly once')
    expect(seen).toEqual([])
  })

  it.each(['a b', '%', '[', '1.2.3.256', 'a:99999', 'a/b', 'user@a', 'a'.repeat(301)])(
    'a malformed Host is 400: %s',
    async (host) => {
      const answer = await onlyAnswer(`GET /things HTTP/1.1\r\nHost: ${host}\r\n${CLOSE}\r\n`)
      expectProblem(answer, 400, 'invalid_request')
      expect(answer.body).toContain('Host: must be a host name or an IP address, optionally with a port')
    },
  )

  it.each(['a_b.example:8080', '127.0.0.1', '[::1]:1', 'xn--bcher-kva.example', ''])(
    'the Host header may be %j',
    async (host) => {
      expect((await onlyAnswer(`GET /things HTTP/1.1\r\nHost: ${host}\r\n${CLOSE}\r\n`)).status).toBe(200)
    },
  )

  it('the Host header may be absent in HTTP/1.0', async () => {
    expect((await onlyAnswer('GET /things HTTP/1.0\r\n\r\n')).status).toBe(200)
  })
})

describe('heads', () => {
  const fields = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: 1\r\n`).join('')
  it('heads of as many fields as allowed are accepted, one more is 431, very many are 431 too', async () => {
    const start = `GET /things HTTP/1.1\r\nHost: x\r\n${CLOSE}`
    expect((await onlyAnswer(`${start}${fields(HEAD_FIELDS_MAX - 2)}\r\n`)).status).toBe(200)
    expectProblem(await onlyAnswer(`${start}${fields(HEAD_FIELDS_MAX - 1)}\r\n`), 431, 'headers_too_large')
    expectProblem(await onlyAnswer(`${start}${'a:\r\n'.repeat(3_000)}\r\n`), 431, 'headers_too_large')
  })
  it('heads with a URL over the limit are 431, and the answer arrives although the peer continues to send', async () => {
    lines.length = 0
    const answer = await onlyAnswer(`GET /${'x'.repeat(200_000)}`, 'y'.repeat(200_000), ' HTTP/1.1\r\nHost: x\r\n\r\n')
    expectProblem(answer, 431, 'headers_too_large')
    expect(lines.filter((line) => line.includes('broken request answered'))).toHaveLength(1)
  })
})

describe('targets', () => {
  it.each([
    ['a whole URL', 'http://elsewhere:99/things?a=1', 200],
    ['a whole URL over TLS', 'HTTPS://elsewhere/things', 200],
    ['a whole URL without a path', 'http://elsewhere', 404],
    ['two slashes', '//things', 404],
    ['steps up', '/other/../things', 404],
    ['encoded steps up', '/other/%2e%2e/things', 404],
    ['an encoded slash', '/%2fthings', 404],
    ['a NUL', '/things%00', 404],
    ['bad percent encoding', '/things/%zz', 400],
    ['a semicolon', '/things;a=1', 404],
    ['an asterisk', '*', 404],
  ])('a request whose target has %s (%s) is %i', async (_case, target, status) => {
    const method = target === '*' ? 'OPTIONS' : 'GET'
    const answer = await onlyAnswer(`${method} ${target} HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
    expect(answer.status).toBe(status)
    if (status !== 200) expectProblem(answer, status, status === 404 ? 'not_found' : 'invalid_request')
  })
})

describe('methods', () => {
  it.each(['TRACE', 'PATCH', 'OPTIONS', 'PROPFIND', 'QUERY'])(
    'the method %s is 405 on a path that has other methods',
    async (method) => {
      const answer = await onlyAnswer(`${method} /things HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
      expectProblem(answer, 405, 'method_not_allowed')
      expect(answer.headers.allow).toBe('GET, HEAD, POST')
    },
  )
  it('the method CONNECT is 400', async () => {
    expectProblem(await onlyAnswer('CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n'), 400, 'invalid_request')
  })
  it('unknown methods are 400', async () => {
    expectProblem(await onlyAnswer('FETCH /things HTTP/1.1\r\nHost: x\r\n\r\n'), 400, 'invalid_request')
  })
  it('a HEAD response has the head of GET and no body', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(`HEAD /things HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
    const [head, body] = (await text).split('\r\n\r\n')
    expect([head?.startsWith('HTTP/1.1 200 '), /content-length: 13/i.test(head ?? ''), body]).toEqual([true, true, ''])
  })
})

describe('slowness', () => {
  it('a connection on which nothing is sent is answered 408 and ended', async () => {
    expectProblem(only(await sendRaw(impatientUrl)), 408, 'request_timeout')
  })
  it('a body that breaks off is answered by the route, in its own shape, and counted', async () => {
    const head = `Host: x\r\n${JSON_TYPE}Content-Length: 20\r\n\r\n{`
    const own = await answerToHead(`POST /own HTTP/1.1\r\n${head}`)
    expect([own.status, own.body, own.headers.connection]).toEqual([408, '{"error":"own shape"}', 'close'])
    expectProblem(await answerToHead(`POST /things HTTP/1.1\r\n${head}`), 408, 'request_timeout')
    expect(await metrics.metrics()).toContain('method="POST",route="/own",status="408"} 1')
  })
  it('a broken head is counted and named in the log without its text', async () => {
    lines.length = 0
    await onlyAnswer('secret-token\r\n\r\n')
    const line = lines.find((each) => each.includes('broken request answered'))
    expect(JSON.parse(line as string)).toMatchObject({ level: 20, status: 400, code: 'invalid_request' })
    expect(lines.join('')).not.toContain('secret')
    expect(await metrics.metrics()).toMatch(/method="none",route="none",status="400"\} \d+/)
  })
})

describe('Expect: 100-continue', () => {
  const request = (path: string, fields = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Expect: 100-continue\r\n${fields}`
  it('a request with Expect: 100-continue gets 100 Continue once every check that needs no body has passed', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(request('/things', `Content-Length: 2\r\n${CLOSE}\r\n`))
    await once(socket, 'data')
    socket.write('{}')
    expect(splitAnswers(await text).map(({ status, body }) => [status, body])).toEqual([
      [100, ''],
      [200, '{"body":{}}'],
    ])
  })
  it('a request with Expect: 100-continue keeps the connection', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(request('/things', 'Content-Length: 2\r\n\r\n'))
    await once(socket, 'data')
    socket.write(`{}GET /things HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`)
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([100, 200, 200])
  })
  it('a request with Expect: 100-continue is refused at once where the head decides, and the connection ends', async () => {
    expectProblem(await onlyAnswer(request('/nothing', 'Content-Length: 2\r\n\r\n')), 404, 'not_found')
  })
  it('an Expect header other than 100-continue is not met and not refused', async () => {
    const answer = await onlyAnswer(`GET /things HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n${CLOSE}\r\n`)
    expect(answer.status).toBe(200)
  })
})

describe('requests sent ahead', () => {
  const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`
  it('requests sent ahead are answered in order', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(get('/slow') + get('/nothing') + get('/things').replace('\r\n\r\n', `\r\n${CLOSE}\r\n`))
    await expect.poll(() => seen).toContain('/things')
    release()
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([200, 404, 200])
  })
  it('a fault behind a request that is under way is never answered in its place', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(`${get('/slow')}nonsense\r\n\r\n`)
    expect(await text).toBe('')
    release()
  })
  it('a fault behind a request that was answered gets its own answer', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(get('/things'))
    await once(socket, 'data')
    socket.write('nonsense\r\n\r\n')
    expect(splitAnswers(await text).map(({ status }) => status)).toEqual([200, 400])
  })
  it('a connection ends when very many requests are sent ahead', async () => {
    const socket = openSocket(url)
    const text = readToEnd(socket)
    socket.write(get('/slow').repeat(150))
    expect(await text).toBe('')
    release()
  })
})

describe('connections', () => {
  it('a full listener closes the connection that has been silent longest', async () => {
    const own = createHttpServer({
      ...options,
      requestMilliseconds: 60_000,
      connectionsMax: 3,
      upgrade(_request, socket) {
        socket.resume().write('HTTP/1.1 101 x\r\n\r\n')
        socket.on('end', () => socket.end())
      },
    })
    own.get('/', async () => 'x')
    await own.listen({ host: '127.0.0.1', port: 0 })
    const address = `http://127.0.0.1:${(own.server.address() as AddressInfo).port}`
    const gone: string[] = []
    const open = async (name: string, bytes: string) => {
      const socket = openSocket(address)
      socket.on('close', () => gone.push(name))
      await once(socket, 'connect')
      if (bytes !== '') {
        socket.write(bytes)
        await once(socket, 'data')
      }
      return socket
    }
    const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
    const stream = await open('stream', upgrade)
    const first = await open('first', request)
    const second = await open('second', request)
    await open('third', request)
    first.write(request)
    await once(first, 'data')
    const sockets = [stream, first, second, await open('fourth', request)]
    await expect.poll(() => gone).toEqual(['second'])
    await open('fifth', request)
    await expect.poll(() => gone).toEqual(['second', 'third'])
    for (const socket of sockets) socket.destroy()
    own.server.closeAllConnections()
    await own.close()
  })
})
