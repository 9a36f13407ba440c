/**
 * The documents are rendered and compressed once per address, and requests cannot make the service render more of them.
 */

import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modulesWithoutStore } from '../../../scripts/api-documents.ts'
import type { Listener } from '../../../src/service/listeners/listener.ts'
import { once } from '../../support/awaited.ts'
import { openPublicListener } from '../../support/public-listener.ts'

let listener: Listener
beforeAll(async () => {
  listener = await openPublicListener({ modules: modulesWithoutStore(), corsOrigins: ['https://app.example'] })
})
afterAll(() => listener.close())

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

async function ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const request = get(listener.url + path, { headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }
}

const serverOf = ({ body }: Answer): string => JSON.parse(body.toString()).servers[0].url

describe.each(['/openapi.json', '/asyncapi.json', '/docs/', '/docs/js/scalar.js'])('%s', (path) => {
  it('a served document is compressed for clients that accept it', async () => {
    const plain = await ask(path)
    const packed = await ask(path, { 'accept-encoding': 'br, gzip;q=0.5' })
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip'])
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true)
    expect(packed.headers['content-length']).toBe(String(packed.body.length))
    if (plain.body.length > 10_000) expect(packed.body.length).toBeLessThan(plain.body.length / 2)
    expect(plain.headers.vary).toBe('Origin, Accept-Encoding')
    for (const refusal of ['gzip;q=0', 'identity', '', `gzip, ${'x,'.repeat(1_000)}`, '*;q=0']) {
      expect((await ask(path, { 'accept-encoding': refusal })).headers['content-encoding']).toBeUndefined()
    }
    expect((await ask(path, { 'accept-encoding': '*' })).headers['content-encoding']).toBe('gzip')
  })

  it('a served document is not sent again to a client that has the current version', async () => {
    const plain = await ask(path)
    const packed = await ask(path, { 'accept-encoding': 'gzip' })
    const { etag = '' } = plain.headers
    expect(etag).toMatch(/^"[\w-]+"$/)
    expect(packed.headers.etag).not.toBe(etag)
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await ask(path, { 'if-none-match': tag })
      expect([answer.status, answer.body.length, answer.headers.etag]).toEqual([304, 0, etag])
      expect(answer.headers['cache-control']).toBe(plain.headers['cache-control'])
    }
    expect((await ask(path, { 'if-none-match': '"other"' })).status).toBe(200)
    expect((await ask(path, { 'if-none-match': etag, 'accept-encoding': 'gzip' })).status).toBe(200)
  })
})

describe('the address in a document', () => {
  it('the address in a document is the requested one when it is an IP address or localhost', async () => {
    for (const host of ['192.0.2.7:9000', 'localhost:9000', '[2001:db8::1]']) {
      expect(serverOf(await ask('/openapi.json', { host }))).toBe(`http://${host}`)
    }
  })

  it("the address in a document is the listener's for any other name", async () => {
    for (const host of ['attacker.example', 'a.b:80', 'localhost.attacker.example']) {
      expect(serverOf(await ask('/openapi.json', { host }))).toBe(listener.url)
      const { servers } = JSON.parse((await ask('/asyncapi.json', { host })).body.toString())
      expect(servers.service.host).toBe(new URL(listener.url).host)
    }
  })

  it('the address in a document is one of a limited number', async () => {
    const own = await openPublicListener({ modules: modulesWithoutStore() })
    const seen = new Set<string>()
    for (let count = 0; count < 100; count++) {
      const request = get(`${own.url}/openapi.json`, { headers: { host: `192.0.2.${count}` } })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      seen.add(String(response.headers.etag))
      response.resume()
    }
    expect(seen.size).toBe(16)
    const last = await fetch(`${own.url}/openapi.json`)
    expect(((await last.json()) as { servers: unknown[] }).servers).toEqual([{ url: own.url }])
    await own.close()
  })

  it('the address in a document is cached, so that repeated requests are cheap', async () => {
    await ask('/openapi.json', { 'accept-encoding': 'gzip' })
    const repetitions = 50
    const before = process.cpuUsage()
    for (let count = 0; count < repetitions; count++) {
      await ask('/openapi.json', { host: `name-${count}.example`, 'accept-encoding': 'gzip' })
    }
    const { user, system } = process.cpuUsage(before)
    // Milliseconds per request, including those of the client.
    expect((user + system) / 1_000 / repetitions).toBeLessThan(10)
  })
})
