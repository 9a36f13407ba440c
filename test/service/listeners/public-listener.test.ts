import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Problem } from '../../../src/platform/http/problem.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import { once } from '../../support/awaited.ts'
import { openPublicListener } from '../../support/public-listener.ts'

let refusal: Problem | undefined
let checked = 0
let listener: Listener

function open(): Promise<Listener> {
  return openPublicListener({
    gateway: {
      async check() {
        checked++
        return refusal
      },
      upgrade(request, socket, head, { address }) {
        socket.end(`HTTP/1.1 101 Handed over\r\n\r\n${request.url} ${head.toString()} ${address}`)
      },
    },
  })
}

beforeAll(async () => {
  listener = await open()
})
afterAll(() => listener.close())
beforeEach(() => {
  refusal = undefined
  checked = 0
})

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

function expectUpgradeRequired(response: Response): void {
  expect(response.status).toBe(426)
  expect(response.headers.get('upgrade')).toBe('websocket')
  expect(response.headers.get('sec-websocket-version')).toBe('13')
}

describe('GET /', () => {
  it('the path / without a token is 426, without a check of access', async () => {
    const response = await fetch(listener.url)
    expectUpgradeRequired(response)
    expect(await response.json()).toMatchObject({ status: 426, code: 'upgrade_required' })
    expect(checked).toBe(0)
  })

  it('the path / with an accepted token is 426', async () => {
    expectUpgradeRequired(await fetch(listener.url, { headers: { authorization: 'Bearer good' } }))
    expect(checked).toBe(1)
  })

  it('the path / with a refused token is answered with the reason, whatever the request accepts', async () => {
    const headers = { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' }
    refusal = new Problem('insufficient_scope', 'the scope is missing', { headers })
    const response = await fetch(`${listener.url}/?x=1`, { headers: { authorization: 'Bearer poor', ...HTML } })
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope"')
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    const requestId = response.headers.get('x-request-id')
    expect(await response.json()).toMatchObject({ status: 403, detail: 'the scope is missing', request_id: requestId })
  })

  it('the path / from a browser is a small page with links', async () => {
    const response = await fetch(listener.url, { headers: HTML })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('<a href="/oauth2/token">')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(checked).toBe(0)
  })
})

describe('another request', () => {
  it('a request to an unknown path is 404, with an unknown method 405', async () => {
    expect((await fetch(`${listener.url}/nothing`)).status).toBe(404)
    expect((await fetch(`${listener.url}/admin/v1/customers`)).status).toBe(404)
    expect((await fetch(`${listener.url}/metrics`)).status).toBe(404)
    const post = await fetch(listener.url, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('a POST to the token endpoint reaches it', async () => {
    const response = await fetch(`${listener.url}/oauth2/token`, { method: 'POST' })
    expect(await response.json()).toMatchObject({ error: 'invalid_client' })
  })
})

describe('an upgrade', () => {
  it('an upgrade is passed to the gateway on every path, with the bytes after its head', async () => {
    const socket = connect(Number(new URL(listener.url).port), '127.0.0.1')
    socket.setEncoding('utf8')
    socket.write('GET /any HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly')
    let text = ''
    for await (const part of socket) text += part
    expect(text).toBe('HTTP/1.1 101 Handed over\r\n\r\n/any early 127.0.0.1')
  })
})

describe('an offer of another upgrade', () => {
  it.each([
    ['GET / HTTP/1.1', '', /^HTTP\/1\.1 426 /],
    ['POST /oauth2/token HTTP/1.1', 'grant_type=x', /^HTTP\/1\.1 401 .*invalid_client/s],
  ])(
    'an offer of another upgrade is ignored: %s is answered, and the connection is closed with the response',
    async (line, body, expected) => {
      const socket = connect(Number(new URL(listener.url).port), '127.0.0.1')
      socket.setEncoding('utf8')
      const type = 'Content-Type: application/x-www-form-urlencoded'
      const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'
      socket.write(`${line}\r\nHost: x\r\n${offer}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      let text = ''
      for await (const part of socket) text += part
      expect(text).toMatch(expected)
    },
  )
})

describe('closing the listener', () => {
  it('closing the listener closes idle connections at once and refuses new ones', async () => {
    const own = await open()
    await (await fetch(own.url)).text()
    await own.close()
    await expect(fetch(own.url)).rejects.toThrow()
  })

  it('closing the listener cuts off a request that never ends', async () => {
    const own = await open()
    const { port } = new URL(own.url)
    const stuck = httpRequest({
      port,
      host: '127.0.0.1',
      path: '/oauth2/token',
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': '5',
        expect: '100-continue',
      },
    })
    // The cut may be seen as an error, both of the request and of its socket.
    stuck.on('error', () => undefined)
    const ended = new Promise((resolve) => stuck.once('close', resolve))
    // The listener has the request once it asks for the body, most of which never arrives.
    await once(stuck, 'continue')
    stuck.write('x')
    await own.close()
    await ended
  })
})
