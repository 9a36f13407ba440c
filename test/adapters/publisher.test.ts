/** The adapters' library: its token requests. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../packages/publisher/runtime.mjs'
import { TokenSource } from '../../packages/publisher/token.mjs'
import { once } from '../support/awaited.ts'
import { CLIENT } from './fake-ingest.ts'

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A token endpoint with this answer, and its address. */
async function endpoint(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    listener(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function errorOf(authUrl: string): Promise<string> {
  return await new TokenSource({ authUrl, ...CLIENT }, systemClock).get().catch((error: Error) => error.message)
}

describe('the token of a publisher', () => {
  it('a redirect takes the secret of a publisher to no other address', async () => {
    let redirected = 0
    const elsewhere = await endpoint((_request, response) => {
      redirected++
      response.end('{}')
    })
    const authUrl = await endpoint((_request, response) => {
      response.writeHead(307, { location: `${elsewhere}/oauth2/token` }).end()
    })
    expect(await errorOf(authUrl)).toContain('no token: status 307')
    expect(redirected).toBe(0)
  })

  it('the error of a refused token names the status where a proxy answers with a page', async () => {
    const authUrl = await endpoint((_request, response) => {
      response.writeHead(502).end('<html>Bad Gateway</html>')
    })
    expect(await errorOf(authUrl)).toContain('no token: status 502')
  })

  it('the error of a token endpoint that does not answer has the reason', async () => {
    const authUrl = await endpoint((request) => request.socket.destroy())
    const text = await errorOf(authUrl)
    expect(text).toContain('the token endpoint does not answer: ')
    expect(text).not.toContain('fetch failed')
    expect(text).not.toContain(CLIENT.clientSecret)
  })
})
