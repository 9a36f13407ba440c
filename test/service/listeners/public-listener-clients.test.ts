/** The client address of requests to the public listener, the limits per address, and CORS. */

import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { OPERATIONS } from '../../../src/contract/operations.ts'
import type { PublicListenerOptions } from '../../../src/service/listeners/public-listener.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { openPublicListener } from '../../support/public-listener.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const listener of opened.splice(0)) await listener.close()
})

async function open(options: Partial<PublicListenerOptions>): Promise<string> {
  const listener = await openPublicListener(options)
  opened.push(listener)
  return listener.url
}

function askToken(url: string, forwarded?: string): Promise<Response> {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return fetch(`${url}/oauth2/token`, { method: 'POST', headers, body: new URLSearchParams({ grant_type: 'x' }) })
}

describe('X-Forwarded-For from an untrusted peer', () => {
  const warnings = (lines: readonly string[]) =>
    lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('X-Forwarded-For'))

  it('X-Forwarded-For from an untrusted peer causes one warning in ten minutes, which names the setting', async () => {
    const { log, lines } = captureLog()
    const clock = new VirtualClock()
    const url = await open({ clock, log, trustedProxies: ['10.0.0.0/8'] })
    await askToken(url)
    expect(warnings(lines)).toEqual([])
    for (let count = 0; count < 5; count++) await askToken(url, '192.0.2.1')
    clock.advance(599_999)
    await askToken(url, '192.0.2.1')
    expect(warnings(lines)).toHaveLength(1)
    expect(warnings(lines)[0]).toMatchObject({ level: 40, peer_address: '127.0.0.1', key: 'http.trusted_proxies' })
    clock.advance(1)
    await askToken(url, '192.0.2.1')
    expect(warnings(lines)).toHaveLength(2)
  })

  it('X-Forwarded-For from an untrusted peer causes no warning when the peer is trusted', async () => {
    const { log, lines } = captureLog()
    const url = await open({ log, trustedProxies: ['loopback'] })
    await askToken(url, '192.0.2.1')
    expect(warnings(lines)).toEqual([])
  })
})

describe('the rate of token requests', () => {
  it('the token request rate is limited per source address, in the endpoint’s error format, with Retry-After', async () => {
    const clock = new VirtualClock()
    const url = await open({ clock, tokenRatePerSecond: 1 })
    for (const left of [3, 2, 1, 0]) {
      const response = await askToken(url)
      expect(response.status).not.toBe(429)
      expect(response.headers.get('ratelimit-policy')).toBe('"token-failures";q=4;w=4')
      expect(response.headers.get('ratelimit')).toBe(`"token-failures";r=${left};t=${4 - left}`)
    }
    const refused = await askToken(url)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.headers.get('ratelimit')).toBe('"token-failures";r=0;t=1')
    expect(refused.headers.get('cache-control')).toBe('no-store')
    expect(await refused.json()).toEqual({
      error: expect.any(String),
      error_description: 'too many requests: try again in 1 second',
    })
    clock.advance(1_000)
    expect((await askToken(url)).status).not.toBe(429)
  })

  it('the token request rate is checked after 405 and before the body is read', async () => {
    const url = await open({ clock: new VirtualClock(), tokenRatePerSecond: 1 })
    for (let count = 0; count < 4; count++) await askToken(url)
    expect((await fetch(`${url}/oauth2/token`)).status).toBe(405)
    const badType = { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } }
    expect((await fetch(`${url}/oauth2/token`, badType)).status).toBe(429)
  })

  it('the token request rate cannot be evaded by a forged X-Forwarded-For', async () => {
    const url = await open({ clock: new VirtualClock(), tokenRatePerSecond: 1 })
    for (let count = 0; count < 4; count++) await askToken(url, `192.0.2.${count}`)
    expect((await askToken(url, '192.0.2.200')).status).toBe(429)
  })

  it('the token request rate is counted per client behind a trusted proxy, for IPv6 per network', async () => {
    const url = await open({ clock: new VirtualClock(), tokenRatePerSecond: 1, trustedProxies: ['loopback'] })
    for (let count = 0; count < 4; count++) await askToken(url, `2001:db8::${count}`)
    expect((await askToken(url, '2001:db8::ffff')).status).toBe(429)
    expect((await askToken(url, '2001:db8:0:1::1')).status).not.toBe(429)
    expect((await askToken(url, '2001:db8::1, 198.51.100.7')).status).not.toBe(429)
  })
})

describe('the client address', () => {
  it('the client address is in the log line of a request', async () => {
    const { log, lines } = captureLog()
    const url = await open({ log, trustedProxies: ['loopback'] })
    await askToken(url, '198.51.100.7')
    await expect
      .poll(() => lines.map((line) => JSON.parse(line) as { msg: string; client_address?: string }))
      .toContainEqual(expect.objectContaining({ msg: 'request answered', client_address: '198.51.100.7' }))
  })

  it("the client address is passed on with an upgrade, and is the peer's when no proxy is trusted", async () => {
    for (const [trustedProxies, expected] of [
      [['loopback'], '198.51.100.7'],
      [[], '127.0.0.1'],
    ] as const) {
      let address = ''
      const url = await open({
        trustedProxies,
        gateway: {
          check: async () => undefined,
          upgrade(_request, socket, _head, peer) {
            address = peer.address
            socket.end('HTTP/1.1 101 x\r\n\r\n')
          },
        },
      })
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
      socket.write('X-Forwarded-For: 203.0.113.1, 198.51.100.7\r\n\r\n')
      await once(socket, 'data')
      socket.destroy()
      expect(address).toBe(expected)
    }
  })
})

describe('CORS', () => {
  const APP = 'https://app.example.com'
  const preflight = (url: string, path: string, origin = APP) =>
    fetch(url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  const corsHeaders = (response: Response) =>
    [...response.headers.keys()].filter((name) => name.startsWith('access-control-'))

  it('CORS without origins sends no header, and OPTIONS is not an allowed method', async () => {
    const url = await open({})
    const token = await fetch(`${url}/oauth2/token`, { method: 'POST', headers: { origin: APP } })
    expect([corsHeaders(token), token.headers.get('vary')]).toEqual([[], null])
    expect((await preflight(url, '/oauth2/token')).status).toBe(405)
  })

  it('CORS lets a listed origin read responses and errors with the documented headers', async () => {
    const url = await open({ corsOrigins: ['https://other.example.com', APP] })
    for (const path of ['/oauth2/token', '/nothing', '/.well-known/jwks.json']) {
      const { headers } = await fetch(url + path, { method: 'POST', headers: { origin: APP } })
      expect(headers.get('access-control-allow-origin'), path).toBe(APP)
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toBe('Origin')
      expect(headers.get('access-control-expose-headers')).toBe(
        'X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Tidegate-Ignored-Parameters',
      )
    }
  })

  it('CORS answers a preflight with 204 where a route exists, for any method, and with 404 elsewhere', async () => {
    const url = await open({ corsOrigins: [APP] })
    const response = await preflight(url, '/oauth2/token?x=1')
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('access-control-allow-origin')).toBe(APP)
    const methods = response.headers.get('access-control-allow-methods')?.split(', ')
    expect(methods).toEqual(expect.arrayContaining(Object.values(OPERATIONS).map(({ method }) => method)))
    expect(response.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type')
    expect(response.headers.get('access-control-max-age')).toBe('7200')
    expect((await preflight(url, '/')).status).toBe(204)
    expect((await preflight(url, '/nothing')).status).toBe(404)
  })

  it('CORS answers any other OPTIONS request with 405 or 404', async () => {
    const url = await open({ corsOrigins: [APP] })
    for (const headers of [{}, { origin: APP }, { 'access-control-request-method': 'POST' }]) {
      expect((await fetch(url, { method: 'OPTIONS', headers })).status).toBe(405)
      expect((await fetch(`${url}/nothing`, { method: 'OPTIONS', headers })).status).toBe(404)
    }
  })

  it('CORS refuses an unlisted origin and the opaque origin', async () => {
    const url = await open({ corsOrigins: [APP] })
    for (const origin of ['https://app.example.com.evil.test', 'http://app.example.com', 'null']) {
      const response = await preflight(url, '/oauth2/token', origin)
      expect([response.status, corsHeaders(response), response.headers.get('vary')], origin).toEqual([
        405,
        [],
        'Origin',
      ])
    }
  })

  it('CORS allows every origin with `*`', async () => {
    const url = await open({ corsOrigins: ['*'] })
    const response = await fetch(`${url}/oauth2/token`, { method: 'POST', headers: { origin: 'null' } })
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('CORS does not count a preflight as a token request', async () => {
    const url = await open({ corsOrigins: [APP], clock: new VirtualClock(), tokenRatePerSecond: 1 })
    for (let count = 0; count < 10; count++) await preflight(url, '/oauth2/token')
    expect((await askToken(url)).headers.get('ratelimit')).toBe('"token-failures";r=3;t=1')
  })
})

describe('every response', () => {
  it.each([
    ['/', 426],
    ['/nothing', 404],
    ['/%zz', 400],
    ['/oauth2/token', 405],
  ])('every response of %s (%i) has security headers and names no software', async (path, status) => {
    const response = await fetch((await open({})) + path, { headers: { 'x-request-id': 'chosen-by-the-client' } })
    expect(response.status).toBe(status)
    const names = ['server', 'x-powered-by', 'strict-transport-security']
    expect(names.map((name) => response.headers.get(name))).toEqual([null, null, null])
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})
