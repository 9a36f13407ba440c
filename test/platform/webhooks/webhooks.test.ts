/** Webhooks: signatures, addresses, and one request over a real connection. */

import { Agent, createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { addressesFault, isLoopbackHost } from '../../../src/platform/webhooks/addresses.ts'
import { postWebhook, type Resolve } from '../../../src/platform/webhooks/request.ts'
import { secretsOf, signatureHeaders } from '../../../src/platform/webhooks/signature.ts'
import { once } from '../../support/awaited.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/** The example of the specification's own libraries. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

describe('signatures', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' }

  it('webhook signatures are those of the specification', () => {
    expect(signatureHeaders(message, [SECRET])).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('webhook signatures are two while a secret is replaced', () => {
    const other = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
    const both = signatureHeaders(message, [other, SECRET])['webhook-signature']?.split(' ')
    expect(both).toHaveLength(2)
    expect(both?.[1]).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('webhook signatures need a secret of 24 to 64 bytes', () => {
    const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`
    expect(secretsOf(`${secretOf(24)}\n${secretOf(64)}\n`)).toEqual([secretOf(24), secretOf(64)])
    for (const bad of [secretOf(23), secretOf(65), secretOf(24).slice(6), 'whsec_no*base64', 'whsec_']) {
      expect(secretsOf(bad), bad).toBeUndefined()
    }
  })
})

describe('addresses', () => {
  it.each([
    ['8.8.8.8', true],
    ['1.1.1.1', true],
    ['2606:4700:4700::1111', true],
    ['10.1.2.3', false],
    ['100.64.0.1', false],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    // Metadata and platform services of clouds.
    ['168.63.129.16', false],
    ['168.63.129.17', true],
    ['100.100.100.200', false],
    ['192.0.0.192', false],
    ['fd00:ec2::254', false],
    ['fd20:ce::254', false],
    ['172.16.0.1', false],
    ['172.31.255.255', false],
    ['172.32.0.1', true],
    ['192.168.1.1', false],
    ['198.18.0.1', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['0.0.0.0', false],
    ['::', false],
    ['::1', false],
    ['::ffff:10.0.0.1', false],
    ['::ffff:8.8.8.8', false],
    ['64:ff9b::a00:1', false],
    ['64:ff9b:1::a00:1', false],
    ['2002:a00:1::', false],
    ['2001::1', false],
    ['2001:db8::1', false],
    ['fc00::1', false],
    ['fd12:3456::1', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['fec0::1', false],
    ['ff02::1', false],
    ['no address', false],
  ])('the webhook address %s is public: %s', (address, isPublic) => {
    expect(addressesFault(new URL('https://pay.example'), [address], false) === undefined).toBe(isPublic)
  })

  it('webhook addresses are all checked, and private ones accepted where that is configured', () => {
    const url = new URL('https://pay.example')
    expect(addressesFault(url, ['8.8.8.8'], false)).toBeUndefined()
    expect(addressesFault(url, ['8.8.8.8', '10.0.0.1'], false)).toMatch('not public')
    expect(addressesFault(url, ['8.8.8.8', '10.0.0.1'], true)).toBeUndefined()
    expect(addressesFault(url, [], true)).toMatch('no address')
  })

  it('webhook addresses of this machine belong to names of this machine, and to no others', () => {
    for (const own of ['http://localhost:1', 'http://127.0.0.1', 'http://[::1]:8', 'http://2130706433']) {
      expect(isLoopbackHost(new URL(own)), own).toBe(true)
      expect(addressesFault(new URL(own), ['127.0.0.1'], false)).toBeUndefined()
      expect(addressesFault(new URL(own), ['10.0.0.1'], true)).toMatch('not public')
    }
    expect(isLoopbackHost(new URL('http://localhost.example'))).toBe(false)
    expect(addressesFault(new URL('https://pay.example'), ['127.0.0.1'], false)).toMatch('not public')
  })
})

describe('a request', () => {
  const servers: { close(): unknown; closeAllConnections?(): void }[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections?.()
      server.close()
    }
  })

  async function listen(handle: RequestListener): Promise<{ server: Server; port: number }> {
    const server = createServer(handle)
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { server, port: (server.address() as AddressInfo).port }
  }

  const clock = new VirtualClock()
  const post = (url: string, resolve?: Resolve, allowPrivate = false) =>
    postWebhook(
      { url, headers: { 'webhook-id': 'one' }, body: '{"a":"ä"}', allowPrivate },
      resolve === undefined ? { clock } : { clock, resolve },
    )

  it('a webhook request sends the bytes of the body, and returns status and body of the response', async () => {
    const received: unknown[] = []
    const { port } = await listen((request, response) => {
      request.on('data', (part: Buffer) =>
        received.push(request.method, request.headers['webhook-id'], part.toString()),
      )
      request.on('end', () => response.writeHead(202).end('{"status":"ACCEPTED"}'))
    })
    const reply = await post(`http://127.0.0.1:${port}/pay?x=1`)
    expect(reply).toEqual({ kind: 'answered', status: 202, body: '{"status":"ACCEPTED"}' })
    expect(received).toEqual(['POST', 'one', '{"a":"ä"}'])
  })

  it('a webhook request follows no redirect', async () => {
    let requests = 0
    const { port } = await listen((_, response) => {
      requests++
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    expect(await post(`http://localhost:${port}/`, async () => ['127.0.0.1'])).toMatchObject({ status: 307 })
    expect(requests).toBe(1)
  })

  it('a webhook request fails when the response is cut off, too long, or never complete', async () => {
    const answers: Record<string, RequestListener> = {
      '/cut': (_, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"status":"REFUSED"', () => response.socket?.end())
      },
      '/chunks': (_, response) => {
        response.writeHead(200).write('{"status":"REFUSED"}', () => response.socket?.end())
      },
      '/long': (_, response) => void response.writeHead(200).end('x'.repeat(65_537)),
    }
    const { port } = await listen((request, response) => answers[request.url ?? '']?.(request, response))
    const at = (path: string) => `http://127.0.0.1:${port}${path}`
    expect(await post(at('/cut'))).toEqual({ kind: 'failed', reason: 'the answer was cut off' })
    expect(await post(at('/chunks'))).toEqual({ kind: 'failed', reason: 'the answer was cut off' })
    expect(await post(at('/long'))).toMatchObject({ kind: 'failed', reason: expect.stringContaining('longer than') })
  })

  it('a webhook request waits ten seconds, for the name too', async () => {
    const { server, port } = await listen(() => undefined)
    const reply = post(`http://127.0.0.1:${port}/`)
    await once(server, 'request')
    clock.advance(10_000)
    const timeOut = { kind: 'failed', reason: 'no complete answer within 10 seconds' }
    expect(await reply).toEqual(timeOut)
    const unresolved = post('https://pay.example/', () => new Promise(() => undefined))
    clock.advance(10_000)
    expect(await unresolved).toEqual(timeOut)
  })

  it('a webhook request goes to the address that was checked, however the name resolves afterwards', async () => {
    let requests = 0
    const { port } = await listen((_, response) => {
      requests++
      response.end('{}')
    })
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    const rebinding = async () => answers.shift() ?? []
    // The first answer would be accepted; were the name resolved again, the second would lead to this machine.
    const first = post(`https://rebound.example:${port}/`, rebinding)
    expect(answers).toHaveLength(1)
    clock.advance(10_000)
    expect((await first).kind).toBe('failed')
    expect(answers).toHaveLength(1)
    expect(await post(`https://rebound.example:${port}/`, rebinding)).toEqual({
      kind: 'failed',
      reason: 'the name resolves to an address that is not public',
    })
    expect(requests).toBe(0)
  })

  it('a webhook request uses TLS with a trusted certificate, and plain HTTP to this machine only', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => undefined).end('no TLS'))
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect((await post(`https://127.0.0.1:${port}/`)).kind).toBe('failed')
    const plain = await post(`http://pay.example:${port}/`, async () => ['127.0.0.1'], true)
    expect(plain).toEqual({ kind: 'failed', reason: 'plain HTTP is allowed only to this machine' })
    expect(await post('https://10.0.0.1/')).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching('not public'),
    })
  })

  it('a request to a customer’s address reaches neither this machine nor private addresses, unless both are allowed', async () => {
    let requests = 0
    const { port } = await listen((_, response) => {
      requests++
      response.end('x'.repeat(100_000))
    })
    const ask = (url: string, address: string, allowPrivate: boolean) =>
      postWebhook(
        { url, headers: {}, body: '{}', allowPrivate, isCustomers: true },
        { clock, resolve: async () => [address] },
      )
    const resolved = { kind: 'failed', reason: 'the name resolves to an address that is not public' }
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', 'localhost']) {
      const expected = { kind: 'failed', reason: expect.stringMatching('is not public|that is not public') }
      expect(await ask(`https://${host}:${port}/`, '127.0.0.1', false), host).toEqual(expected)
    }
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1']) {
      expect(await ask(`https://customer.example:${port}/`, address, false)).toEqual(resolved)
    }
    const plain = { kind: 'failed', reason: 'plain HTTP is not allowed' }
    expect(await ask(`http://customer.example:${port}/`, '8.8.8.8', false)).toEqual(plain)
    expect(await ask(`http://127.0.0.1:${port}/`, '127.0.0.1', false)).toEqual(plain)
    expect(requests).toBe(0)
    const answered = { kind: 'answered', status: 200, body: '' }
    expect(await ask(`http://customer.example:${port}/`, '127.0.0.1', true)).toEqual(answered)
    expect(await ask(`http://127.0.0.1:${port}/`, '127.0.0.1', true)).toEqual(answered)
    expect(requests).toBe(2)
  })

  it('requests with an agent share connections, and replace one that the peer has closed', async () => {
    const sockets = new Set<object>()
    const { port, server } = await listen((request, response) => {
      sockets.add(request.socket)
      request.resume()
      response.end('accepted')
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 2 })
    const url = `http://127.0.0.1:${port}/`
    const ask = () =>
      postWebhook({ url, headers: {}, body: '{}', allowPrivate: true, isCustomers: true, agent }, { clock })
    const answered = { kind: 'answered', status: 200, body: '' }
    for (let each = 0; each < 5; each++) expect(await ask()).toEqual(answered)
    expect(sockets.size).toBe(1)
    server.closeAllConnections()
    for (let each = 0; each < 5; each++) expect(await ask()).toEqual(answered)
    expect(sockets.size).toBeLessThanOrEqual(3)
    agent.destroy()
  })
})
